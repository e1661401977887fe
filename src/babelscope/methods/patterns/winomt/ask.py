"""Questions about WinoMT's sentences: translations, and word alignments over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.core.results import Record
from babelscope.core.tokenisers import require_spaces
from babelscope.language.align import Links, align, read_pharaoh
from babelscope.language.base import GENDERS
from babelscope.methods.patterns.asking import (
    TranslationOrReason,
    answered_records,
    ask_translations,
    match_file_lines,
)
from babelscope.methods.patterns.winomt.settings import WinomtSettings
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.loading import load
from babelscope.util.errors import BabelscopeError


def ask(
    systems: Mapping[str, Any], items: Sequence[AmbiguousSource], settings: WinomtSettings, _seed: int
) -> list[Record]:
    """A record an item: its translation, the alignment links to source words, and its stereotype."""
    for item in items:
        index, occupation = item.extra.get("index"), item.extra.get("occupation")
        if not isinstance(index, int) or not isinstance(occupation, str) or item.gold not in GENDERS[:3]:
            raise BabelscopeError(
                f"item {item.id} is none of WinoMT: it needs `index`, `occupation` and the gender as `gold`"
            )
    listed = None
    if settings.stereotypical is not None and settings.anti_stereotypical is not None:
        paths = {"pro": settings.stereotypical, "anti": settings.anti_stereotypical}
        listed = stereotypes_of(items, {name: _read_stereotype_list(path) for name, path in paths.items()})
    answers = ask_translations(systems, items, settings)
    links = _links(items, answers, settings)

    def record(number: int, text: str) -> Record:
        item = items[number]
        own = item.extra.get("stereotype", "none")
        return {
            "source": item.source,
            "occupation": item.extra["occupation"],
            "index": item.extra["index"],
            "gold": item.gold,
            "stereotype": own if listed is None else listed.get(item.id, "none"),
            "translation": " ".join(text.split()),
            "links": [list(link) for link in links[number]],
        }

    return answered_records(answers, record)


def _read_stereotype_list(path: Path) -> Sequence[AmbiguousSource]:
    return load(f"winomt:{path}?neutral=yes").items_of(AmbiguousSource, what_for="a list of stereotypes")


def _links(
    items: Sequence[AmbiguousSource], answers: Sequence[TranslationOrReason], settings: WinomtSettings
) -> Sequence[Links]:
    """Alignment links between whitespace-separated words, from a file or aligned here."""
    texts = ["" if isinstance(answer, str) else answer.text for answer in answers]
    require_spaces(texts, what="the translations")
    if settings.alignments is None:
        return align([(item.source.split(), text.split()) for item, text in zip(items, texts, strict=True)])
    given, numbers = match_file_lines(settings.translations, items, answers)
    # Lines without a source are parallel to the items.
    sources = [items[n].source if each.source is None else each.source for n, each in enumerate(given)]
    lengths = [
        (len(source.split()), len(each.translation.split()))
        for source, each in zip(sources, given, strict=True)
    ]
    parallel_to = str(settings.translations or "the test set")
    stored = read_pharaoh(settings.alignments, lengths, parallel_to=parallel_to)
    return [stored[number] for number in numbers]


def stereotypes_of(
    items: Sequence[AmbiguousSource], lists: Mapping[str, Sequence[AmbiguousSource]]
) -> dict[str, str]:
    """Item id -> `pro` or `anti`, from WinoMT's two lists; duplicate items are matched in order.

    The lists differ from the test set's column in two sentences; the published delta S uses the lists.
    """
    waiting: dict[tuple[str, str | None, int], list[str]] = {}
    for item in items:
        waiting.setdefault((item.source, item.gold, item.extra["index"]), []).append(item.id)
    found: dict[str, str] = {}
    for stereotype, listed in lists.items():
        for item in listed:
            same = waiting.get((item.source, item.gold, item.extra["index"]))
            if not same:
                raise BabelscopeError(f"item {item.id} of the list {stereotype!r} is not in the test set")
            found[same.pop(0)] = stereotype
    return found
