"""A gate's decision as text, JSON and JUnit XML; a report card as text and JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from babelscope.core.results import finite_or_none, grouped, shorten_signature
from babelscope.core.tables import Column, Line, Table, as_text
from babelscope.decide.card import QUESTIONS, Card, untested_lines
from babelscope.decide.gate import CheckResult, Gate
from babelscope.util.terminal import visible, wrap
from babelscope.util.text import shorten

_ORDER = {"worse": 0, "too few items": 1, "not worse": 2, "better": 3}
_HEADLINES = {
    "worse": "WORSE: {new} makes more errors than {old}.",
    "not worse": "NOT WORSE: in no check is {new} worse than {old} by {margin} or more.",
    "too few items": "TOO FEW ITEMS to tell whether {new} is worse than {old} by {margin}.",
}
# What XML 1.0 cannot contain.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST_EXAMPLE = 240


def ordered(gate: Gate) -> list[CheckResult]:
    """The checks that applied to an item, the worst first."""
    return sorted(
        gate.tested,
        key=lambda each: (
            _ORDER[each.verdict],
            each.p,
            -(finite_or_none(each.rates.difference.value) or 0.0),
        ),
    )


def headline(gate: Gate) -> str:
    """The decision in one sentence."""
    return _HEADLINES[gate.verdict].format(old=gate.old, new=gate.new, margin=_percent(gate.settings.margin))


def as_table(gate: Gate) -> Table:
    """One line per check: error rates, difference with interval, verdict."""
    several = len({each.check.tests for each in gate.tested}) > 1
    labels = ["check", *(["tests"] if several else [])]
    headings: list[str | Column] = [
        *labels,
        Column(gate.old, "percent"),
        Column(gate.new, "percent"),
        Column("difference", "percent", digits=1, sign=True),
        "applies",
        "verdict",
    ]
    rows = [
        Line(
            [
                each.check.name,
                *([each.check.tests] if several else []),
                each.rates.old,
                each.rates.new,
                each.rates.difference,
                each.check.applies,
                each.verdict,
            ]
        )
        for each in ordered(gate)
    ]
    return Table(f"Errors of {gate.old} and {gate.new}", headings, rows, labels=len(labels), name="gate")


def as_lines(gate: Gate, width: int) -> str:
    """What the terminal shows: decision, table, items behind a regression, what is missing."""
    parts = ["\n".join(wrap(visible(headline(gate)), width)), as_text(as_table(gate), width)]
    for each in ordered(gate):
        if each.verdict == "worse":
            parts.append("\n".join(_explain_worse(gate, each, width)))
    if gate.verdict == "too few items":
        parts.append("\n".join(_explain_open(gate, width)))
    parts.append("\n".join(_closing(gate, width)))
    return "\n\n".join(parts)


def _explain_worse(gate: Gate, result: CheckResult, width: int) -> list[str]:
    rates, check = result.rates, result.check
    text = (
        f"{check.name}: only {gate.new} is wrong in {rates.only_new} items, only {gate.old} in {rates.only_old} "
        f"(p = {result.p:.2g}, Holm over {gate.family} checks)."
    )
    lines = wrap(visible(text), width)
    for example in result.examples:
        lines += wrap(
            visible(f"item {example.id}: {shorten(example.source, _LONGEST_EXAMPLE)}"), width, indent="  "
        )
        for name, answer in ((gate.old, example.old), (gate.new, example.new)):
            lines += wrap(visible(f"{name}: {shorten(answer, _LONGEST_EXAMPLE)}"), width, indent="    ")
    return lines


_KINDS = {
    "negation": "a negation",
    "number": "a number or date",
    "unit": "a unit",
    "name": "a name",
    "copy": "an address, placeholder or code",
    "punctuation": "brackets or quotation marks",
    "truncation": "a mark at their end",
    "glossary": "a term of the glossary",
}
_MOST_OPEN = 6


def _explain_open(gate: Gate, width: int) -> list[str]:
    """How many more items would decide, and which; or which methods have tested nothing."""
    needs = sorted(
        (each for each in ordered(gate) if each.verdict == "too few items" and each.needed),
        key=lambda each: -(each.needed or 0),
    )
    lines = [f"{method} has tested nothing, see below." for method in gate.silent]
    if needs:
        lines.append(
            f"About {needs[0].needed:,} more items like these would decide all checks, if errors stay as frequent:"
        )
    for each in needs[:_MOST_OPEN]:
        text = f"  {each.check.name}: {each.needed:,}"
        if each.check.applies < len(each.check.sources):
            kind = _KINDS.get(each.check.name)
            text += f", among them {each.needed_of_kind:,} {f'with {kind}' if kind else 'that it applies to'}"
        lines.append(text)
    if others := needs[_MOST_OPEN:]:
        lines.append(f"  {len(others)} others: at most {others[0].needed:,}")
    if needs:
        lines.append("`babelscope plan --pool CORPUS --n N` draws sentences that test something.")
    return [
        line for text in lines for line in wrap(visible(text), width, indent="  " * text.startswith("  "))
    ]


def _closing(gate: Gate, width: int) -> list[str]:
    settings = gate.settings
    asked = f"The decision took {gate.asked:,} of {gate.items:,} items"
    if gate.settings.sequential:
        saved = gate.items - gate.asked
        asked += f"; stopping early saves {saved:,} calls to each system that is asked live"
    skipped = sum(each.check.skipped for each in gate.tested)
    if skipped:
        asked += f"; {skipped:,} judgments left out, because only one of the answers could be judged"
    rule = (
        f"worse: more errors, significant at {_percent(settings.alpha)} after Holm's correction over {gate.family} "
        f"checks, and a difference above the margin of {_percent(settings.margin)}; not worse: the "
        f"95 % interval of the difference ends below the margin"
    )
    reasons = grouped((why, what) for what, why in gate.not_tested.items())
    if settings.sequential:
        rule += "; both by tests that hold at any stopping time, intervals as if the sample had been fixed"
    return [
        *(
            line
            for why, names in reasons.items()
            for line in wrap(visible(f"Not tested, because {why}: {', '.join(names)}."), width)
        ),
        *wrap(f"{asked}.", width),
        *wrap(f"{rule[:1].upper()}{rule[1:]}.", width),
        *wrap(f"signature: {shorten_signature(gate.signature)} (whole: --format json)", width),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def as_json(gate: Gate) -> dict[str, Any]:
    """The decision as one JSON object."""
    return {
        "verdict": gate.verdict,
        "exit_code": gate.exit_code,
        "old": gate.old,
        "new": gate.new,
        **gate.settings.model_dump(),
        "checks_corrected_for": gate.family,
        "items": gate.items,
        "asked": gate.asked,
        "checks": [_check_as_json(each) for each in ordered(gate)],
        "not_tested": gate.not_tested,
        "signature": gate.signature,
    }


def _check_as_json(result: CheckResult) -> dict[str, Any]:
    check, rates = result.check, result.rates
    return {
        "check": check.name,
        "method": check.method,
        "tests": check.tests,
        "verdict": result.verdict,
        "old": finite_or_none(rates.old),
        "new": finite_or_none(rates.new),
        "difference": rates.difference.as_json(),
        "p_holm": result.p,
        "only_old": rates.only_old,
        "only_new": rates.only_new,
        "applies": check.applies,
        "skipped": check.skipped,
        **(
            {"items_needed": result.needed, "items_needed_of_kind": result.needed_of_kind}
            if result.needed
            else {}
        ),
        "examples": [
            {"id": each.id, "source": each.source, "old": each.old, "new": each.new}
            for each in result.examples
        ],
    }


def as_junit(gate: Gate) -> str:
    """The decision as JUnit XML: a test case per check, which fails if the new system is worse, and is skipped if too
    few items or none tested it."""
    cases: list[ElementTree.Element] = []
    for each in ordered(gate):
        case = _case(f"{each.check.method}.{each.check.tests}", each.check.name)
        if each.verdict == "worse":
            failure = ElementTree.SubElement(case, "failure", message=_xml(_difference(each)), type="worse")
            failure.text = _xml("\n".join(_explain_worse(gate, each, 100)))
        elif each.verdict == "too few items":
            more = f"; about {each.needed:,} more items are needed" if each.needed else ""
            _skip(case, f"too few items: {_difference(each)}{more}")
        cases.append(case)
    for name, why in gate.not_tested.items():
        cases.append(_case("not tested", name))
        _skip(cases[-1], f"not tested: {why}")
    counts = {"tests": len(cases)}
    counts |= {kind: sum(each.find(tag) is not None for each in cases) for kind, tag in _OUTCOMES.items()}
    root = ElementTree.Element("testsuites")
    shown = {name: str(count) for name, count in counts.items()}
    suite = ElementTree.SubElement(root, "testsuite", {"name": "babelscope gate", **shown, "errors": "0"})
    suite.extend(cases)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


_OUTCOMES = {"failures": "failure", "skipped": "skipped"}


def _case(group: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=_xml(group), name=_xml(name), time="0")


def _skip(case: ElementTree.Element, why: str) -> None:
    ElementTree.SubElement(case, "skipped", message=_xml(why))


def _difference(result: CheckResult) -> str:
    rates = result.rates
    return f"error rate {_percent(rates.old)} -> {_percent(rates.new)}, difference {rates.difference.text(_percent)}"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


# --- The report card ------------------------------------------------------------------------------------------------


def card_table(card: Card) -> Table:
    """One line per question: how often the system gets it wrong."""
    headings: list[str | Column] = ["the system...", Column("error rate", "percent"), "wrong"]
    rows = [
        Line(
            [
                QUESTIONS.get(each.check.name, each.check.name),
                each.error,
                sum(source.new > 0 for source in each.check.sources.values()),
            ],
            verdict=each.verdict,
        )
        for each in card.grades
    ]
    return Table(f"What {card.system} gets wrong", headings, rows, name="check")


def card_lines(card: Card, width: int, places: Sequence[str] = ()) -> str:
    """What the terminal shows of a card."""
    errors = [each for each in card.grades if each.verdict == "error"]
    found = ", ".join(QUESTIONS.get(each.check.name, each.check.name) for each in errors)
    head = f"{card.system} {f'significantly often {found}' if errors else 'shows no significant error'}."
    parts = ["\n".join(wrap(visible(head), width)), as_text(card_table(card), width)]
    for each in card.grades:
        if each.worst:
            lines = [f"{QUESTIONS.get(each.check.name, each.check.name)}:"]
            for source, answer in each.worst:
                lines += wrap(visible(shorten(source, _LONGEST_EXAMPLE)), width, indent="  ")
                lines += wrap(visible(f"-> {shorten(answer, _LONGEST_EXAMPLE)}"), width, indent="    ")
            parts.append("\n".join(lines))
    closing = [f"It can: {', '.join(card.can)}."]
    closing += [f"{note}." for note in [*untested_lines(card.untested), *card.notes]]
    closing.append(
        "Verdicts: an error rate significantly above 5 %, corrected for the number of questions (Holm). Checks raise "
        "false alarms, too: `babelscope errors` corrects for them."
    )
    closing.append(f"signature: {card.result.short_signature}")
    parts.append("\n".join([*(line for text in closing for line in wrap(visible(text), width)), *places]))
    return "\n\n".join(parts)


def card_json(card: Card) -> dict[str, Any]:
    """The card as one JSON object."""
    return {
        "system": card.system,
        "can": list(card.can),
        "checks": [
            {
                "check": each.check.name,
                "method": each.check.method,
                "tests": each.check.tests,
                "verdict": each.verdict,
                "error_rate": each.error.as_json(),
                "worst": [{"source": source, "answer": answer} for source, answer in each.worst],
            }
            for each in card.grades
        ],
        "not_tested": dict(card.untested),
        "notes": list(card.notes),
        "signature": card.result.signature,
    }
