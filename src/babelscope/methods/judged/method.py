"""Errors that a judge finds, corrected for what it misses and for its false alarms."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Estimate, PairedField, Record, Row, grouped
from babelscope.core.settings import ErrorSettings, Metavar, Option, Rerun
from babelscope.core.system import Reply
from babelscope.core.tables import Column, Note, Table
from babelscope.language.checks.registry import Setting, base_code
from babelscope.methods.base import Items, Method, Needs
from babelscope.methods.judged.planting import ERRORS, JudgedError, known_texts
from babelscope.methods.measuring import answer_counts
from babelscope.methods.prompted_choice.method import fill
from babelscope.methods.reporting import (
    FEWEST,
    Figure,
    ItemView,
    TextLine,
    count_notes,
    find_row,
    summary_table,
)
from babelscope.stats.detection import impossible, possible, rogan_gladen
from babelscope.stats.intervals import clustered_proportion, difference
from babelscope.systems.contract import ask_reply, ask_translate
from babelscope.systems.registry import require
from babelscope.testsets.items import MinimalPair, ParallelSentence, SourceSentence
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

PROMPT = (
    "Here are a text and its translation.\n\nText: {source}\n\nTranslation: {translation}\n\n"
    "Does the translation have this error: {error} Answer with yes or no, and nothing else."
)
_ANSWER = re.compile(r"\W*(?:answer\W+)?(yes|no)\s*(?:[^\w\s].*)?", re.IGNORECASE | re.DOTALL)
_STORED = 200
"""Characters of an answer that are stored."""
_TRUST = 0.01
"""Two-sided level at which a judge must differ from chance; at 0.05, one coin in forty would get a headline."""

Verdicts = Sequence[tuple[str, bool]]
"""A source and whether the judge finds the error, for each text of a kind."""


class JudgedSettings(ErrorSettings):
    """What the judge is asked, and how it is validated."""

    error: Option[Annotated[Rerun[tuple[str, ...]], Metavar("NAME[=DEFINITION]")]] = tuple(ERRORS)
    """An error to ask about, or one of your own with its definition in a sentence. Errors of your own can be
    validated on minimal pairs alone, whose phenomenon is NAME."""
    source_language: Option[Rerun[str]] = ""
    """The language of the sources, where the test set does not say."""
    target_language: Option[Rerun[str]] = ""
    """The language of the translations, where the test set does not say."""
    beam: Rerun[int] = Field(default=5, ge=1)
    """Beam size of the systems' translations."""
    known: Rerun[int] = Field(default=100, ge=2)
    """Items whose references, and references with a planted error, the judge is asked about for each error."""
    again: Rerun[int] = Field(default=50, ge=0)
    """Items that the judge is asked about twice for each error."""

    @field_validator("error")
    @classmethod
    def _check_errors(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        names = [each.partition("=")[0].strip() for each in given]
        if not given or len(set(names)) < len(names):
            raise ValueError("give at least one error, and each once")
        for each, name in zip(given, names, strict=True):
            if name not in ERRORS and not each.partition("=")[2].strip():
                raise ValueError(
                    f"{each!r} needs a definition, as in NAME=SENTENCE; known: {', '.join(ERRORS)}"
                )
        return given

    @property
    def errors(self) -> dict[str, JudgedError]:
        """The errors by name. One with a definition of its own is not planted: it may mean something else."""
        found = {}
        for each in self.error:
            name, _, definition = (part.strip() for part in each.partition("="))
            found[name] = JudgedError(name, definition) if definition else ERRORS[name]
        return found


class Judged(Method):
    """Judged errors: what a judge finds, and whether it can be trusted

    Which errors does a judge find, and can it be trusted?

    A judge (a language model, or a program that reads JSON lines and writes yes or no) is asked whether each
    translation has an error. In between, unmarked, it is asked about references without and with a planted error:
    its specificity and sensitivity. The error rate is its share of alarms, corrected for both (Rogan and Gladen
    1978). A judge that does not tell planted errors from references significantly better than chance gets no error
    rate. Without references, errors are planted into the system's own translations, and those that are certainly
    without the error (all numbers copied, for example) take the place of references.

    The flip rate is the share of questions asked twice that got yes once and no once. Sensitivity is that for planted
    errors: the system's own may be harder to see.
    """

    name = "judged"
    items = (SourceSentence, ParallelSentence, MinimalPair)
    requires: ClassVar[Needs] = {"system": ("translate",), "judge": ()}
    Settings = JudgedSettings
    settings: JudgedSettings

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        """Refuse a judge that can neither be asked in words nor is a program, and errors of unknown languages."""
        if systems is None:
            self._require_languages(items)
            return
        require(systems["system"], "translate", what_for=self.label)
        judge = systems.get("judge")
        if judge is None:
            raise BabelscopeError(f"{self.label} needs judge, the name of a system: an LLM, or cmd:PROGRAM")
        if not _is_program(judge):
            require(judge, "reply", what_for=f"the judge of {self.label}, if it is no cmd: program,")

    def _require_languages(self, items: Sequence[Any]) -> None:
        errors = self.settings.errors.values()
        needed = [each.name for each in errors if each.plant and each.name in ("negation", "untranslated")]
        settings = map(self._setting, items)
        if needed and not all(each.source_language and each.target_language for each in settings):
            raise BabelscopeError(
                f"{self.label}: {' and '.join(needed)} cannot be judged without the languages: give "
                "--source-language and --target-language (source_language and target_language in a study), or "
                "name other errors"
            )

    def _setting(self, item: Any) -> Setting:
        """The languages of an item."""
        source, target = (
            base_code(getattr(item, name) or getattr(self.settings, name))
            for name in ("source_language", "target_language")
        )
        return Setting(source, target)

    # -- asking --------------------------------------------------------------------------------------------

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        """One record per item: its translation, and the judge's answers about it and about known texts."""
        answers = ask_translate(systems["system"], [item.question for item in items], beam=self.settings.beam)
        texts = [answer[0].text for answer in answers]
        known, again = (
            {name: self._chosen(items.whole, error, n, seed) for name, error in self.settings.errors.items()}
            for n in (self.settings.known, self.settings.again)
        )
        asked = []
        for place, item, text in zip(items.places, items, texts, strict=True):
            own: list[Record] = []
            how = self._setting(item)
            for name, error in self.settings.errors.items():
                if not (text.strip() and error.applies(item.source, how)):
                    continue
                own.append({"kind": "own", "error": name})
                if place in again[name]:
                    own.append({"kind": "again", "error": name})
                if place in known[name]:
                    made = known_texts(item, text, error, how, stream(seed, f"planted {name} {item.id}"))
                    own += [{"kind": kind, "error": name, **texts} for kind, texts in made]
            asked.append(own)
        judge = systems["judge"]
        definitions = {name: error.definition for name, error in self.settings.errors.items()}
        questions = [
            {"source": item.source, "translation": text, **each, "error": definitions[each["error"]]}
            for item, text, own in zip(items, texts, asked, strict=True)
            for each in own
        ]
        replies = iter(_ask_judge(judge, questions, stream(seed, f"order {items[0].id}")))
        return [
            {
                "source": item.source,
                "translation": text,
                "notes": list(answer[0].notes),
                "judge": judge.name,
                "asked": [{**each, "reply": next(replies).text[:_STORED]} for each in own],
            }
            for item, text, answer, own in zip(items, texts, answers, asked, strict=True)
        ]

    def _chosen(self, items: Sequence[Any], error: JudgedError, most: int, seed: int) -> frozenset[int]:
        """Places of at most `most` items that can have the error, chosen by a hash of their ids."""

        def key(place: int) -> bytes:
            return hashlib.sha256(f"judged\0{error.name}\0{seed}\0{items[place].id}".encode()).digest()

        def fits(item: Any) -> bool:
            own = error.plant or getattr(item, "phenomenon", error.name) == error.name
            return bool(own) and error.applies(item.source, self._setting(item))

        places = (place for place in sorted(range(len(items)), key=key) if fits(items[place]))
        return frozenset(itertools.islice(places, most))

    # -- judging -------------------------------------------------------------------------------------------

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with what each answer says: yes, no or unread."""
        return [
            {**record, "asked": [{**each, "says": says(each["reply"])} for each in record["asked"]]}
            for record in records
        ]

    def complete(self, records: Sequence[Record]) -> Sequence[Record]:
        """The records with a verdict about each error for which the judge can be trusted."""
        trusted = {name for name in self.settings.errors if self._trusted(records, name)}
        worth = {"yes": "wrong", "no": "right"}
        return [
            {
                **record,
                "verdicts": {
                    each["error"]: worth[each["says"]]
                    for each in record["asked"]
                    if each["kind"] == "own" and each["error"] in trusted and each["says"] in worth
                },
            }
            for record in records
        ]

    def _trusted(self, records: Sequence[Record], name: str) -> bool:
        planted, clean = (_verdicts(records, name, kind) for kind in ("planted", "clean"))
        return is_trusted(planted, clean, tests=len(self.settings.errors))

    # -- figures -------------------------------------------------------------------------------------------

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """For each error the corrected rate, the share of alarms, sensitivity and specificity; then the flip rate
        and the share of answers that are yes or no."""
        rows = [row for name in self.settings.errors for row in self._rows(records, name)]
        answers = [(record["source"], each) for record in records for each in record["asked"]]
        pairs = [pair for record in records for pair in _asked_twice(record)]
        flips = [(source, first != second) for source, first, second in pairs]
        read = [(source, each["says"] != "unread") for source, each in answers]
        unread = {"unread": sum(not each for _, each in read)}
        rows.append(Row("flip_rate", _share(flips), {"better": "lower"}, {"flips": _alarms(flips)}))
        return [*rows, Row("answered", _share(read), {}, {**unread, **answer_counts(records)})]

    def _rows(self, records: Sequence[Record], name: str) -> Iterator[Row]:
        own, planted, clean = (_verdicts(records, name, kind) for kind in ("own", "planted", "clean"))
        estimate, note = corrected(own, planted, clean, tests=len(self.settings.errors))
        labels = {"error": name, "better": "lower"}
        asked = [each for record in records for each in record["asked"] if each["error"] == name]
        counts = {
            "alarms": _alarms(own),
            "found": _alarms(planted),
            "planted": len(planted),
            "false_alarms": _alarms(clean),
            "clean": len(clean),
            "unread": sum(each["kind"] == "own" and each["says"] == "unread" for each in asked),
        }
        yield Row("judged_errors", estimate, {**labels, **({"note": note} if note else {})}, counts)
        yield Row("alarm_rate", _share(own), labels, {"alarms": _alarms(own)})
        yield Row("sensitivity", _share(planted), {"error": name}, {"found": _alarms(planted)})
        quiet = [(source, not alarm) for source, alarm in clean]
        yield Row("specificity", _share(quiet), {"error": name}, {"false_alarms": _alarms(clean)})

    def paired(self) -> Sequence[PairedField]:
        """The verdicts about each error for which the judge can be trusted."""
        worth = {"right": 1.0, "wrong": 0.0}
        return [
            PairedField(("verdicts", name), worth=worth, of=f"alarm_rate,error={name}", measure=name)
            for name in self.settings.errors
        ]

    def tables(self, comparison: Comparison) -> list[Table]:
        """The corrected rate of each error, and what the judge finds of planted errors and of references."""

        def figures(result: SystemResult) -> Iterator[Figure]:
            for row in (each for each in result.rows if each.name == "judged_errors"):
                name = str(row.labels["error"])
                others = ("sensitivity", "specificity", "alarm_rate")
                found = [find_row(result.rows, other, error=name) for other in others]
                more = [None if each is None else each.estimate for each in found]
                query = {"group": name, "verdict": "alarm"} if row.counts["alarms"] else {}
                verdict = None if row.estimate.n else "unknown"
                yield Figure(name, row.estimate, is_error=True, verdict=verdict, query=query, more=more)  # type: ignore[arg-type]

        headings = [Column(name, "percent") for name in ("sensitivity", "specificity", "alarms")]
        counts = {"empty": "have an empty translation, which the judge is not asked about"}
        notes = [*count_notes(comparison, counts)]
        notes += [note for result in comparison.results for note in _notes(result)]
        table = summary_table(
            comparison,
            figures,
            title=f"Errors found by a judge: {comparison.tests}",
            labels=("error",),
            value="error rate",
            more=headings,
            notes=notes,
            threshold=self.settings.error_threshold,
        )
        return [table]

    def show(self, record: Record) -> ItemView:
        """The translation, and what the judge says about it."""
        own = [each for each in record["asked"] if each["kind"] == "own"]
        alarms = [each["error"] for each in own if each["says"] == "yes"]
        return ItemView(
            record["source"],
            [each["error"] for each in own],
            verdict="alarm" if alarms else "none",
            tone="errors" if alarms else "none",
            facts=", ".join(f"{each['error']}: {each['says']}" for each in own),
            answer=lambda: _lines(record),
        )


def says(reply: str) -> str:
    """yes, no, or unread for an answer that is neither."""
    found = _ANSWER.fullmatch(reply)
    return found[1].lower() if found else "unread"


def is_trusted(planted: Verdicts, clean: Verdicts, *, tests: int = 1) -> bool:
    """Whether a judge finds planted errors significantly more often than it raises false alarms: sensitivity +
    specificity - 1 is above 0, corrected for the number of tests (Bonferroni); never known of fewer than ten."""
    if min(len({source for source, _ in each}) for each in (planted, clean)) < FEWEST:
        return False
    shares = [_share(each, outside=_TRUST / tests) for each in (planted, clean)]
    apart = difference(shares[0], shares[1], min(len(planted), len(clean)))
    return bool(apart.n) and apart.low > 0


def corrected(own: Verdicts, planted: Verdicts, clean: Verdicts, *, tests: int = 1) -> tuple[Estimate, str]:
    """The share of sources with the error behind a judge's alarms, and why there is none or an impossible one."""
    if not own:
        return Estimate.empty(), "no yes or no about a translation that can have the error"
    if not planted:
        return Estimate.empty(), "no text into which the error can be planted, to see what the judge finds"
    if not clean:
        return Estimate.empty(), "no text that is known to be without the error: give references"
    if not is_trusted(planted, clean, tests=tests):
        return Estimate.empty(), "the judge is not known to tell planted errors from texts without them"
    (alarms, n), (found, wrong), (false_alarms, right) = map(_by_source, (own, planted, clean))
    estimate = rogan_gladen(alarms, n, found=found, wrong=wrong, false_alarms=false_alarms, right=right)
    shown = possible(estimate)
    return Estimate.empty() if shown.no_interval else shown, impossible(estimate)


def _by_source(verdicts: Verdicts) -> tuple[float, int]:
    """The number of sources with an alarm, each counted by the share of its texts that raise one; all sources."""
    sources = grouped(verdicts)
    return math.fsum(sum(each) / len(each) for each in sources.values()), len(sources)


def _share(verdicts: Verdicts, *, outside: float = 0.05) -> Estimate:
    """The share of alarms with Wilson's interval."""
    values = [float(alarm) for _, alarm in verdicts]
    return clustered_proportion(values, [source for source, _ in verdicts], outside=outside)


def _alarms(verdicts: Verdicts) -> int:
    return sum(alarm for _, alarm in verdicts)


def _verdicts(records: Iterable[Record], name: str, kind: str) -> Verdicts:
    """What the judge says about all texts of a kind; unread answers are left out."""
    return [
        (record["source"], each["says"] == "yes")
        for record in records
        for each in record["asked"]
        if each["error"] == name and each["kind"] == kind and each["says"] != "unread"
    ]


def _asked_twice(record: Record) -> Iterator[tuple[str, str, str]]:
    """The source and both answers to each question asked twice."""
    first = {each["error"]: each["says"] for each in record["asked"] if each["kind"] == "own"}
    for each in record["asked"]:
        if each["kind"] == "again" and "unread" not in (each["says"], first[each["error"]]):
            yield record["source"], first[each["error"]], each["says"]


def _notes(result: SystemResult) -> Iterator[Note]:
    """Why errors have no rate, how often the judge changes its mind, and answers that are neither yes nor no."""
    reasons = grouped(
        (str(row.labels["note"]), str(row.labels["error"])) for row in result.rows if "note" in row.labels
    )
    for reason, names in reasons.items():
        yield Note(f"{', '.join(names)}: {reason}.", result.name)
    if (flips := find_row(result.rows, "flip_rate")) and flips.estimate.n:
        share = flips.estimate.text(lambda each: f"{100 * each:.3g} %")
        yield Note(
            f"Asked twice, the judge changes its answer in {share} (n = {flips.estimate.n}).", result.name
        )
    if (row := find_row(result.rows, "answered")) and row.counts["unread"]:
        yield Note(f"{row.counts['unread']} answers of the judge are neither yes nor no.", result.name)


def _lines(record: Record) -> list[TextLine]:
    lines: list[TextLine] = [("translation", record["translation"])]
    for each in record["asked"]:
        if each["kind"] in ("planted", "clean"):
            shown = f"{each.get('source', '')} → " if "source" in each else ""
            text = f"{shown}{each.get('translation', record['translation'])} ({each['says']})"
            lines.append((f"{each['kind']}, {each['error']}", text))
    return lines


# -- what is asked -----------------------------------------------------------------------------------------


def _is_program(judge: Any) -> bool:
    return bool(judge.fingerprint.backend == "command")


def _ask_judge(judge: Any, questions: Sequence[Mapping[str, str]], draw: Any) -> list[Reply]:
    """The answers, in order. All are asked in random order; equal ones once, unless asked `again`.

    A question is asked again with a space more at its end, so that no stored answer is found in a cache.
    """
    program = _is_program(judge)
    lines = []
    for each in questions:
        texts = {name: each[name] for name in ("source", "translation", "error")}
        line = json.dumps(texts, ensure_ascii=False) if program else fill(PROMPT, texts)
        lines.append(line + " " * (each["kind"] == "again"))
    once = list(dict.fromkeys(lines))
    shuffled = [once[place] for place in draw.permutation(len(once))]
    if program and shuffled:
        replies = [Reply(answer[0].text) for answer in ask_translate(judge, shuffled, beam=1)]
    else:
        replies = ask_reply(judge, shuffled) if shuffled else []
    found = dict(zip(shuffled, replies, strict=True))
    return [found[line] for line in lines]
