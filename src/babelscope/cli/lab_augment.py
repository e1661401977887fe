"""`babelscope lab augment`: real pairs with forward and back-translations, as one text for training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from babelscope.cli.common import AsJson, Seed, file_option, folder_option, print_json
from babelscope.cli.shell import telling_what_is_kept, work_kept_in
from babelscope.util.terminal import visible

Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
Threads = Annotated[int, typer.Option(min=0, help="Processor threads; 0 for all.")]
Device = Annotated[str, typer.Option(help="cpu or cuda.")]


def augment(
    out: Annotated[Path, folder_option("A folder of its own for the text.")],
    source: Annotated[Path | None, file_option("Real sources, one a line.")] = None,
    target: Annotated[Path | None, file_option("Their translations.")] = None,
    forward: Annotated[Path | None, folder_option("A model that translates the sources.")] = None,
    backward: Annotated[Path | None, folder_option("A model that translates the targets back.")] = None,
    more_source: Annotated[Path | None, file_option("Translate these sources instead.")] = None,
    more_target: Annotated[Path | None, file_option("Translate these targets back instead.")] = None,
    real: Annotated[bool, typer.Option(help="Whether the real pairs are part of the text.")] = True,
    beam: Annotated[int, typer.Option(min=1, help="Size of the beam.")] = 5,
    sample: Annotated[bool, typer.Option("--sample", help="Draw translations from the model.")] = False,
    seed: Seed = 1,
    tagged: Annotated[
        bool, typer.Option("--tagged", help="Begin sources of machine-made pairs with <FT> or <BT>.")
    ] = False,
    threads: Threads = 0,
    device: Device = "cpu",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Add a model's translations to parallel text, forward or back; after a kill, run again to go on."""
    from babelscope.lab.training.augmenting import Augmentation
    from babelscope.lab.training.augmenting import augment as augment_text
    from babelscope.lab.training.translating import Decoding

    plan = Augmentation(
        source=source,
        target=target,
        forward=forward,
        backward=backward,
        more_source=more_source,
        more_target=more_target,
        real=real,
        tagged=tagged,
        decoding=Decoding(beam, seed if sample else None),
    )
    with telling_what_is_kept(work_kept_in(out)):
        card = augment_text(plan, out, threads=threads, device=device, quiet=quiet)
    for origin, count in card["origins"].items() if as_json else ():
        whole = count["pairs"] + sum(count["left_out"].values())
        row = {"name": origin, "value": count["pairs"], "n": whole, "left_out": count["left_out"]}
        print_json({**row, "folder": str(out)})
    if not as_json:
        print("\n".join(_summary(card, out)))


def _summary(card: dict[str, Any], out: Path) -> list[str]:
    from babelscope.lab.training.augmenting import ORIGIN

    lines = [f"{'origin':<12}{'lines':>12}{'pairs':>12}{'left out':>12}"]
    for origin, count in card["origins"].items():
        left = sum(count["left_out"].values())
        lines.append(f"{origin:<12}{count['pairs'] + left:>12,}{count['pairs']:>12,}{left:>12,}")
        lines += [f"    {why:<32}{n:>16,}" for why, n in count["left_out"].items()]
    lines.append(f"{'all':<12}{'':>12}{card['pairs']:>12,}")
    return [*lines, f"text, and in {ORIGIN} where each line is from:", f"    {visible(str(out))}"]
