"""The models of the hypothesis-space paper's tables 8 and 9 and of its figures 2 and 3, in the lab's harder world.

Each differs from `hard-control` in one thing: label smoothing, pseudo-parallel text, width, depth or architecture.

babelscope lab make-models --world hard --seeds 3 --out build/hard --models build/hard/packed
python -m benchmarks.harder_world build/hard --seeds 3     # trains the others beside them, writes study.toml
babelscope run build/hard/study.toml
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from babelscope.lab.grammar.worlds import HARD
from babelscope.lab.training.checkpoints import CARD
from babelscope.lab.training.recipe import (
    DEV,
    SMALL,
    TEXT,
    TOKENIZER,
    Job,
    common_options,
    model_name,
    run_jobs,
)
from babelscope.lab.training.shapes import find_shape
from babelscope.util.locks import locked_folder

BASE = find_shape(SMALL[1])
# The paper's are 1.5 and 2 times as wide as its base, or have 2 and 3 times its encoder layers.
WIDTHS = (BASE.width * 3 // 2, BASE.width * 2)
ENCODERS = (BASE.encoder_layers * 2, BASE.encoder_layers * 3)
DECODERS = (BASE.decoder_layers * 2, BASE.decoder_layers * 3)
# Backwards: the files of the other language in each place.
BACK = tuple(word[:-2] + {"en": "de", "de": "en"}.get(word[-2:], word[-2:]) for word in (*TEXT, *DEV))
TRANSFORMER: dict[str, str | int] = {
    "architecture": "Transformer",
    "text": "real",
    "smoothing": "yes",
    "width": BASE.width,
    "encoder": BASE.encoder_layers,
    "decoder": BASE.decoder_layers,
}
# What each is, where it is not what `control` is; in the order in which they are trained.
KINDS: dict[str, dict[str, str | int]] = {
    "control": {},
    "unsmoothed": {"smoothing": "no"},
    "ft": {"text": "real and forward"},
    "bt": {"text": "real and back"},
    "lstm": {"architecture": "LSTM"},
    "conv": {"architecture": "convolution"},
    **{f"width-{width}": {"width": width} for width in WIDTHS},
    **{f"encoder-{layers}": {"encoder": layers} for layers in ENCODERS},
    **{f"decoder-{layers}": {"decoder": layers} for layers in DECODERS},
}
SETTINGS: dict[str, tuple[str, ...]] = {
    "LSTM": ("architecture=recurrent",),
    "convolution": ("architecture=convolutional",),
}


def settings_of(kind: str) -> tuple[str, ...]:
    """The settings of `lab train` in which a model differs from `control`."""
    of = KINDS[kind]
    found = SETTINGS.get(str(of.get("architecture")), ())
    if "width" in of:
        ffn = 2 * int(of["width"])  # as in the lab's shapes
        found += (f"width={of['width']}", f"encoder_ffn={ffn}", f"decoder_ffn={ffn}")
    found += tuple(f"{side}_layers={of[side]}" for side in ("encoder", "decoder") if side in of)
    return found


def jobs_of(seed: int) -> Iterator[Job]:
    """All that is made of a seed beside the models of `lab make-models`."""
    common = (*SMALL, "--tokenizer", TOKENIZER, *common_options(HARD), "--seed", str(seed))
    control, reverse = (model_name(kind, seed, HARD) for kind in ("control", "reverse"))
    yield Job(reverse, ("train", *BACK, *common, "--set", "languages=de-en"))
    texts = {"ft": ("--forward", control), "bt": ("--backward", reverse)}
    for kind in KINDS:
        if kind in ("control", "unsmoothed"):
            continue
        text: Sequence[str] = TEXT
        needs: tuple[str, ...] = ()
        if kind in texts:
            made = model_name(f"{kind}-text", seed, HARD)
            yield Job(made, ("augment", *TEXT, *texts[kind], "--threads", "1"), (f"{texts[kind][1]}/{CARD}",))
            text = ("--source", f"{made}/train.source", "--target", f"{made}/train.target")
            needs = (f"{made}/{CARD}",)
        changed = [word for each in settings_of(kind) for word in ("--set", each)]
        yield Job(model_name(kind, seed, HARD), ("train", *text, *DEV, *common, *changed), needs)


def study(folder: Path, seeds: Sequence[int], n: int) -> str:
    """A study of those models that are in the folder, with what they are as factors."""
    lines = ["[study]", 'name = "harder world"', "", "[[tests]]", 'name = "sentences"']
    lines += [f'spec = "lab:hard-parallel?n={n}&seed=2026"', "", "[[methods]]", 'name = "space"']
    lines += ["k = 10", "samples = 200", "budget_expansions = 5000"]
    for seed in seeds:
        for kind, of in KINDS.items():
            if not (folder / (name := model_name(kind, seed, HARD)) / CARD).exists():
                continue
            told = TRANSFORMER | of | {"seed": seed}
            words = ", ".join(
                f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"'
                for key, value in told.items()
            )
            lines += [
                "",
                "[[systems]]",
                f'name = "{name}"',
                f'spec = "lab:./{name}"',
                f"factors = {{ {words} }}",
            ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of lab make-models")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=None, help="of these only")
    parser.add_argument("--n", type=int, default=100, help="sentences of the study")
    given = parser.parse_args()
    seeds = range(1, given.seeds + 1)
    wanted = [
        job
        for seed in seeds
        for job in jobs_of(seed)
        if given.kinds is None or any(job.name in _made_for(kind, seed) for kind in given.kinds)
    ]
    with locked_folder(given.folder):
        run_jobs(given.folder, wanted)
        (given.folder / "study.toml").write_text(study(given.folder, seeds, given.n), encoding="utf-8")
    print(f"babelscope run {given.folder / 'study.toml'}")


def _made_for(kind: str, seed: int) -> set[str]:
    """What must be made for a model: itself, its text, and what translates that."""
    made = {kind, f"{kind}-text", "reverse"} if kind == "bt" else {kind, f"{kind}-text"}
    return {model_name(each, seed, HARD) for each in made}


if __name__ == "__main__":
    main()
