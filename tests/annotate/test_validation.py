"""A validation study from nothing: drawn, answered by the lab's grammar, and held against a direct computation."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from babelscope.annotate.queue import draw_sample, read_tasks
from babelscope.core.results import Record
from babelscope.lab.experiments.truth import Case, cases, with_mistakes
from babelscope.lab.grammar.lexicon import NOUNS
from babelscope.util.errors import BabelscopeError
from tests.annotate.annotating import answer_all, lines
from tests.support.toy_fixtures import Babelscope

N = 90
BOTH, BAD, TOO_BAD = (
    "Both / Neutral / Ambiguous",
    "Bad sample / Ill-defined senses",
    "Translation too bad to tell / Third sense",
)
EVALUATED = "--system file:out.de --evaluator lab:teacher --protocol paper --set preflight=0"


def ran(babelscope: Babelscope, *command: str) -> list[dict[str, Any]]:
    return babelscope(*command, "--json").rows


def known_words(noun: str) -> list[str]:
    """What the matcher knows of a sense: one form of one of its nouns, so that others are undecidable for it."""
    (first, _), *_ = NOUNS[noun].german
    return [sorted(first.forms)[0].lower()]


def study(babelscope: Babelscope) -> list[Case]:
    """Translations of the lab, half of them with a wrong noun, judged by a matcher and by an evaluator."""
    made = cases("senses-other", N, 5)
    translations = with_mistakes(made, "noun", 0.5, 5)
    Path("out.de").write_text("".join(f"{text}\n" for text in translations), encoding="utf-8")
    items = []
    for case in made:
        word, _, sense = case.noun.partition("/")
        other = f"{word}/{'rare' if sense == 'frequent' else 'frequent'}"
        senses = {"lemmas": known_words(case.noun), "wrong_lemmas": known_words(other)}
        items.append(json.dumps({**case.item.as_json(), **senses}))
    Path("tests.jsonl").write_text("".join(f"{line}\n" for line in items))
    ran(
        babelscope,
        "condition --judge mucow --tests tests.jsonl --system out.de=file:out.de?format=auto --out matched",
    )
    ran(babelscope, f"condition --tests tests.jsonl {EVALUATED} --out conditioned")
    return made


def by_oracle(made: list[Case], texts: list[str]) -> dict[str, str]:
    """What the grammar says of each translation."""
    said = {True: "Correct Sense", False: "Wrong Sense", None: TOO_BAD}
    return {case.item.id: said[case.truth(text)] for case, text in zip(made, texts, strict=True)}


def with_slips(labels: dict[str, str]) -> dict[str, str]:
    """A second annotator, who errs at times and uses the other labels, too."""
    rng = random.Random(7)
    others = ["Correct Sense", "Wrong Sense", BOTH, BAD]
    return {name: rng.choice(others) if rng.random() < 0.3 else label for name, label in labels.items()}


def kappa_of(pairs: list[tuple[str, str]]) -> float:
    """Cohen's kappa, by its definition."""
    n = len(pairs)
    observed = sum(one == other for one, other in pairs) / n
    firsts, seconds = (Counter(column) for column in zip(*pairs, strict=True))
    expected = sum(firsts[label] * seconds[label] for label in firsts) / n**2
    return (observed - expected) / (1 - expected)


RIGHT = {"Correct Sense": True, BOTH: True, "Wrong Sense": False, TOO_BAD: False, BAD: None}


def weights_of(records: dict[str, dict[str, Any]]) -> dict[str, float]:
    """n - rank within each category (section 3.4), equal margins sharing theirs, written out."""
    found = {}
    for name, record in records.items():
        own = [each for each in records.values() if each["category"] == record["category"]]
        margins = [abs(each["correct_logprob"] - each["incorrect_logprob"]) for each in own]
        mine = abs(record["correct_logprob"] - record["incorrect_logprob"])
        above, same = sum(each > mine for each in margins), sum(each == mine for each in margins)
        found[name] = len(own) - above - (same - 1) / 2
    return found


def value_of(rows: list[dict[str, Any]], name: str, **labels: str) -> dict[str, Any]:
    (row,) = (row for row in rows if row["name"] == name and labels.items() <= row.items())
    return row


def test_a_study_on_the_lab_equals_a_direct_computation(babelscope: Babelscope) -> None:
    made = study(babelscope)
    texts = Path("out.de").read_text("utf-8").split("\n")[:-1]
    matched = {each["id"]: each for each in lines(Path("matched/records.jsonl"))}
    undecided = {name for name, each in matched.items() if each["correct"] is None}
    assert 8 < len(undecided) < N - 10
    (told,) = ran(
        babelscope, "annotate", "--sample", "matched", "--queue-size", "8", "--queue", "queue.jsonl"
    )
    assert told["of"] == {"undecided": len(undecided), "decided": N - len(undecided)}
    queue = read_tasks("queue.jsonl")
    drawn = Counter(task.id in undecided for task in queue)
    assert drawn == {True: 8, False: round(8 * (N - len(undecided)) / len(undecided))}
    assert all(task.get("stratum") == ("undecided" if task.id in undecided else "decided") for task in queue)
    anna = by_oracle(made, texts)
    bert = with_slips(anna)
    answer_all("queue.jsonl", "anna", lambda task: anna[task.id])
    tasks = answer_all("queue.jsonl", "bert", lambda task: bert[task.id])
    rows = ran(babelscope, "agreement", "queue.jsonl", "--patterns", "matched", "--verdicts", "conditioned")
    raw = [(anna[task.id], bert[task.id]) for task in tasks]
    two = [(str(RIGHT[one]), str(RIGHT[other])) for one, other in raw if other != BAD]
    people = [row for row in rows if "verdicts" not in row]
    assert value_of(people, "kappa", labels="raw", weighting="none")["value"] == pytest.approx(kappa_of(raw))
    binary = value_of(people, "kappa", labels="binary", weighting="none")
    assert (binary["value"], binary["n"]) == (pytest.approx(kappa_of(two)), len(two))

    judged = [
        (task.id, human)
        for own in (anna, bert)
        for task in tasks
        if (human := RIGHT[own[task.id]]) is not None
    ]
    agreed = [(matched[name]["correct"] is True) == human for name, human in judged]
    found = value_of(rows, "agreement", verdicts="patterns_mucow", annotators="all", undecided_as="wrong")
    assert found["value"] == pytest.approx(sum(agreed) / len(agreed))

    records = {each["id"]: each for each in lines(Path("conditioned/records.jsonl"))}
    weights = weights_of(records)
    same = {name: records[name]["correct_logprob"] >= records[name]["incorrect_logprob"] for name in records}
    for weighting in ("none", "category"):
        of = [(1.0 if weighting == "none" else weights[name], same[name] == human) for name, human in judged]
        direct = sum(weight for weight, fits in of if fits) / sum(weight for weight, _ in of)
        row = value_of(rows, "agreement", verdicts="condition", annotators="all", weighting=weighting)
        assert row["value"] == pytest.approx(direct), weighting
        assert (row["judgments"], row["missing"], row["undecided"]) == (len(judged), 0, 0)
    anna_alone = value_of(rows, "agreement", verdicts="condition", annotators="anna", weighting="category")
    assert anna_alone["value"] > 0.9


def test_what_was_decided_may_be_taken_for_right(babelscope: Babelscope) -> None:
    made = study(babelscope)
    texts = Path("out.de").read_text("utf-8").split("\n")[:-1]
    ran(
        babelscope,
        "annotate --sample conditioned --set patterns=matched --set assume_decided=yes --queue q.jsonl",
    )
    matched = {each["id"]: each["correct"] for each in lines(Path("matched/records.jsonl"))}
    open_ = {name for name, correct in matched.items() if correct is None}
    anna = by_oracle(made, texts)
    tasks = answer_all("q.jsonl", "anna", lambda task: anna[task.id])
    assert {task.id for task in tasks} == open_
    rows = ran(babelscope, "agreement", "q.jsonl", "--patterns", "matched", "--verdicts", "conditioned")
    wrong = sum(RIGHT[anna[name]] is False for name in open_)
    row = value_of(rows, "agreement", verdicts="patterns_mucow", undecided_as="wrong")
    # All undecided were judged, so each decided translation counts as one judgment.
    assert (row["value"], row["covered"]) == (pytest.approx((wrong + N - len(open_)) / N), N - len(open_))
    records = lines(Path("conditioned/records.jsonl"))
    verdicts = {each["id"]: each["correct_logprob"] >= each["incorrect_logprob"] for each in records}
    taken = {name: RIGHT[anna[name]] if correct is None else correct for name, correct in matched.items()}
    row = value_of(rows, "agreement", verdicts="condition", weighting="none")
    assert row["value"] == pytest.approx(sum(verdicts[name] == taken[name] for name in taken) / N)


def test_a_part_is_judged_by_all_and_the_rest_is_shared_out(babelscope: Babelscope) -> None:
    study(babelscope)
    Path("own.md").write_text("# Ours\n\n* look at **one** word\n")
    asked = "annotate --sample matched --queue-size 20 --queue queue.jsonl --overlap 10 --annotator anna"
    ran(babelscope, f"{asked} --annotator bert --guidelines own.md")
    tasks = read_tasks("queue.jsonl")
    own = {name: {task.id for task in tasks if task.is_for(name)} for name in ("anna", "bert")}
    assert len(own["anna"] & own["bert"]) == 10
    assert own["anna"] | own["bert"] == {task.id for task in tasks}
    assert abs(len(own["anna"]) - len(own["bert"])) <= 1
    assert Path("queue.guidelines.md").read_text() == "# Ours\n\n* look at **one** word\n"
    again = babelscope("annotate", "--sample", "matched", "--queue-size", "20", "--queue", "queue.jsonl")
    assert again.code == 2
    assert "exists and may have answers" in again.err


def test_own_translations_need_no_run(babelscope: Babelscope) -> None:
    """Any language pair: a test set of ambiguous sources and a file of translations."""
    study(babelscope)
    Path("out.fr").write_text("".join(f"une phrase {n}\n" for n in range(N)))
    (told,) = ran(
        babelscope, "annotate --sample tests.jsonl --set translations=out.fr --queue q.jsonl --queue-size 30"
    )
    assert (told["drawn"], told["of"]) == (30, {"unjudged": N})
    whole = Counter(each["category"] for each in lines(Path("tests.jsonl")))
    named = {each["id"]: each["category"] for each in lines(Path("tests.jsonl"))}
    drawn = Counter(named[task.id] for task in read_tasks("q.jsonl"))
    assert all(abs(drawn[each] - 30 * whole[each] / N) < 1 for each in whole), "each category has its share"


def test_verdicts_on_something_else_are_refused(babelscope: Babelscope) -> None:
    study(babelscope)
    strange = babelscope("annotate --sample matched --set corpus=not:ted --queue queue.jsonl")
    assert (strange.code, "no item is of the corpus or domain 'ted'" in strange.err) == (2, True)
    ran(babelscope, "annotate", "--sample", "matched", "--queue-size", "5", "--queue", "queue.jsonl")
    answer_all("queue.jsonl", "anna", lambda _: "Correct Sense")
    records = lines(Path("conditioned/records.jsonl"))
    others = [{**each, "translation": "etwas anderes"} for each in records]
    for some, reason in (
        (others, "but the verdict at verdicts.jsonl:"),
        (
            [{**each, "system": "another"} for each in others],
            "on translations of other systems ('another', not 'out.de'), which differ",
        ),
        ([{**records[0], "id": "nobody"}], "on other items (such as 'nobody'"),
        ([], "on other items (such as 'none'"),
    ):
        Path("verdicts.jsonl").write_text("".join(json.dumps(each) + "\n" for each in some))
        done = babelscope("agreement queue.jsonl --verdicts verdicts.jsonl")
        assert done.code == 2
        assert reason in " ".join(done.err.split())
    matched = [{**each, "translation": "x"} for each in lines(Path("matched/records.jsonl"))]
    Path("changed.jsonl").write_text("".join(json.dumps(each) + "\n" for each in matched))
    done = babelscope("agreement", "queue.jsonl", "--patterns", "changed.jsonl")
    assert "people judged" in done.err


def test_records_of_a_command_are_sampled_and_judged_as_they_are(babelscope: Babelscope) -> None:
    study(babelscope)
    ran(babelscope, f"condition --tests tests.jsonl {EVALUATED} --out run")
    (told,) = ran(babelscope, "annotate --sample run/records.jsonl --queue-size 10 --queue queue.jsonl")
    assert (told["drawn"], told["of"]) == (10, {"decided": N}), "the paper's protocol decides all"
    tasks = read_tasks("run/records.jsonl", "mucow")
    assert len(tasks) == N
    assert any("Correct sense of" in block.title for block in tasks[0].blocks)
    without = babelscope("annotate", "run/records.jsonl", "--no-open")
    assert "draw records of condition with `babelscope annotate --sample`" in " ".join(without.err.split())


def test_undecided_genders_are_counted_both_ways(babelscope: Babelscope) -> None:
    """Table 2 counts them as right, which recall B would not."""
    texts = ["Der Koch schlief.", "Die Köchin schlief.", "Niemand schlief."]
    Path("wino.tsv").write_text("".join(f"male\t1\tThe cook slept {n}.\tcook\tpro\n" for n in range(3)))
    Path("wino.de").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    Path("links").write_text("0-0 1-1\n0-0 1-1\n\n")
    asked = "--tests winomt:wino.tsv?neutral=yes --system file:wino.de?format=auto --set alignments=links --target de"
    ran(babelscope, f"condition --judge winomt {asked} --set gender_rules=sound --out matched")
    ran(babelscope, "annotate", "--sample", "matched", "--queue", "queue.jsonl")
    answer_all("queue.jsonl", "anna", lambda task: "Male" if task.id == "1" else "Female")
    found = ran(babelscope, "agreement", "queue.jsonl", "--patterns", "matched")
    values = {row["undecided_as"]: row["value"] for row in found if row["name"] == "agreement"}
    assert values == {"wrong": 1, "right": pytest.approx(2 / 3)}
    paper = ran(babelscope, "agreement", "queue.jsonl", "--patterns", "matched", "--set", "protocol=paper")
    assert [row["undecided_as"] for row in paper] == ["right"]


def test_only_items_of_some_corpora_are_sampled() -> None:
    """The paper's annotators saw in-domain items only (appendix E)."""
    records: list[Record] = [
        {
            "method": "patterns_mucow",
            "id": str(n),
            "system": "s",
            "tests": "t",
            "source": f"a pen {n}",
            "word": "pen",
            "right_words": ["stift"],
            "wrong_words": ["gehege"],
            "category": "frequent",
            "corpus": ("ted", "opensubs")[n % 2],
            "domain": ("in", "out")[n // 6],
            "translation": "x",
            "correct": None if n % 3 else True,
        }
        for n in range(12)
    ]
    for corpora, wanted in (
        (["ted"], {0, 2, 4, 6, 8, 10}),
        (["in"], set(range(6))),
        ([], set(range(12))),
        (["not:opensubs"], {0, 2, 4, 6, 8, 10}),
        (["in", "not:ted"], {1, 3, 5}),
    ):
        lines, sizes = draw_sample(records, corpora=corpora)
        assert {int(line["id"]) for line in lines} == wanted
        assert sizes == {
            "undecided": sum(n % 3 > 0 for n in wanted),
            "decided": sum(n % 3 == 0 for n in wanted),
        }
    with pytest.raises(
        BabelscopeError, match="no item is of the corpus or domain 'news'; there are in, open"
    ):
        draw_sample(records, corpora=["ted", "news"])
