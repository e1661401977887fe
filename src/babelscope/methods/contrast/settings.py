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
    """Preset. paper: ties are wrong, discrepancy as in the paper. released: ties are right, discrepancy clipped,
    like its code. checked: no preset."""
    score: Option[Scoring] = "mean"
    """Score by log-probability per token (eq. 2), log-probability of the sentence (eq. 1), or mean probability per
    token; all include EOS."""
    ties: Ties = "half"
    """Credit for a tie: `correct` in DistilLingEval's code, `wrong` in LingEval97's and MuCoW's."""
    discrepancy: Option[Literal["auto", "paper", "clipped", "none"]] = "auto"
    """Distance of the 1-best from the correct translation: as in section 3.2, or clipped at 0 per item like the
    released code. auto: paper, if the system can translate."""
    beam: Option[Rerun[int]] = Field(default=5, ge=1)
    """Beam size of the 1-best translation (section 3.4)."""
    spread: Rerun[int] = Field(default=50, ge=0)
    """Number of sources whose second-best translation and one sample are compared with the 1-best; never for
    servers. 0: none."""
    detect_in_output: Literal["auto", "yes", "no"] = "auto"
    """Detect the same errors in the system's own 1-best translations, like `errors`.
    `auto`: if there are 1-bests, and the analysis of a language with detectors is installed."""
    controls: Annotated[tuple[str, ...], Metavar("TYPE")] = Field(
        default_factory=lambda: (*controls(), MISSPELLED)
    )
    """An implausible error type (section 3)."""
    without_variants: Rerun[Literal["skip", "correct"]] = "skip"
    """Items without contrastive variants (MuCoW, read with ?empty=yes): skip them, or count them as correct like
    MuCoW's script."""

    ask_people: Literal["pairs", "machine-references"] = "pairs"
    """Question for annotators: which translation of a pair is right, or whether the tried machine references have
    the error; `agreement --verdicts` compares the answers with the automatic checks."""

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
                    f"protocol {self.protocol} means {name} {value}, not {given}; leave one of them out, or "
                    "choose protocol checked"
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
