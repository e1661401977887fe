"""Model folders: fetched from a hub or local, loaded without running anybody's code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from babelscope.digests import digest_files
from babelscope.errors import BabelscopeError, SystemFailure
from babelscope.progress import hub_bar
from babelscope.systems.base import Fingerprint
from babelscope.systems.tokenizers import TOKENIZER_FILES, Tokens

_PATTERNS = ("*.json", "*.txt", *TOKENIZER_FILES)


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
    try:
        weights = ""
        if not os.environ.get("HF_HUB_OFFLINE") and not tokenizer_only:
            files = HfApi().list_repo_files(name, **wanted)
            # Old repositories have only pickled weights: fetched only then, and loaded with weights_only.
            weights = (
                "*.safetensors" if any(f.endswith(".safetensors") for f in files) else "pytorch_model*.bin"
            )
        patterns = [*_PATTERNS, *filter(None, [weights, "*.py" if remote_code else ""])]
        return Path(snapshot_download(name, allow_patterns=patterns, tqdm_class=hub_bar(), **wanted))
    except GatedRepoError:
        raise BabelscopeError(
            f"{name} is gated: accept its terms on the hub and log in with `hf auth login`"
        ) from None
    except RevisionNotFoundError:
        raise BabelscopeError(f"{name} has no revision {revision!r} on the hub") from None
    except RepositoryNotFoundError:
        raise BabelscopeError(f"{name}: no such folder here, and no such model on the hub") from None
    except HFValidationError:
        raise BabelscopeError(f"{name} is neither a folder nor a hub name like owner/model") from None
    except LocalEntryNotFoundError:
        raise BabelscopeError(
            f"{name}: no such folder here, and the hub cannot be reached (or is switched off)"
        ) from None
    except (OSError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise SystemFailure(f"{name} could not be fetched from the hub: {reason}") from error


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a folder's weights: safetensors, else what torch saved."""
    for pattern in ("*.safetensors", "pytorch_model*.bin"):
        if found := sorted(folder.glob(pattern)):
            return found
    raise BabelscopeError(f"{folder} has no weights (model.safetensors or pytorch_model.bin)")


def fingerprint(folder: Path, tokens: Tokens, *, dtype: str, settings: Mapping[str, Any]) -> Fingerprint:
    """What a model folder answers with: weights, configuration, tokenizer, and the library that runs it."""
    from transformers import __version__

    configuration = [path for path in folder.glob("*config.json") if path.name != "tokenizer_config.json"]
    return Fingerprint(
        backend=f"transformers {__version__}",
        model=digest_files([*weight_files(folder), *configuration]),
        tokenizer=tokens.digest,
        dtype=dtype,
        settings=settings,
    )


def load_model(auto_class: str, folder: Path, *, device: str, dtype: str, remote_code: bool) -> Any:
    """A network in evaluation mode, in `dtype` whatever the checkpoint was saved in."""
    import torch
    import transformers

    if not (folder / "config.json").is_file():
        raise BabelscopeError(f"{folder} is no model: it has no config.json")
    weight_files(folder)
    if device == "auto":
        device = (
            "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        )
    transformers.utils.logging.disable_progress_bar()
    try:
        model = getattr(transformers, auto_class).from_pretrained(
            str(folder),
            dtype=getattr(torch, dtype),
            local_files_only=True,
            trust_remote_code=remote_code,
            weights_only=True,
        )
        return model.to(torch.device(device)).eval()
    except Exception as error:  # safetensors, pickle and transformers each raise kinds of their own
        reason = str(error).strip().split("\n")[0]
        raise BabelscopeError(f"{folder} cannot be loaded as a model: {reason}") from error
