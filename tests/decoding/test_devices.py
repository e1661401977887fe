"""Scoring, prefixes, beam search and sampling make every tensor on the model's device, and mix it with no other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from babelscope.core.system import Drawing
from babelscope.decoding.beam import beam_search
from babelscope.decoding.causal import Causal
from babelscope.decoding.exact import plain_children_above
from babelscope.decoding.families.decoder import Decoder, weights_of
from babelscope.decoding.families.encoder_decoder import EncoderDecoder
from babelscope.decoding.families.encoder_decoder import weights_of as bart_weights
from babelscope.decoding.generic import Generic
from babelscope.decoding.mixture import Mixture, join_sources
from babelscope.decoding.model import OpenModel, Vocabulary, score_targets
from babelscope.decoding.sampling import draw_distinct, draw_samples
from babelscope.decoding.stepwise import Stepwise
from babelscope.lab.training.decoder_only import llama_states
from babelscope.lab.training.networks import NETWORKS, PlainConfig
from tests.support.causal_families import KINDS, network_of
from tests.support.devices import PretendedDevice

SOURCES = [(2, 3, 4, 1), (2, 5, 1), (6, 1)]
TARGETS: list[list[tuple[int, ...]]] = [[(3, 4, 1), (3, 5, 1)], [(7, 1)], [(1,)]]


def causal(kind: str) -> OpenModel:
    network = network_of(kind, 1)
    model = Decoder(weights_of(network), Vocabulary(40, (0,), 1, (), None, 6), ends=[9])
    model._compiled = False  # what other devices take the place of
    return model


def encoder_decoder(family: str = "Marian", *, lean: bool) -> OpenModel:
    import transformers

    torch.manual_seed(1)
    sides = {f"{side}_{part}": 2 for side in ("encoder", "decoder") for part in ("layers", "attention_heads")}
    widths = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    config = getattr(transformers, f"{family}Config")(
        vocab_size=40, pad_token_id=39, eos_token_id=1, decoder_start_token_id=39, **sides, **widths
    )
    kind = "MTModel" if family == "Marian" else "ForConditionalGeneration"
    network = getattr(transformers, family + kind)(config).eval()
    vocabulary = Vocabulary(40, (39,), 1, (39,), 32, 6)
    if not lean:
        return Generic(network, vocabulary)
    model = EncoderDecoder(bart_weights(network), vocabulary)
    model._compiled = False
    return model


def stepwise(architecture: str) -> OpenModel:
    config = PlainConfig(architecture, (40, 40), True, 8, 1, 1, longest=16)
    network = NETWORKS[architecture](config).eval()
    return Stepwise(network, Vocabulary(40, (39,), 1, (39,), 16, 6), device=torch.device("cpu"))


MODELS: dict[str, Callable[[], OpenModel]] = {
    **{kind: lambda kind=kind: causal(kind) for kind in KINDS},  # type: ignore[misc]
    "marian": lambda: encoder_decoder(lean=True),
    "mbart": lambda: encoder_decoder("MBart", lean=True),
    "encoder-decoder through transformers": lambda: encoder_decoder(lean=False),
    "language model through transformers": lambda: Causal(
        network_of("llama", 1), Vocabulary(40, (0,), 1, (), None, 6)
    ),
    "recurrent": lambda: stepwise("recurrent"),
    "convolutional": lambda: stepwise("convolutional"),
    "mixture": lambda: Mixture([causal("llama"), causal("gemma2")]),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_device_is_stated_for_every_tensor(name: str) -> None:
    model = MODELS[name]()
    sources = [join_sources([source, source]) for source in SOURCES] if name == "mixture" else SOURCES
    with PretendedDevice():
        assert len(dict(score_targets(model, sources, TARGETS, budget=64))) == 3
        memory = model.encode(sources)
        model.step(memory, [0, 1, 2], [model.vocabulary.prefix[0]] * 3)
        model.step(memory, [3, 3, 5], [7, 8, 9])
        assert beam_search(model, sources, beam=2, max_length=4)
        assert draw_samples(model, sources, n=2, seed=1, limit=4, drawing=Drawing(top_p=0.9))
        assert draw_distinct(model, sources, n=2, seed=1, limit=4)


def test_the_exact_search_of_other_devices_states_it_too() -> None:
    logits = torch.randn((3, 40), device="cpu")
    with PretendedDevice():
        assert len(plain_children_above(logits, logits.amax(1), np.full(3, -2.0), 1)) == 4


def test_training_a_llama_states_it_too() -> None:
    network, source = network_of("llama", 1), torch.tensor([[5, 6, 40], [7, 8, 9]])
    with PretendedDevice():
        shifted = torch.tensor([[40, 3, 4], [40, 3, 40]], device=source.device)
        states = llama_states(network, source, source < 40, shifted)
    assert states.shape == (2, 3, 32)


def _made_anywhere() -> None:
    exec("import torch; torch.zeros(3)", {"__name__": "babelscope.somewhere"})


def _mixed() -> None:
    torch.ones(3, device=torch.device("cpu")) + torch.from_numpy(np.ones(3))


def _read_from_the_device() -> None:
    torch.ones(3, device=torch.device("cpu")).numpy()


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (_made_anywhere, "zeros makes a tensor without saying"),
        (_mixed, "of the host and of the device"),
        (_read_from_the_device, "NumPy is given"),
    ],
)
def test_what_would_fail_on_a_gpu_fails_here(mistake: Callable[[], None], message: str) -> None:
    with PretendedDevice(), pytest.raises(AssertionError, match=message):
        mistake()
