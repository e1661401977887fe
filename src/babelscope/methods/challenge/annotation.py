"""Was the dependency translated right? Section 4.3's manual validation: a blind queue, and its answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.core.comparison import Comparison
from babelscope.core.results import Record, Row, grouped
from babelscope.language.ud_rules import RESERVED
from babelscope.methods.challenge.sets import ALL, Instance, Labels, read_instances, share_row
from babelscope.methods.queue import Entry
from babelscope.stats.agreement import (
    CANNOT_TELL,
    NOT_REAL,
    REDUCTIONS,
    TRANSLATED_RIGHT,
    TRANSLATED_WRONG,
    Annotator,
    Judgment,
    compare,
)
from babelscope.testsets.items import ParallelSentence
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_json_lines, shorten

QUESTION = (
    "Do the two words form the construction, and is what they mean together translated right? "
    "Ignore the rest of the sentence."
)
CHOICES = (TRANSLATED_RIGHT, TRANSLATED_WRONG, NOT_REAL, CANNOT_TELL)
"""What an answer can be."""

# Of a dependency: words rather than positions, since these count tokens that a person does not see.
_SHOWN = {
    "side": "side",
    "head": "head_form",
    "head_position": "head",
    "head_at": "head_at",
    "dependent": "dependent_form",
    "dependent_position": "dependent",
    "dependent_at": "dependent_at",
}


def shown_words(dependency: Mapping[str, Any]) -> Record:
    """What an annotator is shown of the two words of a dependency, as far as it is known."""
    return {name: dependency[own] for name, own in _SHOWN.items() if dependency.get(own) is not None}


@dataclass(frozen=True, slots=True)
class Case:
    """One system's translation of one instance."""

    system: str
    instance: Instance
    unit: tuple[str, int]
    """Item, and number of the instance there. What is judged is the same for systems with the same translation; its
    `id` is its digest."""
    entry: Mapping[str, Any]


def check_annotatable(items: Iterable[ParallelSentence], distances: Sequence[int]) -> None:
    """Refuse a test set without dependencies of these distances, before it is translated."""
    records = [
        {"id": item.id, "system": "", "source": item.source, "references": item.references, "translation": ""}
        | {"extra": item.extra}
        for item in items
    ]
    if not entries(records, distances=distances):
        told = ", ".join(map(str, distances))
        raise BabelscopeError(f"there is no dependency of distance {told} to be annotated")


def entries(records: Iterable[Record], *, distances: Sequence[int] = ()) -> list[Entry]:
    """Every instance as every system translated it; neither system nor distance is shown."""
    found = []
    for case in cases_of(records):
        instance = case.instance
        # Of a reordering, no two words are to be judged.
        if instance.phenomenon not in RESERVED and (not distances or instance.distance in distances):
            of_distance = (f"{instance.distance:g}",) if distances else ()
            group = (instance.phenomenon, instance.side, *of_distance)
            found.append(Entry(dict(case.entry), case.unit, group))
    return found


def answers(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Judgment]:
    """The answers of one annotator by entry, from a queue filled in or what `babelscope annotate` wrote.

    Entries not answered yet are left out. Of several answers to one entry the last counts.
    """
    found: dict[str, Judgment] = {}
    for place, row in rows:
        key, answer = row.get("id"), row.get("answer")
        label = answer.get("label") if isinstance(answer, dict) else answer
        if not isinstance(key, str):
            raise BabelscopeError(f"{place}: field 'id' must be text")
        if label is not None and label not in CHOICES:
            told = ", ".join(CHOICES)
            raise BabelscopeError(f"{place}: {shorten(str(label))} is no answer; they are: {told}, or null")
        if label is not None:
            found[key] = Judgment(key, str(label))
    return found


def annotated_rows(comparison: Comparison, files: Sequence[Path]) -> list[Row]:
    """Annotators’ answers of all systems, and how far verdicts agree; files that are gone are left out."""
    paths = [path for path in files if path.is_file()]
    names = [path.stem for path in paths]
    annotators = {
        path.stem if names.count(path.stem) == 1 else str(path): answers(read_json_lines(path))
        for path in paths
    }
    if not annotators:
        return []
    records = [record for result in comparison.results for record in result.records]
    return [*answer_rows(records, annotators), *agreement_rows(records, annotators)]


def answer_rows(records: Iterable[Record], annotators: Mapping[str, Annotator]) -> list[Row]:
    """Shares of instances that are `real`, and of these `right`ly translated, with intervals over sources: of each
    system as a whole, by phenomenon, and by phenomenon and exact distance."""
    cases = list(cases_of(records))
    known = {case.entry["id"] for case in cases}
    rows: list[Row] = []
    for name, own in annotators.items():
        strange = sorted(own.keys() - known)
        if strange:
            raise BabelscopeError(
                f"{name} answers {len(strange)} entries, {shorten(strange[0])} among them, that are no "
                "translations of these systems and tests: name the same --system and --tests as for the run of the "
                "queue"
            )
        groups = grouped(
            ((case.system, *part), (own[case.entry["id"]], case.entry["source"]))
            for case in cases
            if case.entry["id"] in own
            for part in _parts(case.instance)
        )
        for (system, phenomenon, side, distance), some in sorted(groups.items()):
            labels: Labels = {"annotator": name, "system": system, "phenomenon": phenomenon}
            labels |= {"side": side} if side else {}
            if distance >= 0:
                labels["distance"] = int(distance) if distance == int(distance) else str(distance)
            rows += _shares(some, labels)
    return [*rows, *compare(annotators, "challenge")]


def _parts(found: Instance) -> list[tuple[str, str, float]]:
    """Phenomenon, side and distance of the groups that an instance is in; -1: any distance."""
    return [
        (ALL, "", -1.0),
        (found.phenomenon, found.side, -1.0),
        (found.phenomenon, found.side, found.distance),
    ]


def _shares(some: Sequence[tuple[Judgment, str]], labels: Labels) -> Iterator[Row]:
    unsure = sum(judgment.label == CANNOT_TELL for judgment, _ in some)
    for name, how, no in (("real", "real", NOT_REAL), ("right", "binary", TRANSLATED_WRONG)):
        reduced = [(REDUCTIONS["challenge"][how](judgment), source) for judgment, source in some]
        told = [(label != no, source) for label, source in reduced if label is not None]
        counts = {"yes": sum(yes for yes, _ in told), "answered": len(some), "cannot_tell": unsure}
        yield share_row(name, labels, told, counts)


def cases_of(records: Iterable[Record]) -> Iterator[Case]:
    """Every instance of every system."""
    for record in records:
        extra = record.get("extra", {})
        for number, instance in enumerate(read_instances(extra, f"item {record['id']}")):
            asked = {
                "source": record["source"],
                "reference": record["references"][0],
                "translation": record["translation"],
                "phenomenon": instance.phenomenon,
                **shown_words(extra["dependencies"][number]),
            }
            key = digest_json([record["id"], number, asked])[:16]
            told = {"task": "challenge", "question": QUESTION, "choices": list(CHOICES), "answer": None}
            yield Case(record["system"], instance, (record["id"], number), {"id": key, **asked, **told})


_MEANT = {TRANSLATED_RIGHT: "kept", TRANSLATED_WRONG: "lost"}


def agreement_rows(records: Iterable[Record], annotators: Mapping[str, Annotator]) -> list[Row]:
    """Of the dependencies that a person calls right or wrong and a verdict was reached on, how many agree.

    By annotator and phenomenon, over all systems; `undecided` counts those without a verdict, which are not in n.
    """
    judged = {
        case.entry["id"]: (case.instance.phenomenon, verdict["verdict"], record["source"])
        for record in records
        for case, verdict in zip(cases_of([record]), record.get("verdicts", ()), strict=False)
    }
    rows = []
    for name, own in annotators.items():
        compared = grouped(
            (group, (verdict, _MEANT[answer.label], source))
            for key, answer in own.items()
            if key in judged and answer.label in _MEANT
            for phenomenon, verdict, source in [judged[key]]
            for group in (ALL, phenomenon)
        )
        for phenomenon, some in sorted(compared.items()):
            decided = [(verdict == said, source) for verdict, said, source in some if verdict != "undecided"]
            found = Counter((verdict, said) for verdict, said, _ in some)
            counts = {
                "kept_but_wrong": found["kept", "lost"],
                "lost_but_right": found["lost", "kept"],
                "undecided": len(some) - len(decided),
            }
            labels: Labels = {"annotator": name, "phenomenon": phenomenon}
            rows.append(share_row("verdict_agreement", labels, decided, counts))
    return rows
