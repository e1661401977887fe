"""How often the check of languages is wrong: parallel sentences of ten public treebanks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from babelscope.language.fitness import LONG, other_language


def test_no_sentence_of_a_treebank_is_taken_for_another_language_and_none_for_its_own(shared: Path) -> None:
    found: dict[str, list[str]] = {}
    for path in sorted((shared / "data" / "pud").glob("*.conllu")):
        lines = path.read_text("utf-8").split("\n")
        texts = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")][:250]
        found[path.name[:2]] = [text for text in texts if sum(map(str.isalpha, text)) >= LONG]
    assert len(found) >= 5
    wrong: Counter[tuple[str, str]] = Counter()
    for language, texts in found.items():
        for text in texts:
            wrong.update(
                (language, expected)
                for expected in found
                if other_language(text, expected) != (None if expected == language else language)
            )
    assert not wrong
