"""Opens folders that `lab train` made: checkpoints of transformers, and plain networks of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from babelscope.core.registry import Options
from babelscope.decoding.model import Vocabulary
from babelscope.decoding.stepwise import Stepwise
from babelscope.lab.training.checkpoints import CARD, read_json
from babelscope.lab.training.networks import NETWORKS, PLAIN, PlainConfig
from babelscope.lab.training.text import EOS
from babelscope.systems.models.custom import CustomModel
from babelscope.systems.models.hf import HuggingFace, read_options
from babelscope.systems.models.llm import PLAIN as PLAIN_PROMPT
from babelscope.systems.models.llm import CausalModel
from babelscope.systems.models.tokenizers import Tokens
from babelscope.systems.prompting.prompts import find_prompt, shipped_names
from babelscope.util.digests import SealedFiles
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

_WEIGHTS = "model.safetensors"
_MOST_JSON = 1_000_000


def open_trained(name: str, folder: Path, options: Options | None = None, *, device: str = "auto") -> Any:
    """The system in a folder; the options are those of `hf:`, or for a plain network `truncate` and `max_length`.

    Without options, on `device`.
    """
    if (folder / "locality.json").exists():
        from babelscope.lab.experiments.locality_training import open_locality

        return open_locality(name, folder, options)
    if (folder / PLAIN).exists():
        longest = options.integer("max_length", 0, least=0) if options else 0
        truncate = options.flag("truncate") if options else False
        if options:
            options.refuse_unused()
        return _open_plain(name, folder, longest=longest, truncate=truncate, device=device)
    if (folder / "tokenizer.json").exists():
        return open_prompts(folder, options or Options(name, {"device": device}))
    arguments = read_options(options) if options else {"device": device}
    if options:
        options.refuse_unused()
    return HuggingFace(name, folder, **arguments)


def open_prompts(folder: Path, options: Options) -> Any:
    """A decoder-only model with the options of `llm:`; languages and prompt are those it was trained with."""
    card = read_json(folder / CARD)
    try:
        settings = card["configuration"]["settings"]
        source, _, target = settings["languages"].partition("-")
        named = [each for each in settings.get("prompts", "").split(",") if each]
    except (TypeError, KeyError, AttributeError):
        raise BabelscopeError(
            f"{folder / CARD} does not say the languages of the model's prompt; open it as "
            f"llm:{folder}?source=LANGUAGE&target=LANGUAGE"
        ) from None
    # A card may be a stranger's: no file that it names is opened.
    own = [each for each in named if each not in shipped_names()]
    if own and "prompt" not in options.names:
        raise BabelscopeError(
            f"{folder} was trained with a prompt of a file, {shorten(own[0])}; say ?prompt=FILE"
        )
    languages = {"source": source, "target": target}
    prompts = [] if own else [find_prompt(each) for each in named] or [PLAIN_PROMPT]
    trained = [each.filled(languages, str(folder)) for each in prompts]
    first = {"prompt": named[0]} if named and not own else {}
    return CausalModel(str(folder), options.with_defaults(**languages, **first), trained=trained)


def _open_plain(name: str, folder: Path, *, longest: int, truncate: bool, device: str) -> Any:
    files = SealedFiles(folder, [PLAIN, _WEIGHTS])
    told = files.read_json(PLAIN, most=_MOST_JSON)
    try:
        config = PlainConfig(**{**told, "vocabularies": tuple(told["vocabularies"])})
    except (TypeError, KeyError, BabelscopeError) as error:
        raise BabelscopeError(
            f"{folder / PLAIN} is not the configuration of a network of `lab train`: {error}"
        ) from None
    try:
        stored = load_file(files.paths[_WEIGHTS])
    except (SafetensorError, OSError, RuntimeError, ValueError) as error:
        raise BabelscopeError(f"{folder / _WEIGHTS} cannot be read: {error}") from None
    tensors = {key: each.to(torch.float32) for key, each in stored.items()}
    files.check()
    with torch.device("meta"):  # nothing is allocated before the weights are known to fit
        expected = {
            key: tuple(each.shape) for key, each in NETWORKS[config.architecture](config).state_dict().items()
        }
    if config.joint:
        expected.pop("source.weight")
        tensors.pop("source.weight", None)
    found = {key: tuple(each.shape) for key, each in tensors.items()}
    if found != expected:
        wrong = sorted(key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
        raise BabelscopeError(f"{folder / _WEIGHTS} does not fit {PLAIN}: {', '.join(wrong[:3])}")
    network = NETWORKS[config.architecture](config)
    network.load_state_dict(tensors, strict=False)
    pad = config.vocabularies[1] - 1
    limit = min(longest or config.longest, config.longest)
    vocabulary = Vocabulary(config.vocabularies[1], (pad,), EOS, (pad,), config.longest, limit)
    where = "cpu" if device == "auto" else device
    model = Stepwise(network.to(where).eval().requires_grad_(False), vocabulary, device=where)
    return CustomModel(
        name,
        model,
        Tokens(folder),
        digest=files.digest(),
        source_size=config.vocabularies[0],
        files=files,
        truncate=truncate,
        settings={"max_length": limit},
    )
