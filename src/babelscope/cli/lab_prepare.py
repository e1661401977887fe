"""`babelscope lab prepare`: filter parallel text, or add a model's translations to it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from babelscope.cli.common import AsJson, Seed, file_option, folder_option, option, print_json, setting
from babelscope.cli.shell import NOTHING_KEPT, refuse_unused, telling_what_is_kept, work_kept_in
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs
from babelscope.util.terminal import terminal_width, visible

Skip = StrEnum("Skip", ["length", "ratio", "duplicate", "language", "alignment"])
Quiet = Annotated[bool, setting("Hide progress.")]
Threads = Annotated[int, setting("CPU threads; 0: all.", min=0)]
Device = Annotated[str, setting("cpu or cuda.")]
# Options of one of the two ways.
_OF_FILTERS = ("languages", "skip", "sample", "vocabulary", "more")
_OF_MODELS = ("more_source", "more_target", "real", "tagged", "decode", "beam", "threads", "device", "quiet")


def at_least(low: int) -> Any:
    """A parser of whole numbers of at least `low`."""

    def read(text: str) -> int:
        if int(text) < low:
            raise ValueError
        return int(text)

    return read


def _one_of(*values: str) -> Any:
    return {each: each for each in values}.__getitem__


def _not_above_zero(text: str) -> float:
    if not float(text) <= 0:
        raise ValueError
    return float(text)


_SETTABLE = {
    "ratio": float,
    "longest": at_least(1),
    "alignment": _not_above_zero,
    "align_pairs": at_least(1),
    "duplicates": _one_of("pair", "source", "target"),
    "unit": _one_of("words", "characters"),
    "separate": {"True": True, "False": False}.__getitem__,
}


def prepare(
    context: typer.Context,
    out: Annotated[Path, folder_option("New folder for text and counts.")],
    source: Annotated[Path | None, file_option("Source sentences, one per line; may be .gz.")] = None,
    target: Annotated[Path | None, file_option("Their translations, one per line.")] = None,
    languages: Annotated[str, option("Filter text of these languages, such as en-de.", metavar="CODES")] = "",
    skip: Annotated[list[Skip], setting("A filter to skip; repeatable.")] = [],  # noqa: B006
    sample: Annotated[int, setting("Sample this many of the remaining pairs; 0: all.", min=0)] = 0,
    vocabulary: Annotated[
        int,
        option("Learn a vocabulary of this many pieces for `lab train --tokenizer`; 0: none.", min=0),
    ] = 0,
    more: Annotated[
        list[str],
        option(
            "A setting of the filters; repeatable: ratio (maximum length ratio, 1.5), longest (words "
            "per side, 250), alignment (minimum mean score, nats per target word, -6), align_pairs "
            "(pairs to learn from, 100000), duplicates (unique pair, source or target), unit (words, "
            "characters), separate (True: a vocabulary per language).",
            "--set",
            metavar="NAME=VALUE",
        ),
    ] = [],  # noqa: B006
    forward: Annotated[Path | None, folder_option("Add translations of the sources, by this model.")] = None,
    backward: Annotated[
        Path | None, folder_option("Add translations of the targets back, by this model.")
    ] = None,
    more_source: Annotated[Path | None, setting("Translate these sources instead.")] = None,
    more_target: Annotated[Path | None, setting("Translate these targets back instead.")] = None,
    real: Annotated[bool, setting("Keep the original pairs.")] = True,
    tagged: Annotated[
        bool,
        setting("Begin sources of machine-made pairs with <FT> or <BT>."),
    ] = False,
    decode: Annotated[Literal["beam", "sample"], setting("Decoding of the models.")] = "beam",
    beam: Annotated[int, setting("Beam size.", min=1)] = 5,
    threads: Threads = 0,
    device: Device = "cpu",
    seed: Seed = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Prepare parallel text for training: filter it, or add a model's translations to it.

    Filters (--languages) go by length, ratio, repetition, language and alignment, and print what each removes.
    Interrupted translations (--forward, --backward) are resumed.
    """
    by_model = forward is not None or backward is not None
    if by_model == bool(languages):
        raise BabelscopeError(
            "lab prepare needs either --languages (filters) or --forward or --backward (translations)"
        )
    unused = dict.fromkeys(_OF_FILTERS, "filters (--languages)") if by_model else {}
    unused |= {} if by_model else dict.fromkeys(_OF_MODELS, "translations (--forward, --backward)")
    refuse_unused(context, unused)
    if by_model:
        from babelscope.lab.training.augmenting import Augmentation, Decoding

        decoding = Decoding(beam, seed if decode == "sample" else None)
        texts: Any = {
            "source": source,
            "target": target,
            "more_source": more_source,
            "more_target": more_target,
        }
        how: Any = {"forward": forward, "backward": backward, "real": real, "tagged": tagged}
        plan = Augmentation(**texts, **how, decoding=decoding)
        _augment(plan, out, threads=threads, device=device, quiet=quiet, as_json=as_json)
        return
    if source is None or target is None:
        raise BabelscopeError("filters need --source and --target")
    from babelscope.lab.training.preparing import Preparation
    from babelscope.lab.training.settings import read_settings

    left_out: Any = tuple(dict.fromkeys(each.value for each in skip))
    settings = {"sample": sample, "vocabulary": vocabulary, "seed": seed, **read_settings(more, _SETTABLE)}
    _filter(source, target, out, Preparation(languages=languages, skip=left_out, **settings), as_json=as_json)


def _filter(source: Path, target: Path, out: Path, plan: Any, *, as_json: bool) -> None:
    from babelscope.lab.training.preparing import prepare as prepare_text

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
        print("\n".join(_filters_told(report, out, terminal_width() or 80)))


def _augment(plan: Any, out: Path, *, as_json: bool, **how: Any) -> None:
    from babelscope.lab.training.augmenting import ORIGIN
    from babelscope.lab.training.augmenting import augment as augment_text

    with telling_what_is_kept(work_kept_in(out)):
        card = augment_text(plan, out, **how)
    lines = [f"{'origin':<12}{'lines':>12}{'pairs':>12}{'left out':>12}"]
    for origin, count in card["origins"].items():
        left = sum(count["left_out"].values())
        if as_json:
            row = {"name": origin, "value": count["pairs"], "n": count["pairs"] + left}
            print_json({**row, "left_out": count["left_out"], "folder": str(out)})
        lines.append(f"{origin:<12}{count['pairs'] + left:>12,}{count['pairs']:>12,}{left:>12,}")
        lines += [f"    {why:<32}{n:>16,}" for why, n in count["left_out"].items()]
    lines.append(f"{'all':<12}{'':>12}{card['pairs']:>12,}")
    lines += [f"text, and the origin of each line in {ORIGIN}:", f"    {visible(str(out))}"]
    if not as_json:
        print("\n".join(lines))


def _filters_told(report: dict[str, Any], out: Path, width: int) -> list[str]:
    """The counts as lines, with one example per filter; the folder has the others."""
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
    return [*lines, f"text, {COUNTS}, and removed pairs in {REMOVED}:", f"    {visible(str(out))}"]


def _details(name: str, report: dict[str, Any]) -> list[str]:
    """What a filter learned from the text."""
    if name == "ratio" and report["usual_ratio"] != 1:
        return [f"usual: {report['usual_ratio']:.2f} target {report['settings']['unit']} per source unit"]
    learned = report["alignment"]
    if name != "alignment" or not learned["controls"]:
        return []
    wrong = learned["controls_removed"] / learned["controls"]
    return [
        f"learned from {sum(learned['pairs']):,} pairs, in two halves",
        f"removed if given another pair's target: {wrong:.1%} of {learned['controls']:,}",
    ]


def _cut(line: str, width: int) -> str:
    line = visible(line)
    return line if len(line) <= width else line[: width - 1] + "…"
