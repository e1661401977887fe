"""Cues made by a masked language model that is trained here on the lab's English, and held against its truth."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope import condition, open_system
from babelscope.core.system import Fingerprint, Question, Scored
from babelscope.lab.grammar import suites
from babelscope.lab.grammar.corpus import split_of
from babelscope.lab.grammar.lexicon import SENSES
from babelscope.lab.grammar.meaning import random_stream
from babelscope.lab.grammar.oracle import realize_with_mistake
from babelscope.lab.grammar.sampling import sense_meaning
from babelscope.lab.grammar.sentences import english_text
from babelscope.language.cues import Cues, find_form, insert_cues, read_candidates, read_cues
from babelscope.making.cue_search import (
    Example,
    MaskedModel,
    _scores,
    examples_of,
    find_candidates,
    make_cues,
    select_cues,
    shortlist,
    split_examples,
    write_candidates,
)
from babelscope.testsets import AmbiguousSource, TestSet, load
from babelscope.testsets.mucow import read_keys
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

WORDS = ("bat", "seal")


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT that has read some sentences of the lab with two ambiguous words: a real folder."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    folder = tmp_path_factory.mktemp("masked")
    rng = random_stream(1, "masked")
    sentences: list[str] = []
    while len(sentences) < 1200:
        sense = SENSES[f"{rng.choice(WORDS)}/{rng.choice(('frequent', 'rare'))}"]
        sentence = english_text(sense_meaning(rng, sense, rng.choice(("both", "both", "adjective"))))
        if split_of(sentence) == "train":
            sentences.append(sentence)
    words = sorted({word for sentence in sentences for word in re.findall(r"\w+|[^\w\s]", sentence)})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##s", *words]
    tokenizer = BertTokenizerFast(vocab={w: i for i, w in enumerate(vocabulary)}, do_lower_case=False)
    torch.manual_seed(1)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(vocabulary), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=96, max_position_embeddings=40, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0, pad_token_id=0, initializer_range=0.1,
        )
    )  # fmt: skip
    rows = tokenizer(sentences, padding=True, return_tensors="pt")
    nouns = torch.tensor([vocabulary.index(form) for word in WORDS for form in (word, f"{word}s")])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    steps = 200
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, steps, pct_start=0.15)
    draw = torch.Generator().manual_seed(1)
    for _ in range(steps):
        some = torch.randint(len(sentences), (32,), generator=draw)
        ids, attention = rows["input_ids"][some], rows["attention_mask"][some]
        hidden = (torch.rand(ids.shape, generator=draw) < 0.1) | torch.isin(ids.roll(-1, 1), nouns)
        hidden &= ids > 4
        loss = model(
            input_ids=ids.masked_fill(hidden, 4),
            attention_mask=attention,
            labels=ids.masked_fill(~hidden, -100),
        ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def lab_items(n: int, seed: int) -> TestSet:
    """Sentences whose verb or modifier tells the sense, each with a reference, and one with the wrong noun."""
    rng = random.Random(seed)
    items = []
    pairs = suites.sense_pairs(n, seed)
    for pair, item in zip(pairs, suites.sense_items(n, seed, inserted=True), strict=True):
        if item["word"] in WORDS:
            sense = f"{item['word']}/{item['category']}"
            more = {"gold": sense, "wrong": realize_with_mistake(pair, sense, rng)}
            items.append(
                AmbiguousSource.from_json({**item, "correct_sources": [], "incorrect_sources": [], **more})
            )
    return TestSet("lab", tuple(items))


@pytest.fixture(scope="module")
def tests() -> TestSet:
    return lab_items(168, 5)


def agreement(tests: TestSet, evaluator: Any) -> float:
    """How often conditioning is right about right and wrong translations."""
    items = []
    for item in tests.items_of(AmbiguousSource, what_for="this test"):
        items.append(replace(item, translation=item.extra["reference"]))
        items.append(replace(item, id=f"{item.id} wrong", translation=item.extra["wrong"]))
    records = condition(
        "items:translations", TestSet("judged", tuple(items)), evaluator=evaluator, protocol="paper"
    ).records
    return sum(record["correct"] == (not record["id"].endswith("wrong")) for record in records) / len(records)


def with_random_cues(tests: TestSet, seed: int) -> TestSet:
    """The same sentences with adjectives drawn at random for every sense."""
    rng = random.Random(seed)
    adjectives = sorted({adjective for sense in SENSES.values() for adjective in sense.adjectives})
    drawn = {
        sense: Cues("", tuple(rng.sample(adjectives, 3)), tuple(rng.sample(adjectives, 3)))
        for sense in SENSES
    }
    items = []
    for item in tests.items_of(AmbiguousSource, what_for="this test"):
        form = find_form(item.extra["word"], item.source)
        assert form is not None
        cued = insert_cues(item.source, form, drawn[str(item.gold)])
        items.append(replace(item, correct_sources=cued.correct, incorrect_sources=cued.incorrect))
    return TestSet("random", tuple(items))


def test_cues_for_the_bat_agree_with_the_truth(masked: Path, tests: TestSet) -> None:
    evaluator = open_system("lab:teacher")
    made = make_cues(tests, evaluator, MaskedModel(str(masked)), seed=1)
    for sense in ("bat/frequent", "bat/rare", "seal/frequent", "seal/rare"):
        # The lab has three adjectives that tell each sense; the model has found them from the context alone.
        listed = made.candidates[sense.partition("/")[0]][sense]
        assert len({*listed[:5]} & {*SENSES[sense].adjectives}) >= 2, (sense, listed)
    animal = made.cues["bat", "bat/rare"]
    assert {*animal.correct} & {*SENSES["bat/rare"].adjectives}
    assert not {*animal.incorrect} & {*SENSES["bat/rare"].adjectives}
    found = agreement(made.tests, evaluator)
    by_chance = [agreement(with_random_cues(made.tests, seed), evaluator) for seed in range(2)]
    assert found >= 0.7, (found, by_chance)
    assert found >= max(by_chance) + 0.1, (found, by_chance)


def test_sentences_that_cues_are_selected_on_are_not_tested(masked: Path, tests: TestSet) -> None:
    evaluator, model = open_system("lab:teacher"), MaskedModel(str(masked))
    made = make_cues(tests, evaluator, model, seed=3, kept=2, narrow=3)
    tested = {item.id for item in made.tests}
    assert made.tests.skipped["used to select cues"] == made.selected_on == len(tests) - len(tested)
    assert len(made.by_item) == len(tests)
    for item, cues in zip(tests, made.by_item, strict=True):
        assert bool(cues.correct) == (item.id in tested)
    for item in made.tests.items_of(AmbiguousSource, what_for="this test"):
        assert len(item.correct_sources) == len(item.incorrect_sources) == 2
        assert item.extra["cues"]["correct"][0] in item.correct_sources[0].split()
    paper = make_cues(tests, evaluator, model, mode="paper")
    assert len(paper.tests) == paper.selected_on == len(tests)
    sources = {item.source for item in tests.items_of(AmbiguousSource, what_for="this test")}
    drawn = lab_items(60, 6).items_of(AmbiguousSource, what_for="this test")
    apart = TestSet("apart", tuple(item for item in drawn if item.source not in sources))
    others = make_cues(tests, evaluator, candidates=made.candidates, select_on=apart)
    assert len(others.tests) == len(tests)
    with pytest.raises(BabelscopeError, match=r"item sense-\d+ of lab is in lab too"):
        make_cues(tests, evaluator, model, select_on=tests)


@given(st.lists(st.sampled_from("abcdefgh"), max_size=20), st.floats(0.1, 0.9), st.integers(0, 9))
def test_a_sentence_is_on_one_side(sentences: list[str], share: float, seed: int) -> None:
    examples = [
        Example(AmbiguousSource(str(n), sentence, (), (), "x", gold="s"), "w", "w")
        for n, sentence in enumerate(sentences)
    ]
    chosen, tested = split_examples(examples, share, seed)
    assert not {each.item.source for each in chosen} & {each.item.source for each in tested}
    assert sorted(each.item.id for each in chosen + tested) == sorted(each.item.id for each in examples)
    assert split_examples(examples, share, seed) == (chosen, tested)


@given(st.lists(st.lists(st.floats(0, 0.9), min_size=3, max_size=3), min_size=2, max_size=3))
def test_a_candidate_is_in_some_example_and_in_no_counterexample(senses: list[list[float]]) -> None:
    """By all ways to fill the gaps, each by itself with the word or another."""
    absent = [np.array([sum(math.log1p(-p) for p in sense)]) for sense in senses]
    scores = _scores(absent, [3] * len(senses))
    gaps = [(number, p) for number, sense in enumerate(senses) for p in sense]
    right = [0.0] * len(senses)
    for filled in itertools.product((True, False), repeat=len(gaps)):
        probability = math.prod(p if f else 1 - p for f, (_, p) in zip(filled, gaps, strict=True))
        inside = {number for f, (number, _) in zip(filled, gaps, strict=True) if f}
        if len(inside) == 1:
            right[inside.pop()] += probability
    for number, score in enumerate(scores):
        expected = right[number] if right[number] >= max(right) - 1e-12 else 0.0
        assert score[0] in (pytest.approx(expected, abs=1e-9), pytest.approx(right[number], abs=1e-9))
    assert max(score[0] for score in scores) == pytest.approx(max(right), abs=1e-9)


def test_the_sense_with_most_sentences_does_not_win() -> None:
    rare, common = np.log1p(-np.array([0.3, 0.1])), np.log1p(-np.array([0.1, 0.1]))
    few, many = _scores([2 * rare, 30 * common], [2, 30])
    assert few[0] > 0
    assert many[0] == 0


def test_the_model_says_what_its_network_says(masked: Path) -> None:
    import torch
    from transformers import AutoTokenizer, BertForMaskedLM

    model = MaskedModel(str(masked))
    network = BertForMaskedLM.from_pretrained(masked).eval()
    tokenizer = AutoTokenizer.from_pretrained(masked)
    sentences = [
        "The farmer fed the [MASK] bat.",
        "The teacher forged a [MASK] seal in the garden yesterday.",
    ]
    alone = []
    for sentence in sentences:
        row = tokenizer(sentence, return_tensors="pt")
        place = row["input_ids"][0].tolist().index(tokenizer.mask_token_id)
        with torch.no_grad():
            alone.append(network(**row).logits[0, place].double().softmax(-1).numpy())
    absent = model.log_prob_absent(sentences)
    assert absent == pytest.approx(np.log(1 - alone[0]) + np.log(1 - alone[1]), abs=1e-5)
    best = list(itertools.islice(model.tokens(alone[0], whole_words=False), 3))
    assert best[0] == tokenizer.decode([int(alone[0].argmax())])
    # Padding that is seen changes what the released code sums; without any it is the same.
    product = alone[0] * alone[0]
    assert model.released_probabilities([sentences[0]] * 2) == pytest.approx(
        product / product.sum(), abs=1e-5
    )


def test_pieces_are_no_words(masked: Path) -> None:
    model = MaskedModel(str(masked))
    every = np.ones(len(model._tokenizer))
    words, tokens = (list(model.tokens(every, whole_words=each)) for each in (True, False))
    assert "##s" in tokens
    assert "." in tokens
    assert "[MASK]" in tokens
    assert {"bat", "bats", "hungry", "The"} <= set(words)
    assert not {"##s", ".", "[MASK]", "s"} & set(words)
    assert list(model.tokens(np.zeros(len(every)), whole_words=False)) == []


def test_pieces_of_a_byte_level_model_are_no_words(tmp_path: Path) -> None:
    """RoBERTa's tokens within a word read like words when they are decoded."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaForMaskedLM, RobertaTokenizerFast

    trained = ByteLevelBPETokenizer()
    lines = ["the bat and the batter met in the batting cage"] * 30
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(lines, vocab_size=300, special_tokens=special)
    trained.save_model(str(tmp_path))
    tokenizer = RobertaTokenizerFast.from_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    torch.manual_seed(1)
    RobertaForMaskedLM(
        RobertaConfig(
            vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=8, max_position_embeddings=40, pad_token_id=1,
        )
    ).save_pretrained(tmp_path)  # fmt: skip
    model = MaskedModel(str(tmp_path))
    every = np.ones(len(tokenizer))
    words, tokens = (list(model.tokens(every, whole_words=each)) for each in (True, False))
    assert len(words) == len(set(words)) < len(tokens)
    assert {"bat", "batter", "the"} <= set(words)
    for word in words:
        assert tokenizer.tokenize(f" {word}") == [f"Ġ{word}"]
    assert model.fits(model.with_gap("the ", "bat met"))
    assert not model.fits(model.with_gap("the " * 50, "bat met")), "too long"
    assert model.log_prob_absent([model.with_gap("the ", "bat met")]).shape == (len(tokenizer),)


class Stub:
    """An evaluator whose likelihoods are told by the cue in the source."""

    name = "stub"
    fingerprint = Fingerprint("stub")

    def __init__(self, nats: dict[tuple[str, str], float]) -> None:
        self.nats = nats

    def score(self, pairs: Sequence[tuple[Question, str]]) -> list[Scored]:
        answers = []
        for question, reference in pairs:
            known = next(
                (n for (r, cue), n in self.nats.items() if r == reference and f" {cue} " in question.source),
                -1,
            )
            answers.append(Scored(reference, ("x",), (float(known),)))
        return answers


def _examples() -> list[Example]:
    return [
        Example(
            AmbiguousSource(
                f"{sense}{n}", f"{n} the pen .", (), (), "x", gold=sense, extra={"reference": sense}
            ),
            "pen",
            "pen",
        )
        for sense in ("ink", "pig")
        for n in range(2)
    ]


def test_what_is_discriminative() -> None:
    candidates = {"pen": {"ink": ("felt", "blue", "own"), "pig": ("farm", "muddy", "big")}}
    nats = {
        ("ink", "felt"): -2.0, ("pig", "felt"): -9.0,
        ("ink", "blue"): -3.0, ("pig", "blue"): -4.0,
        ("ink", "own"): -1.1, ("pig", "own"): -1.1,
        ("ink", "farm"): -8.0, ("pig", "farm"): -2.0,
        ("ink", "muddy"): -5.0, ("pig", "muddy"): -3.0,
        ("ink", "big"): -9.0, ("pig", "big"): -9.0,
    }  # fmt: skip
    by_difference = select_cues(candidates, _examples(), Stub(nats), kept=2)
    assert by_difference["pen", "ink"] == Cues("pen", ("felt", "blue"), ("farm", "muddy"))
    assert by_difference["pen", "pig"] == Cues("pen", ("farm", "muddy"), ("felt", "blue"))
    # Appendix D prefers a word that changes nothing, and one that makes everything unlikely.
    as_published = select_cues(candidates, _examples(), Stub(nats), kept=2, criterion="reference")
    assert as_published["pen", "ink"] == Cues("pen", ("own", "felt"), ("big", "farm"))


def test_candidates_are_narrowed() -> None:
    candidates = {"a": ("x", "y", "z"), "b": ("y", "p", "q"), "c": ("p", "r", "x")}
    assert shortlist(candidates, "a") == Cues("", ("z",), ("p", "r", "q"))
    assert shortlist(candidates, "a", "paper") == Cues("", ("z",), ("p", "p", "r", "q"))
    assert shortlist(candidates, "a", most=1) == Cues("", ("z",), ("p",))


@pytest.mark.parametrize(("pair", "senses"), [("en-de", 362), ("en-ru", 203)])
def test_published_cues_are_among_the_narrowed_candidates(shared: Path, pair: str, senses: int) -> None:
    folder = shared / "data" / "mucow"
    candidates = read_candidates(folder / "cues" / f"{pair}.insertion_candidates.roberta-large.json")
    cues = read_cues(folder / "cues" / f"{pair}.insertions.roberta-large.jsonl")
    own = {(key.word, " ".join(key.correct)): cue for key, cue in zip(
        read_keys(folder / f"{pair}.key.tsv"), cues, strict=True)}  # fmt: skip
    assert len(own) == senses

    def held(most: int) -> int:
        few = {key: shortlist(candidates[key[0]], key[1], "paper", most) for key in own}
        return sum(
            {*own[key].correct} <= {*few[key].correct} and {*own[key].incorrect} <= {*few[key].incorrect}
            for key in own
        )

    assert held(10) == senses
    assert held(9) < senses, "with fewer candidates they could not have been selected"


def test_items_must_say_word_sense_and_reference(masked: Path) -> None:
    item = AmbiguousSource("i", "A pen.", (), (), "x")
    with pytest.raises(BabelscopeError, match="item i of t needs 'word', its ambiguous word, and 'gold'"):
        examples_of(TestSet("t", (item,)), {})
    skipped: dict[str, int] = {}
    ink = replace(item, gold="ink", extra={"word": "quill"})
    assert examples_of(TestSet("t", (ink,)), skipped) == []
    assert skipped == {"word not in the sentence": 1}
    (example,) = examples_of(TestSet("t", (replace(ink, extra={"word": "pen"}),)), {})
    with pytest.raises(BabelscopeError, match="item i needs a field 'reference'"):
        _ = example.reference
    assert find_candidates(MaskedModel(str(masked)), [example], skipped=skipped) == {}, "one sense only"


def test_the_command(masked: Path, tests: TestSet, babelscope: Babelscope, tmp_path: Path) -> None:
    tests.write(tmp_path / "t.jsonl")
    usual = ("make", "cues", "--tests", "t.jsonl", "--evaluator", "lab:teacher", "--seed", "1")
    ran = babelscope(
        *usual, "--model", str(masked), "--to", "cued.jsonl", "--set", "save_cues=cues.jsonl",
        "--set", "save_candidates=candidates.json",
    )  # fmt: skip
    assert (ran.code, ran.out) == (0, "")
    made = load("cued.jsonl")
    assert f"{len(made)} items to test" in ran.err
    assert "used to select cues" in ran.err
    cues = read_cues("cues.jsonl")
    assert len(cues) == len(tests)
    assert sum(bool(each.correct) for each in cues) == len(made)
    assert babelscope(*usual, "--candidates", "candidates.json").rows == [item.as_json() for item in made]
    assert write_candidates(read_candidates("candidates.json")) + "\n" == Path("candidates.json").read_text()
    judged = babelscope("condition", "--tests", "cued.jsonl", "--system", "lab:student",
                        "--evaluator", "lab:teacher", "--json")  # fmt: skip
    assert judged.code == 0
    first = json.loads(judged.out.split("\n")[0])
    assert first["n"] + first["undecided"] == len(made)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "make cues needs either --model or --candidates"),
        (("--model", "nowhere/at/all"), "nowhere/at/all: no such folder"),
        (("--model", "m", "--protocol", "paper", "--select-on", "t.jsonl"), "leave --select-on out"),
        (("--candidates", "c.json"), "no item of t got cues"),
        (("--candidates", "c.json", "--tests", "p.jsonl"), "make cues needs AmbiguousSource items"),
    ],
)
def test_bad_usage_is_told_in_a_sentence(
    babelscope: Babelscope, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "c.json").write_text("{}")
    (tmp_path / "t.jsonl").write_text(
        '{"id": "1", "source": "My pen.", "correct_sources": [], "incorrect_sources": [], "category": "x",'
        ' "gold": "ink", "word": "pen", "reference": "Mein Stift."}\n'
    )
    (tmp_path / "p.jsonl").write_text('{"id": "1", "source": "a", "reference": "b"}\n')
    tests = () if "--tests" in arguments else ("--tests", "t.jsonl")
    ran = babelscope("make", "cues", *tests, "--evaluator", "toy:1", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1
