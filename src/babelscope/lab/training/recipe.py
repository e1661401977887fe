"""Makes the shipped models, two at a time: four a seed, one that is decoder-only, and one that reads context.

`make lab-models` runs it. Run it again to resume.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from babelscope.lab.grammar.documents import BEFORE, sentences
from babelscope.lab.grammar.worlds import CLEAN, DOCUMENTS, EASY, HARD, World, find_world
from babelscope.lab.training.checkpoints import CARD, clock
from babelscope.lab.training.networks import pack_models
from babelscope.lab.training.text import FILES, copy_tokenizer
from babelscope.util.errors import SystemFailure
from babelscope.util.files import locked_folder, replacing
from babelscope.util.text import read_lines

PAIRS, DEV_PAIRS, CORPUS_SEED = EASY.pairs, 2_000, 1
# The learning rate falls to 0 at the last step, which is the best, so frequent development checks are useless.
_RARE_DEV_CHECKS = ("--set", "dev_every=1000")
# The text of other worlds is read many times over: with dropout, and the best step may not be the last.
_FEW_PAIRS = ("--set", "dev_every=300", "--set", "dropout=0.1")
_TEACHER = ("--shape", "lab-teacher")
SMALL = ("--shape", "lab-student")
TEXT = ("--source", "train/corpus.en", "--target", "train/corpus.de")
DEV = ("--dev-source", "dev/corpus.en", "--dev-target", "dev/corpus.de")
_LLM = ("--shape", "lab-llm", *_RARE_DEV_CHECKS, "--set", "languages=English-German")
LLM = "llm"
CONTEXT = "context"
# Documents are long and what is learned from them is little: larger batches, fewer of them.
_CONTEXT = (*SMALL, "--set", "batch_tokens=2500", "--steps", "1800")
_CUT = ("--source", "documents/cut.en", "--target", "documents/cut.de")
_DEV_CUT = ("--dev-source", "documents-dev/cut.en", "--dev-target", "documents-dev/cut.de")
TOKENIZER = "tokenizer"
# Each model trains with one thread. Three at once on two cores took a quarter longer in all.
_MODELS_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Job:
    """A model to be made: its name, the arguments of `babelscope lab`, and the files that must be there first."""

    name: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...] = ()


def model_name(kind: str, seed: int, world: World = EASY) -> str:
    """`teacher` for the first seed, `teacher-2` for the second; `hard-teacher` in the harder world."""
    name = kind if world == EASY else f"{world.name}-{kind}"
    return name if seed == 1 else f"{name}-{seed}"


def common_options(world: World) -> tuple[str, ...]:
    """What all models of a world are trained with."""
    often = _RARE_DEV_CHECKS if world == EASY else _FEW_PAIRS
    return ("--set", "languages=en-de", "--set", "threads=1", *often)


def jobs(seeds: Sequence[int], world: World = EASY) -> list[Job]:
    """All models of a world, in the order in which to start them.

    They share one vocabulary: that of the first teacher of the easy world, which others have in a folder `tokenizer`.
    """
    common = common_options(world)
    first = model_name("teacher", seeds[0]) if world == EASY else TOKENIZER
    vocabulary = f"{first}/{FILES[-1]}"
    found = []
    for seed in seeds:
        own = (*common, "--seed", str(seed))
        teacher = model_name("teacher", seed, world)
        shared = () if teacher == first else ("--tokenizer", first)
        needs = () if teacher == first else (vocabulary,)
        found.append(Job(teacher, ("train", *TEXT, *DEV, *_TEACHER, *shared, *own), needs))
        # A student's development loss is measured against its teacher's translations, not the references.
        distill = ("train", "--teacher", teacher, *TEXT[:2], *DEV[:2], *SMALL, *own)
        found.append(Job(model_name("student", seed, world), distill, (f"{teacher}/{CARD}",)))
        for kind, smoothing in (("control", "0.1"), ("unsmoothed", "0")):
            plain = ("train", *TEXT, *DEV, *SMALL, "--set", f"label_smoothing={smoothing}")
            name = model_name(kind, seed, world)
            found.append(Job(name, (*plain, "--tokenizer", first, *own), (vocabulary,)))
    if world == HARD:
        # The evaluator of the others: a teacher that has read more, and clean text.
        text = (word.replace("train/", f"{CLEAN.name}/") for word in TEXT)
        own = (*common_options(EASY), "--seed", str(seeds[0]))
        words = ("train", *text, *DEV, *_TEACHER, "--tokenizer", first, *own)
        found.append(Job(model_name("teacher", seeds[0], CLEAN), words, (vocabulary,)))
    if world == EASY:
        asked = (*_LLM, "--tokenizer", first, "--set", "threads=1", "--seed", str(seeds[0]))
        found.append(Job(LLM, ("train", *TEXT, *DEV, *asked), (vocabulary,)))
        own = ("--tokenizer", first, *common_options(world), "--seed", str(seeds[0]))
        found.append(Job(CONTEXT, ("train", *_CUT, *_DEV_CUT, *_CONTEXT, *own), (vocabulary,)))
    # Teachers first, because students wait for them; then students, which take longest; short jobs last.
    return sorted(
        found,
        key=lambda job: ("teacher" not in job.name, "--teacher" not in job.arguments, job.name != LLM),
    )


def make_models(folder: Path, models: Path, *, seeds: Sequence[int], world: World = EASY) -> None:
    """Make all models of a world in subfolders of `folder`, or resume, and pack them into `models`.

    Those of other worlds than the easy one have its vocabulary, which must be there, and only their first seed is
    packed, so that the package stays small. Prints on stderr which model starts, and which is done after how long.
    """
    made = jobs(seeds, world)
    packed = made if world == EASY else jobs(seeds[:1], world)
    with locked_folder(folder):
        prepare_folder(folder, models, world)
        if world == HARD:
            _make_corpus(folder / CLEAN.name, "train", CLEAN.pairs, CLEAN)
        if world == EASY:
            _make_documents(folder / DOCUMENTS.name, "train", DOCUMENTS.pairs)
            _make_documents(folder / f"{DOCUMENTS.name}-dev", "dev", DEV_PAIRS)
        run_jobs(folder, made)
        pack_models({job.name: folder / job.name for job in packed}, models)


def prepare_folder(folder: Path, models: Path, world: World) -> None:
    """Make a world's training and development text and, but for the easy world, copy the vocabulary of `models`."""
    if world != EASY:
        (folder / TOKENIZER).mkdir(exist_ok=True)
        copy_tokenizer(models / TOKENIZER, folder / TOKENIZER)
    _make_corpus(folder / "train", "train", world.pairs, world)
    _make_corpus(folder / "dev", "dev", DEV_PAIRS, world)


def _make_corpus(out: Path, split: str, n: int, world: World) -> None:
    if not (out / "corpus.labels.jsonl").exists():
        words = ["corpus", "--n", str(n), "--seed", str(CORPUS_SEED), "--split", split, "--out", out.name]
        words += [] if world == EASY else ["--world", world.name]
        if subprocess.run(_command(words), cwd=out.parent, check=False).returncode:
            raise SystemFailure(f"making the corpus {out} failed; run again to resume")


def _make_documents(out: Path, split: str, n: int) -> None:
    """Documents, and what a model reads of them: 0 to 3 sentences and the last one, with its translation."""
    _make_corpus(out, split, n, DOCUMENTS)
    if not (out / "cut.de").exists():
        source, target = (read_lines(out / f"corpus.{side}") for side in ("en", "de"))
        cut = [" ".join(sentences(text)[-1 - number % (BEFORE + 1) :]) for number, text in enumerate(source)]
        for side, lines in (("en", cut), ("de", [sentences(text)[-1] for text in target])):
            with replacing(out / f"cut.{side}") as file:
                file.write("".join(f"{line}\n" for line in lines).encode())


def run_jobs(folder: Path, made: Sequence[Job]) -> None:
    """Do the jobs that are not done yet, each in a subfolder of `folder` and as soon as what it needs is there."""
    began = time.monotonic()
    waiting = [job for job in made if not (folder / job.name / CARD).exists()]
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        while waiting or running:
            for name, process in list(running.items()):
                if process.poll() is not None:
                    del running[name]
                    if process.returncode:
                        raise SystemFailure(
                            f"making {name} failed; see {folder / name}.log, and run again to resume"
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


def main(words: Sequence[str] | None = None) -> None:
    """Train the models of a world in one folder and pack them into another."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=1, help="seeds per kind of model")
    parser.add_argument("--world", default=EASY.name)
    given = parser.parse_args(words)
    make_models(given.folder, given.out, seeds=range(1, given.seeds + 1), world=find_world(given.world))


if __name__ == "__main__":
    main()
