"""Model folders: fetched from a hub or local, loaded without running anybody's code."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from babelscope.core.registry import Options
from babelscope.core.system import Asked, Diversity, Fingerprint, Scored, Target
from babelscope.systems.models.folders import TOKENIZER_FILES, ModelFolder, bounded
from babelscope.systems.models.gguf import GgufFile
from babelscope.systems.models.tokenizers import Tokens, library_errors
from babelscope.util.digests import SealedFiles
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.progress import hub_bar
from babelscope.util.text import shorten

_PATTERNS = ("*.json", "*.txt", *TOKENIZER_FILES)
_HUB_SECONDS = 5.0
# Beyond this, either way, length to the power of a penalty leaves what a float holds.
_STEEPEST = 10.0
_SHOWN = 4  # tensors named in an error: as many as share one embedding
P = ParamSpec("P")
R = TypeVar("R")


def fetch(name: str, *, revision: str = "", remote_code: bool = False, tokenizer_only: bool = False) -> Path:
    """The local folder of a model: `name` itself, or a snapshot of the hub's `name` at `revision`."""
    if (folder := Path(name).expanduser()).is_dir():
        if revision:
            raise BabelscopeError(f"{name} is a local folder, which has no revision {revision!r}")
        return folder
    if folder.exists():
        raise BabelscopeError(f"{name} is a file; a model is a folder")
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or name.endswith("/"):
        raise BabelscopeError(f"{name}: no such folder")
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    wanted: dict[str, Any] = {"revision": revision or None}
    offline = bool(os.environ.get("HF_HUB_OFFLINE")) or not _hub_answers()
    try:
        weights = ""
        if not offline and not tokenizer_only:
            files = HfApi().list_repo_files(name, **wanted)
            # Old repositories have only pickled weights: fetched only then, and loaded with weights_only.
            pickled = [file for file in files if file.startswith("pytorch_model") and "/" not in file]
            safe = {"model.safetensors", "model.safetensors.index.json"} & set(files)
            weights = "*.safetensors" if safe or not pickled else "pytorch_model*.bin"
        patterns = [*_PATTERNS, *filter(None, [weights, "*.py" if remote_code else ""])]
        return Path(
            snapshot_download(
                name, allow_patterns=patterns, tqdm_class=hub_bar(), local_files_only=offline, **wanted
            )
        )
    except Exception as error:  # the hub's client raises errors of several HTTP libraries
        known = {
            GatedRepoError: " is gated: accept its terms on the hub and log in with `hf auth login`",
            RevisionNotFoundError: f" has no revision {revision!r} on the hub",
            RepositoryNotFoundError: ": no such folder here, and no such model on the hub",
            HFValidationError: " is neither a folder nor a hub name like owner/model",
            LocalEntryNotFoundError: ": no such folder here, not among the models downloaded before, and the hub "
            "cannot be reached (or is switched off)",
        }
        for kind, ending in known.items():
            if isinstance(error, kind):
                raise BabelscopeError(f"{name}{ending}") from None
        reason = str(error).strip().split("\n")[0]
        raise SystemFailure(f"{name} could not be fetched from the hub: {reason}") from error


def _hub_answers() -> bool:
    """Whether something listens at the hub's address; its client itself tries for half a minute."""
    from urllib.request import getproxies

    from huggingface_hub.constants import ENDPOINT

    address = urlsplit(ENDPOINT)
    if address.hostname is None or getproxies():
        return True  # a proxy may reach what we cannot
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname, port), timeout=_HUB_SECONDS).close()
    except OSError:
        return False
    return True


def fingerprint(
    files: SealedFiles, tokens: Tokens, *, dtype: str, settings: Mapping[str, Any]
) -> Fingerprint:
    """Fingerprint of a model folder: weights, configuration, tokenizer, dtype, and the library that runs it."""
    return Fingerprint(
        backend=f"transformers {version('transformers')}",
        model=files.digest(),
        tokenizer=tokens.digest,
        dtype=dtype,
        settings=settings,
    )


def load_model(
    auto_class: str, model: ModelFolder | GgufFile, *, device: str, dtype: str, remote_code: bool
) -> Any:
    """A network in evaluation mode, in `dtype` whatever the checkpoint was saved in."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    held = model.held()
    with (
        library_errors(f"{model.folder} cannot be loaded as a model"),
        _without_load_report(),
        model.files.view() as folder,
        bounded(held),
        # Its reader of GGUF files draws a bar of its own.
        contextlib.redirect_stderr(io.StringIO())
        if isinstance(model, GgufFile)
        else contextlib.nullcontext(),
    ):
        gguf: dict[str, Any] = {"gguf_file": model.name} if isinstance(model, GgufFile) else {}
        config = transformers.AutoConfig.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=remote_code, **gguf
        )
        _check_kind(config, auto_class, model.folder)
        if gguf:  # packed weights would need code from the hub
            from transformers.utils.quantization_config import GgufConfig

            gguf["quantization_config"] = GgufConfig(dequantize=True)
        network, found = getattr(transformers, auto_class).from_pretrained(
            str(folder),
            dtype=getattr(torch, dtype),
            local_files_only=True,
            trust_remote_code=remote_code,
            weights_only=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # not ignored: reported below with their names
            **gguf,
        )
        # A masked language model's weights often have the heads of other tasks beside.
        _check_tensors(found, model.folder, leftovers=auto_class == "AutoModelForMaskedLM")
        return network.to(torch.device(usual_device(device))).eval()


def usual_device(device: str) -> str:
    """`device`, or for `auto` the fastest kind that torch finds here."""
    import torch

    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"


def _check_kind(config: Any, auto_class: str, folder: Path) -> None:
    """Raise if a language model is opened as a translation model, or the other way round."""
    both = bool(getattr(config, "is_encoder_decoder", False))
    if both and auto_class == "AutoModelForCausalLM":
        raise BabelscopeError(
            f"{folder} has an encoder and a decoder ({config.model_type}): open it as hf:{folder}"
        )
    if not both and auto_class == "AutoModelForSeq2SeqLM":
        raise BabelscopeError(
            f"{folder} is a language model without an encoder ({config.model_type}): open it as llm:{folder}, with a "
            "prompt that asks for a translation"
        )


def _check_tensors(found: Mapping[str, Any], folder: Path, *, leftovers: bool) -> None:
    """Raise unless weights and configuration ask for the same tensors, of the same shapes.

    transformers fills what is missing, or of another shape, with random numbers that differ each time. What it
    reports leaves out declared ties and the names that the architecture's class lists as ignorable.
    """
    unexpected = sorted(found["unexpected_keys"])
    if missing := sorted(found["missing_keys"]):
        instead = f", and have {_some(unexpected)} that it has no place for" if unexpected else ""
        raise BabelscopeError(
            f"the weights of {folder} lack {_some(missing)}, which its configuration asks for{instead}: the file is "
            "incomplete, or the configuration is of another model"
        )
    if mismatched := sorted(found["mismatched_keys"]):
        shapes = [
            f"{name} (stored {tuple(stored)}, asked for {tuple(asked)})" for name, stored, asked in mismatched
        ]
        raise BabelscopeError(
            f"the weights of {folder} have other shapes than its configuration asks for: {_some(shapes)}"
        )
    if unexpected and not leftovers:
        raise BabelscopeError(
            f"the weights of {folder} have {_some(unexpected)}, which its configuration has no place for: the model "
            "would be loaded without, so that it may not be the one that was trained"
        )


def _some(names: Sequence[str]) -> str:
    """The first names of tensors, and how many there are beside."""
    shown = ", ".join(shorten(name, 200) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


@contextmanager
def _without_load_report() -> Iterator[None]:
    """No report of transformers on the terminal: what it would report is an error of ours."""
    names = ("modeling_utils", "distributed.tensor_parallel")
    levels = {
        logger: logger.level for logger in (logging.getLogger(f"transformers.{each}") for each in names)
    }
    for logger in levels:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def checked(method: Callable[P, R]) -> Callable[P, R]:
    """Decorator of a system's method: raise instead of answering if the model's files have changed.

    Weights are mapped into memory, so writing into their file changes a network that is in use.
    """

    @functools.wraps(method)
    def ask(*args: P.args, **kwargs: P.kwargs) -> R:
        answer = method(*args, **kwargs)
        system: Any = args[0]
        system.check_files()
        return answer

    return ask


class ModelSystem:
    """Base of systems loaded from model files: checks that files stay unchanged, rescores translations."""

    name: str
    tokens: Tokens
    files: SealedFiles
    """Of the weights and their configuration."""
    length_penalty: float
    """Of its beam search: totals are divided by length to this power; 0 leaves them as they are."""

    def check_files(self) -> None:
        """Raise if weights, configuration or tokenizer are no longer those that were loaded."""
        self.files.check()
        self.tokens.files.check()

    @checked
    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,
        n_best: int = 1,
        length_penalty: float | None = None,
        diversity: Diversity | None = None,
    ) -> list[list[Scored]]:
        """Beam search; every hypothesis comes with its tokens as generated, rescored by teacher forcing.

        `length_penalty` is the system's own unless it is given; `diversity` splits the beam into groups.
        """
        if n_best > beam:
            raise BabelscopeError(f"a beam of {beam} cannot give {n_best} translations; ask for a wider beam")
        penalty = self.length_penalty if length_penalty is None else length_penalty
        generated = self._generate(questions, beam, n_best, penalty, diversity)
        pairs = [(asked, each) for asked, group in zip(questions, generated, strict=True) for each in group]
        rescored = iter(self.score(pairs))
        return self._watched(questions, [[next(rescored) for _ in group] for group in generated])

    def _watched(self, questions: Sequence[Asked], answers: list[R]) -> list[R]:  # noqa: ARG002
        """Answers to questions with notes on their texts, where the kind of system needs some."""
        return answers

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        raise NotImplementedError

    def _generate(
        self,
        questions: Sequence[Asked],
        beam: int,
        n_best: int,
        length_penalty: float,
        diversity: Diversity | None = None,
    ) -> list[list[Scored]]:
        """Hypotheses with their tokens; the log-probabilities are put in by rescoring."""
        raise NotImplementedError


def stated_penalty(given: float | None, generation: Any, folder: Path) -> float:
    """The length penalty: the given one, else the checkpoint's own (0.0 is 0.0), else 1, as in transformers."""
    penalty = getattr(generation, "length_penalty", None) if given is None else given
    if penalty is None:
        return 1.0
    if type(penalty) not in (int, float) or not abs(penalty) <= _STEEPEST:
        raise BabelscopeError(
            f"{folder}: its length_penalty is {shorten(repr(penalty))}, not a number from -{_STEEPEST} to {_STEEPEST}"
        )
    return float(penalty)


def read_length_penalty(options: Options) -> float | None:
    """The option `length_penalty`; None if it is not set, for the system's own."""
    if "length_penalty" not in options.names:
        options.text("length_penalty")  # known, if only to `refuse_unused`
        return None
    penalty = options.number("length_penalty", 1.0, least=-_STEEPEST)
    if penalty > _STEEPEST:
        raise BabelscopeError(
            f"{options.spec}: length_penalty={penalty} is not a number from -{_STEEPEST} to {_STEEPEST}"
        )
    return penalty


def token_id(value: Any, size: int, what: str, folder: Path) -> int | None:
    """A token id of a configuration, if it states one; where it lists several, the first is the usual."""
    number = value[0] if isinstance(value, list) and value else value
    if number is None:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < size:
        raise BabelscopeError(f"{folder}: its {what} is {number!r}, which is none of its {size} tokens")
    return number


def check_ids(rows: Sequence[Sequence[int]], size: int, name: str) -> None:
    """Raise if a token id in `rows` has no embedding: tokenizers may know more tokens than the network."""
    highest = max((max(row) for row in rows if row), default=0)
    if highest >= size:
        raise BabelscopeError(
            f"{name}: its tokenizer gives the token id {highest}, but the network has {size}; "
            "tokenizer and weights do not belong together"
        )


def position_limit(config: Any, folder: Path) -> int | None:
    """The most positions that a network takes, if its configuration states a limit."""
    limit = getattr(config, "max_position_embeddings", None)
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise BabelscopeError(
            f"{folder}: its max_position_embeddings is {limit!r}, not a whole number above 0"
        )
    return limit
