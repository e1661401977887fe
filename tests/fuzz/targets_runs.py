"""What is fuzzed of our own files, damaged or changed by others: run folders and the cache; and servers' answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from babelscope.core.comparison import rows_by_figure
from babelscope.core.system import Target as Answer
from babelscope.report.flows import flow_charts
from babelscope.runs.compare import group_runs
from babelscope.runs.folder import FORMAT, RunFolder
from babelscope.runs.manifest import Manifest
from babelscope.runs.reading import Run, read_run, results_of_run
from babelscope.runs.shards import merge
from babelscope.runs.study import Study, run_study
from babelscope.systems.cache import cached
from babelscope.systems.registry import open_system
from babelscope.util.errors import SystemFailure
from tests.fuzz.fuzzing import Files, Target
from tests.fuzz.targets import CUED, PAIR, SENTENCE, lines
from tests.support.toys import ToySystem

_OPENAI = "openai:http://localhost/v1#m?source=English&target=German"
_PAIRS: list[tuple[str, Answer]] = [(f"a{number}", "abc") for number in range(3)]
_FOUND = {"phenomenon": "particle", "side": "source", "head": 1, "dependent": 2, "distance": 0}
_METHODS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"name": "likelihood"}, SENTENCE),
    ({"name": "contrast", "detect_in_output": "no"}, PAIR),
    ({"name": "condition", "evaluator": "toy:2", "translations": "given"}, CUED),
    ({"name": "challenge", "matched_corpora": 2}, {**SENTENCE, "dependencies": [_FOUND]}),
)


def _folder(path: Path) -> Files:
    return {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}


def finished_runs() -> list[Files]:
    """A small run folder of each method; the toys must be installed (`toys.install`)."""
    return [_finished(settings, item) for settings, item in _METHODS]


def _finished(settings: dict[str, Any], item: dict[str, Any], shard: str | None = None) -> Files:
    with TemporaryDirectory() as made:
        tests = Path(made) / "tests.jsonl"
        tests.write_bytes(lines(item, {**item, "id": "2"}))
        study = {
            "systems": [{"spec": "toy:1"}, {"spec": "toy:2"}],
            "tests": [{"spec": str(tests), "name": "t"}],
            "methods": [settings],
            "run": {"chunk": 1},
        }
        run_study(Study.model_validate(study), out=Path(made) / "run", shard=shard)
        return _folder(Path(made) / "run")


_JOB = {"method": "m", "system": "s", "tests": "t"}
_MANIFEST = {"format": FORMAT, "config": {"chunk": 2}, "jobs": [{**_JOB, "items": 5}]}


def _resume(folder: Path) -> None:
    with RunFolder(folder, _MANIFEST) as run:
        assert len(run.records) <= run.total
        run.missing()


def _show(folder: Path) -> None:
    run = read_run(folder)
    for result in results_of_run(run):
        _ = (result.rows, result.records, result.asked, result.evaluator)
    for group in group_runs([run]):
        rows_by_figure(group)


def _shards() -> Files:
    """Both halves of a study."""
    return {
        f"s{number}/{name}": data
        for number in (1, 2)
        for name, data in _finished(*_METHODS[0], shard=f"{number}/2").items()
    }


def _merge(folder: Path) -> None:
    assert len(merge([folder / "s1", folder / "s2"], folder / "out").records) == 4


def _flows(folder: Path) -> None:
    flow_charts([Run(folder, Manifest.model_construct(), [])])


def _cache(folder: Path) -> None:
    assert cached(ToySystem(), folder / "cache").score(_PAIRS) == ToySystem().score(_PAIRS)


def _cache_file() -> Files:
    with TemporaryDirectory() as made:
        path = Path(made) / "cache"
        system = cached(ToySystem(), path)
        system.score(_PAIRS)
        system._store._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        system._store._database.close()
        return {"cache": path.read_bytes()}


def _answering(folder: Path, spec: str) -> Any:
    """A system whose server answers every request with the same file."""

    def post(*_: object) -> dict[str, Any]:
        try:  # as the client does
            answer = json.loads((folder / "answer").read_bytes())
        except (ValueError, RecursionError):
            raise SystemFailure("not JSON") from None
        if not isinstance(answer, dict):
            raise SystemFailure("not an object")
        return answer

    system = open_system(spec)
    system._client._post = post
    return system


def _http(folder: Path) -> None:
    sources = ["one", "two"]
    assert len(_answering(folder, "http://localhost/x").translate(sources)) == len(sources)


def _openai(folder: Path) -> None:
    how = (folder / "how").read_bytes().decode("utf-8", "replace")
    system = _answering(folder, f"{_OPENAI}&logprobs={how}")
    assert len(system.translate(["one"])) == 1
    if how in ("echo", "vllm"):
        assert len(system.score([("one", "eins")])) == 1


def _samples(folder: Path) -> None:
    system = _answering(folder, _OPENAI)
    ((drawn,),) = system.sample(["one"], n=1, seed=1)
    assert drawn.text is not None
    assert len(system.reply(["A or B?"])) == 1


def _chat(prompt_logprobs: object = None, **more: Any) -> bytes:
    choice = {"message": {"content": "eins"}, "finish_reason": "stop", "text": "eins", **more}
    return json.dumps({"choices": [choice], "prompt_logprobs": prompt_logprobs}).encode()


_PROMPT = [None, {"7": {"logprob": -1, "decoded_token": "eins"}}]
_PROBABILITIES = {"tokens": ["ab", "eins"], "token_logprobs": [None, -1.5], "text_offset": [0, 2]}


def targets(runs: Sequence[Files]) -> Sequence[Target]:
    """The targets; `runs` are good run folders."""
    stored = lines(*({**_JOB, "item": item} for item in range(5)))
    unfinished = {"manifest.json": json.dumps(_MANIFEST).encode(), "records.jsonl": stored}
    flows = b'[["doctor_data_male", "doctor_student_other", 3.5]]'
    pairs = (b'{"translations": ["eins", ["zwei", "zwo"]]}', b'{"translations": ["a", "b"]}')
    return (
        Target("run folder, resumed", _resume, [unfinished]),
        Target("run folder, shown", _show, runs, share=0.05),
        Target("flows", _flows, [{"flows.json": flows}], share=0.3),
        Target("cache", _cache, [_cache_file()], share=0.1),
        Target(
            "shards",
            _merge,
            [_shards()],
            broken=("s1/manifest.json", "s2/manifest.json", "s1/records.jsonl"),
            share=0.1,
        ),
        Target("HTTP answers", _http, [{"answer": answer} for answer in pairs], share=0.2),
        Target(
            "OpenAI answers",
            _openai,
            [
                {"answer": _chat(), "how": b"none"},
                {"answer": _chat(logprobs=_PROBABILITIES), "how": b"echo"},
                {"answer": _chat(prompt_logprobs=_PROMPT), "how": b"vllm"},
            ],
            share=0.2,
        ),
        Target(
            "OpenAI samples",
            _samples,
            [
                {"answer": _chat(logprobs={"content": tokens})}
                for tokens in (
                    [{"token": "eins", "logprob": -1.5, "bytes": [101, 105, 110, 115]}],
                    [{"token": "eins", "logprob": -1.5}, {"token": "</s>", "logprob": -0.5, "bytes": None}],
                )
            ],
            share=0.2,
        ),
    )
