"""Runs the cases and turns what they leave into facts: one JSON object each, comparable across versions."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import json
import math
import os
import re
import shlex
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from babelscope.stats.paired import holm
from tests.golden import api

HERE = Path(__file__).parent
Fact = dict[str, Any]
_SKIPPED_FILES = (".html", ".sqlite", ".sqlite-wal", ".sqlite-shm", ".svg", ".lock")
_SKIPPED_KEYS = ("signature", "sha256", "folder", "seconds", "version", "babelscope", "generated", "server")
_SAMPLE = 2
"""Records of each file that are stored whole, beside the sums over all of them."""


# --- running -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _surroundings(folder: Path, extra_path: list[str]) -> Iterator[None]:
    """The working folder, environment and import path of one case; all is put back afterwards."""
    environment, path, here = dict(os.environ), list(sys.path), Path.cwd()
    os.environ |= {
        "BABELSCOPE_CACHE": str(folder.parent / f"{folder.name}.sqlite"),
        "XDG_STATE_HOME": str(folder.parent / f"{folder.name}.state"),
        "COLUMNS": "80",
        "NO_PROXY": "127.0.0.1",
        "HF_HUB_OFFLINE": "1",
    }
    sys.path[:0] = extra_path
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)


def run_command(arguments: list[str]) -> tuple[int, str, str]:
    """`babelscope ARGUMENTS` in this process: exit code, stdout, stderr."""
    from babelscope.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    saved = sys.argv, sys.stdin, warnings.showwarning, sys.stdout, sys.stderr
    sys.argv, sys.stdin = ["babelscope", *arguments], io.TextIOWrapper(io.BytesIO())
    code = 0
    try:
        sys.stdout, sys.stderr = out, err
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            main()
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    finally:
        sys.argv, sys.stdin, warnings.showwarning, sys.stdout, sys.stderr = saved
    return code, _text_of(out), _text_of(err)


def _text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def facts_of(
    commands: list[str],
    folder: Path,
    *,
    extra_path: list[str],
    fill: Mapping[str, str],
    calls: Callable[[], int],
) -> list[Fact]:
    """Run the commands of one case one after another in `folder`; everything worth comparing, in a fixed order."""
    facts: list[Fact] = []
    signatures: list[str] = []
    hide = {str(folder): "{folder}", **{value: f"{{{name}}}" for name, value in fill.items()}}
    with _surroundings(folder, extra_path):
        for number, command in enumerate(commands):
            before, asked = _states(folder), calls()
            words = [word.format_map(fill) if "{" in word else word for word in shlex.split(command)]
            if words[0] == "python":  # a function of `api.py` instead of a command
                facts += [{"step": number, "row": _plain(row)} for row in getattr(api, words[1])()]
                continue
            code, out, err = run_command(words)
            at: Fact = {"step": number}
            facts.append(at | {"exit": code})
            facts += [at | {"says": each} for each in _said(_hidden(err, hide), _hidden(out, hide))]
            if calls() != asked or "{server}" in command or "{http}" in command:
                facts.append(at | {"calls": calls() - asked})
            facts += [at | fact for fact in _printed(out, hide, signatures)]
            for path in sorted(folder.rglob("*")):
                name = path.relative_to(folder).as_posix()
                if path.is_file() and _state(path) != before.get(name):
                    facts += [at | {"file": name} | fact for fact in _written(path, hide, "--json" in words)]
        if signatures:  # which of them are equal, numbered as they appear
            distinct = list(dict.fromkeys(signatures))
            facts.append({"signatures": [distinct.index(each) for each in signatures]})
    gc.collect()
    return [json.loads(json.dumps(fact)) for fact in facts]


def _states(folder: Path) -> dict[str, tuple[int, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _state(path) for path in files}


def _state(path: Path) -> tuple[int, int]:
    return path.stat().st_mtime_ns, path.stat().st_size


# --- what is compared ----------------------------------------------------------------------------------------------


def _hidden(text: str, hide: Mapping[str, str]) -> str:
    for value, name in hide.items():
        text = text.replace(value, name).replace(value.removeprefix("http://"), name)
    return re.sub(r"…\d*(?=/v1)", "…", text).strip()  # a name cut short in the server's port


def _said(err: str, out: str) -> list[str]:
    """Errors and warnings of stderr, one line each, and what the summary asks the reader to keep in mind."""
    said = [line for line in err.split("\n") if re.match(r"babelscope: (error|warning)|Error: ", line)]
    block = re.search(r"^Warnings:\n((?:  .*\n?)+)", out, re.MULTILINE)
    noted = re.split(r"\n(?=  \S)", block[1].rstrip()) if block else []
    return said + [" ".join(each.split()) for each in noted]


def _printed(out: str, hide: Mapping[str, str], signatures: list[str]) -> Iterator[Fact]:
    """The JSON lines of stdout; of other text, how many lines there were is not a figure and is not compared."""
    first = True
    for line in _hidden(out, hide).split("\n"):
        if not line.startswith("{"):
            continue
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if first and isinstance(found.get("signature"), str):
            signatures.append(found["signature"])
            first = False
        yield {"row": _plain(found)}


def _written(path: Path, hide: Mapping[str, str], printed: bool) -> Iterator[Fact]:
    """What a file holds: sums over fields of JSON lines and some lines whole, a summary's rows, else a digest."""
    if path.name.endswith(_SKIPPED_FILES) or path.name.startswith("."):
        return
    if path.name == "manifest.json":
        manifest = json.loads(path.read_text())
        yield {"status": manifest.get("status"), "jobs": len(manifest.get("jobs", ()))}
        return
    if path.name == "summary.json":
        summary = json.loads(_hidden(path.read_text(), hide))
        rows = [] if printed else summary["rows"]
        for row in [*rows, *summary.get("comparisons", ())]:
            yield {"row": _plain(row)}
        return
    if path.suffix == ".jsonl":
        lines = _hidden(path.read_text(encoding="utf-8"), hide).split("\n")
        records = [_plain(json.loads(line)) for line in lines if line]
        for number, record in enumerate(records[:_SAMPLE]):
            yield {"line": number, "record": record}
        yield from _sums(records)
        return
    data = path.read_bytes()
    if path.suffix == ".json":
        data = json.dumps(_plain(json.loads(data))).encode()
    for value, name in hide.items():
        data = data.replace(value.encode(), name.encode())
    yield {"digest": hashlib.sha256(data).hexdigest()[:16], "bytes": len(data)}


def _plain(value: Any) -> Any:
    """A JSON value without what names the commit, the machine or the time; numbers that JSON lacks as text."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if name not in _SKIPPED_KEYS}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _sums(records: list[Any]) -> Iterator[Fact]:
    """Per field over all records: how many there are, the sum and the sum by place, of text a digest."""
    numbers: dict[str, list[float]] = {}
    texts: dict[str, list[str]] = {}
    for record in records:
        for place, value in _leaves(record, ""):
            if isinstance(value, bool | int | float):
                numbers.setdefault(place, []).append(float(value))
            else:
                texts.setdefault(place, []).append(str(value))
    for place, values in sorted(numbers.items()):
        by_place = math.fsum(value * (1 + number % 97) for number, value in enumerate(values))
        yield {"field": place, "n": len(values), "sum": math.fsum(values), "by_place": by_place}
    for place, found in sorted(texts.items()):
        digest = hashlib.sha256("\0".join(found).encode()).hexdigest()[:12]
        yield {"field": place, "n": len(found), "text": digest}


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(each, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, f"{place}[]")
    else:
        yield place, value


# --- comparing -----------------------------------------------------------------------------------------------------


def environment() -> dict[str, Any]:
    """What may change the last bits of a model's scores."""
    import torch

    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return {
        "processor": model[1] if model else "",
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
    }


def tolerance() -> tuple[float, float]:
    """Relative and absolute: where the values were recorded, what the order of sums in double precision changes
    (OPENBLAS_CORETYPE chooses it); elsewhere, the contract of scores."""
    same = json.loads((HERE / "environment.json").read_text()) == environment()
    return (1e-12, 1e-12) if same else (2e-4, 1e-4)


def renames() -> dict[str, dict[str, Any]]:
    """`keys`, `values` and `words` (within either), old = new, of what was renamed since values were recorded; and
    what was `added` since."""
    return tomllib.loads((HERE / "renames.toml").read_text(encoding="utf-8"))


def without_added(facts: list[Fact], added: Mapping[str, Any]) -> list[Fact]:
    """The facts without the rows (by some of their labels) and fields of records that are listed as added.

    Holm's p of other rows of the same family is computed as if the added ones were not there, so that recorded values
    are still compared to the last digit.
    """
    fields = added.get("fields", ())
    kept: list[Fact] = []
    families: dict[str, list[Fact]] = {}
    grown = set()
    for fact in facts:
        row = fact.get("row", {})
        family = json.dumps([fact.get("step"), fact.get("file"), *map(row.get, _FAMILY)])
        if any(labels.items() <= row.items() for labels in added.get("rows", ())):
            grown.add(family)
        elif fact.get("field") not in fields:
            record = {name: each for name, each in fact.get("record", {}).items() if name not in fields}
            fact = {**fact, **({"record": record} if record else {}), **({"row": dict(row)} if row else {})}
            kept.append(fact)
            if "p_holm" in row:
                families.setdefault(family, []).append(fact["row"])
    for family in grown:
        rows = families.get(family, [])
        for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
            row["p_holm"] = p
    return kept


_FAMILY = ("table", "name", "method", "tests")


def differences(old: list[Fact], new: list[Fact], limits: tuple[float, float]) -> Iterator[str]:
    """What is gone, changed or new. Facts are found by all they say that is not a number, whatever their order."""
    waiting: dict[str, list[Fact]] = {}
    for fact in new:
        waiting.setdefault(_key(fact), []).append(fact)
    for fact in old:
        found = waiting.get(_key(fact))
        if not found:
            yield f"gone: {json.dumps(fact, ensure_ascii=False)[:300]}"
            continue
        # Several facts of one key: rows alike but for their numbers, in order.
        yield from _changed(fact, found.pop(0), limits, _name(fact))
    for left in waiting.values():
        for fact in left:
            yield f"new: {json.dumps(fact, ensure_ascii=False)[:300]}"


def _name(fact: Fact) -> str:
    row = fact.get("row", {})
    return (
        f"step {fact.get('step', '-')} {fact.get('file', '')} {fact.get('field', '') or row.get('name', '')}"
    )


def _key(fact: Fact) -> str:
    """All names and texts of a fact; numbers are left out but for those that tell facts apart."""
    kept = {name: value for name, value in fact.items() if name in ("step", "file", "field", "line")}
    row = fact.get("row", {})
    labels = {name: value for name, value in row.items() if isinstance(value, str)}
    labels |= {name: row[name] for name in ("k", "distance", "id", "line", "rank") if name in row}
    kind = sorted(name for name in fact if name not in kept)
    return json.dumps([kept, labels, kind], sort_keys=True)


def _changed(old: Any, new: Any, limits: tuple[float, float], where: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            if name not in new or name not in old:
                yield f"{where}.{name} is {'gone' if name in old else 'new'}"
            else:
                yield from _changed(old[name], new[name], limits, f"{where}.{name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _changed(one, other, limits, f"{where}[{number}]")
    elif isinstance(old, float) and isinstance(new, float):
        relative, absolute = limits
        if old != new and abs(old - new) > absolute + relative * max(abs(old), abs(new)):
            yield f"{where}: {old!r} -> {new!r}"
    elif old != new or type(old) is not type(new):
        yield f"{where}: {str(old)[:200]!r} -> {str(new)[:200]!r}"


def renamed(fact: Any, names: Mapping[str, Mapping[str, str]]) -> Any:
    """A recorded fact under today's names."""
    keys, values, words = (names.get(kind, {}) for kind in ("keys", "values", "words"))

    def respelled(text: str) -> str:
        return re.sub(r"[A-Za-z]+", lambda found: words.get(found[0], found[0]), text)

    if isinstance(fact, dict):
        new = {respelled(keys.get(name, name)): renamed(each, names) for name, each in fact.items()}
        if new.get("system") in (tested := names.get("systems", {})):
            new["system"] = tested[new["system"]]
        if "field" in new:  # a path through records, as texts.correct or variants[].score
            new["field"] = re.sub(r"\w+", lambda found: keys.get(found[0], found[0]), new["field"])
        return new
    if isinstance(fact, list):
        return [renamed(each, names) for each in fact]
    if isinstance(fact, str):
        return respelled(values.get(fact, fact))
    return fact
