"""`python -m tests.mutants`: small mistakes put into the maths, one at a time; the tests must notice each.

A mutant is a module with one change: a comparison, an operator, a number, a condition, a returned value. Its tests
run in a fork with the mutant in the module's place; nothing is written to the source tree.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib.abc
import importlib.util
import json
import math
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "babelscope"
ROOMS = ("stats/*.py", "metrics/*.py", "methods/*.py", "decoding/exact.py")
PATIENCE = 10.0  # seconds of a processor, beside three times what the tests take without a mutant
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
}


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    path: Path
    line: int
    place: int
    """Which node of its tree is changed, as `ast.walk` counts them."""
    choice: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.before}  ->  {self.after}"

    def code(self) -> CodeType:
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        site = next(node for number, node in enumerate(ast.walk(tree)) if number == self.place)
        _Replace(site, _changes(site)[self.choice]).visit(tree)
        return compile(ast.fix_missing_locations(tree), str(self.path), "exec")


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a file, in the order of its lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    places = {id(node): number for number, node in enumerate(ast.walk(tree))}
    made = [
        Mutant(path, site.lineno, places[id(site)], choice, ast.unparse(site), ast.unparse(new))
        for site in _sites(tree)
        for choice, new in enumerate(_changes(site))
    ]
    return sorted(made, key=lambda mutant: (mutant.line, mutant.place))


def _sites(tree: ast.Module) -> Iterator[ast.expr | ast.Return]:
    """What can be changed: not annotations, decorators, docstrings and messages of errors."""
    left_out: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        parts += getattr(node, "decorator_list", [])
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
            parts.append(node)
        if (
            isinstance(node, ast.keyword) and node.arg == "strict"
        ):  # of zip: what it guards against does not happen
            parts.append(node)
        left_out |= {id(inner) for part in parts if part is not None for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.Return) and id(node) not in left_out and _changes(node):
            yield node


def _changes(node: ast.AST) -> list[ast.AST]:
    """What a place is changed into, one after another."""
    match node:
        case ast.Compare(left=left, ops=[op, *more], comparators=values):
            return [ast.Compare(left, [_COMPARISONS[type(op)](), *more], values)]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return [ast.BinOp(left, _OPERATORS[type(op)](), right)]
        case ast.BoolOp(op=op, values=values):
            return [ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)]
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            return [operand]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return [ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)]
        case ast.Return(value=value) if value is not None and not _is_none(value):
            return [ast.Return(ast.Constant(None))]
        case ast.Constant(value=bool(value)):
            return [ast.Constant(not value)]
        case ast.Constant(value=int(value) | float(value)):
            return [ast.Constant(value + 1)]
    return []


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else super().generic_visit(node)


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Gives a mutant where its module is asked for."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        self._name, self._mutant = name, mutant

    def find_spec(self, name: str, _path: object, _target: object = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        return importlib.util.spec_from_loader(name, self, origin=str(self._mutant.path))

    def get_code(self, _name: str) -> CodeType:
        return self._mutant.code()

    def get_source(self, _name: str) -> None:
        return None


def tests_of(path: Path) -> list[Path]:
    """The tests of its room that name the module or are named like it, or else all of the room."""
    inside = path.relative_to(SOURCE).parent
    room = ROOT / "tests" / inside
    dotted = ".".join(["babelscope", *inside.parts])
    named = (f"{dotted}.{path.stem} ", f"{dotted} import {path.stem}", f"{dotted}.{path.stem}\n")
    found = [each for each in room.glob("test_*.py") if any(name in each.read_text() for name in named)]
    own = room / f"test_{path.stem}.py"
    found += [own] if own.exists() and own not in found else []
    return sorted(found) or sorted(room.glob("test_*.py"))


class _Order:
    """A plugin: the tests that noticed the most mutants first, then the quickest of each file.

    Ranks, which go on in the file `kept`, are the seconds a test took, or minus the number of mutants it noticed.
    Tests that took longer than `longest` are left out.
    """

    def __init__(self, kept: Path, longest: float) -> None:
        self._kept, self._longest = kept, longest
        self._ranks: dict[str, float] = json.loads(kept.read_text()) if kept.exists() else {}
        self._known = bool(self._ranks)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        def rank(item: Any) -> tuple[float, str, float]:
            own = self._ranks.get(item.nodeid, 0.0)
            return min(own, 0.0), str(item.path), own  # a file's tests stay together, for they share fixtures

        if self._known:
            items[:] = sorted((item for item in items if rank(item)[2] <= self._longest), key=rank)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._ranks[report.nodeid] = min(self._ranks.get(report.nodeid, 0.0), 0.0) - 1
        elif not self._known:
            self._ranks[report.nodeid] = self._ranks.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        self._kept.write_text(json.dumps(self._ranks))


def notices(
    tests: Sequence[Path], mutant: Mutant | None, seconds: float, order: _Order
) -> tuple[bool | None, float]:
    """Whether the tests fail, None if they come to no end within so many seconds of a processor; and how many."""
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds)))
        if mutant is not None:
            name = ".".join(["babelscope", *mutant.path.relative_to(SOURCE).with_suffix("").parts])
            sys.meta_path.insert(0, _Loader(name, mutant))
        import pytest

        # Without what takes a second to start and tells no right number from a wrong one.
        idle = ("cacheprovider", "anyio", "unraisableexception", "xdist")
        options = (
            "-x",
            "-q",
            "--assert=plain",
            "--hypothesis-profile=mutants",
            *(f"-pno:{each}" for each in idle),
        )
        os._exit(int(pytest.main([*options, *map(str, tests)], plugins=[order]) != 0))
    # A mutant may also wait for ever; on a busy machine an honest one waits long.
    deadline = time.monotonic() + 20 * seconds
    while time.monotonic() < deadline:
        done, status, used = os.wait4(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return (None if code < 0 else code != 0), used.ru_utime + used.ru_stime
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None, seconds


def _preload() -> None:
    """What every fork needs, and nothing of ours, which a mutant may be part of."""
    import hypothesis
    import numpy
    import pytest
    import scipy.stats
    import statsmodels.api
    import torch

    assert all((numpy, pytest, scipy.stats, statsmodels.api, torch))
    # That a mutant is noticed is enough; the smallest example takes a while to find.
    hypothesis.settings.register_profile(
        "mutants",
        deadline=None,
        derandomize=True,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
    )
    gc.freeze()  # the forks need not look through all of it for garbage


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    arguments.add_argument(
        "--only", nargs="+", default=[""], help="parts of paths, or `ribes.py:12` for a line"
    )
    arguments.add_argument("--sample", type=int, default=0, help="so many mutants, drawn at random; 0: all")
    arguments.add_argument("--seed", type=int, default=0, help="of the sample")
    arguments.add_argument(
        "--longest", type=float, default=math.inf, help="leave out tests that take more seconds than this"
    )
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as kept:
        return _try_all(asked, kept)


def _try_all(asked: argparse.Namespace, kept: str) -> int:
    """Try the mutants asked for; what hypothesis remembers goes to `kept`."""
    os.environ |= {
        "OMP_NUM_THREADS": "1",
        "BABELSCOPE_SHARED": "/nonexistent",
        "HYPOTHESIS_STORAGE_DIRECTORY": kept,
    }
    _preload()
    paths = [path for room in ROOMS for path in sorted(SOURCE.glob(room))]
    mutants = [
        mutant
        for path in paths
        for mutant in mutants_of(path)
        if any(part in f"{path}:{mutant.line}:" for part in asked.only)
    ]
    made = len(mutants)
    if asked.sample and asked.sample < made:
        drawn = sorted(random.Random(asked.seed).sample(range(made), asked.sample))
        mutants = [mutants[number] for number in drawn]
    limits: dict[Path, float] = {}
    killed = timed_out = 0
    surviving: list[Mutant] = []
    for number, mutant in enumerate(mutants, 1):
        tests = tests_of(mutant.path)
        ranks = Path(kept, f"{mutant.path.stem}.json")
        if mutant.path not in limits:
            fails, _ = notices(tests, None, 600, _Order(ranks, asked.longest))
            again, used = notices(tests, None, 600, _Order(ranks, asked.longest))
            if not tests or fails is not False or again is not False:
                print(f"{mutant.path.relative_to(ROOT)} has no tests of its own that pass", flush=True)
                return 1
            limits[mutant.path] = PATIENCE + 3 * used
        noticed, _ = notices(tests, mutant, limits[mutant.path], _Order(ranks, asked.longest))
        killed += noticed is True
        timed_out += noticed is None
        if noticed is False:
            surviving.append(mutant)
            print(f"survives: {mutant}", flush=True)
        if number % 20 == 0:
            print(f"{number} of {len(mutants)}: {len(surviving)} survive", flush=True)
    print(
        f"{len(mutants)} mutants of {made} in {len(limits)} files: {killed} killed, {timed_out} without end, "
        f"{len(surviving)} survive ({1 - len(surviving) / max(1, len(mutants)):.1%} noticed)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
