"""What can be chosen about contrastive evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from babelscope.core.answers import Capability
from babelscope.core.settings import Settings
from babelscope.core.ties import Ties
from babelscope.language.detecting import analysis_version, missing_analysis
from babelscope.language.registry import controls


class ContrastSettings(Settings):
    """How pairs are scored, and what is looked for beside."""

    score: Literal["mean", "total"] = "mean"
    """Log-probability a token (eq. 2), or of the whole sentence (eq. 1); EOS counts in both."""
    ties: Ties = "half"
    """What a tie is worth: `correct` in DistilLingEval's code, `wrong` in LingEval97's and MuCoW's."""
    discrepancy: Literal["auto", "paper", "clipped", "none"] = "auto"
    """Section 3.2, or the released code's variant, which takes an item's at 0 where it is below.
    `auto`: as in the paper if the system can translate, else none."""
    beam: int = Field(default=5, ge=1)
    """The beam of the 1-best translation (section 3.4)."""
    free: Literal["auto", "yes", "no"] = "auto"
    """Whether the German error types' detectors look for the same errors in the 1-bests.
    `auto`: if there are 1-bests, and German analysis is installed."""
    controls: tuple[str, ...] = Field(default_factory=controls)
    """The implausible phenomena (section 3): the implausible error types, unless others are named."""
    resamples: int = Field(default=2000, ge=100, le=1_000_000)
    """Understood for one version, and without effect: intervals need no resamples."""

    @field_validator("free")
    @classmethod
    def _installed(cls, free: str) -> str:
        if free == "yes" and not analysis_version():
            raise missing_analysis()
        return free

    @property
    def needs(self) -> Mapping[str, tuple[Capability, ...]]:
        """What only some settings need."""
        translates = self.free == "yes" or self.discrepancy in ("paper", "clipped")
        return {"system": ("translate",)} if translates else {}


def identity(settings: ContrastSettings) -> Mapping[str, Any]:
    """What the detectors say depends on the analysis, so its version is part of the signature."""
    analysis = analysis_version() if settings.free != "no" else ""
    return {"free": f"{settings.free}, {analysis}"} if analysis else {}
