"""The examples of the documentation: `python -m tests.docs_examples [--write] [PAGE...]`, and tests/test_docs.py.

A page is run from top to bottom in a folder of its own:

- a block with `title="NAME"` is a file, and is written there first;
- each line `$ COMMAND` of a `console` block is run, and what follows it is what it prints;
- a `python` block without a title is run, and a `text` block without one after it is what it prints.

`babelscope` runs in this process; any other command runs in bash. Both may end in `> FILE`, `| head -N` or
`| tail -N`, or in `# refused` where exit code 2 and the message are what is shown. What changes with commit and
machine (versions, digests, seconds) is hidden, in output and page alike.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.golden.harness import run_command

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(page for folder in ("start", "howto") for page in (DOCS / folder).glob("*.md"))
BLOCK = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL
)
# What differs from commit to commit, or from one machine to another.
CHANGING = (
    (re.compile(r"\bv:[\w.+-]+"), "v:…"),
    (re.compile(r"\b(\w+):[0-9a-f]{8,}\b"), r"\1:…"),
    (re.compile(r"http://127\.0\.0\.1:\S+"), "http://127.0.0.1:…"),
    (re.compile(r"\b\d+(\.\d+)? s\b"), "… s"),
    (re.compile(r"\t\d+\.\d{3}\t"), "\t…\t"),
    (re.compile(r"[\d,]+ tokens/s"), "… tokens/s"),
    (re.compile(r"(?<![\d.])\de[+-]\d\d\b"), "…"),  # rounding errors
)
COLUMNS = "96"


@dataclass(frozen=True)
class Edit:
    """A stretch of a page, and what it should be."""

    start: int
    end: int
    text: str


def run_page(page: Path, folder: Path) -> str:
    """The page with the output that its examples print now, run in `folder`."""
    text = page.read_text("utf-8")
    blocks = list(BLOCK.finditer(text))
    edits = []
    with _inside(folder):
        for number, block in enumerate(blocks):
            after = blocks[number + 1] if number + 1 < len(blocks) else None
            if block["title"]:
                Path(block["title"]).parent.mkdir(parents=True, exist_ok=True)
                Path(block["title"]).write_text(block["text"], "utf-8")
            elif block["language"] == "console":
                edits.append(Edit(block.start("text"), block.end("text"), _console(block["text"])))
            elif block["language"] == "python":
                printed = _python(block["text"])
                if after and after["language"] == "text" and not after["title"]:
                    edits.append(Edit(after.start("text"), after.end("text"), hide(printed)))
    for edit in reversed(edits):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def hide(text: str) -> str:
    """The text without what differs from commit to commit."""
    for pattern, instead in CHANGING:
        text = pattern.sub(instead, text)
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().split("\n")) if text.strip() else ""


def commands(text: str) -> Iterator[str]:
    """The commands of a `console` block as they stand there, continuation lines included."""
    for found in re.finditer(r"^\$ (?:.*\\\n)*.*\n", text, re.MULTILINE):
        yield found[0]


def _console(text: str) -> str:
    parts = []
    for command in commands(text):
        words = command.removeprefix("$ ").replace("\\\n", " ").strip()
        parts.append(command + hide(_run(words)))
    return "".join(parts)


def _run(command: str) -> str:
    """What a command prints on stdout; on stderr too, if it is refused."""
    name = command.split()[0]
    if name != "babelscope":
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{command}\n{done.stderr}")
        return done.stdout
    command, _, refused = command.partition("  # ")
    found = re.fullmatch(r"(.*?)(?: > (?P<file>\S+))?(?: \| (?P<cut>head|tail) -(?P<n>\d+))?", command)
    assert found is not None
    code, out, err = run_command(shlex.split(found[1])[1:])
    if code != (2 if refused else 0):
        raise SystemExit(f"{command}\n{out}{err}")
    out += err if refused else ""
    if found["file"]:
        Path(found["file"]).write_text(out, "utf-8")
        return ""
    if found["cut"]:
        lines, n = out.splitlines(keepends=True), int(found["n"])
        return "".join(lines[:n] if found["cut"] == "head" else lines[-n:])
    return out


def _python(text: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "example", "exec"), {"__name__": "example"})
    return printed.getvalue()


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """In a folder of its own, with a home, caches and state of its own, and without network for the hub."""
    here, environment = Path.cwd(), dict(os.environ)
    private = folder.with_name(f"{folder.name}-home")
    private.mkdir()
    os.environ |= {
        "BABELSCOPE_CACHE": str(private / "cache.sqlite"),
        "BABELSCOPE_DATA": str(private / "data"),
        "XDG_STATE_HOME": str(private / "state"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": COLUMNS,
    }
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(environment)


def main() -> int:
    """Run the pages; print how they differ, or write them."""
    parser = argparse.ArgumentParser(description="Run the examples of the documentation.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages; all of Start and How-to if none is named")
    parser.add_argument("--write", action="store_true", help="write what is printed into the pages")
    options = parser.parse_args()
    differ = 0
    for page in options.pages or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "page").mkdir()
            now = run_page(page.resolve(), Path(folder) / "page")
        was = page.read_text("utf-8")
        if now != was and options.write:
            page.write_text(now, "utf-8")
        elif now != was:
            differ += 1
            sys.stdout.writelines(
                difflib.unified_diff(was.splitlines(True), now.splitlines(True), str(page), "now")
            )
        print(f"{page}: {'same' if now == was else 'written' if options.write else 'differs'}", flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
