"""What detectors say about a system's translations, and about texts whose errors are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from babelscope.core.results import Record
from babelscope.language.base import Analysed
from babelscope.language.detecting import (
    can_detect,
    detectors,
    languages_with_detectors,
)
from babelscope.language.fitness import other_language
from babelscope.language.registry import error_type, language
from babelscope.methods.grouping import pair_texts
from babelscope.util.digests import digest_json
from babelscope.util.seeds import stream


@dataclass(frozen=True, slots=True)
class _Reader:
    """Analyses every text once."""

    analysed: dict[tuple[str, str], Analysed[Any]] = field(default_factory=dict)

    def read(self, code: str, text: str) -> Analysed[Any]:
        if (code, text) not in self.analysed:
            self.analysed[code, text] = language(code).analyser().analyse(text)
        return self.analysed[code, text]

    def detects(self, name: str, source: str, text: str) -> bool:
        return detectors()[name](source, self.read(error_type(name).language, text))


def installed_languages() -> set[str]:
    """Codes of the languages that have detectors and whose packages are installed."""
    return {each.code for each in languages_with_detectors() if each.analysis_version()}


def detect_in_pairs(records: Sequence[Record]) -> list[Record]:
    """Run detectors on each record of a minimal pair with a 1-best: `{}`, or the field `detected`.

    The detector of the pair's own error type looks for the error in the 1-best (`best`) and in the variants
    (`contrastive`); both are missing if the detector does not apply to this source. `reference` has the result
    of every applicable detector on the correct translation, where an alarm is false. Only detectors of the
    language of the error type are run, and only if the packages of that language are installed. A text in
    another language is not looked at: `other_language` says which one, of the `best` or of the `reference`.
    """
    reader, installed = _Reader(), installed_languages()
    found: list[Record] = []
    for record in records:
        name, source, best = record["phenomenon"], record["source"], record["best"]["text"]
        correct, contrastive = pair_texts(record)
        code = error_type(name).language if name in detectors() else None
        if code not in installed:
            found.append({})
            continue
        applicable = [each for each in detectors(code) if can_detect(each, source)]
        others = _other_languages(code, best, [correct])
        detected: Record = {"reference": {}}
        if "reference" not in others:
            detected["reference"] = {each: reader.detects(each, source, correct) for each in applicable}
        if name in applicable and "best" not in others:
            detected["best"] = reader.detects(name, source, best)
        if name in applicable and "reference" not in others:
            detected["contrastive"] = [reader.detects(name, source, text) for text in contrastive]
        found.append({"detected": detected | ({"other_language": others} if others else {})})
    return found


def detect_in_parallel(records: Sequence[Record], names: Sequence[str], code: str) -> list[Record]:
    """Run the detectors `names` of the language `code` on each record with `references` and `best`.

    The fields are those of pairs by error type, for every detector that applies to the source. What a detector
    finds is measured on variants of the references with the error put in, one a reference (`variants`).
    """
    reader = _Reader()
    found: list[Record] = []
    for record in records:
        source, text, references = record["source"], record["best"]["text"], record["references"]
        if (target_language(record) or code) != code:
            found.append({})
            continue
        applicable = [name for name in names if can_detect(name, source)]
        others = _other_languages(code, text, references)
        known = [] if "reference" in others else references
        variants = {name: _variants(reader, name, source, known) for name in applicable}
        detected: Record = {
            "best": {}
            if "best" in others
            else {name: reader.detects(name, source, text) for name in applicable},
            "reference": {
                name: [reader.detects(name, source, each) for each in known] for name in applicable
            },
            "contrastive": {
                name: [reader.detects(name, source, each) for _, each in some]
                for name, some in variants.items()
            },
        }
        if others:
            detected["other_language"] = others
        found.append(
            {"detected": detected, "variants": {name: some for name, some in variants.items() if some}}
        )
    return found


def target_language(record: Mapping[str, Any]) -> str:
    """The code of the language that an item says its translations are in, without region; empty if it does not."""
    return str(record.get("target_language") or "").replace("_", "-").partition("-")[0].lower()


def _other_languages(code: str, best: str, references: Iterable[str]) -> dict[str, str]:
    found = {"best": other_language(best, code)}
    found["reference"] = next(filter(None, (other_language(each, code) for each in references)), None)
    return {name: other for name, other in found.items() if other}


def _variants(reader: _Reader, name: str, source: str, references: Sequence[str]) -> list[tuple[str, str]]:
    """(reference, the same with the error put in), where the reference has a place for it."""
    made = []
    for reference in references:
        found = error_type(name).variants(reader.read(error_type(name).language, reference), source=source)
        if found:
            # Drawn by the texts alone, so that judging again, or in other chunks, draws the same.
            draw = stream(0, f"errors/{name}/{digest_json([source, reference])}")
            made.append((reference, found[int(draw.integers(len(found)))].text))
    return made
