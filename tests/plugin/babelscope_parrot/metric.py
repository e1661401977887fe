"""The metric `parrot_overlap`: the share of a reference's words that the hypothesis has."""

from __future__ import annotations

from dataclasses import dataclass

from babelscope.metrics.base import Metric, References, Scale, Texts


@dataclass(frozen=True)
class Overlap(Metric):
    """A corpus score is the mean over sentences, which is what `Metric` does unless told otherwise."""

    def sentence(self, hypotheses: Texts, references: References, sources: Texts = ()) -> list[float]:
        """The best over the references of each hypothesis."""
        del sources
        return [
            max(_share(set(hypothesis.split()), set(reference.split())) for reference in own)
            for hypothesis, own in zip(hypotheses, references, strict=True)
        ]


def _share(said: set[str], wanted: set[str]) -> float:
    return len(said & wanted) / len(wanted) if wanted else 0.0


METRIC = Overlap("parrot_overlap", Scale(0, 1, "higher", "share"))
