"""The training loop: accumulated gradients, mixed precision, which weights are selected, and averages of them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from babelscope.lab.training.loop import (
    Muon,
    Selection,
    TrainingRun,
    open_network,
    orthogonal,
    score_development,
    smoothed_cross_entropy,
    translate_corpus,
)
from babelscope.lab.training.ranking import Candidates, find_candidates
from babelscope.lab.training.text import Batch, ParallelText, train_pieces
from babelscope.lab.training.train import train
from babelscope.metrics.base import find_metric
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import PAIRS, learn, quick, write_pairs


def new_run(device: str = "cpu", **given: Any) -> TrainingRun:
    """A run on the toy pairs, not begun."""
    text = ParallelText([one for one, _ in PAIRS], [other for _, other in PAIRS], {})
    pieces = train_pieces(iter([*text.source, *text.target]), 90)
    return TrainingRun(quick(**given), pieces, text, text, device=torch.device(device))


def rows_of(batch: Batch, rows: slice) -> Batch:
    return Batch(batch.source[rows], batch.shifted[rows], batch.target[rows])


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_accumulated_batches_make_the_step_of_one_large_batch(optimizer: str) -> None:
    whole, parts = (new_run(label_smoothing=0.1, optimizer=optimizer, clip=1e-3) for _ in range(2))
    for _ in range(3):
        large = next(whole._batches())
        # Of unequal sizes: a mean of means would be another gradient.
        small = [rows_of(large, slice(0, 3)), rows_of(large, slice(3, 4)), rows_of(large, slice(4, None))]
        assert whole._learn([large]) == pytest.approx(parts._learn(small), abs=1e-6)
    assert whole.tokens == parts.tokens
    for one, other in zip(whole.weights, parts.weights, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-4)


def test_a_step_takes_as_many_batches_as_were_asked_for() -> None:
    run = new_run(accumulate=3)
    count = len(run.corpus.batches(run.settings.batch_tokens, np.random.default_rng(0)))
    groups = run._groups()
    seen = [len(next(groups)) for _ in range(count)]
    assert set(seen) == {3}
    assert (run.epoch, run.position) == (2, count)  # three epochs are read, the third to its end


def test_bfloat16_learns_and_keeps_weights_in_float32(tmp_path: Path) -> None:
    card = learn(tmp_path, tmp_path / "mixed", quick(steps=200, dev_every=100, precision="bfloat16"))
    plain = learn(tmp_path, tmp_path / "plain", quick(steps=200, dev_every=100))
    assert card["dev_loss"] < 0.1
    assert card["dev_loss"] != plain["dev_loss"], "nothing was rounded"
    assert card["configuration"]["settings"]["precision"] == "bfloat16"
    run = new_run(precision="bfloat16")
    run._learn(next(run._groups()))
    assert {weight.dtype for weight in run.weights} == {torch.float32}
    assert {weight.grad.dtype for weight in run.weights if weight.grad is not None} == {torch.float32}


def test_the_loss_of_rounded_factors_is_near_the_loss() -> None:
    draw = torch.Generator().manual_seed(3)
    hidden, weight = (torch.randn(n, 16, generator=draw, requires_grad=True) for n in (700, 40))
    labels = torch.randint(40, (700,), generator=draw)
    found = {}
    for narrow in (torch.float32, torch.bfloat16):
        loss = smoothed_cross_entropy(hidden, weight, labels, 0.1, narrow)
        found[narrow] = (loss, *torch.autograd.grad(loss, (hidden, weight)))
    for exact, rounded in zip(*found.values(), strict=True):
        assert not torch.equal(exact, rounded)
        torch.testing.assert_close(exact, rounded, atol=2e-2 * float(exact.detach().abs().max()), rtol=0)


def weights(value: float) -> dict[str, torch.Tensor]:
    return {"w": torch.full((2,), float(value))}


def test_the_best_or_the_last_are_kept_and_averaged() -> None:
    values = [5.0, 3.0, float("nan"), 4.0, 3.0, 1.0]
    expected = {
        ("best", 1): ([6], 6.0),
        ("best", 3): ([6, 2, 5], (6 + 2 + 5) / 3),
        ("last", 1): ([6], 6.0),
        ("last", 2): ([5, 6], 5.5),
        ("last", 9): ([1, 2, 3, 4, 5, 6], 3.5),
    }
    for (of, count), (steps, mean) in expected.items():
        selection = Selection(count, of)  # type: ignore[arg-type]
        for step, value in enumerate(values, 1):
            selection.add(value, step, weights(step))
            if step == 5:
                assert selection.stale == 3  # a tie is no improvement
            again = Selection(count, of)  # type: ignore[arg-type]
            again.restore(selection.state())
            selection = again
        assert [each.step for each in selection.kept] == steps
        assert selection.averaged()["w"].tolist() == pytest.approx([mean, mean])
        assert (selection.best_step, selection.stale) == (6, 0)


def test_averaged_weights_are_the_mean_of_those_measured(tmp_path: Path) -> None:
    usual: dict[str, Any] = {"dev_every": 10, "half": False, "schedule": "inverse-sqrt", "average_of": "last"}
    card = learn(tmp_path, tmp_path / "mean", quick(**usual, steps=40, average=2))
    assert card["averaged_steps"] == [30, 40]
    parts = []
    for steps in (30, 40):
        learn(tmp_path, tmp_path / f"{steps}", quick(**usual, steps=steps))
        parts.append(load_file(tmp_path / f"{steps}" / "model.safetensors"))
    for name, tensor in load_file(tmp_path / "mean" / "model.safetensors").items():
        torch.testing.assert_close(tensor, (parts[0][name] + parts[1][name]) / 2)


def test_a_metric_selects_and_stops(tmp_path: Path) -> None:
    recipe = quick(steps=75, dev_every=25, select="bleu", dev_beam=2, average=2, half=False)
    card = learn(tmp_path, tmp_path / "model", recipe)
    score = card["dev_score"]
    assert (score["metric"], score["beam"], score["n"]) == ("bleu", 2, len(PAIRS))
    assert score["low"] <= score["value"] <= score["high"]
    by_score = sorted(card["history"], key=lambda look: (-look[3], look[0]))
    assert card["best_step"] == by_score[0][0]
    assert card["averaged_steps"] == sorted(look[0] for look in by_score[:2])
    # The same translations as those of the model that was saved.
    from babelscope import open_system
    from babelscope.metrics.corpus import corpus_estimate

    translated = open_system(f"hf:{tmp_path / 'model'}").translate([one for one, _ in PAIRS], beam=2)
    texts = [group[0].text for group in translated]
    expected = corpus_estimate("bleu", texts, [[other] for _, other in PAIRS])
    assert score["value"] == pytest.approx(expected.value, abs=1e-6)
    told = json.loads((tmp_path / "model" / "card.json").read_text())
    assert told["dev_score"] == score
    for option in ("select=bleu", "dev_beam=2", "average=2"):
        assert option in card["command"]


CHINESE = {"cat": "猫", "cow": "牛", "mouse": "老鼠", "goat": "山羊", "sees": "看见", "likes": "喜欢"}


def chinese_files(folder: Path) -> tuple[Path, Path]:
    subjects, verbs = list(CHINESE)[:4], list(CHINESE)[4:]
    names = [(a, verb, b, n) for a in subjects for verb in verbs for b in subjects for n in range(4)]
    return write_pairs(
        folder,
        [
            (f"the {a} {verb} the {b} number {n}.", f"{CHINESE[a]}{CHINESE[verb]}第{n}只{CHINESE[b]}。")
            for a, verb, b, n in names
        ],
    )


def test_words_of_the_target_language_select(tmp_path: Path) -> None:
    files = chinese_files(tmp_path / "text")
    recipe = quick(steps=40, dev_every=20, select="bleu", dev_beam=1, languages="en-zh")
    card = train(*files, tmp_path / "model", recipe, dev=files, threads=1, quiet=True)
    assert card["dev_score"]["metric"] == "bleu zh"
    assert card["dev_score"]["value"] > 0


def test_words_that_cannot_be_split_are_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = chinese_files(tmp_path / "text")
    monkeypatch.setattr(TrainingRun, "train", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(BabelscopeError, match=r"without spaces between words .* \(--set languages=en-zh"):
        train(
            *files, tmp_path / "model", quick(select="bleu", languages=""), dev=files, threads=1, quiet=True
        )


def test_development_pairs_of_the_training_text_are_counted(tmp_path: Path) -> None:
    files = write_pairs(tmp_path / "text")
    dev = write_pairs(tmp_path / "dev", [*PAIRS[:7], ("the cat sees a goat.", "Die Katze sieht eine Ziege.")])
    card = train(*files, tmp_path / "model", quick(steps=2), dev=dev, threads=1, quiet=True)
    assert card["dev_pairs_in_training"] == 7
    assert "7 of them in the training text, too" in (tmp_path / "model" / "README.md").read_text()


@pytest.mark.parametrize(
    "shape", [{"architecture": "recurrent"}, {"norm": "pre"}, {"vocabularies": "separate"}]
)
def test_any_network_is_translated_with_while_it_trains(shape: dict[str, str]) -> None:
    run = new_run(**shape, vocabulary=45, steps=60)
    groups = run._groups()
    for _ in range(60):
        run._learn(next(groups))
    before = torch.get_rng_state()
    greedy = translate_corpus(run.network, run.pieces, run.dev, 1)
    assert torch.equal(before, torch.get_rng_state()), "a measurement must not change what is learned next"
    assert len(greedy) == len(PAIRS)
    found = score_development(find_metric("chrf"), run.network, run.pieces, run.dev, 1)
    assert found.value > 20
    assert found.n == len(PAIRS)


def test_a_stopped_run_with_averages_goes_on(tmp_path: Path) -> None:
    recipe = quick(steps=12, dev_every=1, average=11, average_of="last", accumulate=2, precision="bfloat16")
    learn(tmp_path, tmp_path / "at once", recipe)
    for step in (1, 2):
        card = learn(tmp_path, tmp_path / "in parts", recipe, max_minutes=0)
        assert (card["stopped_by"], card["steps"]) == ("time", step)
    learn(tmp_path, tmp_path / "in parts", recipe)
    at_once, in_parts = (tmp_path / name / "model.safetensors" for name in ("at once", "in parts"))
    assert at_once.read_bytes() == in_parts.read_bytes()


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(2, 20),
    columns=st.integers(2, 20),
    scale=st.floats(1e-4, 1e4),
)
def test_directions_stay_and_their_lengths_become_one(
    seed: int, rows: int, columns: int, scale: float
) -> None:
    random = torch.Generator().manual_seed(seed)
    matrices = torch.randn(3, rows, columns, generator=random)
    u, values, v = torch.linalg.svd(matrices, full_matrices=False)
    # What is next to nothing stays below 1; a tenth of the longest does not.
    values = values.clamp(min=0.1 * float(values.max()))
    made = u.mT @ orthogonal(scale * (u * values[:, None]) @ v) @ v.mT
    lengths = made.diagonal(dim1=1, dim2=2)
    assert torch.all((lengths > 0.6) & (lengths < 1.3)), lengths
    assert float((made - torch.diag_embed(lengths)).abs().max()) < 1e-3


def test_steps_are_those_of_torch() -> None:
    torch.manual_seed(1)
    start = [torch.randn(6, 8), torch.randn(12, 5), torch.randn(6, 8)]
    moved = []
    for kind in ("ours", "torch"):
        weights = [torch.nn.Parameter(weight.clone()) for weight in start]
        optimizer: torch.optim.Optimizer = Muon(weights)
        if kind == "torch":
            optimizer = torch.optim.Muon(weights, weight_decay=0, adjust_lr_fn="match_rms_adamw", ns_steps=3)
        random = torch.Generator().manual_seed(2)
        for step in range(5):
            for weight in weights:
                weight.grad = torch.randn(weight.shape, generator=random)
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + step)
            optimizer.step()
        moved.append([weight.detach() - first for weight, first in zip(weights, start, strict=True)])
    for ours, theirs in zip(*moved, strict=True):
        assert float((ours - theirs).norm() / theirs.norm()) < 0.03  # theirs is computed in bfloat16


def margins(run: TrainingRun, found: Candidates) -> torch.Tensor:
    """By how many nats the better candidate of each pair is more probable."""
    run.network.eval()
    with torch.no_grad():
        hidden, labels = run._hidden(found.batch)
        logprobs = torch.log_softmax(hidden @ run._output().t(), -1).gather(1, labels[:, None])[:, 0]
    lengths = (found.batch.target != run.corpus.pad).sum(1).tolist()
    totals = torch.stack([part.sum() for part in logprobs.split(lengths)])
    return totals[found.pairs[:, 0]] - totals[found.pairs[:, 1]]


@pytest.mark.parametrize("shape", [{}, {"architecture": "recurrent"}, {"precision": "bfloat16"}])
def test_a_step_with_ranking_moves_better_candidates_above_worse_ones(shape: dict[str, str]) -> None:
    plain, ranked = (new_run(**shape, steps=61, ranking_steps=1, ranking=weight) for weight in (0, 10))
    for run in (plain, ranked):
        groups = run._groups()
        for _ in range(60):
            run._learn(next(groups))
    for one, other in zip(plain.weights, ranked.weights, strict=True):
        assert torch.equal(one, other), "ranking began too early"
    batch = next(plain._batches())
    plain.network.eval()
    found = find_candidates(open_network(plain.network, plain.pieces), plain.pieces, batch, 8)
    assert found is not None
    before = margins(plain, found)
    for run in (plain, ranked):
        run._learn([batch])
    assert float(torch.nn.functional.softplus(-before).mean()) > 0.1, "there was nothing to learn"
    losses = [float(torch.nn.functional.softplus(-each).mean()) for each in (before, margins(ranked, found))]
    assert losses[1] < losses[0]
    assert float(margins(ranked, found).mean()) > float(margins(plain, found).mean())


def test_the_better_candidate_of_a_pair_has_more_of_the_reference() -> None:
    run = new_run()
    groups = run._groups()
    for _ in range(60):
        run._learn(next(groups))
    batch = next(run._batches())
    run.network.eval()
    found = find_candidates(open_network(run.network, run.pieces), run.pieces, batch, 4)
    assert found is not None
    texts = run.pieces.decode([row[row != run.corpus.pad].tolist() for row in found.batch.target])
    references = dict(
        zip(
            map(bytes, batch.source),
            run.pieces.decode([row[row != run.corpus.pad].tolist() for row in batch.target]),
            strict=True,
        )
    )
    metric = find_metric("chrf")
    owners = list(map(bytes, found.batch.source))
    assert 1 < len(set(owners)) <= -(-len(batch.source) // 4)
    for better, worse in found.pairs:
        assert owners[better] == owners[worse]
        high, low = metric.sentence([texts[better], texts[worse]], [[references[owners[better]]]] * 2)
        assert high > low


def test_ranking_resumes_and_no_weight_is_plain_training(tmp_path: Path) -> None:
    recipe = quick(steps=12, dev_every=4, dropout=0.1, average_of="last")
    made = {
        "plain": recipe,
        "none": dataclasses.replace(recipe, ranking=0.0, ranking_steps=6, ranking_candidates=3),
        "ranked": dataclasses.replace(recipe, ranking=1.0, ranking_steps=6),
        "in parts": dataclasses.replace(recipe, ranking=1.0, ranking_steps=6),
    }
    for _ in range(9):
        learn(tmp_path, tmp_path / "in parts", made["in parts"], max_minutes=0)
    cards = {name: learn(tmp_path, tmp_path / name, each) for name, each in made.items()}
    weights = {name: (tmp_path / name / "model.safetensors").read_bytes() for name in made}
    assert weights["plain"] == weights["none"] != weights["ranked"]
    assert weights["ranked"] == weights["in parts"]
    assert "--set ranking=1.0 --set ranking_steps=6" in cards["ranked"]["command"]


def test_a_llama_is_not_ranked() -> None:
    with pytest.raises(BabelscopeError, match="ranking=1 translates"):
        quick(architecture="llama", ranking=1.0)


def test_training_starts_from_the_weights_of_a_model(tmp_path: Path) -> None:
    recipe = quick(steps=60)
    first = learn(tmp_path, tmp_path / "first", recipe)
    again = quick(steps=1, learning_rate=1e-9, weights=str(tmp_path / "first"))
    card = learn(tmp_path, tmp_path / "second", again, tokenizer=tmp_path / "first")
    assert card["dev_loss"] == pytest.approx(first["dev_loss"], abs=1e-3)
    with pytest.raises(BabelscopeError, match="need the vocabulary of that model: --tokenizer"):
        learn(tmp_path, tmp_path / "third", again)
    wider = quick(width=32, weights=str(tmp_path / "first"))
    with pytest.raises(BabelscopeError, match="another shape"):
        learn(tmp_path, tmp_path / "third", wider, tokenizer=tmp_path / "first")
    nowhere = quick(weights=str(tmp_path / "nowhere"))
    with pytest.raises(BabelscopeError, match="no weights to start with"):
        learn(tmp_path, tmp_path / "third", nowhere, tokenizer=tmp_path / "first")
