"""Errors in a system's own translations, found by detectors and corrected for what these miss."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from babelscope.core.charts import Bar, Chart, Forest, Key, point
from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import PairedField, Record, Row, grouped
from babelscope.core.settings import ErrorSettings, Metavar, Option, Rerun
from babelscope.core.system import Scored
from babelscope.core.tables import Note, Table
from babelscope.language.base import Analyzed, Language
from babelscope.language.checks.glossary import read_glossary
from babelscope.language.checks.registry import CHECKS, base_code
from babelscope.language.fitness import check_language, other_language
from babelscope.language.general.types import GENERAL_TYPES
from babelscope.language.registry import (
    analysis_version,
    can_detect,
    controls,
    detectors,
    error_type,
    language,
    languages_with_detectors,
    missing_analysis_error,
)
from babelscope.methods.base import Items, Method
from babelscope.methods.errors.checking import (
    ROW,
    check_differences,
    check_records,
    check_rows,
    false_alarm_note,
    references_of,
)
from babelscope.methods.errors.figures import (
    NOT_MEASURABLE,
    OTHER_LANGUAGE,
    generated_error_rows,
    tested_differences,
)
from babelscope.methods.errors.parsing import PARSED_TYPES, detect_parsed, detectors_identity, open_detectors
from babelscope.methods.measuring import answer_counts, pair_texts, warn_of_pooled_languages
from babelscope.methods.queue import Entry
from babelscope.methods.reporting import (
    Figure,
    ItemView,
    Shown,
    Tone,
    count_notes_of,
    pivot,
    summary_table,
    tooltip,
)
from babelscope.metrics.base import is_allowed
from babelscope.stats.agreement import LABELS
from babelscope.stats.paired import tested_rows
from babelscope.systems.contract import ask_translate
from babelscope.testsets.items import MinimalPair, ParallelSentence, SourceSentence
from babelscope.util.digests import digest_file, digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

# --- What detectors say about a system's translations, and about texts whose errors are known ----------------------


class _Reader:
    """Analyzes every text once."""

    def __init__(self) -> None:
        self._analyzed: dict[tuple[str, str], Analyzed[Any]] = {}

    def read(self, code: str, text: str) -> Analyzed[Any]:
        if (code, text) not in self._analyzed:
            self._analyzed[code, text] = language(code).analyzer().analyze(text)
        return self._analyzed[code, text]

    def alarms(self, names: Iterable[str], source: str, texts: Sequence[str]) -> dict[str, list[bool]]:
        """What each detector says of each text."""
        return {
            name: [detectors()[name](source, self.read(error_type(name).language, text)) for text in texts]
            for name in names
        }


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
        own = [name] if name in applicable else []
        others = _other_languages(code, best, [correct])
        detected: Record = {"reference": {}}
        if "reference" not in others:
            false = reader.alarms(applicable, source, [correct])
            detected["reference"] = {each: alarm for each, (alarm,) in false.items()}
        if own and "best" not in others:
            ((detected["best"],),) = reader.alarms(own, source, [best]).values()
        if own and "reference" not in others:
            (detected["contrastive"],) = reader.alarms(own, source, contrastive).values()
        found.append({"detected": detected | ({"other_language": others} if others else {})})
    return found


def detect_in_parallel(records: Sequence[Record], names: Sequence[str], code: str) -> Iterator[Record]:
    """Run the detectors `names` of the language `code` on each record with `references` and `best`.

    The fields are those of pairs by error type, for every detector that applies to the source. What a detector
    finds is measured on variants of the references with the error put in, one per reference (`variants`).
    """
    reader = _Reader()
    for record in records:
        source, text, references = record["source"], record["best"]["text"], record["references"]
        if (base_code(record.get("target_language")) or code) != code:
            yield {}
            continue
        applicable = [name for name in names if can_detect(name, source)]
        others = _other_languages(code, text, references)
        known = [] if "reference" in others else references
        variants = {name: _variants(reader, name, source, known) for name in applicable}
        best = [] if "best" in others else applicable
        detected: Record = {
            "best": {name: alarm for name, (alarm,) in reader.alarms(best, source, [text]).items()},
            "reference": reader.alarms(applicable, source, known),
            "contrastive": {
                name: reader.alarms([name], source, [wrong for _, wrong in some])[name]
                for name, some in variants.items()
            },
            **({"other_language": others} if others else {}),
        }
        yield {"detected": detected, "variants": {name: some for name, some in variants.items() if some}}


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


# --- What can be chosen about errors in translations ---------------------------------------------------------------


class ErrorsSettings(ErrorSettings):
    """Which errors are looked for."""

    types: Option[Annotated[tuple[str, ...], Metavar("TYPE")]] = ()
    """An error type to detect. [default: all with a detector]"""
    check: Option[Annotated[tuple[str, ...], Metavar("CHECK")]] = ()
    """A check that needs no parser, or all: negation, number, unit, name, copy, untranslated, language, repetition,
    omission, addition, truncation, empty, punctuation, glossary. [default: all, for sources without references and
    languages without detectors]"""
    source_language: Option[str] = ""
    """Language of the sources, for checks, if the test set does not state it."""
    target_language: Option[str] = ""
    """Language of the translations, if the test set does not state it."""
    parser: Annotated[str | None, Metavar("PARSER")] = None
    """Detect general error types in parsed translations of any language (udpipe:MODEL, spacy:MODEL, stanza:LANGUAGE).
    Needs target_language and a treebank among lexicons."""
    lexicons: Annotated[tuple[str, ...], Metavar("LEXICON")] = ()
    """Treebanks and lexicons of that language, as in make pairs; at least one FILE.conllu."""
    glossary: Option[Annotated[Path | None, Metavar("FILE")]] = None
    """A TOML file of required and forbidden terms (docs of `errors`)."""
    beam: Rerun[int] = Field(default=5, ge=1)
    """Beam size of the translations."""
    controls: Annotated[tuple[str, ...], Metavar("TYPE")] = Field(default_factory=controls)
    """An implausible error type that no system is known to produce."""

    @model_validator(mode="after")
    def _have_detectors(self) -> Self:
        for name in self.check:
            if name != "all" and name not in CHECKS:
                raise BabelscopeError(f"there is no check {name!r}; known are {', '.join(CHECKS)}")
        if self.glossary is not None:
            read_glossary(self.glossary)
        if (self.parser is None) != (not self.lexicons) or (self.parser and not self.target_language):
            raise BabelscopeError("parsed translations need all of parser, lexicons and target_language")
        for name in self.types if self.parser else ():
            if name not in PARSED_TYPES:
                raise BabelscopeError(
                    f"no detector over parsed text finds {name}; these do: {', '.join(PARSED_TYPES)}"
                )
        for name in self.types if not self.parser else ():
            error_type(name)  # a name that does not exist is refused with those that do
            if name not in detectors():
                raise BabelscopeError(f"{name} has no detector; these have one: {', '.join(detectors())}")
        # Otherwise the test set decides which language is needed (`check`).
        if self.types and not self.parser and not any(each.analysis_version() for each in self.languages()):
            raise missing_analysis_error(self.languages())
        return self

    def chosen(self, code: str | None = None) -> list[str]:
        """The error types to look for; all, or those of one language."""
        known = PARSED_TYPES if self.parser else detectors(code)
        return [name for name in known if not self.types or name in self.types]

    def languages(self) -> list[Language]:
        """The languages of the detectors to run; refuse a language that has none."""
        codes = {error_type(name).language for name in self.chosen()}
        known = [each for each in languages_with_detectors() if each.code in codes]
        found = [each for each in known if self.target_language in ("", each.code)]
        if not found:
            there = ", ".join(f"{each.english} ({each.code})" for each in known)
            raise BabelscopeError(
                f"there is no detector of errors in {self.target_language}; there are detectors for {there}"
            )
        return found

    def parallel_language(self) -> str:
        """The language whose detectors read translations of parallel sentences."""
        if self.parser:
            return base_code(self.target_language)
        codes = sorted(each.code for each in self.languages())
        codes = [code for code in codes if code in installed_languages()] or codes
        if len(codes) > 1:
            raise BabelscopeError(
                f"there are detectors of errors in {', '.join(codes)}: name one of these languages (target_language)"
            )
        return codes[0]

    def identity(self) -> Mapping[str, Any]:
        """What detectors say depends on their versions and on the analysis."""
        if self.parser:
            own = {"types": ", ".join(self.chosen()), **detectors_identity(self.parser, self.lexicons)}
        else:
            named = ", ".join(f"{name} v{error_type(name).version}" for name in self.chosen())
            own = {"types": f"{named}; {analysis_version()}"}
        return own if self.glossary is None else own | {"glossary": digest_file(self.glossary)}

    def checks(self, *, alone: bool) -> tuple[str, ...]:
        """The checks to run; all where nothing else can be said (`alone`), unless some are named."""
        return tuple(CHECKS) if "all" in self.check or (alone and not self.check) else self.check

    def has_detectors(self) -> bool:
        """Whether there are detectors of the language of the translations."""
        return bool(self.parser) or self.target_language in (
            "",
            *(each.code for each in languages_with_detectors()),
        )


# --- The method ----------------------------------------------------------------------------------------------------

_JUDGED_FIELDS = ("detected", "variants", "alarms", "verdict")
_VERDICTS: Mapping[str, tuple[str, Tone]] = {
    "error": ("error found", "errors"),
    "none": ("none found", "none"),
    "untold": ("no detector applies", "note"),
}
_COUNTED = {
    OTHER_LANGUAGE: "have a translation in another language, which no detector was given",
    "empty": "have an empty translation",
    "truncated": "were too long and were cut",
    "unfinished": "have a translation that was not finished",
}


class Errors(Method):
    """Errors in its own translations

    Which errors does the system make when it translates?

    The system translates freely, and detectors look for errors of known types in what it writes: a "not" that is
    lost, a verb that does not agree with its subject.

    Detectors miss errors and raise false alarms. How many is measured on the references of the same test set, as
    they are and with the error put in, and the share of alarms is corrected for both (Rogan and Gladen 1978). Sources
    and translations that a detector cannot judge are left out and counted.
    """

    name = "errors"
    items = (MinimalPair, ParallelSentence, SourceSentence)
    Settings = ErrorsSettings
    settings: ErrorsSettings

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        """Refuse a test set that no detector can judge, before any system is asked; by its language first."""
        super().check(items, systems)
        if systems is not None:
            return
        if self.settings.parser:
            self._check_parsed(items)
            return
        chosen = self.settings.chosen()
        texts: dict[str, list[str]] = {}
        if self._checks(items):
            self._require_languages(items)
        for item in items:
            if isinstance(item, MinimalPair):
                if item.phenomenon in chosen:
                    texts.setdefault(error_type(item.phenomenon).language, []).append(item.correct)
                continue
            if isinstance(item, SourceSentence) or not self.settings.has_detectors():
                continue
            code = self.settings.parallel_language()
            if (base_code(item.target_language) or code) == code:
                texts.setdefault(code, []).extend(item.references)
        if not texts and self._checks(items):
            return
        if not texts:
            raise BabelscopeError(
                f"no item can be judged: there are detectors of {', '.join(chosen)}, and no pair is of one of these, "
                "nor a translation in their language"
            )
        for code, references in texts.items():
            name = language(code).english
            check_language(references, code, what="the references", needed_by=f"detectors of {name} errors")
        if not installed_languages().intersection(texts) and not self._checks(items):
            raise missing_analysis_error([language(code) for code in texts])
        warn_of_pooled_languages(items)

    def _check_parsed(self, items: Sequence[Any]) -> None:
        """Open the parser; refuse a test set without references."""
        parsed = [item for item in items if isinstance(item, ParallelSentence)]
        if len(parsed) < len(items) or self.settings.parser is None:
            raise BabelscopeError("detectors over parsed text need a test set of sources with references")
        open_detectors(self.settings.parser, self.settings.lexicons)
        texts = [text for item in parsed for text in item.references]
        code = self.settings.parallel_language()
        check_language(texts, code, what="the references", needed_by=f"the parser {self.settings.parser}")

    def _checks(self, items: Sequence[Any]) -> tuple[str, ...]:
        """The checks of these items or records."""
        alone = not self.settings.has_detectors() or any(_is_alone(each) for each in items)
        return self.settings.checks(alone=alone)

    def _require_languages(self, items: Sequence[Any]) -> None:
        for name in ("source_language", "target_language"):
            if not getattr(self.settings, name) and not all(getattr(item, name) for item in items):
                raise BabelscopeError(
                    f"checks need the languages: give --{name.replace('_', '-')} ({name} in a study), or a test set "
                    "that states it of every item"
                )

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        """One record per item: its texts, and what the system writes itself (`best`)."""
        questions = [item.question for item in items]
        answers = ask_translate(systems["system"], questions, beam=self.settings.beam)
        return [_record(item, answer[0]) for item, answer in zip(items, answers, strict=True)]

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with what detectors say (`detected`), their `alarms` by error type, and a verdict."""
        started = [each for each in (self.settings.parser, *self.settings.lexicons) if each]
        if not all(map(is_allowed, started)):
            if all("verdict" in record for record in records):
                return list(records)  # a stranger's run: what it names is not opened
        elif not analysis_version() and not self._checks(records) and not self.settings.parser:
            if not all("verdict" in record for record in records):
                raise missing_analysis_error()
            return list(records)  # judged where the analyzer is installed, which it is not here
        chosen = self.settings.chosen()
        is_pair = ["phenomenon" in record for record in records]
        pairs = iter(detect_in_pairs(list(itertools.compress(records, is_pair))))
        sentences: Iterator[Record] = iter(())
        parallel = [
            record
            for record, pair in zip(records, is_pair, strict=True)
            if not pair and record["references"] and self.settings.has_detectors()
        ]
        if not self.settings.parser and parallel:
            parallel = parallel if self.settings.parallel_language() in installed_languages() else []
        if parallel:
            sentences = self._detect(parallel)
        judged = []
        for record, pair in zip(records, is_pair, strict=True):
            found = next(pairs if pair else sentences) if pair or parallel else {}
            if pair and record["phenomenon"] not in chosen:
                found = {}
            alarms = found.get("detected", {}).get("best", {})
            if isinstance(alarms, bool):
                alarms = {record["phenomenon"]: alarms}
            verdict = "error" if any(alarms.values()) else "none" if alarms else "untold"
            kept = {name: value for name, value in record.items() if name not in _JUDGED_FIELDS}
            judged.append({**kept, **found, "alarms": alarms, "verdict": verdict})
        return judged

    def _detect(self, records: Sequence[Record]) -> Iterator[Record]:
        """What detectors say of translations with references."""
        code, settings = self.settings.parallel_language(), self.settings
        if settings.parser is None:
            return detect_in_parallel(records, settings.chosen(code), code)
        source = base_code(settings.source_language)
        detectors_ = open_detectors(settings.parser, settings.lexicons)
        return detect_parsed(records, settings.chosen(), (source, code), detectors_)

    def complete(self, records: Sequence[Record]) -> Sequence[Record]:
        """The records with what checks find, which know the usual length of all translations."""
        names = self._checks(records)
        if not names:
            return records
        languages = self.settings.source_language, self.settings.target_language
        glossary = read_glossary(self.settings.glossary) if self.settings.glossary is not None else None
        return check_records(records, names, languages, glossary)

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """`generated_errors` by error type, and by kind of reference where there are several; `checked_errors` by
        check."""
        best = [record["best"] for record in records]
        counts = answer_counts([{"translation": each["text"], "notes": each["notes"]} for each in best])
        return [
            Row(row.name, row.estimate, row.labels, {**row.counts, **counts})
            for row in generated_error_rows(records, controls=self.settings.controls)
        ] + check_rows(records, counts)

    def paired(self) -> Sequence[PairedField]:
        """The alarms of every detector, of the language of the translations if it is known, and of every check."""
        fields = [
            *(("alarms", name) for name in self.settings.chosen(self.settings.target_language or None)),
            *(("flagged", name) for name in CHECKS),
        ]
        return [PairedField(each, measure=each[1], higher_is_better=False) for each in fields]

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:  # noqa: ARG002
        """Differences of `generated_errors` between every two systems."""
        pairs = itertools.combinations(comparison.results, 2)
        found = [each for pair in pairs for each in (*tested_differences(*pair), *check_differences(*pair))]
        return tested_rows("difference", found)

    def tables(self, comparison: Comparison) -> list[Table]:
        """The corrected error rates by error type, and the same by kind of reference, side by side."""

        has_kinds = any(
            "reference" in row.labels for result in comparison.results for row in _error_rows(result)
        )
        labels = ("error type", "references") if has_kinds else ("error type",)

        def figures(result: SystemResult) -> Iterator[Figure]:
            for row in _error_rows(result):
                name = str(row.labels["phenomenon"])
                yield Figure(
                    (name, str(row.labels.get("reference", "")))[: len(labels)],
                    row.estimate,
                    is_error=True,
                    is_control="control" in row.labels,
                    query={"group": _group(row), "verdict": _alarm(name)},
                    more=(row.counts["alarms"],),
                )

        def all_figures(result: SystemResult) -> Iterator[Figure]:
            yield from figures(result)
            for row in result.rows:
                if row.name == ROW:
                    name = str(row.labels["error"])
                    query = {"group": name, "verdict": _alarm(name)}
                    cells = (name, "")[: len(labels)]
                    yield Figure(
                        cells, row.estimate, is_error=True, query=query, more=(row.counts["alarms"],)
                    )

        first = summary_table(
            comparison,
            all_figures,
            title=f"Errors in its own translations, corrected for what detectors miss: {comparison.tests}",
            labels=labels,
            value="error rate",
            more=("alarms",),
            notes=[
                *(note for result in comparison.results for note in _notes(result)),
                *false_alarm_note(comparison.results),
            ],
            threshold=self.settings.error_threshold,
        )
        shown = Shown("error rate", lambda row: row.name == "generated_errors", "percent")
        by_type = pivot(comparison, "By error type", ("phenomenon", "reference"), [shown], name="by-type")
        return [first, *by_type]

    def charts(self, comparison: Comparison) -> list[Chart]:
        """A forest plot of the error types."""
        bars = grouped(
            (
                _group(row),
                Bar(result.name, point(row.estimate), tooltip(f"{result.name}, {_group(row)}", row.estimate)),
            )
            for result in comparison.results
            for row in _error_rows(result)
            if row.estimate.n
        )
        keys = [Key(result.name, result.name) for result in comparison.results]
        chart = Chart(
            "Errors in its own translations, by error type",
            Forest(list(bars.items()), "share of sentences", keys, zero=0.0),
            "How often a detector finds the error, corrected for what the detector misses and for its false "
            "alarms. Where the interval reaches 0, the error was not shown to happen at all.",
        )
        return [chart] if bars else []

    def show(self, record: Record) -> ItemView:
        """The texts of the item, what the system wrote, and the alarms on it."""
        detected = record.get("detected", {})
        if "phenomenon" in record:
            heading = f"{record['phenomenon']}, {record['reference']} reference"
            groups = (record["phenomenon"], heading)
            correct, contrastive = pair_texts(record)
            lines = [("right", correct), *(("with the error", each) for each in contrastive)]
        else:
            heading, groups = "", tuple(detected.get("reference", {}))
            lines = [("reference", text) for text in record["references"]]
        groups = (*groups, *record.get("checks", {}))
        verdict, tone = _VERDICTS[record["verdict"]]
        facts = [_alarm(name) for name, alarm in record["alarms"].items() if alarm]
        facts += [_alarm(name) for name, found in record.get("checks", {}).items() if found is not None]
        if other := detected.get(OTHER_LANGUAGE, {}).get("best"):
            verdict, facts = "in another language", [f"language {other}"]
        return ItemView(
            record["source"],
            groups,
            heading,
            lines,
            verdict,
            tone,
            facts,
            facts="; ".join(facts),
            answer=lambda: [("its own translation", record["best"]["text"])],
            questions=list(_questions(record)),
            group_name="error type",
        )


def _is_alone(each: Any) -> bool:
    """Whether an item or a record of one has no reference."""
    if isinstance(each, Mapping):
        return not references_of(each)  # type: ignore[arg-type]
    return isinstance(each, SourceSentence)


def _record(item: MinimalPair | ParallelSentence | SourceSentence, best: Scored) -> Record:
    answer = {"text": best.text, "notes": list(best.notes)}
    if isinstance(item, MinimalPair):
        return {
            "source": item.source,
            "phenomenon": item.phenomenon,
            "reference": item.reference,
            "texts": {"correct": item.correct, "contrastive": list(item.contrastive)},
            "best": answer,
        }
    stated = {"target_language": item.target_language} if item.target_language else {}
    if item.source_language:
        stated["source_language"] = item.source_language
    return {"source": item.source, "references": list(item.references), **stated, "best": answer}


def _questions(record: Record) -> Iterator[Entry]:
    """Every error type that a detector looked for, with a reference into which the same error was put."""
    text = record["best"]["text"]
    for name, alarm in record["alarms"].items() if text.strip() else ():
        if "phenomenon" in record:
            correct, (contrastive, *_) = pair_texts(record)
        elif made := record["variants"].get(name):
            correct, contrastive = made[0]
        else:  # the error has no place in a reference
            continue
        line = {
            "id": record["id"] if "phenomenon" in record else f"{record['id']}/{name}",
            "system": record["system"],
            "tests": record["tests"],
            "task": "machine-reference",
            "phenomenon": name,
            "source": record["source"],
            "translation": text,
            "correct": correct,
            "contrastive": contrastive,
            "question": f"Does the translation have this error? {_definition(name)}",
            "choices": list(LABELS["machine-reference"]),
        }
        yield Entry(line, (record["id"], name), (name, "alarm" if alarm else "no alarm"))


def _definition(name: str) -> str:
    """What an error type is, in a full sentence."""
    return GENERAL_TYPES[name].definition if name in GENERAL_TYPES else error_type(name).definition


def _error_rows(result: SystemResult) -> list[Row]:
    return [row for row in result.rows if row.name == "generated_errors"]


def _group(row: Row) -> str:
    """The error type of a row, with the kind of reference where it has one."""
    kind = row.labels.get("reference")
    return f"{row.labels['phenomenon']}, {kind} reference" if kind else str(row.labels["phenomenon"])


def _alarm(name: str) -> str:
    return f"alarm of {name}"


def _notes(result: SystemResult) -> Iterator[Note]:
    """What detectors could not judge, and controls that they find."""
    counted = _COUNTED
    for row in _error_rows(result):
        note = str(row.labels.get("note", ""))
        reason = note.removeprefix(NOT_MEASURABLE).lstrip("; ")
        name = row.labels["phenomenon"]
        if "in the language" in reason:  # all texts together are, so single ones need no count
            counted = {each: what for each, what in _COUNTED.items() if each != OTHER_LANGUAGE}
            yield Note(f"{reason}.", result.name)
        elif reason:
            yield Note(f"{name}: {reason}.", result.name)
        if "control" in row.labels and row.estimate.n and NOT_MEASURABLE not in note:
            found = f"detectors find an error that no system is known to make ({name})"
            yield Note(f"{found}: so may other errors be false.", result.name)
    yield from count_notes_of(result.name, result.rows, counted)
