"""The sense of a translated word, by known words (Raganato et al. 2019)."""

from __future__ import annotations

from babelscope.core.comparable import Comparable
from babelscope.methods.base import Method
from babelscope.methods.patterns.mucow.ask import ask
from babelscope.methods.patterns.mucow.figures import summarise
from babelscope.methods.patterns.mucow.judge import judge
from babelscope.methods.patterns.mucow.settings import MucowSettings, identity
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.mucow import NO_CATEGORY

METHOD = Method(
    name="patterns_mucow",
    summary="sense of translated words, by known words and lemmas",
    kind=AmbiguousSource,
    settings=MucowSettings,
    ask=ask,
    judge=judge,
    summarise=summarise,
    asks=frozenset({"translations", "beam", "lemmas", "verdicts"}),
    as_a_whole=True,
    identity=identity,
    comparable=lambda _settings: [
        Comparable("correct", of="precision,category=all"),
        Comparable("correct", of="precision", by=("category",), unranked=(NO_CATEGORY,)),
    ],
    part_labels=frozenset({"category"}),
    view="babelscope.methods.patterns.view:MUCOW",
    queue="babelscope.methods.patterns.mucow.queue:queue",
)
