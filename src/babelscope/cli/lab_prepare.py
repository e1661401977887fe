"""`babelscope lab prepare`: filter parallel text for training, and show what each filter removed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from babelscope.cli.common import AsJson, Seed, file_option, folder_option, print_json
from babelscope.cli.shell import NOTHING_KEPT, telling_what_is_kept
from babelscope.util.files import check_outputs
from babelscope.util.terminal import terminal_width, visible

Key = Literal["pair", "source", "target"]
Unit = Literal["words", "characters"]
Skip = StrEnum("Skip", ["length", "ratio", "duplicate", "language", "alignment"])


def prepare(
    source: Annotated[Path, file_option("Source sentences, one per line; may be .gz.")],
    target: Annotated[Path, file_option("Their translations, one per line.")],
    out: Annotated[Path, folder_option("A new folder for text and counts.")],
    languages: Annotated[str, typer.Option(metavar="CODES", help="Of both sides, such as en-de.")],
    ratio: Annotated[
        float, typer.Option(min=1, help="Most words of the longer side a word of the other.")
    ] = 1.5,
    longest: Annotated[int, typer.Option(min=1, help="Most words on a side.")] = 250,
    alignment: Annotated[
        float, typer.Option(max=0, help="Least mean alignment score, in nats per target word.")
    ] = -6.0,
    align_pairs: Annotated[
        int, typer.Option(min=1, help="Pairs that alignments are learned from.")
    ] = 100_000,
    duplicates: Annotated[Key, typer.Option(help="What may occur only once.")] = "pair",
    unit: Annotated[
        Unit,
        typer.Option(
            help="What lengths count and alignments link; words of scripts without spaces are characters."
        ),
    ] = "words",
    skip: Annotated[list[Skip], typer.Option(help="A filter to leave out; may be repeated.")] = [],  # noqa: B006
    sample: Annotated[int, typer.Option(min=0, help="Pairs drawn from what is left; 0 for all.")] = 0,
    vocabulary: Annotated[
        int, typer.Option(min=0, help="Pieces of a vocabulary for `lab train --tokenizer`; 0 for none.")
    ] = 0,
    separate: Annotated[bool, typer.Option("--separate", help="A vocabulary of its own a language.")] = False,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Filter line-parallel text by length ratio, language, alignment and repetition; counts what each removes."""
    from babelscope.lab.training.preparing import Preparation
    from babelscope.lab.training.preparing import prepare as prepare_text

    left_out: Any = tuple(dict.fromkeys(each.value for each in skip))
    plan = Preparation(
        languages=languages,
        ratio=ratio,
        longest=longest,
        alignment=alignment,
        align_pairs=align_pairs,
        duplicates=duplicates,
        unit=unit,
        sample=sample,
        skip=left_out,
        vocabulary=vocabulary,
        separate=separate,
        seed=seed,
    )
    check_outputs({}, inputs=[source, target])
    with telling_what_is_kept(NOTHING_KEPT):
        report = prepare_text(source, target, out, plan)
    for name, count in report["filters"].items() if as_json else ():
        counts = {key: count[key] for key in ("removed", "entered", "undecided", "examples")}
        counts |= report["alignment"] if name == "alignment" else {}
        print_json({"name": name, "value": count["removed"], "n": count["entered"], **counts})
    if as_json:
        print_json({"name": "kept", "value": report["kept"], "n": report["pairs"], "folder": str(out)})
    else:
        print("\n".join(_summary(report, out, terminal_width() or 80)))


def _summary(report: dict[str, Any], out: Path, width: int) -> list[str]:
    """The counts, with one example of what each filter removed; the others are in the folder."""
    from babelscope.lab.training.preparing import COUNTS, REMOVED

    lines = [f"{'filter':<12}{'pairs':>12}{'removed':>12}{'share':>8}{'undecided':>11}"]
    for name, count in report["filters"].items():
        share = f"{count['removed'] / count['entered']:.1%}" if count["entered"] else ""
        lines.append(
            f"{name:<12}{count['entered']:>12,}{count['removed']:>12,}{share:>8}{count['undecided']:>11,}"
        )
        lines += [_cut(f"    {told}", width) for told in _details(name, report)]
        for example in count["examples"][:1]:
            lines.append(_cut(f"    line {example['line']:,}: {example['why']}", width))
            lines += [_cut(f"    {side}: {example[side]}", width) for side in ("source", "target")]
    share = report["kept"] / report["pairs"]
    lines.append(f"{'kept':<12}{report['pairs']:>12,}{report['kept']:>12,}{share:>8.1%}")
    return [*lines, f"text, {COUNTS}, and all that was removed in {REMOVED}:", f"    {visible(str(out))}"]


def _details(name: str, report: dict[str, Any]) -> list[str]:
    """What a filter measured on the text itself."""
    if name == "ratio" and report["usual_ratio"] != 1:
        return [f"usual: {report['usual_ratio']:.2f} target {report['settings']['unit']} a source one"]
    learned = report["alignment"]
    if name != "alignment" or not learned["controls"]:
        return []
    wrong = learned["controls_removed"] / learned["controls"]
    return [
        f"learned from {sum(learned['pairs']):,} pairs, a half for the other",
        f"below the threshold with another pair's target: {wrong:.1%} of {learned['controls']:,}",
    ]


def _cut(line: str, width: int) -> str:
    line = visible(line)
    return line if len(line) <= width else line[: width - 1] + "…"
