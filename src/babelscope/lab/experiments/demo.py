"""The demo: models of the harder world, every method."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Result
from babelscope.lab.experiments.truth import cases
from babelscope.lab.grammar.analysis import words_of
from babelscope.lab.grammar.corpus import as_written, generate
from babelscope.lab.grammar.lexicon import NOUNS
from babelscope.lab.grammar.oracle import Broken, broken_dependencies, judge
from babelscope.lab.grammar.sentences import SentencePair
from babelscope.lab.grammar.worlds import HARD
from babelscope.language.registry import error_label
from babelscope.making.counts import flows_of, occurrences
from babelscope.making.flows import STAGES, read_queries
from babelscope.methods.condition.figures import is_decided, margin_of_record
from babelscope.methods.condition.method import mark_difference
from babelscope.methods.condition.preflight import LEAST_ACCURACY
from babelscope.methods.contrast.figures import false_alarms
from babelscope.methods.reporting import TextLine, Token, complement, count_of, find_row, plain
from babelscope.methods.space.regions import is_empty, is_proven
from babelscope.report.examples import Example, mark_words, near_marks
from babelscope.report.flows import FILE as FLOWS
from babelscope.runs.study import Entry, MethodEntry, Study, StudyTable, SystemEntry
from babelscope.stats.intervals import proportion
from babelscope.systems.contract import ask_translate
from babelscope.systems.registry import open_system
from babelscope.util.files import replacing
from babelscope.util.terminal import FIRM

SEED = 2026
"""Seed of the test items."""
SYSTEMS = ("teacher", "student", "control", "unsmoothed")
SENTENCES, SOME, PAIRS, GENDER, APART = (
    "sentences",
    "some sentences",
    "minimal pairs",
    "male and female",
    "far apart",
)
"""What the test sets are called."""
EVALUATOR = "lab:clean-teacher"
# The control and the unsmoothed model are there for what needs a comparison: time is short.
_ASKED = {"control": (GENDER, SOME), "unsmoothed": (SOME,)}


def demo_study(n: int = 80, seed: int = 0) -> Study:
    """Models of the harder world on its test sets, n items each (minimal pairs spread over the error types).

    Many verdicts of the evaluator are within its noise, since it misjudges a wrong noun beside the cue's translation;
    the grammar judges it, too.
    """
    return Study(
        study=StudyTable(name="demo", seed=seed),
        systems=[
            SystemEntry(name=name, spec=dict.fromkeys(_ASKED[name], spec) if name in _ASKED else spec)
            for name in SYSTEMS
            for spec in [f"lab:{HARD.name}-{name}"]
        ],
        tests=[
            Entry(name=SENTENCES, spec=f"lab:hard-parallel?n={n}&seed={SEED}"),
            Entry(name=PAIRS, spec=f"lab:hard-pairs?n={max(1, n // 5)}&seed={SEED}"),
            Entry(name=GENDER, spec=f"lab:hard-gender-marked?n={n}&seed={SEED}"),
            Entry(name=APART, spec=f"lab:hard-challenge?n={n}&seed={SEED}"),
            Entry(name=SOME, spec=f"lab:hard-parallel?n={max(10, n // 4)}&seed={SEED}"),
        ],
        methods=[
            MethodEntry(name="likelihood", tests=[SENTENCES]),
            MethodEntry(name="contrast"),
            MethodEntry.model_validate({"name": "condition", "evaluator": EVALUATOR}),
            MethodEntry.model_validate({"name": "challenge", "tests": [APART]}),
            MethodEntry.model_validate(
                {
                    "name": "space",
                    "tests": [SOME],
                    "k": 5,
                    "samples": 50,
                    "curves": True,
                    "budget_expansions": 3000,
                }
            ),
        ],
    )


def write_flows(folder: Path, n: int = 80) -> None:
    """Write how the gender of occupations flows from training data to teacher to student, for the report.

    Counted in the first n training pairs with an occupation whose gender the source does not show.
    """
    from babelscope.lab.training.recipe import CORPUS_SEED

    if (folder / FLOWS).exists():
        return
    corpus = as_written(HARD.pairs, CORPUS_SEED, HARD)
    found = (
        (pair.source, target)
        for pair, target in corpus
        if any(not each.told for each in pair.labels.occupations)
    )
    sources, targets = zip(*itertools.islice(found, n), strict=True)
    versions = [list(targets)]
    for name in SYSTEMS[:2]:
        answers = ask_translate(open_system(f"lab:{HARD.name}-{name}"), list(sources), beam=5)
        versions.append([answer[0].text for answer in answers])
    split = ([re.findall(r"\w+", text) for text in texts] for texts in zip(sources, *versions, strict=True))
    counted = occurrences(((first, rest) for first, *rest in split), read_queries("lab:occupations"))
    with replacing(folder / FLOWS) as file:
        file.write(json.dumps(flows_of(counted, STAGES)).encode("utf-8"))


# --- What to look at in the demo: for each effect, its figures -----------------------------------------------------


_TEACHER, _STUDENT, _CONTROL, _ = SYSTEMS
_ASPECTS = {
    "hypercorrect_genitive": "case",
    "np_agreement": "agreement",
    "subj_verb_agreement": "agreement",
    "polarity_affix_del": "polarity",
    "polarity_particle_kein_del": "polarity",
    "polarity_particle_nicht_del": "polarity",
}
"""Error type -> what the grammar's verdict calls it."""
_PLACEHOLDER = "Ding"


def what_to_look_at(result: Result) -> list[Example]:
    """The four effects, each with its clearest item, or with the sentence that it did not appear."""
    groups = {group.tests: group for group in result.groups if group.method != "likelihood"}
    drawn = _pairs_of(
        record["source"]
        for tests in (PAIRS, APART)
        for column in groups[tests].results
        for record in column.records
    )
    return [
        _lost(groups[GENDER]),
        _empty_mode(groups[SOME]),
        _false_alarm(groups[PAIRS], drawn),
        _broken(groups[APART], drawn),
    ]


def _pairs_of(sources: Iterable[str]) -> dict[str, SentencePair]:
    """The sentence pairs of sources that were drawn as the corpus is."""
    wanted = set(sources)
    found: dict[str, SentencePair] = {}
    for pair in generate(100 * len(wanted) + 2000, SEED, "test", HARD):
        if pair.source in wanted:
            found[pair.source] = pair
        if len(found) == len(wanted):
            break
    return found


def _figures(found: Iterable[tuple[str, Estimate]], of: str) -> str:
    """A figure of each system in percent, with its interval; n once, where it is the same."""
    known = list(found)
    sizes = {each.n for _, each in known}
    told = [f"{name} {_in_percent(each)}{'' if len(sizes) == 1 else f' of {each.n}'}" for name, each in known]
    n = f" of {min(sizes)}" if len(sizes) == 1 else ""
    return f"{'; '.join(each.replace(' ', FIRM) for each in told)}{n} {of}"


def _in_percent(estimate: Estimate) -> str:
    ends = estimate.interval(lambda end: f"{100 * end:.0f}")
    return f"{100 * estimate.value:.0f} % {ends}" if estimate.n else "–"


def _lost(group: Comparison) -> Example:
    """An item that the student gets wrong and the others right, by the evaluator, held against the grammar."""
    title = "What distillation lost: male or female"
    truths = _truths(group)
    told = _figures(
        ((name, proportion(sum(own.values()), len(own))) for name, own in truths.items()), "sentences"
    )
    figure = (
        f"Wrong gender though the source tells it, by the grammar, where it can tell: {told}. Wrong in the student "
        f"and right in the control, as small and not distilled: {_only_in(truths, _STUDENT, _CONTROL)}; the other "
        f"way round: {_only_in(truths, _CONTROL, _STUDENT)}."
    )
    more = (
        f"babelscope condition --system lab:hard-student --evaluator {EVALUATOR} "
        "--tests lab:hard-gender-marked"
    )
    agreed = _agreement(group, truths)
    figure += f" The evaluator says what the grammar says in {_in_percent(agreed)} of {agreed.n} translations"
    if not agreed.n or agreed.value < LEAST_ACCURACY:
        return Example(title, f"{figure}, which is too few to show an item by it.", more=more)
    figure += "."
    n = 0
    for keepers in ((_TEACHER, _CONTROL), (_CONTROL,), (_TEACHER,)):
        found = lost_in(group, _STUDENT, keepers)
        n = max(n, decided_by_all(group, (_STUDENT, *keepers)))
        if found:
            lines, look = _told_lost(found[0], keepers, truths)
            which = f"The largest margin of {count_of(len(found), 'such items')} among {n} decided."
            return Example(title, figure, lines, f"{look} {which}", more)
    none = f"By `condition`, it did not appear among {n} items."
    return Example(title, f"{figure} {none}", more=more)


def lost_in(group: Comparison, system: str, kept_by: Iterable[str]) -> list[Mapping[str, Record]]:
    """Records (system -> record) of items that `system` has wrong and all of `kept_by` right, the clearest first.

    The clearest is the one with the largest gap between the margin of the lost translation and the smallest margin of
    those that kept the meaning. Verdicts within the evaluator's noise are none.
    """
    keepers = list(kept_by)
    records = _by_item(group, [system, *keepers])
    found = [
        own
        for own in records
        if own[system]["verdict"] == "wrong" and all(own[name]["verdict"] == "correct" for name in keepers)
    ]

    def gap(own: Mapping[str, Record]) -> float:
        kept = min(margin_of_record(own[name]) for name in keepers)
        return kept - margin_of_record(own[system])

    return sorted(found, key=gap, reverse=True)


def decided_by_all(group: Comparison, systems: Iterable[str]) -> int:
    """How many items have a verdict on each of these systems."""
    return len(_by_item(group, list(systems)))


def _by_item(group: Comparison, systems: list[str]) -> list[Mapping[str, Record]]:
    """The records of items that are decided for all of these systems."""
    known = {
        column.name: {record["id"]: record for record in column.records if is_decided(record)}
        for column in group.results
        if column.name in systems
    }
    shared = [item for item in known[systems[0]] if all(item in known[name] for name in systems)]
    return [{name: known[name][item] for name in systems} for item in shared]


def _agreement(group: Comparison, truths: Mapping[str, Mapping[str, bool]]) -> Estimate:
    """Share of translations of all systems on which the evaluator's verdict is the grammar's."""
    same = [
        (record["verdict"] == "wrong") == truths[column.name][record["id"]]
        for column in group.results
        for record in column.records
        if is_decided(record) and record["id"] in truths[column.name]
    ]
    return proportion(sum(same), len(same))


def _only_in(truths: Mapping[str, Mapping[str, bool]], one_system: str, other: str) -> int:
    """How many items are wrong in one system and right in another."""
    return sum(wrong and truths[other].get(item) is False for item, wrong in truths[one_system].items())


def _truths(group: Comparison) -> dict[str, dict[str, bool]]:
    """System -> item -> whether the grammar finds the other gender in the translation; unknown ones are left out."""
    made = cases("gender-marked", len(group.results[0].records), SEED, HARD)
    known = {case.item.id: case for case in made}
    return {
        column.name: {
            record["id"]: not right
            for record in column.records
            if (right := known[record["id"]].truth(record["translation"])) is not None
        }
        for column in group.results
    }


def _told_lost(
    records: Mapping[str, Record], keepers: Sequence[str], truths: Mapping[str, Mapping[str, bool]]
) -> tuple[list[TextLine], str]:
    student, keeper = records[_STUDENT], records[keepers[0]]
    occupation = student["extra"]["occupation"]
    lines: list[TextLine] = [
        ("source", mark_difference(student["correct_source"], student["incorrect_source"])),
        (keepers[0], near_marks(_mark_occupation(keeper["translation"], occupation))),
        (_STUDENT, near_marks(_mark_occupation(student["translation"], occupation))),
    ]
    verdicts = [truths[name].get(student["id"]) for name in (*keepers, _STUDENT)]
    agreed = verdicts == [*(False for _ in keepers), True]
    grammar = (
        "agrees" if agreed else "cannot tell" if None in verdicts else "disagrees: the evaluator is wrong"
    )
    look = (
        f"the {occupation} is {student['category']}. By `condition`, {' and '.join(keepers)} "
        f"{'keep' if len(keepers) > 1 else 'keeps'} that, the student loses it; the grammar {grammar}."
    )
    if _CONTROL not in keepers:
        look += " That the control keeps it is not shown: it may be size that lost it."
    return lines, look


def _mark_occupation(text: str, noun: str) -> list[Token]:
    """A German text with the forms of an occupation's nouns marked."""
    forms = {form for each, _ in (*NOUNS[noun].german, *NOUNS[noun].feminine) for form in each.forms}
    return mark_words(text, [found.span() for found in re.finditer(r"\w+", text) if found[0] in forms])


def _empty_mode(group: Comparison) -> Example:
    """The shortest proven mode, beside what beam search finds."""
    title = "An empty mode: the model's most probable translation of all"
    rows = ((column.name, find_row(column.rows, "empty_mode", view="tokens")) for column in group.results)
    told = _figures(((name, row.estimate) for name, row in rows if row), "sentences")
    asked = sum(len(column.records) for column in group.results)
    open_ones = sum(not is_proven(each, 1) for column in group.results for each in column.records)
    proof = f"{open_ones} of {asked} searches ended without a proof"
    figure = f"Most probable is no word at all: {told}; {proof}."
    found = modes_by_length(group)
    which_model = found[0][0] if found else _CONTROL
    more = (
        f"babelscope space --system lab:hard-{which_model} --tests 'lab:hard-parallel?n=50' "
        "--budget-expansions 3000"
    )
    if not found:
        return Example(
            title, f"{figure} It did not appear: no proven mode is ahead of beam search.", more=more
        )
    system, record = found[0]
    mode, beam = record["top"]["found"][0], record["best"]
    lines: list[TextLine] = [
        ("source", record["source"]),
        (f"best of all, {plain(mode['logprob'])}", mode["text"] or "(empty)"),
        (f"beam search, {plain(beam['logprob'])}", beam["text"]),
    ]
    which = "no translation at all" if is_empty(mode) else "a fragment (no proven mode is empty)"
    look = (
        f"to the {system}, {which} is more probable than any other (natural log-probability): exact search has "
        "proved it, beam search hides it."
    )
    return Example(title, figure, lines, look, more)


def modes_by_length(group: Comparison) -> list[tuple[str, Record]]:
    """(system, record) by how short the mode is, empty ones first; each is proven, and not beam search's translation.

    Of equally short ones, that of the shortest source is first: it is the easiest to read, and to translate.
    """

    def is_ahead(record: Record) -> bool:
        mode, beam = record["top"]["found"][0]["logprob"], (record["best"] or {}).get("logprob")
        return mode is not None and beam is not None and mode > beam

    def share_of_beam(record: Record) -> float:
        mode, beam = record["top"]["found"][0], record["best"]
        # Unknown words are not written out.
        words = [max(1, len(each["text"].split())) for each in (mode, beam)]
        return 0.0 if is_empty(mode) else words[0] / words[1]

    found = [
        (column.name, record)
        for column in group.results
        for record in column.records
        if record["top"]["found"] and is_proven(record, 1) and is_ahead(record)
    ]
    return sorted(found, key=lambda each: (share_of_beam(each[1]), len(each[1]["source"])))


def _false_alarm(group: Comparison, pairs: Mapping[str, SentencePair]) -> Example:
    """A pair with the error preferred, though the grammar finds none of its kind in the system's own translation."""
    title = "A false alarm: an error in forced choice that free output does not make"
    controls = [
        (column.name, complement(row.estimate))
        for column in group.results
        for row in column.rows
        if row.name == "controls" and row.estimate.n
    ]
    told = _figures(controls, "pairs")
    figure = f"Preferred on controls, errors that no system is known to make: {told}."
    more = "babelscope contrast --system lab:hard-student --tests lab:hard-pairs"
    found = false_alarms(group, lambda record: _has_error(record, pairs[record["source"]]))
    n = sum(len(column.records) for column in group.results)
    if not found:
        return Example(title, f"{figure} It did not appear among {n} choices.", more=more)
    system, record = found[0]
    right, wrong = record["correct"]["text"], record["contrastive"][0]["text"]
    lines: list[TextLine] = [
        ("source", record["source"]),
        ("right", near_marks(mark_difference(right, wrong))),
        ("preferred", near_marks(mark_difference(wrong, right))),
        ("it writes", record["best"]["text"]),
    ]
    kind = record["phenomenon"]
    is_control = kind in group.results[0].settings.get("controls", ())
    which = "a control" if is_control else "no control shows this here"
    look = (
        f"the {system} prefers the error ({error_label(kind, {})}; {which}), yet what it writes itself has none of "
        f"the kind, says the grammar. So it is in {len(found)} of {n} choices."
    )
    return Example(title, figure, lines, look, more)


def _has_error(record: Record, pair: SentencePair) -> bool | None:
    """Whether a system's own translation has an error of the pair's kind; None if the grammar cannot tell."""
    kind, text = record["phenomenon"], record["best"]["text"]
    if kind == "placeholder_ding":
        return any(word.startswith(_PLACEHOLDER) for word in words_of(text))
    verdict = judge(pair.meaning, text)
    if kind in _ASPECTS:
        return not getattr(verdict, _ASPECTS[kind])
    # A clause left out: only a sentence of the grammar is known to have all of them.
    return False if verdict.exact else None


def _broken(group: Comparison, pairs: Mapping[str, SentencePair]) -> Example:
    """The dependency over most words that is broken, first where nothing else is wrong."""
    title = "A long-distance dependency that breaks"
    found: list[tuple[str, Record, Broken]] = []
    shares = []
    for column in group.results:
        own = [
            (column.name, record, each)
            for record in column.records
            for each in broken_dependencies(pairs[record["source"]], record["translation"])
        ]
        broken = {record["id"] for _, record, _ in own}
        shares.append((column.name, proportion(len(broken), len(column.records))))
        found += own
    told = _figures(shares, "sentences")
    figure = f"Subject and verb at odds, or a particle lost, with words between, by the grammar: {told}."
    more = "babelscope challenge --system lab:hard-student --tests lab:hard-challenge"
    if not found:
        return Example(title, f"{figure} It did not appear.", more=more)
    system, record, worst = min(found, key=lambda each: (not each[2].alone, -each[2].distance))
    lines: list[TextLine] = [
        ("source", record["source"]),
        (system, near_marks(mark_words(record["translation"], worst.spans))),
    ]
    what = (
        "subject and verb do not agree in number"
        if worst.kind == "agreement"
        else "the verb lacks the particle that should end its clause"
    )
    alike = sum(each.alone == worst.alone for *_, each in found)
    among = "nothing else is wrong" if worst.alone else "more is wrong"
    look = (
        f"{what}, over {count_of(worst.distance, 'words')}: "
        f"{f'the farthest of {alike} cases' if alike > 1 else 'the only case'} in a sentence with which {among}."
    )
    return Example(title, figure, lines, look, more)
