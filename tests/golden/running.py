"""Where cases run: tiny models, a server on loopback, the toys as a plug-in; and the files of recorded values."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.golden import data
from tests.golden.cases import CASES, RAY_CASES
from tests.golden.harness import HERE, Fact, facts_of
from tests.support.chat_servers import ChatModel
from tests.support.serving import Request, Server

ALL_CASES = {**CASES, **RAY_CASES}
CASES_BY_FILE: dict[str, list[str]] = {}
for _name in ALL_CASES:
    CASES_BY_FILE.setdefault(_name.partition("/")[0], []).append(_name)


def read_golden(file: str) -> dict[str, list[Fact]]:
    """The recorded facts of a file, by case."""
    path = HERE / f"{file}.jsonl"
    found: dict[str, list[Fact]] = {}
    for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else ():
        if line:
            fact = json.loads(line)
            found.setdefault(fact.pop("case"), []).append(fact)
    return found


def write_golden(file: str, cases: dict[str, list[Fact]]) -> None:
    lines = [
        json.dumps({"case": name, **fact}, ensure_ascii=False) + "\n"
        for name, facts in cases.items()
        for fact in facts
    ]
    (HERE / f"{file}.jsonl").write_text("".join(lines), encoding="utf-8")


class _Stub:
    """Translates by reversing the words, and talks as the chat model; from request to request it may be broken."""

    def __init__(self) -> None:
        self.count = 0
        self.broken: range = range(0)

    def __call__(self, request: Request) -> Any:
        self.count += 1
        if self.count in self.broken:
            return 503, {}, b"{}"
        if "sources" in request.body:
            return {"translations": [[" ".join(source.split()[::-1])] for source in request.body["sources"]]}
        # What is drawn depends on the request alone, in whatever order requests come.
        drawn = random.Random(json.dumps(request.body, sort_keys=True))
        return ChatModel(choose=lambda prompt: "A" if len(prompt) % 3 else "B", rng=drawn)(request)


class Workshop:
    """A folder with all that cases need; what is slow to make is made when first asked for."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="golden-")
        self.folder = Path(self._folder.name)
        self._models: dict[str, str] = {}
        self._toys: list[str] = []
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def run(self, name: str) -> list[Fact]:
        """The facts of one case, in a new folder, with a server of its own."""
        from tests.support import toys

        commands = ALL_CASES[name]
        if not self._toys:
            self._toys = toys.install(self.folder / "plug-in")
        self._number += 1
        folder = self.folder / str(self._number)
        folder.mkdir()
        stub = _Stub()
        server = Server(stub)
        fill = {"server": server.url, "http": f"{server.url}/translate?retries=0"}
        needed = {word for command in commands for word in _MODELS if f"{{{word}}}" in command}
        fill |= {family: self._model(family) for family in needed}
        _lay(name, folder, server.url)
        if name == "runs/resumed":
            stub.broken = range(4, 5)
        try:
            return facts_of(commands, folder, extra_path=self._toys, fill=fill, calls=lambda: stub.count)
        finally:
            server.shutdown()
            server.server_close()

    def _model(self, family: str) -> str:
        from tests.support import models

        if family in self._models:
            return self._models[family]
        folder = self.folder / "models" / family
        if family in ("llama", "gpt2"):
            models.build_causal(folder, kind=family)
            made = f"llm:{folder}?source=English&target=German&max_length=48"
        elif family == "ct2":
            from ctranslate2.converters import TransformersConverter

            marian = self._model("marian").removeprefix("hf:").partition("?")[0]
            TransformersConverter(marian).convert(str(folder))
            made = f"ct2:{folder}?tokenizer={marian}&max_length=48"
        else:
            models.build(family, folder)
            made = models.spec(family, folder, max_length=48)
        self._models[family] = made
        return made


_MODELS = ("marian", "fsmt", "nllb", "mbart50", "t5", "llama", "gpt2", "ct2")


def _lay(name: str, folder: Path, server: str) -> None:
    """The files of a case."""
    from tests.support.models import SOURCES, TARGETS

    data.lay(folder)
    (folder / "toy.en").write_text(data.text(SOURCES[:3]))
    (folder / "toy.de").write_text(data.text(TARGETS[:3]))
    if name in ("systems/plug-in", "refusals/systems"):
        _lay_toys(folder)
    if name.startswith(("refusals/", "warnings/")):
        _lay_bad(folder)
    if name in ("condition/given", "condition/answers", "refusals/files", "warnings/judging"):
        _lay_ambiguous(folder)
    if name == "runs/resumed":
        spec = f"{server}/translate?retries=0&batch=2&concurrency=1"
        tests = '[[tests]]\nname = "own"\nspec = "parallel:own.en,own.de"\n'
        rest = '[[methods]]\nname = "quality"\nmetric = ["chrf"]\n[run]\nchunk = 4\n'
        (folder / "served.toml").write_text(f'[[systems]]\nname = "served"\nspec = "{spec}"\n{tests}{rest}')
    if name == "people/answers":
        _lay_answers(folder)


def _lay_toys(folder: Path) -> None:
    drawn = random.Random(4)
    words = ["".join(drawn.choices("abc ", k=6)).strip() or "a" for _ in range(16)]
    pairs = [
        {"id": str(n), "source": f"s {n // 2}", "correct": word, "contrastive": [word[::-1] + "a", word[1:] or "b"],
         "phenomenon": "cut" if n % 2 else "placeholder_ding", "reference": "human"}
        for n, word in enumerate(words)
    ]  # fmt: skip
    sentences = [
        {"id": str(n), "source": f"s {n // 2}", "reference": word} for n, word in enumerate(words[:8])
    ]
    (folder / "toy.abc").write_text(data.text(words[:4]))
    (folder / "toy-pairs.jsonl").write_text(data.lines(pairs))
    (folder / "toy-sentences.jsonl").write_text(data.lines(sentences))


def _lay_bad(folder: Path) -> None:
    pair = json.loads((folder / "pairs.jsonl").read_text().split("\n")[0])
    (folder / "bad.jsonl").write_text(data.lines([{**pair, "correct": ""}]))
    (folder / "torn.jsonl").write_text(json.dumps(pair)[:-9])
    (folder / "empty.jsonl").write_text("")
    (folder / "bad.toml").write_text('[[systems]]\nspec = "lab:student"\n[[methods]]\nname = "contrasts"\n')
    twice = (folder / "pairs.jsonl").read_text()
    (folder / "pairs-twice.jsonl").write_text(twice + twice.replace('"id": "p', '"id": "q'))
    (folder / "given.de").write_text(data.text(f"Die Ärztin {n} schläft ." for n in range(16)))


def _lay_ambiguous(folder: Path) -> None:
    from babelscope import load

    tests = load("lab:gender?n=16&seed=2")
    tests.write(folder / "ambiguous.jsonl")
    sources = [
        json.loads(line)["source"] for line in (folder / "ambiguous.jsonl").read_text().split("\n") if line
    ]
    (folder / "sources.en").write_text(data.text(sources))
    drawn = random.Random(8)
    scores = [f"{-1 - drawn.random():.4f}\t{-1 - drawn.random():.4f}" for _ in tests.items]
    (folder / "two.scores").write_text(data.text(scores))


def _lay_answers(folder: Path) -> None:
    """A queue of the page, what three people answered, and a method's verdicts on the same."""
    from babelscope.annotate.answers import AnswerFile
    from babelscope.annotate.queue import read_tasks

    drawn = random.Random(9)
    tokens = ["Er", "nahm", "das", "Angebot", "an", "."]
    shared = {
        "reference": "He accepted it.",
        "phenomenon": "particle",
        "head": 2,
        "dependent": 5,
        "tokens": tokens,
    }
    rows = [
        {
            "task": "challenge",
            "id": n,
            "source": " ".join(tokens),
            "translation": text,
            "system": "ab"[n % 2],
            **shared,
        }
        for n, text in enumerate(data.ENGLISH)
    ]
    queue = folder / "queue.jsonl"
    queue.write_text(data.lines(rows))
    right, wrong = "Translated right", "Translated wrong"
    for name, care in (("ann", 0.9), ("bob", 0.7), ("cy", 0.6)):
        file = AnswerFile(queue, name, tasks := read_tasks(queue, None))
        for number, task in enumerate(tasks):
            if drawn.random() < 0.9:
                file.save(task, {"label": right if (number % 3 > 0) == (drawn.random() < care) else wrong})
        file.close()
    assessed = [
        {"task": "assessment", "id": n, "source": text, "translation": text}
        for n, text in enumerate(data.ENGLISH)
    ]
    scored = folder / "scored.jsonl"
    scored.write_text(data.lines(assessed))
    for name, noise in (("ann", 5), ("bob", 12), ("cy", 20)):
        file = AnswerFile(scored, name, tasks := read_tasks(scored, None))
        for number, task in enumerate(tasks):
            if drawn.random() < 0.9:
                file.save(task, {"score": min(100, max(0, round(8 * number + drawn.gauss(0, noise))))})
        file.close()
    for name, factor in (("two", 1.0), ("two-human", 0.8)):
        rows = [
            {"system": s, "id": n, "score": factor * (n + 3 * (s == "b")) + drawn.random()}
            for s in "ab"
            for n in range(6)
        ]
        (folder / f"{name}.jsonl").write_text(data.lines(rows))
    verdicts = [{"id": n, "system": "ab"[n % 2], "correct": n % 4 > 0} for n in range(len(rows))]
    (folder / "verdicts.jsonl").write_text(data.lines(verdicts))
