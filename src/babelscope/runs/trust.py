"""What a study starts, whom it contacts and what it reads elsewhere, shown before `run`: it may be a stranger's."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from babelscope.core.registry import parse_options, split_options
from babelscope.language.parsers import UDPIPE_MODELS
from babelscope.runs.study import Study, parse_study
from babelscope.systems import registry
from babelscope.systems.registry import Scheme
from babelscope.util.consent import require_consent
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import private_folder
from babelscope.util.published import MODELS
from babelscope.util.text import LARGEST_TOML, LONGEST_NAME, read_bytes

# Ray addresses that mean this machine, or the cluster that the user's environment names.
_LOCAL_ADDRESSES = ("", "auto", "local")
_NEXT_MEMBER = re.compile(r",(?=[A-Za-z][\w.+-]*:)")
_SERVER = re.compile(r"(?:\w+:(?=//))?(?://)?([^/?#\s]*)")
_REMOTE_CODE = re.compile(r"(?<!\w)remote_code=(?!no(?![^&,]))")
_PARSER = re.compile(r"(?<!\w)(udpipe|spacy|apertium):(.*)", re.DOTALL)
# Where a path may begin, if an absolute one follows; `//` after http: is a server's.
_ABSOLUTE = re.compile(r"(?:^|(?<=[,:;?&=|#]))(?<!http:)(?<!https:)(?=[/~])")
_UPWARDS = re.compile(r"(?:^|(?<=[/,:;?&=|#]))\.\.(?=$|[/,:;?&=|#])")
_MOST_FILES = 10_000
_TOKEN = re.compile(r"(?<!\w)token_env=([^&,]+)")


@dataclass(frozen=True, slots=True)
class Reach:
    """What a study does beyond reading files and computing."""

    runs: tuple[str, ...]
    """Texts that run code, load what may, or send a secret, with their place in the study; control characters are
    escaped."""
    contacts: tuple[str, ...]
    """Servers, the hub, and a Ray cluster."""
    servers: tuple[str, ...]
    """Those of them that get texts of the test sets."""
    outside: tuple[str, ...]
    """Texts that name files outside of the study's folder, and links in it that lead there; looked for only if the
    study runs code or has servers."""


def ask_permission(path: Path, *, ray: str | None = None, trusted: bool = False) -> Study:
    """Ask the user before a study runs code or sends texts, unless it was allowed before; say whom it contacts.

    The study as it was read and allowed: the file may change before it is run. `ray` is the cluster address from
    the command line, if any.
    """
    data = read_bytes(path, most=LARGEST_TOML)
    study, folder = parse_study(data, path), path.absolute().parent
    reach = reach_of(study, folder, ray=ray)
    # The folder is part of the key: the same file elsewhere has other programs beside it. It is the one that the
    # study runs in, not the one that a link to the study leads to.
    # A new link is asked about, and a request template that names another server.
    seen = json.dumps([reach.outside, reach.servers]).encode()
    place = os.fsencode(folder.resolve() / path.name)
    key = hashlib.sha256(b"\0".join((place, seen, data))).hexdigest()
    if (reach.runs or reach.servers) and not trusted and not _was_allowed(key):
        _ask_user(path, reach)
        _remember_allowed(key, path)
    if reach.contacts:
        print(f"babelscope: contacts {', '.join(reach.contacts)}", file=sys.stderr)
    return study


def reach_of(study: Study, folder: Path, *, ray: str | None = None) -> Reach:
    """What a study in `folder` starts and contacts.

    Every text in its tables is searched, so that nothing is missed; a text that only looks like a program counts.
    """
    names = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, registry.SCHEMES.names()))}):")
    runs: list[str] = []
    contacts: list[str] = []
    servers: list[str] = []
    for place, text in _texts_of_study(study):
        for each in _percent_decodings(text):
            named = [(registry.SCHEMES.find(found[1]), each[found.end() :]) for found in names.finditer(each)]
            for scheme, rest in named:
                found = list(_contacts(scheme, rest, folder))
                contacts += found
                servers += found if scheme.contacts == "server" else []
            if any(scheme.runs for scheme, _ in named):
                runs.append(f"{place}: {text!r}")
            elif (parser := _PARSER.search(each)) and (model := _parser_file(parser[1], parser[2], folder)):
                runs.append(f"{place}: {text!r} ({model})")
            elif _REMOTE_CODE.search(each):
                runs.append(f"{place}: {text!r} (the model's own code)")
            elif token := _TOKEN.search(each):
                runs.append(f"{place}: {text!r} (sends the environment variable {token[1]!r})")
    registries = [f"the registry {_escaped(each)}" for each in study.run.registries if "://" in each]
    contacts += registries
    servers += registries
    address = ray if ray else study.run.address if study.run.engine == "ray" else ""
    if address not in _LOCAL_ADDRESSES:
        contacts.append(f"the Ray cluster at {_escaped(address)}")
        if not ray:
            runs.append(f"run.address: {address!r} (a Ray cluster, which can run code here)")
    outside: list[str] = []
    if runs or servers:
        named_there = (each for each in _named_outside(study, folder) if each not in runs)
        outside = [*named_there, *_links_outside(folder)]
    return Reach(*(tuple(dict.fromkeys(each)) for each in (runs, contacts, servers, outside)))


def _named_outside(study: Study, folder: Path) -> Iterator[str]:
    """Texts with a path that does not lie in `folder`: an absolute one, or one with `..` or `~`."""
    written = {name: getattr(study.run, name) for name in ("out", "cache", "data_dir")}
    paths = ((f"run.{name}", str(path)) for name, path in written.items() if isinstance(path, Path))
    inside = tuple(f"{each}{os.sep}" for each in (folder, folder.resolve()))
    registries = _texts_within(study.run.registries, "run.registries")
    for place, text in (*_texts_of_study(study), *paths, *registries):
        for each in _percent_decodings(text):
            absolute = (each[found.end() :] for found in _ABSOLUTE.finditer(each))
            if _UPWARDS.search(each) or not all(path.startswith(inside) for path in absolute):
                yield f"{place}: {text!r}"


def _links_outside(folder: Path) -> Iterator[str]:
    """Links in `folder` that lead out of it: what a study reads may lie behind any of them."""
    looked_at, top = 0, os.path.realpath(folder)
    for base, folders, files in os.walk(folder):
        folders.sort()  # the same order every time, since what is found is remembered
        for name in (*folders, *sorted(files)):
            path = Path(base, name)
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(top):
                yield f"{_escaped(path.relative_to(folder))} -> {_escaped(os.readlink(path))}"
        looked_at += len(folders) + len(files)
        if looked_at > _MOST_FILES:
            yield f"perhaps more: the folder has over {_MOST_FILES:,} files, and not all were looked at"
            return


def _texts_of_study(study: Study) -> Iterator[tuple[str, str]]:
    """(place, text) of every text that may name a system; names and labels are left out."""
    for number, system in enumerate(study.systems):
        yield from _texts_within(system.spec, f"systems[{number}].spec")
        yield from _texts_within(system.prompt, f"systems[{number}].prompt")
    for number, tests in enumerate(study.tests):
        yield f"tests[{number}].spec", tests.spec
        yield from _texts_within(tests.machine_references, f"tests[{number}].machine_references")
    for number, step in enumerate(study.make):
        for name in ("source", "reference"):
            yield f"make[{number}].{name}", str(getattr(step, name))
    for number, method in enumerate(study.methods):
        yield from _texts_within(method.model_extra or {}, f"methods[{number}]")


def _texts_within(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield place, str(key)
            value_text = f"remote_code={each}" if key == "remote_code" and each else each
            yield from _texts_within(value_text, f"{place}.{_escaped(key)}")
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _texts_within(each, f"{place}[{number}]")


def _percent_decodings(text: str) -> Iterator[str]:
    """A text, and the text after each round of percent-decoding: options of systems are decoded.

    A longer text than a name can be is decoded once: no system is opened by it, and each round takes its length.
    """
    yield text
    if len(text) > LONGEST_NAME:
        yield unquote(text)
        return
    while (plain := unquote(text)) != text:
        yield plain
        text = plain


def _contacts(scheme: Scheme, rest: str, folder: Path) -> Iterator[str]:
    """The server or hub that a system contacts; `rest` is its spec after the scheme."""
    rest = _NEXT_MEMBER.split(rest)[0]  # up to the next member of an ensemble
    if scheme.name == "rest":
        from babelscope.systems.servers.rest import read_template

        rest, _ = split_options(rest)
        with contextlib.suppress(BabelscopeError):  # it cannot be opened either
            rest = read_template(str(folder / rest)).url
    if scheme.contacts == "server" and (found := _SERVER.match(rest)):
        yield _escaped(found[1].rpartition("@")[2])
    if scheme.contacts == "hub" and not os.environ.get("HF_HUB_OFFLINE"):
        name, query = split_options(rest)
        tokenizer = parse_options(query).get("tokenizer", "")
        if any(each and not os.path.isdir(folder / os.path.expanduser(each)) for each in (name, tokenizer)):
            yield "the Hugging Face hub"


def _parser_file(kind: str, name: str, folder: Path) -> str:
    """Why loading a parser's model from a file is like running a program; "" for known and installed models."""
    if kind == "udpipe":
        known = name in UDPIPE_MODELS.names() or f"udpipe/{name}" in MODELS
        return "" if known else "a UDPipe model in a file, which can corrupt memory"
    if kind == "apertium":
        return "an Apertium analyzer in files, which lt-proc runs"
    return "a spaCy model in a folder" if os.path.exists(folder / name) else ""


def _escaped(text: object) -> str:
    """A text on one line, with control characters escaped."""
    return repr(str(text))[1:-1]


def _ask_user(path: Path, reach: Reach) -> None:
    parts = {
        "runs, as you": reach.runs,
        "sends texts of its test sets to": reach.servers,
        "names outside of its folder": reach.outside,
    }
    listed = [f"  {what}:" + "".join(f"\n    {one}" for one in each) for what, each in parts.items() if each]
    told = "; ".join(f"{what}: {'; '.join(each)}" for what, each in parts.items() if each)
    name = _escaped(path)
    require_consent(
        "\n".join([name, *listed, "Allow this until the file changes?"]),
        instead=f"{name} needs your permission ({told}); read it, and if you trust it, add --trust",
        refused=f"{name} was not run",
    )


def _folder() -> Path:
    import platformdirs

    return private_folder(platformdirs.user_state_path("babelscope") / "trusted")


def _was_allowed(key: str) -> bool:
    try:
        return (_folder() / key).is_file()
    except OSError:  # the folder is not private, or not writable
        return False


def _remember_allowed(key: str, path: Path) -> None:
    try:
        with open(_folder() / key, "w", encoding="utf-8", opener=_private) as file:
            file.write(f"{_escaped(path.resolve())}\n")
    except OSError as error:
        warnings.warn(
            f"your permission for {_escaped(path)} could not be stored: {error.filename}: {error.strerror}",
            RuntimeWarning,
            stacklevel=3,
        )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
