"""Files of translations made elsewhere: one reader per format, all of which give `Given`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from babelscope.core.system import Scored
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import (
    LocatedRecord,
    json_number,
    read_json_lines,
    read_lines,
    shorten,
    text_fault,
    whole_number,
)

SEPARATOR = " ||| "
UNSAID = ""
"""No format given: plain, but a tab is asked about rather than guessed at."""


@dataclass(frozen=True, slots=True)
class Given:
    """A translation made elsewhere, and where it stands."""

    place: str
    translation: str
    source: str | None = None
    """What it translates, where the file says so."""
    lemmas: str | None = None
    """The lemmas of its words, with spaces between."""
    folded: bool = False
    """Whether the lemmas have lost their accents, as those of the released log have."""
    sentence: str = ""
    """In n-best lists: the number of its sentence from 0, or the id of its item."""
    score: str | float | None = None
    """In n-best lists: what stands in the place of its log-probability."""

    def scored(self) -> Scored:
        """With its log-probability: one token stands for all, since only that of the whole is known."""
        try:
            logprob = math.nan if self.score is None else float(self.score)
        except ValueError:
            logprob = math.nan
        if math.isnan(logprob) or logprob > 0:
            raise BabelscopeError(
                f"{self.place}: {shorten(str(self.score or ''))} is no log-probability of "
                f"{shorten(self.translation)}: a natural log, at most 0"
            )
        return Scored(self.translation, (self.translation,), (logprob,), ("whole",))


# --- One translation per source ------------------------------------------------------------------------------------


def read_translations(path: str | Path) -> list[Given]:
    """One translation per line: plain, `source ||| translation`, or JSON (a log of pattern matching)."""
    if str(path).endswith(".jsonl"):
        return read_log(path)
    lines = read_lines(path, keep_separators=True)
    refuse_lists(lines, path)
    if not any(SEPARATOR in f"{line} " for line in lines):
        return [Given(at(path, number), line) for number, line in enumerate(lines, 1)]
    return _pairs(lines, path)


def read_pairs(path: str | Path) -> list[Given]:
    """`source ||| translation` per line."""
    return _pairs(read_lines(path, keep_separators=True), path)


def _pairs(lines: Sequence[str], path: str | Path) -> list[Given]:
    given = []
    for number, line in enumerate(lines, 1):
        source, between, translation = f"{line} ".partition(SEPARATOR)
        if not between:
            raise BabelscopeError(
                f"{at(path, number)} has no {SEPARATOR.strip()} between source and translation, but other lines do"
            )
        given.append(Given(at(path, number), translation.strip(), source.strip()))
    return given


# The names of the released log of pattern matching, and ours.
_LOG_NAMES = {
    "sentence": "source",
    "src_word": "word",
    "translation_lemmatized": "lemmas",
    "is_correct": "correct",
}


def renamed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a log with our names for its fields."""
    return {_LOG_NAMES.get(name, name): value for name, value in record.items()}


def read_log(path: str | Path) -> list[Given]:
    """A log of pattern matching: one JSON object per line, with its own field names or ours."""
    given = []
    for place, record in read_json_lines(path):
        if "unanswered" in record:
            continue
        fields = renamed(record)
        for name in ("source", "translation", "lemmas"):
            value = fields.setdefault(name, None)
            if not isinstance(value, str) and not (value is None and name == "lemmas"):
                hint = "; n-best lists are read by lists:FILE" if {"id", "text"} <= record.keys() else ""
                raise BabelscopeError(f"{place}: field {name!r} must be text{hint}")
        folded = "translation_lemmatized" in record
        given.append(Given(place, fields["translation"], fields["source"], fields["lemmas"], folded))
    return given


def alternatives(lines: Sequence[str], form: str, where: str) -> list[list[str]]:
    """The translations of each source, best first.

    plain: one line per source. tsv: the same, alternatives separated by tabs. moses: see `moses_lists`; scores are
    weighted features, not log-probabilities of tokens, and are left out.
    """
    if form == "tsv":
        return [line.split("\t") for line in lines]
    if form == "moses":
        return [[each.translation for each in own] for own in moses_lists(lines, where)]
    if form == UNSAID:
        refuse_lists(lines, where)
        for number, line in enumerate(lines, 1):
            if "\t" in line:
                raise BabelscopeError(
                    f"{at(where, number)} has a tab inside: {shorten(line)}; set format=tsv if it separates "
                    "alternatives, format=plain if it belongs to the translation"
                )
    return [[line] for line in lines]


def refuse_lists(lines: Sequence[str], where: str | Path) -> None:
    """Refuse lines of another format where plain ones are expected: each would count as a translation."""
    first = lines[0] if lines else ""
    if re.match(r"0 *\|\|\|", first) and all(re.match(r"[0-9]+ *\|\|\|", line) for line in lines):
        what, instead = "an n-best list of Moses", "set format=moses"
    elif any(re.match(r"H-[0-9]+\t", line) for line in lines):
        what, instead = "a log of fairseq-generate", "use lists:?beam=FILE"
    elif first.startswith(("{", '["')) and _is_json(first):
        what = "JSON"
        instead = "set format=log for objects with source and translation, use lists:FILE for n-best lists"
    else:
        return
    raise BabelscopeError(
        f"{at(where, 1)} is {what}, no translation: {shorten(first)}; {instead}, or set format=plain if it is "
        "text all the same"
    )


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


# --- N-best lists --------------------------------------------------------------------------------------------------


def moses(lines: Sequence[str], where: str, *, features: bool = True) -> Iterator[Given]:
    """`id ||| text ||| features ||| score`, the last two optional; a score beside features is their weighted sum."""
    for number, line in enumerate(lines, 1):
        place, fields = at(where, number), line.split("|||")
        sentence = whole_number(fields[0].strip())
        if len(fields) < 2 or sentence is None:
            raise BabelscopeError(f"{place} is not `id ||| text ||| ...`: {shorten(line)}")
        if not features and any("=" in field for field in fields[2:-1]):
            raise BabelscopeError(
                f"{place}: a score beside features is their weighted sum, not a log-probability; write the "
                "log-probability of each translation, `id ||| text ||| log-probability`"
            )
        score = fields[-1].strip() if len(fields) > 2 else None
        # Moses writes a space after every word, the last one too.
        yield Given(place, fields[1].strip(" "), sentence=str(sentence), score=score)


def moses_lists(lines: Sequence[str], where: str) -> list[list[Given]]:
    """The n-best list of each source; ids count the sources from 0."""
    found: list[list[Given]] = []
    for each in moses(lines, where):
        if each.sentence == str(len(found)):
            found.append([])
        elif each.sentence != str(len(found) - 1):
            raise BabelscopeError(
                f"{each.place} has id {each.sentence}, but ids must count the sources from 0 in order: "
                f"{max(len(found) - 1, 0)} or {len(found)} was expected"
            )
        found[-1].append(each)
    return found


def json_translations(records: Iterable[LocatedRecord]) -> Iterator[Given]:
    """Objects with `id`, `text` and, in all or in none, `logprob`."""
    scored: bool | None = None
    for place, record in records:
        sentence = record.get("id")
        if isinstance(sentence, bool) or not isinstance(sentence, int | str) or "text" not in record:
            raise BabelscopeError(f"{place} has no id and text")
        given = _hypothesis(place, str(sentence), record["text"], record.get("logprob"))
        if scored not in (None, given.score is not None):
            raise BabelscopeError(f"{place}: all translations of a list have a logprob, or none has")
        scored = given.score is not None
        yield given


def vllm(records: Iterable[LocatedRecord]) -> Iterator[Given]:
    """vLLM's RequestOutput as JSON, one per sentence in the order of the test set."""
    for number, (place, record) in enumerate(records):
        for output in _list(record, "outputs", place):
            if not isinstance(output, dict):
                raise BabelscopeError(f"{place}: an output is no JSON object")
            if output.get("finish_reason") == "length":
                raise BabelscopeError(
                    f"{place}: an output was cut at its length limit, so that it is no whole translation; leave it "
                    "out, or raise max_tokens"
                )
            yield _hypothesis(place, str(number), output.get("text"), output.get("cumulative_logprob"))


def ctranslate2(records: Iterable[LocatedRecord]) -> Iterator[Given]:
    """CTranslate2's TranslationResult as JSON, one per sentence in the order of the test set."""
    for number, (place, record) in enumerate(records):
        hypotheses, scores = _list(record, "hypotheses", place), _list(record, "scores", place)
        if len(hypotheses) != len(scores):
            raise BabelscopeError(f"{place} has {len(hypotheses)} hypotheses but {len(scores)} scores")
        for hypothesis, score in zip(hypotheses, scores, strict=True):
            if not isinstance(hypothesis, str):
                raise BabelscopeError(
                    f"{place}: a hypothesis must be text; join CTranslate2's tokens with its tokenizer first"
                )
            yield _hypothesis(place, str(number), hypothesis, score)


def _list(record: Mapping[str, Any], name: str, where: str) -> list[Any]:
    value = record.get(name)
    if not isinstance(value, list):
        raise BabelscopeError(f"{where}: field {name!r} must be a list")
    return value


def _hypothesis(place: str, sentence: str, text: object, logprob: object) -> Given:
    """What JSON says of a hypothesis."""
    if not isinstance(text, str):
        raise BabelscopeError(f"{place}: the text of a hypothesis must be text")
    text = text.strip()
    if fault := text_fault(text):
        raise BabelscopeError(f"{place} {fault}: {shorten(text)}")
    score = None if logprob is None else json_number(logprob)
    if score is None and logprob is not None:
        raise BabelscopeError(f"{place}: logprob must be a number, not {shorten(json.dumps(logprob))}")
    return Given(place, text, sentence=sentence, score=score)


def fairseq(lines: Sequence[str], where: str) -> Iterator[Given]:
    """fairseq-generate's log: H- (or D-, detokenized) with the text, P- with log-probabilities to base 2."""
    hypothesis: Given | None = None
    for number, line in enumerate(lines, 1):
        place = at(where, number)
        if not (found := re.fullmatch(r"([HDP])-([0-9]+)\t(.*)", line)):
            continue
        kind, sentence, rest = found.groups()
        if kind == "H" and hypothesis is not None:
            break
        if kind != "H" and (hypothesis is None or hypothesis.sentence != sentence):
            raise BabelscopeError(
                f"{place}: {kind}-{sentence} does not follow the H-{sentence} that it is of"
            )
        if kind in "HD":
            hypothesis = Given(place, rest.partition("\t")[2].strip(), sentence=sentence)
        elif hypothesis is not None:
            # H's own score is divided by the length; P has the tokens', end of sentence included.
            tokens = [replace(hypothesis, place=place, score=each).scored().total for each in rest.split()]
            yield replace(hypothesis, score=math.fsum(tokens) * math.log(2))
            hypothesis = None
    if hypothesis is not None:
        raise BabelscopeError(
            f"{hypothesis.place}: H-{hypothesis.sentence} has no P- line, and its own score is divided by the "
            "length; keep the P- lines"
        )
