"""What is asked: to translate. The only part of the method that touches a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.results import Record
from babelscope.systems.contract import ask_translate
from babelscope.testsets.items import ParallelSentence
from babelscope_parrot.echo.settings import EchoSettings


def ask(
    systems: Mapping[str, Any], items: Sequence[ParallelSentence], settings: EchoSettings, _seed: int
) -> list[Record]:
    """One record per item: its source, and the translation. A field such as `domain` is carried by itself."""
    answers = ask_translate(systems["system"], [item.question for item in items], beam=settings.beam)
    return [
        {"source": item.source, "translation": best.text}
        for item, (best, *_) in zip(items, answers, strict=True)
    ]
