"""Rules per item: words and expressions that a translation must have, or must not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import PairedField, Record, Row, grouped
from babelscope.core.settings import ErrorSettings, Rerun
from babelscope.core.tables import Note, Table
from babelscope.methods.base import Items, Method
from babelscope.methods.measuring import answer_counts
from babelscope.methods.reporting import Figure, ItemView, count_notes, summary_table
from babelscope.stats.intervals import clustered_proportion
from babelscope.systems.contract import ask_translate
from babelscope.testsets.items import MinimalPair, ParallelSentence, SourceSentence
from babelscope.util.errors import BabelscopeError
from babelscope.util.expressions import (
    LONGEST,
    TooCostlyError,
    check_expression,
    has_expression,
    has_word,
)
from babelscope.util.text import shorten

RULES = "rules"
"""Field of items that have rules."""
_MOST_RULES = 1000


class Rule(BaseModel):
    """One rule; it has exactly one of `require`, `ban`, `right` and `wrong`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    require: str = ""
    """The translation must have this."""
    ban: str = ""
    """The translation must not have this."""
    right: str = ""
    """A translation that is this, or has a match of this expression, is right."""
    wrong: str = ""
    """The same for wrong; translations that are neither are undecided."""
    regex: bool = False
    """Whether it is a regular expression; else a word (require, ban) or a whole translation (right, wrong)."""
    ignore_case: bool = False
    severity: str = Field(default="", max_length=40)
    comment: str = Field(default="", max_length=1000)

    @property
    def text(self) -> str:
        return self.require or self.ban or self.right or self.wrong

    def matches(self, translation: str) -> bool:
        """Whether the translation has, or is, the text; TooCostlyError if that cannot be told."""
        if not self.regex and (self.right or self.wrong):
            return " ".join(translation.split()) == " ".join(self.text.split())
        has = has_expression if self.regex else has_word
        return has(self.text, translation, ignore_case=self.ignore_case)


def rules_of(item: Any) -> list[Rule]:
    """The checked rules of an item; an error says which one is wrong."""
    stated = item.extra.get(RULES, ())
    if not isinstance(stated, list | tuple) or len(stated) > _MOST_RULES:
        raise BabelscopeError(f"item {shorten(item.id)}: rules must be a list of at most {_MOST_RULES} rules")
    found = []
    for number, each in enumerate(stated, 1):
        where = f"item {shorten(item.id)}, rule {number}"
        try:
            rule = Rule.model_validate(each)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))
            raise BabelscopeError(f"{where}: {place + ': ' if place else ''}{fault['msg']}") from None
        kinds = [name for name in ("require", "ban", "right", "wrong") if getattr(rule, name)]
        if len(kinds) != 1:
            raise BabelscopeError(f"{where} must have one of require, ban, right and wrong")
        if len(rule.text) > LONGEST:
            raise BabelscopeError(f"{where} has more than {LONGEST:,} characters")
        if rule.regex:
            try:
                check_expression(rule.text)
            except BabelscopeError as error:
                raise BabelscopeError(f"{where}: {error}") from None
        found.append(rule)
    return found


def verdict_of(rules: Sequence[Rule], translation: str) -> tuple[str, Rule | None]:
    """right, wrong or undecided, and the rule that decides.

    Whole translations decide first. Then a broken `require` or `ban` is wrong, as is a match of a `wrong`
    expression; a match of a `right` one, or that all of `require` and `ban` hold, is right.
    """
    for rule in rules:
        if not rule.regex and (rule.right or rule.wrong) and rule.matches(translation):
            return ("right" if rule.right else "wrong"), rule
    try:
        matched = [rule.matches(translation) for rule in rules]
    except TooCostlyError:
        return "timeout", None
    for rule, matches in zip(rules, matched, strict=True):
        if (
            (rule.require and not matches)
            or (rule.ban and matches)
            or (rule.wrong and rule.regex and matches)
        ):
            return "wrong", rule
    for rule, matches in zip(rules, matched, strict=True):
        if rule.right and rule.regex and matches:
            return "right", rule
    return ("right" if any(rule.require or rule.ban for rule in rules) else "undecided"), None


class RulesSettings(ErrorSettings):
    """How translations are made, and by what they are grouped."""

    beam: Rerun[int] = Field(default=5, ge=1)
    """Beam size of the systems' translations."""
    group: str = ""
    """Field of items by which figures are split. [default: category or phenomenon]"""


class Rules(Method):
    """Rules: words that translations must have or must not have

    Does the system keep the rules that each sentence comes with?

    A translation is right or wrong by the words and expressions of its item. Where these decide nothing, it is
    undecided and not counted. The error rate is the share of wrong ones among the decided.
    """

    name = "rules"
    items = (SourceSentence, ParallelSentence, MinimalPair)
    Settings = RulesSettings
    settings: RulesSettings

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        """Refuse test sets without rules, and rules that cannot be read."""
        super().check(items, systems)
        if systems is None and not [rule for item in items for rule in rules_of(item)]:
            raise BabelscopeError("no item has rules; `rules:FILE.tsv` and `dfki:` have them")

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        """One record per item: its translation, and its rules."""
        questions = [item.question for item in items]
        answers = ask_translate(systems["system"], questions, beam=self.settings.beam)
        return [
            {
                "source": item.source,
                "translation": answer[0].text,
                "notes": list(answer[0].notes),
                RULES: [rule.model_dump(exclude_defaults=True) for rule in rules_of(item)],
                "group": self._group(item.extra),
            }
            for item, answer in zip(items, answers, strict=True)
        ]

    def _group(self, extra: Mapping[str, Any]) -> str:
        names = [self.settings.group] if self.settings.group else ["category", "phenomenon"]
        return next((str(extra[name]) for name in names if name in extra), "")

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with a verdict, and the text, severity and comment of the rule that decides."""
        judged = []
        for record in records:
            rules = [Rule.model_validate(each) for each in record[RULES]]
            verdict, rule = verdict_of(rules, record["translation"])
            why = rule.model_dump(include={"severity", "comment"}, exclude_defaults=True) if rule else {}
            judged.append({**record, "verdict": verdict, "by": rule.text if rule else "", **why})
        return judged

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """`broken_rules` over all items, and by group: wrong translations among those that the rules decide."""
        counts = answer_counts(records)
        rows = [_row(records, {}, counts)]
        groups = grouped((str(record["group"]), record) for record in records)
        return rows + [_row(own, {"group": name}, {}) for name, own in groups.items() if name]

    def paired(self) -> Sequence[PairedField]:
        """Right and wrong, over all items and by group."""
        worth = {"right": 1.0, "wrong": 0.0}
        return [
            PairedField("verdict", worth=worth, of="broken_rules", measure="accuracy"),
            PairedField(
                "verdict", worth=worth, of="broken_rules,group={group}", by=("group",), unranked=("",)
            ),
        ]

    def tables(self, comparison: Comparison) -> list[Table]:
        """The error rate over all items and by group."""

        def figures(result: SystemResult) -> Iterator[Figure]:
            for row in (each for each in result.rows if each.name == "broken_rules"):
                name = str(row.labels.get("group", "all items"))
                query = {"group": str(row.labels.get("group", "")), "verdict": "wrong"}
                more = (row.counts["undecided"],)
                yield Figure(name, row.estimate, is_error=True, query=query, more=more)

        notes = [
            *count_notes(comparison, {"empty": "have an empty translation"}),
            *(note for result in comparison.results for note in _timeouts(result)),
        ]
        title = f"Broken rules: {comparison.tests}"
        threshold = self.settings.error_threshold
        return [
            summary_table(
                comparison,
                figures,
                title=title,
                labels=("group",),
                value="error rate",
                more=("undecided",),
                notes=notes,
                threshold=threshold,
            )
        ]

    def show(self, record: Record) -> ItemView:
        """The translation, and the rule that decided."""
        tone = {"right": "none", "wrong": "errors"}.get(record["verdict"], "note")
        facts = [f"by {record['by']}"] if record["by"] else []
        facts += [str(record[name]) for name in ("severity", "comment") if record.get(name)]
        return ItemView(
            record["source"],
            (record["group"],) if record["group"] else (),
            verdict=record["verdict"],
            tone=tone,  # type: ignore[arg-type]
            facts="; ".join(facts),
            answer=lambda: [("translation", record["translation"])],
        )


def _row(records: Sequence[Record], labels: Mapping[str, str], counts: Mapping[str, int]) -> Row:
    verdicts = Counter(record["verdict"] for record in records)
    decided = [record for record in records if record["verdict"] in ("right", "wrong")]
    wrong = [float(record["verdict"] == "wrong") for record in decided]
    severities = Counter(str(record["severity"]) for record in decided if record.get("severity"))
    estimate = clustered_proportion(wrong, [record["source"] for record in decided])
    own = {"wrong": verdicts["wrong"], "undecided": verdicts["undecided"], "timeout": verdicts["timeout"]}
    of_severity = {f"severity_{name}": count for name, count in severities.items()}
    return Row(
        "broken_rules",
        estimate,
        {**labels, "better": "lower"},
        {**own, **of_severity, **counts},
        part=bool(labels),
    )


def _timeouts(result: SystemResult) -> Iterator[Note]:
    count = sum(record.get("verdict") == "timeout" for record in result.records)
    if count:
        yield Note(
            f"{count} items are undecided, because an expression takes too much time or memory.", result.name
        )
