"""The package as people get it: metadata that is true, and wheel and sdist that need nothing of the clone."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import babelscope

ROOT = Path(__file__).parents[1]
# In every Python process of the empty environment: whoever connects or looks up a host fails.
NO_NETWORK = """
import sys

def forbid(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise RuntimeError(f"the network is forbidden here: {event} {arguments}")

sys.addaudithook(forbid)
"""


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert citation["version"] == project["tool"]["setuptools_scm"]["fallback_version"]
    assert citation["license"] == project["project"]["license"]
    assert citation["abstract"] == project["project"]["description"]
    assert all(each["title"] and each["authors"] for each in citation["references"])


def test_pre_commit_runs_what_make_check_runs() -> None:
    (recipe,) = re.findall(r"(?m)^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text())
    in_make = re.findall(r"\$\(BIN\)/(.+?)(?: --check)?(?: \.)?\n", recipe)
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"].removeprefix(".venv/bin/") for hook in hooks] == in_make


def test_make_help_names_every_target() -> None:
    targets = re.search(r"(?m)^\.PHONY: (.+)$", (ROOT / "Makefile").read_text())
    assert targets is not None
    shown = subprocess.check_output(["make", "--no-print-directory", "-C", ROOT], text=True)
    assert {line.split()[1] for line in shown.splitlines()} == set(targets[1].split())


def test_what_is_stable_is_listed() -> None:
    page = (ROOT / "docs" / "inside" / "stability.md").read_text()
    sources = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    variables = {each for text in sources for each in re.findall(r"\bBABELSCOPE_[A-Z]+\b", text)}
    # What a registry is made with: its group of entry points, then what is built in.
    groups = {each for text in sources for each in re.findall(r'"(babelscope\.[a-z_]+)",\s+[{_]', text)}
    assert len(groups) >= 9
    missing = [name for name in {*babelscope.__all__, *variables, *groups} if f"`{name}`" not in page]
    assert not missing


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the sdist of this tree, as it is now, in a folder outside it."""
    # It may be missing, or refuse the repository of another user.
    known = shutil.which("git") and subprocess.run(
        ["git", "-C", ROOT, "ls-files"], capture_output=True, check=False
    )
    if not known or known.returncode or not known.stdout:
        pytest.skip("an sdist is made of the files that git knows, and it knows none here")
    folder = tmp_path_factory.mktemp("package")
    clone = folder / "clone"
    # A copy, since a build leaves folders behind that installed packages are found by.
    _run("git", "clone", "--quiet", "--no-checkout", str(ROOT), str(clone))
    for name in _tracked():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, clone / name)
    _run("git", "add", "--all", cwd=clone)
    make_sdist = "import setuptools.build_meta as b; b.build_sdist('../dist')"
    _run(sys.executable, "-c", make_sdist, cwd=clone)
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    shutil.rmtree(clone)
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--quiet")
    _run(sys.executable, "-m", "pip", "wheel", *offline, "-w", "dist", str(sdist), cwd=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package(built: Path) -> None:
    with zipfile.ZipFile(built) as archive:
        packed = set(archive.namelist())
    wanted = {name.removeprefix("src/") for name in _tracked() if name.startswith("src/babelscope/")}
    assert not wanted - packed
    assert {name for name in packed if ".dist-info/" not in name} <= wanted
    assert "babelscope/py.typed" in packed


@pytest.mark.slow
def test_the_wheel_runs_in_an_empty_environment(built: Path, tmp_path: Path) -> None:
    _run(sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv"))
    python = tmp_path / "venv" / "bin" / "python"
    offline = ("--no-index", "--no-deps", "--quiet", "--disable-pip-version-check")
    _run(sys.executable, "-m", "pip", f"--python={python}", "install", *offline, str(built))
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    _link_dependencies(built, packages)
    (packages / "no_network.py").write_text(NO_NETWORK)
    (packages / "no_network.pth").write_text("import no_network\n")
    home = tmp_path / "home"
    home.mkdir()
    # Nothing of this process: no PYTHONPATH, no caches, no settings.
    environment = {"HOME": str(home), "PATH": os.defpath, "OMP_NUM_THREADS": "1"}

    def run(*command: str) -> str:
        return _run(*command, cwd=home, env=environment)

    asked = "import socket\ntry: socket.getaddrinfo('localhost', 80)\nexcept RuntimeError as no: print(no)"
    assert "the network is forbidden" in run(str(python), "-c", asked)
    where = run(str(python), "-c", "import babelscope.lab.plugin as p; print(p.__file__)")
    assert Path(where.strip()).is_relative_to(packages)
    script = str(python.with_name("babelscope"))
    version = re.fullmatch(r"babelscope-([^-]+)-py3-none-any\.whl", built.name)
    assert version is not None
    assert run(script, "--version") == f"babelscope {version[1]}\n"
    assert "demo" in run(script, "--help")
    run(script, "demo", "--n", "10", "--out", "demo")
    page = (home / "demo" / "report.html").read_text()
    assert "teacher" in page
    assert "<svg" in page


def _tracked() -> list[str]:
    """The files that git knows or would add, those deleted left out."""
    names = _run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    return [name for name in dict.fromkeys(names) if name and (ROOT / name).is_file()]


def _run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    ran = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
    return ran.stdout


def _link_dependencies(wheel: Path, packages: Path) -> None:
    """Put there what the wheel and its extra `models` need, and no more, as links to what is installed here.

    That is what pip would install, without the network; of other extras and of the clone nothing is found.
    """
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().split("\n\n")[0].split("\n")
    stated = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    for found in _needed(stated):
        for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            link = packages / name
            if not link.is_symlink() and not link.exists():
                link.symlink_to(Path(str(found.locate_file(name))).resolve())


def _needed(stated: list[str]) -> Iterator[importlib.metadata.Distribution]:
    """What is installed here of these requirements, those of `models` included, and of all that they require."""
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(line), "models") for line in stated]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        for each in ("", *requirement.extras):
            if (requirement.name.lower(), each) in seen:
                continue
            seen.add((requirement.name.lower(), each))
            found = importlib.metadata.distribution(requirement.name)
            waiting += [(Requirement(line), each) for line in found.requires or ()]
            yield found
