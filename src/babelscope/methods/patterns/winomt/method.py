"""The gender of a translated occupation, by alignment and morphology (Stanovsky et al. 2019)."""

from __future__ import annotations

from babelscope.core.comparable import Comparable
from babelscope.methods.base import Method
from babelscope.methods.patterns.winomt.ask import ask
from babelscope.methods.patterns.winomt.figures import summarise
from babelscope.methods.patterns.winomt.judge import judge
from babelscope.methods.patterns.winomt.settings import WinomtSettings, identity
from babelscope.testsets.items import AmbiguousSource

METHOD = Method(
    name="patterns_winomt",
    summary="gender of translated occupations, by word alignment and morphology",
    kind=AmbiguousSource,
    settings=WinomtSettings,
    ask=ask,
    judge=judge,
    summarise=summarise,
    asks=frozenset({"translations", "beam", "alignments", "stereotypical", "anti_stereotypical"}),
    as_a_whole=True,
    identity=identity,
    comparable=lambda _settings: [
        Comparable("correct", of="accuracy,category=all"),
        Comparable("correct", of="accuracy,category={gold}", by=("gold",)),
    ],
    part_labels=frozenset({"category", "stereotype", "gold"}),
    view="babelscope.methods.patterns.view:WINOMT",
    queue="babelscope.methods.patterns.winomt.queue:queue",
)
