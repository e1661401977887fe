"""MT-GenEval (Currey et al. 2022): gender that the sentence, or the one before it, makes clear.

CC BY-SA 3.0, github.com/amazon-science/machine-translation-gender-eval. Files are line-parallel: 300 sentences per
language in a feminine and a masculine version; sentences with context have an original and a flipped translation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from babelscope.testsets.formats.shared import Row, collect, parallel_lines
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError

_PAIR = re.compile(r"en_[a-z]{2}")
_SENTENCES = "geneval-sentences-{version}-test.{pair}.{language}"
_CONTEXT = "geneval-context-wikiprofessions-{version}-test.{pair}.{language}"
_SEPARATOR = "<sep>"


def read_mt_geneval(spec: str | Path) -> TestSet:
    """Read `FOLDER,en_es`: sentences in two versions, each the error of the other, or sentences with context."""
    folder, comma, pair = str(spec).rpartition(",")
    if not comma or not _PAIR.fullmatch(pair):
        raise BabelscopeError(f"MT-GenEval needs a folder and languages, such as {spec},en_es")
    path = Path(folder)
    if (path / _SENTENCES.format(version="feminine", pair=pair, language="en")).exists():
        return collect(f"mt-geneval-{pair}", _sentences(path, pair))
    if (path / _CONTEXT.format(version="2to1", pair=pair, language="en")).exists():
        return collect(f"mt-geneval-context-{pair}", _contexts(path, pair))
    raise BabelscopeError(f"{folder} has no files of MT-GenEval for {pair}")


def _sentences(folder: Path, pair: str) -> Iterator[Row]:
    target = pair[3:]
    versions = ("feminine", "masculine")
    files = [
        folder / _SENTENCES.format(version=version, pair=pair, language=language)
        for version in versions
        for language in ("en", target)
    ]
    for number, place, (her_source, hers, his_source, his) in parallel_lines(*files):
        sides = zip(versions, (her_source, his_source), (hers, his), (his, hers), strict=True)
        for version, source, correct, wrong in sides:
            yield place, _item(f"{number}/{version}", source, correct, wrong, version, target)


def _contexts(folder: Path, pair: str) -> Iterator[Row]:
    target = pair[3:]
    files = [
        folder / _CONTEXT.format(version=version, pair=pair, language=language)
        for version, language in (("2to1", "en"), ("original", target), ("flipped", target))
    ]
    for number, place, (english, original, flipped) in parallel_lines(*files):
        *before, source = (part.strip() for part in english.split(_SEPARATOR))
        item = _item(str(number), source, original, flipped, "gender from context", target)
        yield place, {**item, "context_source": before}


def _item(id: str, source: str, correct: str, wrong: str, phenomenon: str, target: str) -> dict[str, object]:
    return {
        "id": id,
        "source": source,
        "correct": correct,
        "contrastive": wrong,
        "phenomenon": phenomenon,
        "reference": "human",
        "source_language": "en",
        "target_language": target,
    }
