"""Locality on text of one's own: BPE or words, the best epoch, and networks that are kept and opened as systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import babelscope as bs
from babelscope.lab.experiments.locality import Trial
from babelscope.lab.experiments.locality_text import plan_for, read_own_text
from babelscope.lab.experiments.locality_training import Best, train_trial
from babelscope.metrics.corpus import corpus_estimate
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

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
    files = folder / "a.en", folder / "a.de"
    mixed = sentences()
    mixed = [mixed[number * 77 % len(mixed)] for number in range(len(mixed))]
    for side, path in enumerate(files):
        path.write_text("".join(f"{pair[side]}\n" for pair in mixed), encoding="utf-8")
    return files


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


def test_the_best_epoch_is_kept_and_not_the_last() -> None:
    import torch

    from babelscope.lab.experiments.locality_networks import Recurrent

    network = Recurrent((5, 5), width=4, dropout=0.0)
    scores = iter([10.0, 30.0, 30.0, 20.0])
    best = Best(lambda: next(scores), network)
    for epoch in range(1, 5):
        with torch.no_grad():
            network.begin.bias.fill_(float(epoch))
        best.measure()
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
    text = ["--source", str(files[0]), "--target", str(files[1]), "--length", "6", "--pieces", str(pieces)]
    sizes = ["--width", "16", "--heads", "2", "--layers", "1", "--epochs", "3", "--repetitions", "1"]
    asked = ["--out", "x", "--model", model, "--setting", setting, "--quiet", "--workers", "1"]
    ran = babelscope("lab", "locality", *asked, *text, *sizes)
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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--source", "a.en"), "needs both --source and --target"),
        (("--pieces", "100"), "is for text of your own"),
        (("--width", "90"), "divisible among 4 heads"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    babelscope: Babelscope, arguments: tuple[str, ...], said: str
) -> None:
    ran = babelscope("lab", "locality", "--out", "x", *arguments)
    assert ran.code == 2
    assert said in ran.err
