"""Beam search against that of transformers, in any batch, and of one length."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from babelscope import open_system
from babelscope.decoding import beam as beams
from babelscope.decoding.beam import beam_search
from babelscope.decoding.families.encoder_decoder import EncoderDecoder, weights_of
from babelscope.decoding.model import OpenModel, Vocabulary
from babelscope.lab.training.networks import new_network
from babelscope.lab.training.settings import SHAPES
from babelscope.lab.training.text import train_pieces
from tests.decoding.test_exact import EOS, Table, enumerate_table

NOUNS = ("cat", "cow", "mouse", "goat", "dog", "horse", "bird", "fox")
TEXTS = ["The dog sleeps in the garden.", "The old man reads a letter.", "A doctor bought the car."]


@pytest.mark.parametrize("kind", ["random", "forced", "sharp"])
@pytest.mark.parametrize("exactly", [1, 2, 4])
def test_a_beam_as_wide_as_the_space_finds_the_best_of_that_length(kind: str, exactly: int) -> None:
    model = Table(2, kind, words=2, limit=5)
    sources = [(1,), (2,), (3,)]
    found = beam_search(model, sources, beam=64, n_best=64, length_penalty=0.0, exactly=exactly)
    for source, group in zip(sources, found, strict=True):
        complete, _ = enumerate_table(model, source)
        expected = {ids: total for ids, total in complete.items() if len(ids) == exactly}
        assert {tuple(ids) for ids in group} == set(expected)
        assert all(ids[-1] == EOS for ids in group)
        totals = [expected[tuple(ids)] for ids in group]
        assert totals == sorted(totals, reverse=True)


def random_model(seed: int) -> tuple[Any, OpenModel]:
    """A network whose distributions are far from uniform, as transformers' model and as ours."""
    texts = [f"the {one} sees the {other}." for one in NOUNS for other in NOUNS]
    pieces = train_pieces(iter(texts), 40)
    network = new_network(SHAPES["tiny"], pieces, dropout=0.0, seed=seed).eval()
    with torch.no_grad():
        network.model.shared.weight *= 2
        network.final_logits_bias[0, 0] = 1.5  # so that hypotheses end
    vocabulary = Vocabulary(pieces.size, (pieces.pad,), 0, (pieces.pad,), 512, 512)
    return network, EncoderDecoder(weights_of(network), vocabulary)


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_beam_search_finds_what_transformers_finds(beam: int) -> None:
    same = total = 0
    for seed in range(3):
        network, model = random_model(seed)
        numbers = torch.Generator().manual_seed(seed)
        sources = [
            [*torch.randint(2, 30, (int(length),), generator=numbers).tolist(), 0]
            for length in torch.randint(1, 9, (12,), generator=numbers)
        ]
        ours = beam_search(model, sources, beam=beam, max_length=15)
        for source, (best,) in zip(sources, ours, strict=True):
            theirs = network.generate(
                torch.tensor([source]), num_beams=beam, do_sample=False, max_new_tokens=15, max_length=None
            )[0, 1:].tolist()
            assert 0 not in best[:-1]
            total += 1
            same += best == theirs
    # All but ties and roundings; greedy search has neither here.
    assert same >= (total if beam == 1 else 0.97 * total)


def test_hypotheses_come_sorted_distinct_and_whatever_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    system = open_system("lab:student")
    sources = system.tokens.encode_sources(TEXTS)
    together = beam_search(system.model, sources, beam=4, n_best=4)
    monkeypatch.setattr(beams, "_ROWS", 1)  # one source at a time
    assert beam_search(system.model, sources, beam=4, n_best=4) == together
    for source, group in zip(sources, together, strict=True):
        assert len({tuple(ids) for ids in group}) == 4
        scores = []
        for ids in group:
            memory, node, total = system.model.encode([source]), 0, 0.0
            for fed, told in zip([*system.vocabulary.prefix, *ids], ids, strict=False):
                logs = system.model.step(memory, [node], [fed])
                node = memory.size - 1
                total += float(logs[0, told])
            scores.append(total / len(ids))
        assert scores == sorted(scores, reverse=True) or max(map(abs, scores)) < 1e-5


def test_a_beam_wider_than_the_vocabulary() -> None:
    _, model = random_model(1)
    (found,) = beam_search(model, [[3, 4, 0]], beam=60, n_best=60, max_length=3)
    assert len(found) == 60
    assert all(0 not in ids[:-1] and model.vocabulary.masked[0] not in ids for ids in found)
