"""Machine references: what is validated, queued and dropped, on sentences of our own and on the lab's pairs."""

from __future__ import annotations

import pytest

pytest.importorskip("HanTa")
pytest.importorskip("german_nouns.config")

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.language.german.analysis import tokenize
from babelscope.making.machine_references import (
    Outcome,
    assign_systems,
    changed_words,
    machine_references,
    misspelled,
)
from babelscope.making.machine_tests import bias_rows
from babelscope.metrics.chrf import pairwise_chrf
from babelscope.testsets import MinimalPair, load
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope, read_rows
from tests.support.toys import Canned

AFFIX, NICHT, KEIN = "polarity_affix_del", "polarity_particle_nicht_del", "polarity_particle_kein_del"
NP, VERB, GENITIVE = "np_agreement", "subj_verb_agreement", "hypercorrect_genitive"


def pair(phenomenon: str, source: str, correct: str, contrastive: str, name: str = "1") -> MinimalPair:
    return MinimalPair(name, source, correct, (contrastive,), phenomenon, "human")


def outcome(human: MinimalPair, translation: str, **options: Any) -> Outcome:
    (found,) = machine_references([human], [Canned({human.source: translation})], **options)
    return found


ROAD = pair(AFFIX, "The road is unsafe.", "Die Straße ist unsicher.", "Die Straße ist sicher.")
HE = pair(NICHT, "He does not come today.", "Er kommt heute nicht.", "Er kommt heute.")
LADDER = pair(KEIN, "We have no ladder.", "Wir haben keine Leiter.", "Wir haben eine Leiter.")
DOG = pair(NP, "The dog sleeps.", "Der Hund schläft.", "Die Hund schläft.")
BARK = pair(VERB, "The dogs bark.", "Die Hunde bellen.", "Die Hunde bellt.")
SWIM = pair(VERB, "The fish swims.", "Der Fisch schwimmt.", "Der Fisch schwimmen.")
SINCE = pair(GENITIVE, "Since the accident.", "Seit dem Unfall.", "Seit des Unfalls.")
THING = pair(
    "placeholder_ding", "The baker sells bread.", "Der Bäcker verkauft Brot.", "Der Bäcker verkauft Ding."
)
RAIN = pair(
    "clause_omission",
    "It rained. We stayed at home all day.",
    "Es regnete. Wir blieben zu Hause.",
    "Es regnete.",
)


@pytest.mark.parametrize(
    ("human", "translation", "verdict", "contrastive"),
    [
        (ROAD, "Der Weg ist unsicher.", "kept", "Der Weg ist sicher."),
        (ROAD, "Die Straße ist sicher.", "queued", None),
        (ROAD, "Die Straße ist gefährlich.", "dropped", None),
        (HE, "Heute kommt er nicht.", "kept", "Heute kommt er."),
        (HE, "Er kommt heute.", "queued", None),
        (HE, "Er kommt heute keinesfalls.", "dropped", None),
        (HE, "Er ist heute nicht da.", "dropped", None),
        (LADDER, "Hier haben wir leider keine Leiter.", "kept", None),
        (LADDER, "Wir haben eine alte Leiter.", "queued", None),
        (LADDER, "Wir haben keinen Eimer.", "dropped", None),
        (DOG, "Jetzt schläft der Hund.", "kept", "Jetzt schläft die Hund."),
        (DOG, "Die Hund schläft jetzt.", "queued", None),
        (DOG, "Der Köter schläft.", "dropped", None),
        (BARK, "Jetzt bellen die Hunde.", "kept", "Jetzt bellt die Hunde."),
        (BARK, "Die Hunde bellt.", "queued", None),
        (BARK, "Die Katzen bellen.", "dropped", None),
        (SWIM, "Der Fisch will schwimmen.", "dropped", None),
        (SINCE, "Das ist so seit dem Brand.", "kept", None),
        (SINCE, "Das ist so seit des Brandes.", "queued", None),
        (SINCE, "Nach dem Unfall.", "dropped", None),
        (THING, "Ein Bäcker verkauft Brötchen.", "kept", None),
        (THING, "Ein Bäcker verkauft Ding.", "queued", None),
        (THING, "Er verkauft es.", "dropped", None),
        (RAIN, "Es hat geregnet. Wir sind daheim geblieben.", "kept", None),
        (RAIN, "Es regnete.", "queued", None),
        (RAIN, "Es regnete, weshalb wir zu Hause blieben.", "dropped", None),
        (ROAD, "", "dropped", None),
    ],
)  # fmt: skip
def test_the_human_reference_decides(
    human: MinimalPair, translation: str, verdict: str, contrastive: str | None
) -> None:
    found = outcome(human, translation)
    assert found.verdict == verdict, found
    if found.pair is None:
        assert verdict != "kept"
        return
    made = found.pair
    assert (made.correct, made.reference, made.phenomenon) == (translation, "machine", human.phenomenon)
    assert made.extra["human"] == human.id
    assert contrastive is None or made.contrastive == (contrastive,)


@pytest.fixture(scope="module")
def lab() -> list[MinimalPair]:
    return list(load("lab:pairs?n=15&seed=3").items_of(MinimalPair, what_for="test"))


def test_the_human_reference_as_a_translation_is_kept_wherever_our_rules_make_its_variant(
    lab: list[MinimalPair],
) -> None:
    outcomes = list(machine_references(lab, [Canned({item.source: item.correct for item in lab})]))
    # Some sources have two references, of which one is the translation here.
    own = [each for each in outcomes if each.translation == each.human.correct]
    reasons = Counter((each.human.phenomenon, each.reason) for each in own if each.verdict != "kept")
    assert len(own) > 100
    # The lab also changes other determiners than definite articles, and keine in the plural.
    assert {name for name, _ in reasons} <= {NP, KEIN, GENITIVE}, reasons
    assert sum(reasons.values()) < len(own) / 8, reasons


def test_a_translation_with_the_human_variants_error_is_never_taken_for_right(lab: list[MinimalPair]) -> None:
    for item in lab:
        found = outcome(item, item.contrastive[0])
        assert found.verdict != "kept", found


def test_a_person_decides_what_is_queued() -> None:
    queued = outcome(ROAD, "Die Straße ist sicher.")
    line = queued.question()
    assert line["answer"] is None
    assert line["correction"] == "Die Straße ist unsicher."
    assert {
        "id",
        "source",
        "translation",
        "correct",
        "contrastive",
        "phenomenon",
        "system",
        "question",
    } <= line.keys()
    assert outcome(DOG, "Die Hund schläft jetzt.").correction == "Der Hund schläft jetzt."
    wrong = outcome(ROAD, "Die Straße ist sicher.", answers=[{**line, "answer": "Wrong"}])
    assert wrong.pair is not None
    assert (wrong.pair.correct, wrong.pair.contrastive) == (
        "Die Straße ist unsicher.",
        ("Die Straße ist sicher.",),
    )
    assert (wrong.pair.extra["word"], wrong.pair.extra["changed"]) == ("unsicher", "sicher")
    assert (
        outcome(ROAD, "Die Straße ist sicher.", answers=[{**line, "answer": "Cannot tell"}]).verdict
        == "dropped"
    )
    right = outcome(ROAD, "Die Straße ist sicher.", answers=[{**line, "answer": "Right"}])
    assert (right.verdict, right.reason) == ("dropped", "a person says right, but it has no variant")
    # It has another word with un-, which can be made wrong.
    other = outcome(ROAD, "Die Straße ist sicher und unschön.")
    right = outcome(ROAD, other.translation, answers=[{**other.question(), "answer": "Right"}])
    assert right.pair is not None
    assert right.pair.contrastive == ("Die Straße ist sicher und schön.",)
    # An answer about another translation is none.
    assert outcome(ROAD, "Der Weg ist sicher.", answers=[{**line, "answer": "Wrong"}]).verdict == "queued"
    with pytest.raises(BabelscopeError, match="needs a right version of it in the field 'correction'"):
        outcome(ROAD, "Die Straße ist sicher.", answers=[{**line, "answer": "Wrong", "correction": None}])
    with pytest.raises(BabelscopeError, match="'9/machine/12345678' belongs to no pair"):
        outcome(
            ROAD, "Die Straße ist sicher.", answers=[{**line, "id": "9/machine/12345678", "answer": "Wrong"}]
        )


@given(st.integers(0, 60), st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 3))
def test_each_system_gets_its_share_of_the_sources(count: int, parts: list[int], seed: int) -> None:
    sources = [str(number % 50) for number in range(count)]
    shares = [part / (sum(parts) + 1) for part in parts]
    found = assign_systems(sources, len(parts), shares, seed)
    assert set(found) == set(sources)
    sizes = Counter(found.values())
    for number, share in enumerate(shares):
        assert abs(sizes[number] - share * len(found)) <= 1
    assert found == assign_systems(sources, len(parts), shares, seed)
    assert None not in assign_systems(sources, len(parts), (), seed).values()


def test_bad_input_is_told_before_any_work() -> None:
    silent = Canned({})
    for shares, told in (((0.5,), "as many shares"), ((0.9, 0.2), "at most 1"), ((0.5, 0.0), "above 0")):
        with pytest.raises(BabelscopeError, match=told):
            next(machine_references([ROAD], [silent, silent], shares=shares))
    machine = MinimalPair("1", "a", "b", ("c",), AFFIX, "machine")
    with pytest.raises(BabelscopeError, match="no pairs with human references"):
        next(machine_references([machine], [silent]))
    with pytest.raises(BabelscopeError, match="item 1: 'mine' is no error type"):
        next(machine_references([pair("mine", "a", "b", "c")], [silent]))
    with pytest.raises(BabelscopeError, match="none of the error types has a mode 'x'"):
        next(machine_references([ROAD], [silent], mode="x"))


@pytest.mark.parametrize(
    ("correct", "contrastive", "right"),
    [
        ("Er kommt nicht.", "Er kommt.", ("nicht", "", 9)),
        ("Seit dem langen Tag.", "Seit des langen Tages.", ("dem langen Tag", "des langen Tages", 5)),
        ("Er kam.", "Er kam nicht.", ("", "nicht", 6)),
        ("a", "a", ("", "", 1)),
    ],
)
def test_what_was_changed_is_told_in_whole_words(
    correct: str, contrastive: str, right: tuple[str, str, int]
) -> None:
    found = changed_words(correct, contrastive, tokenize)
    assert (found.word, found.changed, found.start) == right


def kept(human: MinimalPair, translation: str) -> Outcome:
    made = MinimalPair(f"{human.id}/machine", human.source, translation, ("x",), human.phenomenon, "machine")
    return Outcome(human, "s", translation, "kept", "as in the human reference", made)


def test_the_bias_report_by_hand() -> None:
    one, two, three = (
        pair(AFFIX, f"s{n}", text, "x", str(n)) for n, text in enumerate(("a a", "a bb", "a a b b"))
    )
    outcomes = [
        kept(one, "a"),
        kept(two, "a b a"),
        Outcome(three, "s", "c", "dropped", "no overlap"),
    ]
    rows = bias_rows(outcomes, {"0": 1.0, "0/machine": 0.5, "1": 2.0, "1/machine": 0.5})

    def value(name: str, **labels: str) -> float:
        (row,) = (r for r in rows if r.name == name and r.labels == {"phenomenon": "all", **labels})
        return row.estimate.value

    assert (value("kept"), value("dropped"), value("queued")) == pytest.approx((2 / 3, 1 / 3, 0))
    assert value("dropped", reason="no overlap") == pytest.approx(1 / 3)
    assert value("characters", of="human") == pytest.approx((3 + 4 + 7) / 3)
    assert value("characters", of="machine") == pytest.approx((1 + 5) / 2)
    assert value("characters", by="selection") == pytest.approx(3.5 - 14 / 3)
    assert value("characters", by="translation") == pytest.approx(3 - 3.5)
    assert value("tokens", of="machine") == pytest.approx(2)
    # 13 words in all: a 8 times, b 3 times, bb and c once.
    a, b, bb = (math.log(count / 13) for count in (8, 3, 1))
    assert value("log_frequency", of="human") == pytest.approx((a + (a + bb) / 2 + (a + b) / 2) / 3)
    assert value("log_frequency", of="machine") == pytest.approx((a + (2 * a + b) / 3) / 2)
    # Three human pairs, of which one was not scored.
    assert value("discrepancy", of="human") == pytest.approx(1.5)
    assert value("discrepancy", by="selection") == pytest.approx(0)
    assert value("discrepancy", by="translation") == pytest.approx(-1)
    assert {row.labels["phenomenon"] for row in rows} == {"all", AFFIX}
    # Where nothing is kept, nothing has shifted.
    assert {row.name for row in bias_rows([outcomes[2]])} == {"kept", "queued", "dropped"}


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("The brown dogs sleep.", {"brown"}),
        ("Собака громко лает ночью.", {"громко"}),
        ("הכלבים ישנים בחצר.", {"ישנים"}),
        ("A dog is here, Berlin 12345.", set()),
        ("猫が椅子の上で眠っています 猫が椅子の上で", set()),
    ],
)
def test_the_control_of_a_language_model_is_a_misspelled_word(sentence: str, words: set[str]) -> None:
    human = MinimalPair("1", "s", sentence, ("x",), "p", "human")
    made = [misspelled([human], seed) for seed in range(9)]
    assert made[0] == misspelled([human, human], 0)
    changed = set()
    for right, wrong in ((sentence.split(), own.contrastive[0].split()) for (own,) in filter(None, made)):
        ((one, other),) = ((a, b) for a, b in zip(right, wrong, strict=True) if a != b)
        apart = [place for place in range(len(one)) if one[place] != other[place]]
        assert (len(apart), apart[1] - apart[0], sorted(one)) == (2, 1, sorted(other))
        changed.add(one)
    assert changed == words


ITEMS = [ROAD, HE, pair(NICHT, "She did not sing.", "Sie sang nicht.", "Sie sang.", "3")]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    lines = [
        MinimalPair(str(n), i.source, i.correct, i.contrastive, i.phenomenon, "human")
        for n, i in enumerate(ITEMS)
    ]
    (tmp_path / "human.jsonl").write_text("".join(json.dumps(line.as_json()) + "\n" for line in lines))
    (tmp_path / "en").write_text("".join(f"{item.source}\n" for item in ITEMS))
    (tmp_path / "de").write_text("Die Straße ist sicher.\nHeute kommt er nicht.\nSie war still.\n")
    return ("--tests", "human.jsonl", "--system", "file:de?source=en", "--to", "out.jsonl")


def test_the_command(babelscope: Babelscope, files: tuple[str, ...], tmp_path: Path) -> None:
    ran = babelscope("make", "machine-references", *files, "--queue", "queue.jsonl", "--json")
    assert ran.code == 0
    assert "3 sentences, too few to tell reliably" in ran.err
    rows = ran.rows
    assert {"name", "value", "low", "high", "n", "phenomenon"} <= rows[0].keys()
    totals = {row["name"]: row["value"] for row in rows if row["phenomenon"] == "all" and "reason" not in row}
    assert (totals["kept"], totals["queued"], totals["dropped"]) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    (made,) = load(tmp_path / "out.jsonl").items_of(MinimalPair, what_for="test")
    assert (made.id, made.correct, made.contrastive) == (
        "1/machine",
        "Heute kommt er nicht.",
        ("Heute kommt er.",),
    )
    (line,) = read_rows(tmp_path / "queue.jsonl")
    line["answer"] = "Wrong"
    (tmp_path / "queue.jsonl").write_text(json.dumps(line) + "\n")
    # Answers are not written over.
    ran = babelscope("make", "machine-references", *files, "--queue", "queue.jsonl")
    assert (ran.code, "queue.jsonl has answers; give it" in ran.err) == (2, True)
    ran = babelscope(
        "make", "machine-references", *files, "--answers", "queue.jsonl", "--set", "with_human=yes"
    )
    assert ran.code == 0, ran.err
    assert "kept" in ran.out
    both = load(tmp_path / "out.jsonl").items_of(MinimalPair, what_for="test")
    assert [item.reference for item in both] == ["human"] * 3 + ["machine"] * 2
    assert both[3].contrastive == ("Die Straße ist sicher.",)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--answers", "bad.jsonl"), "bad.jsonl:1: 'answer' must be Right, Wrong, Cannot tell or null"),
        (
            ("--set", "score_with=file:de?source=en"),
            "the discrepancy needs a system that gives log-probabilities",
        ),
        (("--set", "share=2"), "together at most 1"),
        (("--tests", "nowhere.jsonl"), "nowhere.jsonl: no such file"),
    ],
)
def test_bad_use_is_told(
    babelscope: Babelscope, files: tuple[str, ...], tmp_path: Path, more: tuple[str, ...], told: str
) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": "0/machine", "answer": "maybe"}\n')
    usual = list(files)
    if "--tests" in more:
        del usual[usual.index("--tests") : usual.index("--tests") + 2]
    ran = babelscope("make", "machine-references", *usual, *more)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert not (tmp_path / "out.jsonl").exists()


N_SENTENCES = 60


def write(path: str, lines: Sequence[str]) -> None:
    Path(path).write_text("".join(f"{line}\n" for line in lines))


def read(path: str) -> list[str]:
    return Path(path).read_text().split("\n")[:-1]


def counts_by_reason(babelscope: Babelscope, system: str) -> Counter[str]:
    """Numbers of pairs of set.en and set.de by reason, those that were kept under `kept`."""
    if not Path("pairs.jsonl").exists():
        ran = babelscope(
            *("make", "pairs", "--type", "placeholder_ding", "--source", "set.en", "--reference", "set.de"),
            *("--to", "pairs.jsonl"),
        )
        assert ran.code == 0, ran.err
    Path("out.jsonl").unlink(missing_ok=True)
    asked = "make machine-references --tests pairs.jsonl --to out.jsonl --json"
    rows = babelscope(asked, "--system", system).rows
    found = [row for row in rows if row["name"] in ("kept", "dropped") and row["phenomenon"] == "all"]
    counts = Counter({row["reason"]: row["pairs"] for row in found if "reason" in row})
    counts["kept"] = next(row["pairs"] for row in found if row["name"] == "kept" and "reason" not in row)
    assert counts["kept"] == len(read("out.jsonl"))
    return counts


@pytest.fixture
def lab_set(babelscope: Babelscope) -> tuple[list[str], list[str]]:
    """English and German sentences of the lab, of which the first are the test set."""
    ran = babelscope("lab", "corpus", "--n", "400", "--seed", "5", "--split", "test", "--out", "corpus")
    assert ran.code == 0, ran.err
    english, german = read("corpus/corpus.en"), read("corpus/corpus.de")
    write("set.en", english[:N_SENTENCES])
    write("set.de", german[:N_SENTENCES])
    return english, german


def test_sound_translations_are_accepted(babelscope: Babelscope, lab_set: object) -> None:  # noqa: ARG001
    assert counts_by_reason(babelscope, "lab:student")["kept"] >= 0.9 * len(read("pairs.jsonl"))


def test_translations_of_other_sentences_are_rejected(
    babelscope: Babelscope, lab_set: tuple[list[str], list[str]]
) -> None:
    _, german = lab_set
    write("shuffled.de", [*german[1:N_SENTENCES], german[0]])
    found = counts_by_reason(babelscope, "file:shuffled.de?source=set.en")
    assert found["kept"] <= 5, found
    assert found["closer to another human reference"] >= 30, found


def test_translations_of_similar_sentences_are_rejected(
    babelscope: Babelscope, lab_set: tuple[list[str], list[str]]
) -> None:
    """As a badly trained model writes them: some words are right, and no sentence is."""
    english, german = lab_set
    closest = pairwise_chrf(english[:N_SENTENCES], english[N_SENTENCES:]).argmax(axis=1)
    write("similar.de", [german[N_SENTENCES + int(place)] for place in closest])
    found = counts_by_reason(babelscope, "file:similar.de?source=set.en")
    assert found["kept"] <= 5, found
    assert found["by a system too often closer to another human reference"] > 0, found


def test_copies_and_wrong_lengths_are_counted_as_such(
    babelscope: Babelscope, lab_set: tuple[list[str], list[str]]
) -> None:
    english, german = (side[:N_SENTENCES] for side in lab_set)
    cut = [text[: len(text) // 3] for text in german[5:10]]
    long = [f"{text} {text} {text}" for text in german[10:15]]
    write("odd.de", [*english[:5], *cut, *long, *german[15:]])
    found = counts_by_reason(babelscope, "file:odd.de?source=set.en")
    assert found["copy of the source"] == 5
    assert found["too short or too long"] >= 5, found
    assert found["kept"] >= 40, found
    ran = babelscope(
        *("contrast", "--tests", "pairs.jsonl", "--machine-references", "file:odd.de?source=set.en"),
        *("--system", "lab:student"),
    )
    assert ran.code == 0, ran.err
    assert "5 copy of the source" in " ".join(ran.out.split())
