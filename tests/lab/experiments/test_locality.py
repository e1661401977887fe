"""The locality experiment: arrangements, what order can and cannot mean to a network, training, resuming."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import babelscope as bs
from babelscope.lab.experiments.locality import (
    SIGMA,
    Model,
    Plan,
    Setting,
    Trial,
    arrange_source,
    draw_pairs,
    locality,
    locality_rows,
    plan_for,
    quick_plan,
    read_own_text,
    source_positions,
    trials,
)
from babelscope.lab.experiments.locality_training import (
    Best,
    Network,
    Positions,
    Recurrent,
    Transformer,
    greedy,
    train_trial,
)
from babelscope.lab.training.networks import sinusoids
from babelscope.metrics.corpus import corpus_estimate
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import write_pairs
from tests.support.toy_fixtures import Babelscope

ORDER = [3, 0, 4, 1, 2]


def transformer(order: list[int], positions: Positions, *, concatenate: bool = False) -> Transformer:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"width": 16, "heads": 2, "layers": 2, "dropout": 0.1, "longest": 12}
    return Transformer((9, 8), order, positions, **sizes, concatenate=concatenate).eval()


def recurrent() -> Recurrent:
    torch.manual_seed(0)
    return Recurrent((9, 8), width=16, dropout=0.1).eval()


def test_the_paper_s_permutation_is_one_and_is_taken_for_its_length() -> None:
    assert sorted(SIGMA) == list(range(18))
    assert Plan().permutation == SIGMA
    other = Plan(length=7).permutation
    assert sorted(other) == list(range(7))
    assert other == Plan(length=7).permutation


@given(st.permutations(range(6)))
def test_a_token_goes_where_the_permutation_says(permutation: list[int]) -> None:
    words = list("abcdef")
    found = arrange_source(words, "permuted", permutation)
    assert all(found[permutation[place]] == word for place, word in enumerate(words))
    assert arrange_source(words, "reversed", permutation) == words[::-1]
    assert (
        arrange_source(words, "regular", permutation)
        == arrange_source(words, "positions", permutation)
        == words
    )
    assert source_positions("positions", permutation) == permutation
    assert source_positions("permuted", permutation) == list(range(6))


def test_sinusoids_are_those_of_section_2_1() -> None:
    table = sinusoids(5, 8)
    for place, column in itertools.product(range(5), range(8)):
        angle = place / 10_000 ** (2 * (column // 2) / 8)
        right = math.cos(angle) if column % 2 else math.sin(angle)
        assert float(table[place, column]) == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize(("positions", "concatenate"), [("learned", False), ("sine", False), ("sine", True)])
def test_to_a_transformer_permuted_tokens_are_permuted_positions(
    positions: Positions, concatenate: bool
) -> None:
    """Self-attention has no order but the positions: both settings are one function of the sentence."""
    source, shifted = torch.tensor([[5, 3, 8, 2, 7]]), torch.tensor([[0, 4, 6]])
    moved = torch.empty_like(source)
    moved[:, ORDER] = source
    told, plain = (
        transformer(order, positions, concatenate=concatenate) for order in (ORDER, list(range(5)))
    )
    there, here = told.encode(source), plain.encode(moved)
    assert torch.allclose(there, here[:, ORDER], atol=1e-5)
    assert torch.allclose(told.decode(there, shifted), plain.decode(here, shifted), atol=1e-5)
    other = plain.decode(plain.encode(source), shifted)
    assert not torch.allclose(other, plain.decode(here, shifted), atol=1e-3), "yet order means something"


def test_learned_positions_can_undo_any_permutation() -> None:
    """Why the paper's Transformer has no bias: with its rows exchanged it is the same network again."""
    source, shifted = torch.tensor([[5, 3, 8, 2, 7]]), torch.tensor([[0, 4, 6]])
    moved = torch.empty_like(source)
    moved[:, ORDER] = source
    plain, other = transformer(list(range(5)), "learned"), transformer(list(range(5)), "learned")
    with torch.no_grad():
        other.positions[ORDER] = plain.positions.clone()
    right = plain.decode(plain.encode(source), shifted)
    assert torch.allclose(other.decode(other.encode(moved), shifted), right, atol=1e-5)


@pytest.mark.parametrize("network", [transformer(ORDER, "learned"), transformer(ORDER, "sine"), recurrent()])
def test_a_decoder_does_not_see_what_comes_later(network: Network) -> None:
    memory = network.encode(torch.tensor([[5, 3, 8, 2, 7]]))
    one, other = torch.tensor([[0, 4, 6, 1]]), torch.tensor([[0, 4, 3, 7]])
    states = network.decode(memory, one), network.decode(memory, other)
    assert torch.allclose(states[0][:, :2], states[1][:, :2], atol=1e-5)
    assert not torch.allclose(states[0][:, 2], states[1][:, 2], atol=1e-3)


@pytest.mark.parametrize("network", [transformer(ORDER, "sine"), recurrent()])
def test_greedy_takes_the_best_word_each_time(network: Network) -> None:
    sources = torch.randint(3, 9, (6, 5), generator=torch.Generator().manual_seed(1))
    found = greedy(network, sources, begin=0, end=1, longest=6)
    for source, row in zip(sources, found, strict=True):
        read = [0]
        with torch.no_grad():
            memory = network.encode(source[None])
            while len(read) < 7:
                scores = network.decode(memory, torch.tensor([read]))[0, -1] @ network.target.weight.t()
                best = max(range(1, 8), key=lambda word: float(scores[word]))
                if best == 1:
                    break
                read.append(best)
        assert row == read[1:]


def toy_pairs(count: int) -> list[tuple[list[str], list[str]]]:
    """Word for word, but the first word comes last: what is said of it depends on the second."""
    pairs = []
    for number in range(count):
        digits = [number // 4**place % 4 for place in range(5)]
        source = [f"s{digit}" for digit in digits]
        target = [f"t{digit}" for digit in digits[1:]] + [f"t{digits[0]}{'x' if digits[1] else ''}"]
        pairs.append((source, target))
    return pairs


@pytest.mark.parametrize(
    ("model", "setting"),
    [("learned", "permuted"), ("sine", "regular"), ("bilstm", "reversed"), ("learned", "token-middle")],
)
def test_every_network_learns_a_toy_language(model: Model, setting: Setting) -> None:
    sizes: dict[str, Any] = {"length": 5, "sentences": 600, "test": 50, "width": 32, "layers": 1, "batch": 16}
    plan = Plan(**sizes, epochs=5, dropout=0.0, learning_rate=1e-2, warmup=20)
    pairs = toy_pairs(1024)
    mixed = [pairs[number * 389 % 1024] for number in range(650)]
    found = train_trial(plan, Trial(1, model, setting), mixed)
    assert found["bleu"] > 80
    assert found["unknown_words"] == found["unfinished"] == 0
    # Sentences that are all right say nothing about how far others would be.
    assert ("no_interval" in found) == (found["bleu"] > 99.999)
    assert "no_interval" in found or found["low"] <= found["bleu"] <= found["high"]


def test_sentences_have_one_length_and_none_is_in_training_and_test() -> None:
    pairs = list(draw_pairs(Plan(length=7, sentences=90, test=10)))
    assert {len(source) for source, _ in pairs} == {7}
    for side in (0, 1):
        assert len({" ".join(pair[side]) for pair in pairs}) == 100


def test_a_length_that_hardly_occurs_is_refused() -> None:
    with pytest.raises(BabelscopeError, match="only 0 have 60 German words, and 2 are needed"):
        list(draw_pairs(Plan(length=60, sentences=1, test=1)))


def test_the_bilstm_has_no_positions_to_permute() -> None:
    found = trials(Plan(repetitions=3))
    assert len(found) == 33
    assert not [cell for cell in found if (cell.model, cell.setting) == ("bilstm", "positions")]


def test_rows_are_means_over_repetitions_and_paired_differences() -> None:
    def figures(bleu: float) -> dict[str, float]:
        return {"bleu": bleu, "low": bleu - 1, "high": bleu + 1, "sentences": 10, "unfinished": 1}

    bleus: dict[Setting, tuple[int, ...]] = {"regular": (20, 30, 40), "permuted": (19, 28, 37)}
    found = {
        Trial(repetition, "sine", setting): figures(bleu)
        for setting, values in bleus.items()
        for repetition, bleu in enumerate(values, 1)
    }
    rows = {(row.name, row.labels["setting"]): row for row in locality_rows(found)}
    assert rows["bleu", "regular"].estimate.value == 30
    assert rows["bleu", "regular"].counts == {"unfinished": 3}
    assert rows["sd", "regular"].estimate.value == 10
    difference = rows["minus_regular", "permuted"].estimate
    assert difference.value == -2
    # t(2) = 4.303, sd of -1, -2, -3 is 1: far narrower than unpaired.
    assert difference.high - difference.value == pytest.approx(4.303 / math.sqrt(3), abs=1e-3)
    one = locality_rows({Trial(1, "sine", "regular"): figures(20)})
    assert (one[0].estimate.low, one[0].estimate.n) == (19, 10)


TINY = {"length": 6, "sentences": 60, "test": 10, "repetitions": 1, "epochs": 1}


@pytest.mark.slow
def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    plan = quick_plan(**TINY)
    folder = tmp_path / "runs"
    asked: dict[str, Any] = {"models": ["bilstm"], "settings": ["regular", "reversed"], "quiet": True}
    first = locality(folder, plan, **asked)
    kept = folder / "bilstm-regular-1.json"
    stored = json.loads(kept.read_text())
    kept.write_text(json.dumps({**stored, "bleu": 77.0, "low": 70.0, "high": 80.0}))
    (folder / "bilstm-reversed-1.json").unlink()
    again = locality(folder, plan, **asked)
    assert again[0].estimate.value == 77.0
    assert [row.estimate for row in again if row.name == "bleu"][1] == [
        row.estimate for row in first if row.name == "bleu"
    ][1], "the same seed, the same network"
    more = locality(folder, quick_plan(**{**TINY, "repetitions": 2}), **{**asked, "settings": ["regular"]})
    assert more[0].estimate.n == 2, "repetitions can be added"
    with pytest.raises(BabelscopeError, match="holds another experiment \\(epochs: 1 there, 2 here\\)"):
        locality(folder, quick_plan(**{**TINY, "epochs": 2}), **asked)


def test_a_folder_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(BabelscopeError, match="is not empty, and no experiment of ours"):
        locality(tmp_path, quick_plan(**TINY))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--set", "permutation=1 x"), "'1 x' is no value for permutation"),
        (("--set", "length=2"), "'2' is no value for length"),
        (("--set", "permutation=0 1 2"), "0 1 2 is no permutation of the numbers from 0 to 17"),
        (
            ("--set", "length=3", "--set", "permutation=0,1,1"),
            "0 1 1 is no permutation of the numbers from 0 to 2",
        ),
        (("--source", "a.en"), "needs both --source and --target"),
        (("--set", "pieces=100"), "--set pieces only applies to your own text"),
        (("--set", "width=90"), "divisible among 4 heads"),
    ],
)
def test_bad_options_are_refused(babelscope: Babelscope, arguments: tuple[str, ...], said: str) -> None:
    ran = babelscope("lab", "locality", "--out", "x", *arguments)
    assert ran.code == 2
    assert said in ran.err


NOUNS = {"dog": "Hund", "man": "Mann", "judge": "Richter", "boy": "Junge", "baker": "Bäcker", "king": "König"}
VERBS = {"sees": "sieht", "hears": "hört", "calls": "ruft", "knows": "kennt", "helps": "hilft"}


def sentences() -> list[tuple[str, str]]:
    return [
        (f"the {one} {verb} the {other}.", f"der {NOUNS[one]} {VERBS[verb]} den {NOUNS[other]}.")
        for one in NOUNS
        for verb in VERBS
        for other in NOUNS
    ]


def write(folder: Path) -> tuple[Path, Path]:
    mixed = sentences()
    return write_pairs(folder, [mixed[number * 77 % len(mixed)] for number in range(len(mixed))])


def test_pairs_of_the_length_are_found_and_held_out(tmp_path: Path) -> None:
    own = read_own_text(*write(tmp_path), length=6)
    assert len(own.pairs) == 180
    assert own.pairs[0][0][-1] == "."
    plan = plan_for(own, pieces=0, quick=False, given={"length": 6})
    assert (plan.sentences, plan.dev, plan.test) == (144, 18, 18)
    assert plan.text == own.digest
    with pytest.raises(BabelscopeError, match="there are 180 pairs of this length"):
        plan_for(own, pieces=0, quick=False, given={"length": 6, "sentences": 170})


def test_a_length_that_is_rare_is_refused_with_the_commonest(tmp_path: Path) -> None:
    with pytest.raises(BabelscopeError, match=r"0 different pairs with 18 source tokens.* 6 \(180 pairs\)"):
        read_own_text(*write(tmp_path), length=18)


def test_the_best_epoch_is_kept_and_training_stops_by_patience() -> None:
    network = Recurrent((5, 5), width=4, dropout=0.0)
    scores = iter([10.0, 30.0, 30.0, 20.0])
    best = Best(lambda: next(scores), network, patience=2)
    stops = []
    for epoch in range(1, 5):
        with torch.no_grad():
            network.begin.bias.fill_(float(epoch))
        stops.append(best.measure())
    assert stops == [False, False, False, True]
    best.restore()
    assert best.epoch == 2
    assert float(network.begin.bias.detach()[0]) == 2


@pytest.mark.parametrize(
    ("model", "setting"), [("sine", "permuted"), ("learned", "positions"), ("bilstm", "reversed")]
)
@pytest.mark.parametrize("pieces", [0, 90])
def test_a_kept_network_opens_as_a_system_with_all_capabilities(
    tmp_path: Path, babelscope: Babelscope, model: str, setting: str, pieces: int
) -> None:
    files = write(tmp_path)
    sizes = ["length=6", "width=16", "heads=2", "layers=1", "epochs=3", "repetitions=1", f"pieces={pieces}"]
    chosen = [f"model={model}", f"setting={setting}", "quiet=yes", "workers=1"]
    asked = ["--out", "x", "--source", str(files[0]), "--target", str(files[1])]
    asked += [word for each in (*sizes, *chosen) for word in ("--set", each)]
    ran = babelscope("lab", "locality", *asked)
    assert ran.code == 0, ran.err
    figures = json.loads((tmp_path / "x" / f"{model}-{setting}-1.json").read_text(encoding="utf-8"))
    assert 1 <= figures["best_epoch"] <= 3
    assert figures["dev_bleu"][figures["best_epoch"] - 1] == max(figures["dev_bleu"])
    system = bs.open_system(f"lab:{tmp_path}/x/networks/{model}-{setting}-1")
    chosen = [one for one, _ in sentences()][:2]
    (found,) = system.translate(chosen[:1], beam=2)
    assert found[0].total <= 0
    (drawn,) = system.sample(chosen[:1], n=4, seed=1)
    again = system.score([(chosen[0], each) for each in drawn])
    assert [each.total for each in drawn] == pytest.approx([each.total for each in again], abs=1e-4)
    memory = system.encode(chosen)
    logs = system.step(memory, [0, 1], [0, 0])
    assert logs.exp().sum(1).tolist() == pytest.approx([1, 1], abs=1e-5)
    with pytest.raises(BabelscopeError, match="reads sources of 6"):
        system.translate(["dog"])


def test_a_network_opened_again_says_what_it_said_in_training(tmp_path: Path) -> None:
    own = read_own_text(*write(tmp_path), length=6)
    sizes: dict[str, Any] = {"length": 6, "width": 32, "heads": 2, "layers": 1, "epochs": 12, "warmup": 20}
    plan = plan_for(own, pieces=0, quick=False, given={**sizes, "dropout": 0.0, "learning_rate": 1e-2})
    found = train_trial(plan, Trial(1, "sine", "permuted"), own.pairs, keep=tmp_path / "kept")
    system = bs.open_system(f"lab:{tmp_path / 'kept'}")
    known = dict(sentences())
    test = [" ".join(source[:-1]) + "." for source, _ in own.pairs[-plan.test :]]
    said = [best[0].text for best in system.translate(test, beam=1)]
    again = corpus_estimate("bleu", said, [[known[one]] for one in test])
    assert 20 < again.value == pytest.approx(found["bleu"], abs=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        {"longest": 10**9},
        {"model": "other"},
        {"words": 3},
        {"plan": {"permutation": [0], "length": 1, "layers": 10**9}},
    ],
)
def test_a_changed_description_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    own = read_own_text(*write(tmp_path), length=6)
    plan = plan_for(own, pieces=0, quick=True, given={"length": 6, "epochs": 1, "heads": 2, "sentences": 20})
    train_trial(plan, Trial(1, "bilstm", "regular"), own.pairs, keep=tmp_path / "kept")
    path = tmp_path / "kept" / "locality.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**told, **change}), encoding="utf-8")
    with pytest.raises(BabelscopeError, match="no network of `lab locality`"):
        bs.open_system(f"lab:{tmp_path / 'kept'}")
