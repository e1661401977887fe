"""The models of the hypothesis-space paper's tables 2, 8 and 9 and figures 2 and 3, in the lab's harder world.

Each differs from `hard-base` in one thing: label smoothing, pseudo-parallel text, width, depth or architecture. As
in the paper, the Transformers are pre-norm: four layers with the post-norm of the shipped models do not learn.

python -m benchmarks.harder_world build/hard --seeds 1     # trains them, writes study.toml
babelscope run build/hard/study.toml --out build/hard/run
python -m benchmarks.harder_world --table build/hard/run   # the table of docs/inside/lab.md, from the run's figures
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from babelscope.lab.grammar.worlds import HARD
from babelscope.lab.plugin import MODELS
from babelscope.lab.training.checkpoints import CARD
from babelscope.lab.training.recipe import (
    DEV,
    SMALL,
    TEXT,
    TOKENIZER,
    Job,
    common_options,
    model_name,
    prepare_folder,
    run_jobs,
)
from babelscope.lab.training.settings import find_shape
from babelscope.util.files import locked_folder

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
# A convolution of 3 tokens sees little: the paper's ConvS2S has 15 layers a side (Gehring et al. 2017). With six a
# word sees 13.
CONVOLUTIONS = 6
# How each model differs from `base`, in the order in which they are trained.
KINDS: dict[str, dict[str, str | int]] = {
    "base": {},
    **{f"encoder-{layers}": {"encoder": layers} for layers in ENCODERS},
    **{f"decoder-{layers}": {"decoder": layers} for layers in DECODERS},
    "conv": {"architecture": "convolution", "encoder": CONVOLUTIONS, "decoder": CONVOLUTIONS},
    **{f"width-{width}": {"width": width} for width in WIDTHS},
    "nols": {"smoothing": "no"},
    "ft": {"text": "real and forward"},
    "bt": {"text": "real and back"},
    "lstm": {"architecture": "LSTM"},
}
ARCHITECTURES = {
    "Transformer": "norm=pre",
    "LSTM": "architecture=recurrent",
    "convolution": "architecture=convolutional",
}


def settings_of(kind: str) -> tuple[str, ...]:
    """The settings of `lab train` in which a model differs from the shape of the lab's small models."""
    of = TRANSFORMER | KINDS[kind]
    found = [ARCHITECTURES[str(of["architecture"])]]
    if "width" in KINDS[kind]:
        ffn = 2 * int(of["width"])  # as in the lab's shapes
        found += [f"width={of['width']}", f"encoder_ffn={ffn}", f"decoder_ffn={ffn}"]
    found += [f"{side}_layers={of[side]}" for side in ("encoder", "decoder") if side in KINDS[kind]]
    return tuple(found)


def jobs_of(seed: int) -> Iterator[Job]:
    """All jobs of a seed: models, and the text that some of them learn from."""
    common = (*SMALL, "--tokenizer", TOKENIZER, *common_options(HARD), "--seed", str(seed))
    base, reverse = (model_name(kind, seed, HARD) for kind in ("base", "reverse"))
    texts = {"ft": ("--forward", base), "bt": ("--backward", reverse)}
    for kind, of in KINDS.items():
        text: Sequence[str] = TEXT
        needs: tuple[str, ...] = ()
        if kind == "bt":
            backwards = ("--set", "languages=de-en", "--set", ARCHITECTURES["Transformer"])
            yield Job(reverse, ("train", *BACK, *common, *backwards))
        if kind in texts:
            made = model_name(f"{kind}-text", seed, HARD)
            yield Job(
                made, ("prepare", *TEXT, *texts[kind], "--set", "threads=1"), (f"{texts[kind][1]}/{CARD}",)
            )
            text = ("--source", f"{made}/train.source", "--target", f"{made}/train.target")
            needs = (f"{made}/{CARD}",)
        changed = [word for each in settings_of(kind) for word in ("--set", each)]
        smoothing = ("--set", f"label_smoothing={0 if of.get('smoothing') == 'no' else 0.1}")
        yield Job(model_name(kind, seed, HARD), ("train", *text, *DEV, *common, *smoothing, *changed), needs)


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


# Heading, factor by which a value is multiplied, and the row's name and labels.
COLUMNS: tuple[tuple[str, int, dict[str, str]], ...] = (
    ("BLEU", 1, {"name": "bleu", "decoding": "beam"}),
    ("empty modes", 100, {"name": "empty_mode", "region": "top", "view": "tokens"}),
    ("kQRG top", 100, {"name": "kqrg", "region": "top", "view": "tokens"}),
    ("kQRG samples", 100, {"name": "kqrg", "region": "samples", "view": "tokens"}),
    ("kRG top", 100, {"name": "krg", "region": "top", "view": "tokens"}),
    ("kRG top - chance", 100, {"name": "krg_above_random", "region": "top", "view": "tokens"}),
    ("kQRG, beam - exact", 100, {"name": "beam_minus_exact", "measure": "kqrg"}),
)


def table(run: Path) -> str:
    """The figures of a run of the study as a table in Markdown, BLEU in points and all else in percent."""
    rows = json.loads((run / "summary.json").read_text(encoding="utf-8"))["rows"]
    systems = dict.fromkeys(row["system"] for row in rows)
    lines = [f"| | {' | '.join(heading for heading, _, _ in COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|"]
    for system in systems:
        cells = []
        for _, factor, labels in COLUMNS:
            wanted = {"system": system, **labels}.items()
            found = next(row for row in rows if all(row.get(key) == value for key, value in wanted))
            value, low, high = (factor * found[key] for key in ("value", "low", "high"))
            cells.append(f"{value:.1f} [{low:.1f}, {high:.1f}]")
        lines.append(f"| {system} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where the models are made")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=None, help="of these only")
    parser.add_argument("--n", type=int, default=100, help="sentences of the study")
    parser.add_argument("--table", action="store_true", help="print the table of the run in the folder")
    given = parser.parse_args()
    if given.table:
        print(table(given.folder))
        return
    seeds = range(1, given.seeds + 1)
    wanted = [
        job
        for seed in seeds
        for job in jobs_of(seed)
        if given.kinds is None or any(job.name in _made_for(kind, seed) for kind in given.kinds)
    ]
    with locked_folder(given.folder):
        prepare_folder(given.folder, MODELS, HARD)
        run_jobs(given.folder, wanted)
        (given.folder / "study.toml").write_text(study(given.folder, seeds, given.n), encoding="utf-8")
    print(f"babelscope run {given.folder / 'study.toml'}")


def _made_for(kind: str, seed: int) -> set[str]:
    """What must be made for a model: itself, its text, and what translates that."""
    made = {kind, f"{kind}-text", "reverse"} if kind == "bt" else {kind, f"{kind}-text"}
    return {model_name(each, seed, HARD) for each in made}


if __name__ == "__main__":
    main()
