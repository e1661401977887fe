"""`babelscope lab`: the embedded world, and training on it or on your own parallel text."""

from __future__ import annotations

import functools
import textwrap
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from babelscope.cli.common import (
    AsJson,
    OfWorld,
    Seed,
    file_option,
    folder_option,
    open_systems,
    option,
    paragraph,
    print_json,
    setting,
    then_records,
    write_rows,
)
from babelscope.cli.shell import (
    NOTHING_KEPT,
    PARTS_KEPT,
    ShellGroup,
    going_on,
    refuse_unused,
    telling_what_is_kept,
    work_kept_in,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_outputs
from babelscope.util.terminal import terminal_width, visible

if TYPE_CHECKING:
    from babelscope.lab.training.settings import Train, TrainingSettings


app = ShellGroup("Make parallel text; train and distill translation models.")
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


@app.command("prepare")
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
            "per side, 250), alignment (minimum mean score, nats per word, -6), align_pairs "
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
        told = _details(name, report)
        for example in count["examples"][:1]:
            told += [f"line {example['line']:,}: {example['why']}"]
            told += [f"{side}: {example[side]}" for side in ("source", "target")]
        lines += [line for each in told for line in _folded(each, width)]
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


def _folded(text: str, width: int) -> list[str]:
    """Indented lines of a text, three at most."""
    return textwrap.wrap(
        visible(text),
        width,
        initial_indent=" " * 4,
        subsequent_indent=" " * 6,
        max_lines=3,
        placeholder=" …",
    )


# Items of a test set of the lab.
_FEWEST = 24


class Suite(StrEnum):
    """Test sets of ambiguous sources."""

    gender = "gender"
    gender_marked = "gender-marked"
    senses = "senses"
    senses_other = "senses-other"


Model = StrEnum("Model", ["learned", "sine", "bilstm"])
Setting = StrEnum(
    "Setting", ["regular", "permuted", "reversed", "positions", "token-first", "token-middle", "token-last"]
)


@app.command("locality")
def locality(
    out: Annotated[Path, folder_option("Folder of data and figures.")],
    model: Annotated[list[Model] | None, setting("Repeatable. [default: all]")] = None,
    setting: Annotated[
        list[Setting] | None,
        setting(
            "Repeatable. [default: the first four] token-...: a token at this place of the source says "
            "whether the translation is written backwards."
        ),
    ] = None,
    source: Annotated[Path | None, file_option("Train on your own text instead of the lab's.")] = None,
    target: Annotated[Path | None, file_option("Its translation.")] = None,
    pieces: Annotated[int, setting("BPE pieces per language of your own text; 0: words.", min=0)] = 0,
    workers: Annotated[int, setting("Networks trained in parallel, one core each.", min=1)] = 2,
    more: Annotated[
        list[str],
        option(
            "A size; repeatable: length (words or pieces of every source, 18), permutation (where the token "
            "at each place goes, from 0, as in 2,0,1; else the paper's for 18, or one by the seed), layers "
            "(of a Transformer, each side, 2), width (96), heads (4), sentences (to train on, 4000; own "
            "text: all), dev (to choose the epoch by; 0: the last), patience (epochs without a better one "
            "before training stops; 0: never), join (of words and positions: sum, concatenate), test "
            "(1000), epochs (10), repetitions (3).",
            "--set",
            metavar="NAME=VALUE",
        ),
    ] = [],  # noqa: B006
    quick: Annotated[
        bool,
        setting("Use tiny sizes as a trial; the figures mean nothing."),
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    seed: Seed = 1,
) -> None:
    """Train on sources in permuted order and compare BLEU. Rerun to resume."""
    from babelscope.lab.experiments.locality import MODELS, SETTINGS, TOKEN_PLACES, Plan, quick_plan
    from babelscope.lab.experiments.locality import locality as experiment
    from babelscope.lab.training.settings import read_settings

    given = {**read_settings(more, _SIZES), "seed": seed}
    if (source is None) != (target is None):
        raise BabelscopeError("your own text needs both --source and --target")
    own = None
    if source and target:
        from babelscope.lab.experiments.locality import plan_for, read_own_text

        usual = (quick_plan() if quick else Plan()).length
        own = read_own_text(source, target, length=given.get("length", usual), pieces=pieces)
        plan = plan_for(own, pieces=pieces, quick=quick, given=given)
    elif pieces:
        raise BabelscopeError(
            "--set pieces only applies to your own text (--source, --target); the lab's tokens are words"
        )
    else:
        plan = (quick_plan if quick else Plan)(**given)
    models = [name for name in MODELS if not model or name in model]
    settings = [name for name in (*SETTINGS, *TOKEN_PLACES) if name in (setting or SETTINGS)]
    if pieces and any(name in TOKEN_PLACES for name in settings):
        raise BabelscopeError("a token about the sentence is a word: leave pieces out")
    with telling_what_is_kept(work_kept_in(out)):
        rows = experiment(out, plan, models=models, settings=settings, workers=workers, quiet=quiet, own=own)
    write_rows(rows, as_json=as_json)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.replace(",", " ").split())


_SIZES = {
    "length": at_least(3),
    "permutation": _numbers,
    "layers": at_least(1),
    "width": at_least(2),
    "heads": at_least(1),
    "sentences": at_least(10),
    "dev": at_least(0),
    "patience": at_least(0),
    "join": str,
    "test": at_least(1),
    "epochs": at_least(1),
    "repetitions": at_least(1),
}


More = Annotated[
    list[str],
    option(
        "A setting; repeatable: dropout, learning_rate, warmup, schedule (linear, inverse-sqrt), "
        "batch_tokens, accumulate (batches a step), precision (float32, bfloat16), clip, dev_every, select "
        "(best by loss, bleu or chrf), dev_beam, patience, average (how many, of average_of: best, last), "
        "weights (folder of a model to start from), ranking (weight of a loss that ranks translations, in the "
        "last ranking_steps), ranking_candidates, "
        "longest, languages (en-de), half (True: weights in float16); and of the network: architecture "
        "(transformer, recurrent, convolutional, llama), width, encoder_layers, decoder_layers, "
        "encoder_ffn, decoder_ffn, heads, kernel, activation, norm (post, pre), positions (sinusoidal, "
        "learned), vocabularies (joint, separate).",
        "--set",
        metavar="NAME=VALUE",
    ),
]


@app.command("corpus")
def corpus(
    n: Annotated[int, option("Number of sentence pairs.", "--n", min=1)] = 50_000,
    seed: Seed = 1,
    out: Annotated[Path | None, folder_option("Folder of the corpus.")] = None,
    split: Annotated[Literal["train", "dev", "test", "all"], option("Part of the data.")] = "train",
    stats: Annotated[bool, option("Count every phenomenon.", "--stats")] = False,
    world: OfWorld = "easy",
    as_json: AsJson = False,
) -> None:
    """Write distinct sentence pairs of the lab's grammar, with trees, alignment and labels."""
    from babelscope.lab.grammar import corpus as lab
    from babelscope.lab.grammar.worlds import find_world

    if out is None and not stats:
        raise BabelscopeError("lab corpus needs --out FOLDER or --stats")
    conditions = find_world(world)
    with telling_what_is_kept(PARTS_KEPT if out else NOTHING_KEPT):
        rows = (
            lab.make_corpus(out, n, seed, split, count=stats, world=conditions)
            if out
            else lab.count_phenomena(lab.generate(n, seed, split, conditions))
        )
    if stats:
        for row in rows:
            distances = dict(sorted(row.distances.items()))
            if as_json:
                counts = {"sentences": row.sentences, "instances": row.instances, "distances": distances}
                print_json({"name": row.name, **counts})
            else:
                apart = f"  apart {min(distances)} to {max(distances)}" if distances else ""
                print(f"{row.name:<44}{row.sentences:>9,}{row.instances:>9,}{apart}")
    elif as_json:
        print_json({"name": "all", "n": n, "seed": seed, "split": split, "folder": str(out)})


@app.command("train")
def train(
    context: typer.Context,
    source: Annotated[Path, file_option("Source sentences, one per line.")],
    out: Annotated[Path, folder_option("Folder of the model.")],
    target: Annotated[
        Path | None, file_option("Their translations, one per line. [default: --teacher's]")
    ] = None,
    teacher: Annotated[
        Path | None,
        folder_option("Train on this model's translations of the sources (sequence-level distillation)."),
    ] = None,
    beam: Annotated[int, setting("The teacher's beam size.", min=1)] = 5,
    dev_source: Annotated[Path | None, file_option("Development sources. [default: held out]")] = None,
    dev_target: Annotated[Path | None, file_option("Their translations. [default: the teacher's]")] = None,
    shape: Annotated[
        str | None,
        option(
            "lab-teacher (the default), lab-student (with --teacher), lab-llm, tiny, or the papers' big, "
            "small, mini."
        ),
    ] = None,
    vocabulary: Annotated[
        int | None, option("Pieces of the joint vocabulary. [default: 1500, or the teacher's]")
    ] = None,
    tokenizer: Annotated[Path | None, folder_option("Use this model's vocabulary.")] = None,
    label_smoothing: Annotated[float, setting("Label smoothing; 0 for none.")] = 0.1,
    seed: Seed = 1,
    seeds: Annotated[
        int,
        option("Train this many seeds, from --seed up, each in its own folder; print mean and sd.", min=1),
    ] = 1,
    steps: Annotated[int | None, option("Training steps. [default: by --shape]")] = None,
    max_minutes: Annotated[
        float | None,
        setting("Maximum time; rerun to resume.", min=0),
    ] = None,
    more: More = [],  # noqa: B006
    threads: Threads = 0,
    device: Device = "cpu",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a translation model on parallel text or on a teacher's translations.

    Rerun the same command to resume.
    """
    from babelscope.lab.training.checkpoints import DATA

    if (target is None) == (teacher is None):
        raise BabelscopeError("lab train needs either --target or --teacher")
    if teacher is None and (dev_source is None) != (dev_target is None):
        raise BabelscopeError("development text needs both --dev-source and --dev-target")
    if tokenizer and vocabulary:
        raise BabelscopeError("--vocabulary and --tokenizer exclude each other")
    of_target = None if teacher is None else "training without --teacher, which determines the vocabulary"
    refuse_unused(context, {"beam": None if teacher else "--teacher", "tokenizer": of_target})
    shape = shape or ("lab-teacher" if teacher is None else "lab-student")
    settings = _settings(shape, vocabulary, label_smoothing, seed, steps, more)
    how: dict[str, Any] = {"threads": threads, "device": device, "quiet": quiet}
    train_one: Train
    if teacher is not None:
        from babelscope.lab.training.distillation import distill

        how |= {"dev_source": dev_source, "dev_target": dev_target, "beam": beam}
        how |= {"own_vocabulary": vocabulary is not None, "translations": out / DATA if seeds > 1 else None}
        train_one = functools.partial(distill, teacher, source, **how)
    else:
        from babelscope.lab.training.train import train as train_model

        dev = (dev_source, dev_target) if dev_source and dev_target else None
        train_one = functools.partial(
            train_model, source, target or Path(), dev=dev, tokenizer=tokenizer, **how
        )
    has_dev = dev_source is not None
    _train_and_print(train_one, settings, out, seeds, max_minutes, has_dev=has_dev, as_json=as_json)


def _settings(
    shape: str, vocabulary: int | None, label_smoothing: float, seed: int, steps: int | None, more: list[str]
) -> TrainingSettings:
    from babelscope.lab.training.settings import read_settings, settings_for

    given = {"vocabulary": vocabulary, "label_smoothing": label_smoothing, "seed": seed, "steps": steps}
    return settings_for(shape, **given, **read_settings(more))


def _train_and_print(
    train_one: Train,
    settings: TrainingSettings,
    out: Path,
    seeds: int,
    max_minutes: float | None,
    *,
    has_dev: bool,
    as_json: bool,
) -> None:
    """Train one model in `out`, or several in its subfolders, and print their figures."""
    from babelscope.core.tables import rows_text
    from babelscope.lab.training.settings import seed_rows, train_seeds

    if seeds > 1 and not has_dev:
        raise BabelscopeError(
            "several seeds need --dev-source: without it each seed holds out other sentences, and "
            "their figures cannot be compared"
        )
    with telling_what_is_kept(work_kept_in(out)):
        if seeds == 1:
            _print_model(train_one(out, settings, max_minutes=max_minutes), out, as_json=as_json)
            return
        cards = train_seeds(train_one, settings, out, seeds, max_minutes=max_minutes)
    for seed, card in cards.items():
        _print_model(card, out / f"seed-{seed}", as_json=as_json)
    rows = seed_rows(cards) if len(cards) > 1 else []
    for row in rows if as_json else ():
        print_json({**row.as_json(), "model": str(out), "seeds": list(cards)})
    if not as_json:
        print(
            rows_text(rows, terminal_width())
            if rows
            else "fewer than two seeds are finished, so there is no mean"
        )
        if len(cards) < seeds:
            print(paragraph(f"{len(cards)} of {seeds} seeds are finished; rerun the same command to resume"))


def _print_model(card: dict[str, Any], out: Path, *, as_json: bool) -> None:
    """Figures of a finished model."""
    if as_json:
        names = "shape parameters seed label_smoothing steps best_step tokens seconds tokens_per_second "
        "stopped_by"
        figures = {name: card[name] for name in (*names.split(), "dev_pairs_in_training")}
        more = ("averaged_steps", "dev_score")
        figures |= {name: card[name] for name in more if name in card}
        row = {"name": "dev_loss", "value": card["dev_loss"], "n": card["dev_pairs"], "model": str(out)}
        print_json({**row, **figures})
        return
    score = ""
    if found := card.get("dev_score"):
        interval = "" if found["low"] is None else f" [{found['low']:.1f}, {found['high']:.1f}]"
        score = f"{found['metric']} {found['value']:.1f}{interval} of {found['n']:,} sentences, "
    steps = f"step {card['best_step']:,}"
    if averaged := card.get("averaged_steps"):
        steps = f"the mean of steps {', '.join(f'{step:,}' for step in averaged)}"
    seen = card["dev_pairs_in_training"]
    shared = (
        f"; {seen:,} of {card['dev_pairs']:,} development pairs are in the training text, too" if seen else ""
    )
    told = (
        f"{out}: {card['shape']} with {card['parameters']:,} parameters, dev loss "
        f"{card['dev_loss']:.4f} nats per token (perplexity {card['dev_perplexity']:.2f}), {score}at "
        f"{steps} of {card['steps']:,},"
        f"{card['tokens_per_second']:,.0f} tokens/s{shared}"
    )
    print(paragraph(told))


@app.command("evaluate")
def evaluate(
    context: typer.Context,
    system: Annotated[
        list[str],
        option("A system; repeatable. [default: all lab models]", metavar="SYSTEM"),
    ] = [],  # noqa: B006
    evaluator: Annotated[
        str | None,
        option(
            "Measure how often conditioning by this system agrees with the grammar: on translations "
            "of --system and on inserted errors.",
            metavar="SYSTEM",
        ),
    ] = None,
    tests: Annotated[
        list[Suite], option("With --evaluator: a test set of the lab; repeatable. [default: all four]")
    ] = [],  # noqa: B006
    n: Annotated[
        int, option("Sentences per kind; with --evaluator, items per test set.", "--n", min=10)
    ] = 500,
    seed: Annotated[int, option("Seed of the test sentences and of inserted errors.")] = 2026,
    share: Annotated[
        float,
        setting(
            "With --evaluator: share of the grammar's translations with an inserted error.", min=0, max=1
        ),
    ] = 0.5,
    samples: Annotated[
        bool,
        setting("With --evaluator: also judge a sample from each system."),
    ] = False,
    protocol: Annotated[
        Literal["checked", "strict", "paper"],
        setting("strict: skip verdicts within the evaluator's noise. paper: do not test the evaluator."),
    ] = "checked",
    world: Annotated[str, setting("World of the lab: easy, hard or clean.")] = "easy",
    records: Annotated[Path | None, file_option("Write one JSON object per item.")] = None,
    as_json: AsJson = False,
) -> None:
    """Judge systems by the grammar: agreement, case, particles, gender and sense of their output."""
    from babelscope.lab.experiments.truth import evaluate as evaluate_system
    from babelscope.lab.grammar.worlds import find_world
    from babelscope.lab.shipped import model_names
    from babelscope.systems.cache import with_store
    from babelscope.systems.registry import open_system, require
    from babelscope.util.progress import progress

    of_evaluator = ("tests", "share", "samples", "protocol", "records")
    refuse_unused(context, dict.fromkeys(of_evaluator, None if evaluator else "--evaluator"))
    conditions = find_world(world)
    if evaluator is not None:
        if n < _FEWEST:
            raise BabelscopeError(f"--n {n}: a test set of the lab has at least {_FEWEST} items")
        given: dict[str, Any] = {"n": n, "seed": seed, "share": share, "samples": samples}
        suites: list[Any] = [suite.value for suite in tests or Suite]
        _compare_with_truth(evaluator, system, suites, given, world, protocol, records, as_json=as_json)
        return
    specs = system or [f"lab:{name}" for name in model_names(conditions)]
    opened = [with_store(open_system(spec), None) for spec in specs]
    for each in opened:
        require(each, "translate", what_for="lab evaluate")
    rows = []
    with going_on("lab evaluate", None, opened, n=n, seed=seed, world=world) as (_, asked):
        with progress("evaluating", 3 * n * len(opened)) as advance:
            for each in asked:
                rows += evaluate_system(each, n=n, seed=seed, world=conditions, advance=advance)
        write_rows(rows, as_json=as_json)


def _compare_with_truth(
    evaluator: str,
    system: list[str],
    suites: list[Any],
    given: dict[str, Any],
    world: str,
    protocol: Literal["checked", "strict", "paper"],
    records: Path | None,
    *,
    as_json: bool,
) -> None:
    """How often conditioning agrees with the grammar: on systems' translations and on inserted errors."""
    from babelscope.lab.experiments.truth import compare_with_truth
    from babelscope.lab.grammar.worlds import find_world
    from babelscope.systems.registry import require
    from babelscope.util.progress import progress

    check_outputs({"--records": records}, inputs=[evaluator, *system])
    specs = list(dict.fromkeys([evaluator, *system]))
    opened = dict(zip(specs, open_systems(specs, cache=None).values(), strict=True))
    require(opened[evaluator], "score", what_for="lab evaluate --evaluator")
    for spec in system:
        needed: list[Any] = ["translate", *(["sample"] if given["samples"] else [])]
        require(opened[spec], *needed, what_for="lab evaluate --evaluator")
    conditions = find_world(world)
    asked_for = [opened[spec] for spec in (evaluator, *system)]
    how = {"tests": suites, "world": world, "protocol": protocol}
    with going_on("lab evaluate --evaluator", records, asked_for, **how, **given) as (_, asked):
        rows, judged = [], []
        with progress("judging", len(suites)) as advance:
            for suite in suites:
                found, items = compare_with_truth(
                    asked[0], asked[1:], suite=suite, world=conditions, protocol=protocol, **given
                )
                rows += found
                judged += items
                advance(1)
        with then_records(records, judged):
            write_rows(rows, as_json=as_json)
