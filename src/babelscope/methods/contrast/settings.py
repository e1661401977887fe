"""What can be chosen about forced choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from babelscope.core.results import Ties
from babelscope.core.settings import ErrorSettings, Metavar, Option, Rerun
from babelscope.core.system import Scoring
from babelscope.language.registry import analysis_version, controls, missing_analysis_error
from babelscope.testsets.items import MISSPELLED


class ContrastSettings(ErrorSettings):
    """How pairs are scored, and what else is measured."""

    presets: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
        "protocol": {
            "paper": {"score": "mean", "ties": "wrong", "discrepancy": "paper", "beam": 5},
            "released": {"score": "mean", "ties": "correct", "discrepancy": "clipped", "beam": 5},
        }
    }

    protocol: Option[Literal["checked", "paper", "released"]] = "checked"
    """Several settings at once. paper: a tie is wrong, and discrepancy as in the paper. released: as in its code, a
    tie is right, and discrepancy clipped. checked: as the other settings say."""
    score: Option[Scoring] = "mean"
    """Compare log-probabilities per token (eq. 2) or of whole sentences (eq. 1), or the arithmetic mean of the
    tokens' probabilities (`probability`); all include EOS."""
    ties: Ties = "half"
    """What a tie is worth: `correct` in DistilLingEval's code, `wrong` in LingEval97's and MuCoW's."""
    discrepancy: Option[Literal["auto", "paper", "clipped", "none"]] = "auto"
    """How far the 1-best is from the correct translation: as in section 3.2, or clipped at 0 per item as in the
    released code. `auto`: as in the paper if the system can translate, else none."""
    beam: Option[Rerun[int]] = Field(default=5, ge=1)
    """The beam of the 1-best translation (section 3.4)."""
    spread: Rerun[int] = Field(default=50, ge=0)
    """Sources whose second-best translation and one sample are asked for, to see how far the system's own
    alternatives are from its 1-best; never of servers. 0: none."""
    detect_in_output: Literal["auto", "yes", "no"] = "auto"
    """Look for the same errors in what the system itself writes, its 1-best translations, as `errors` does.
    `auto`: if there are 1-bests, and the analysis of a language with detectors is installed."""
    controls: Annotated[tuple[str, ...], Metavar("TYPE")] = Field(
        default_factory=lambda: (*controls(), MISSPELLED)
    )
    """An implausible error type (section 3)."""
    without_variants: Rerun[Literal["skip", "correct"]] = "skip"
    """Items without any contrastive variant, which MuCoW's releases have (read by ?empty=yes): leave them out, or
    count them as correct, as MuCoW's published script does."""

    ask_people: Literal["pairs", "machine-references"] = "pairs"
    """What people are asked: which translation of a pair is right, or whether the machine references that were
    tried, kept or not, have the error; `agreement --verdicts` compares their answers with the automatic checks."""

    @field_validator("detect_in_output")
    @classmethod
    def _installed(cls, detect: str) -> str:
        if detect == "yes" and not analysis_version():
            raise missing_analysis_error()
        return detect

    @model_validator(mode="after")
    def _as_the_protocol_says(self) -> Self:
        for name, value in self.presets["protocol"].get(self.protocol, {}).items():
            if (given := getattr(self, name)) != value:
                raise ValueError(
                    f"protocol {self.protocol} means {name} {value}, not {given}; leave one of them out, or choose "
                    "protocol checked"
                )
        return self

    @property
    def needs_translations(self) -> bool:
        """Whether the system must be able to translate."""
        return self.detect_in_output == "yes" or self.discrepancy in ("paper", "clipped")

    def identity(self) -> Mapping[str, Any]:
        """What the detectors find depends on the analysis, so its version is part of the signature."""
        analysis = analysis_version() if self.detect_in_output != "no" else ""
        return {"detect_in_output": f"{self.detect_in_output}, {analysis}"} if analysis else {}
