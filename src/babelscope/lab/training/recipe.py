"""Makes the shipped models: one corpus, then four models a seed and one that is decoder-only, two at a time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from babelscope.lab.training.checkpoints import CARD
from babelscope.lab.training.networks import pack_models
from babelscope.lab.training.progress import clock
from babelscope.lab.training.tokenizer import FILES
from babelscope.util.errors import SystemFailure
from babelscope.util.locks import locked_folder

PAIRS, DEV_PAIRS, CORPUS_SEED = 100_000, 2_000, 1
# The learning rate falls to 0 at the last step, which is the best, so frequent development checks are useless.
_RARE_DEV_CHECKS = ("--set", "dev_every=1000")
_TEACHER = ("--shape", "lab-teacher", *_RARE_DEV_CHECKS)
_SMALL = ("--shape", "lab-student", *_RARE_DEV_CHECKS)
_LLM = ("--family", "llama", "--shape", "lab-llm", *_RARE_DEV_CHECKS, "--set", "languages=English-German")
LLM = "llm"
# Each model trains with one thread. Three at once on two cores took a quarter longer in all.
_MODELS_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Job:
    """A model to be made: its name, the arguments of `babelscope lab`, and the files that must be there first."""

    name: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...] = ()


def model_name(kind: str, seed: int) -> str:
    """`teacher` for the first seed, `teacher-2` for the second."""
    return kind if seed == 1 else f"{kind}-{seed}"


def jobs(seeds: Sequence[int]) -> list[Job]:
    """All models, in the order in which to start them; all share the first teacher's vocabulary."""
    text = ("--source", "train/corpus.en", "--target", "train/corpus.de")
    dev = ("--dev-source", "dev/corpus.en", "--dev-target", "dev/corpus.de")
    common = ("--set", "languages=en-de", "--threads", "1")
    first = model_name("teacher", seeds[0])
    vocabulary = f"{first}/{FILES[-1]}"
    found = []
    for seed in seeds:
        own = (*common, "--seed", str(seed))
        shared = () if seed == seeds[0] else ("--tokenizer", first)
        needs = () if seed == seeds[0] else (vocabulary,)
        teacher = model_name("teacher", seed)
        found.append(Job(teacher, ("train", *text, *dev, *_TEACHER, *shared, *own), needs))
        # A student's development loss is measured against its teacher's translations, not the references.
        distill = ("distill", "--teacher", teacher, *text[:2], *dev[:2], *_SMALL, *own)
        found.append(Job(model_name("student", seed), distill, (f"{teacher}/{CARD}",)))
        for kind, smoothing in (("control", "0.1"), ("unsmoothed", "0")):
            plain = ("train", *text, *dev, *_SMALL, "--label-smoothing", smoothing)
            found.append(Job(model_name(kind, seed), (*plain, "--tokenizer", first, *own), (vocabulary,)))
    asked = (*_LLM, "--tokenizer", first, "--threads", "1", "--seed", str(seeds[0]))
    found.append(Job(LLM, ("train", *text, *dev, *asked), (vocabulary,)))
    # Teachers first, because students wait for them; then students, which take longest; short jobs last.
    return sorted(
        found,
        key=lambda job: (not job.name.startswith("teacher"), job.arguments[0] == "train", job.name != LLM),
    )


def make_models(folder: Path, models: Path, *, seeds: Sequence[int]) -> None:
    """Make all models in subfolders of `folder`, or resume, and pack them into `models`.

    Prints on stderr which model starts, and which is done after how long.
    """
    with locked_folder(folder):
        _make_all(folder, seeds)
        pack_models({job.name: folder / job.name for job in jobs(seeds)}, models)


def _make_all(folder: Path, seeds: Sequence[int]) -> None:
    began = time.monotonic()
    for split, n in (("train", PAIRS), ("dev", DEV_PAIRS)):
        if not (folder / split / "corpus.labels.jsonl").exists():
            words = ("corpus", "--n", str(n), "--seed", str(CORPUS_SEED), "--split", split, "--out", split)
            if subprocess.run(_command(words), cwd=folder, check=False).returncode:
                raise SystemFailure(f"making the corpus {folder / split} failed; run again to go on")
    waiting = [job for job in jobs(seeds) if not (folder / job.name / CARD).exists()]
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        while waiting or running:
            for name, process in list(running.items()):
                if process.poll() is not None:
                    del running[name]
                    if process.returncode:
                        raise SystemFailure(
                            f"making {name} failed; see {folder / name}.log, and run again to go on"
                        )
                    print(f"made {name} ({clock(time.monotonic() - began)})", file=sys.stderr, flush=True)
            ready = [job for job in waiting if all((folder / need).exists() for need in job.needs)]
            for job in ready[: _MODELS_AT_ONCE - len(running)]:
                waiting.remove(job)
                with open(folder / f"{job.name}.log", "ab") as log:
                    command = _command((*job.arguments, "--out", job.name))
                    running[job.name] = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
                print(f"making {job.name}", file=sys.stderr, flush=True)
            time.sleep(1)
    finally:
        for process in running.values():
            process.terminate()


def _command(words: Sequence[str]) -> list[str]:
    # Without -P the working folder, which may be a stranger's, would come first on the import path.
    return [sys.executable, "-P", "-m", "babelscope", "lab", *words]
