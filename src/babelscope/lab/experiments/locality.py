"""Locality bias of architectures: section 3 of Choshen and Abend (2019) on lab data or text of one's own.

The words of all sources, which have one length, are permuted in the same way. A network without a locality
bias learns to translate them as well as before.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, Literal

from babelscope.core.results import Estimate, Row, differences
from babelscope.core.tokenizers import require_spaces
from babelscope.lab.training.checkpoints import write_json
from babelscope.lab.training.text import read_parallel, train_pieces
from babelscope.stats.intervals import mean_and_sd
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import replacing, safe_import_path
from babelscope.util.progress import progress
from babelscope.util.seeds import stream
from babelscope.util.text import parse_json, read_bytes, read_json_lines

Model = Literal["learned", "sine", "bilstm"]
MODELS: tuple[Model, ...] = ("learned", "sine", "bilstm")
"""A Transformer with learned or with sinusoidal source positions, and a BiLSTM with attention."""
Setting = Literal["regular", "permuted", "reversed", "positions", "token-first", "token-middle", "token-last"]
SETTINGS: tuple[Setting, ...] = ("regular", "permuted", "reversed", "positions")
"""The source as it is, with its tokens permuted or reversed, or with only their position embeddings permuted."""
TOKEN_PLACES: dict[Setting, float] = {"token-first": 0.0, "token-middle": 0.5, "token-last": 1.0}
"""Where a token about the whole sentence is put into the source, as a share of its length (section 3.3)."""
TOKENS = ("2plain", "2backwards")
"""What such a token may be: it says whether the translation is written as it is, or its last word first."""

SIGMA = (11, 5, 9, 15, 8, 14, 10, 1, 3, 16, 12, 2, 0, 6, 17, 4, 13, 7)
"""The paper's permutation: the token at position i moves to position SIGMA[i]."""

Pair = tuple[list[str], list[str]]
"""German and English words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that the figures depend on, and the number of networks of each kind."""

    length: int = len(SIGMA)
    """Words (or pieces) of every source, punctuation included."""
    permutation: tuple[int, ...] = ()
    """New position of the token at each position; by default the paper's, or for other lengths one by seed."""
    sentences: int = 4000
    """To train on."""
    test: int = 1000
    repetitions: int = 3
    epochs: int = 10
    batch: int = 32
    """Sentences."""
    width: int = 96
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    learning_rate: float = 3e-3
    """At its peak, after `warmup` steps; then it falls to 0 at the last one."""
    warmup: int = 100
    label_smoothing: float = 0.1
    seed: int = 1
    text: str = ""
    """Digest of the text of one's own that is learned from; "" for the lab's."""
    pieces: int = 0
    """BPE pieces of each language of one's own text; 0 for words."""
    dev: int = 0
    """Sentences by whose BLEU the best epoch is chosen; 0 for the last epoch."""
    patience: int = 0
    """Training stops after so many epochs without a better BLEU of the development text; 0: never. The paper: 10."""
    join: Literal["sum", "concatenate"] = "sum"
    """How the embeddings of a source word and its position are joined; the paper concatenates (footnote 3)."""

    def __post_init__(self) -> None:
        if self.patience and not self.dev:
            raise BabelscopeError("patience needs development text to stop by; set dev, such as dev=500")
        if self.join not in ("sum", "concatenate"):
            raise BabelscopeError(f"join is {self.join!r}, neither sum nor concatenate")
        if self.join == "concatenate" and self.width % 4:
            raise BabelscopeError(f"width {self.width} must be divisible by 4 to concatenate; change it")
        if self.width % 2 or self.width % self.heads:
            raise BabelscopeError(
                f"width {self.width} must be even, and divisible among {self.heads} heads; change one of them"
            )
        if not self.permutation:
            drawn = stream(self.seed, "locality/permutation").permutation(self.length)
            made = SIGMA if self.length == len(SIGMA) else tuple(int(place) for place in drawn)
            object.__setattr__(self, "permutation", made)
        if sorted(self.permutation) != list(range(self.length)):
            raise BabelscopeError(
                f"{' '.join(map(str, self.permutation))} is no permutation of the numbers from 0 to {self.length - 1}"
            )

    def as_json(self) -> dict[str, Any]:
        """The plan without `repetitions`: more networks can be added to a folder later."""
        made = {**dataclasses.asdict(self), "permutation": list(self.permutation)}
        del made["repetitions"]
        return made


def read_plan(told: dict[str, Any]) -> Plan:
    """The plan that `as_json` wrote."""
    return Plan(**{**told, "permutation": tuple(told["permutation"])})


def quick_plan(**given: Any) -> Plan:
    """A plan for a trial of about a minute, too small to show a bias."""
    tiny = {"length": 7, "sentences": 400, "test": 50, "repetitions": 2, "epochs": 4}
    return Plan(**{**tiny, "batch": 16, "width": 32, "warmup": 20, **given})


@dataclass(frozen=True, slots=True, order=True)
class Trial:
    """One network to train: its repetition, architecture and arrangement of the source."""

    repetition: int
    model: Model
    setting: Setting

    @property
    def file(self) -> str:
        return f"{self.model}-{self.setting}-{self.repetition}.json"


def with_tokens(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs with one of `TOKENS` before each source, in turn, and the targets that it asks for."""
    return [
        ([TOKENS[number % 2], *source], list(reversed(target)) if number % 2 else list(target))
        for number, (source, target) in enumerate(pairs)
    ]


def trials(
    plan: Plan, models: Sequence[Model] = MODELS, settings: Sequence[Setting] = SETTINGS
) -> list[Trial]:
    """All trials, repetition by repetition; a BiLSTM has no position embeddings to permute."""
    return [
        Trial(repetition, model, setting)
        for repetition, model, setting in itertools.product(range(1, plan.repetitions + 1), models, settings)
        if (model, setting) != ("bilstm", "positions")
    ]


def locality(
    folder: Path,
    plan: Plan,
    *,
    models: Sequence[Model] = MODELS,
    settings: Sequence[Setting] = SETTINGS,
    workers: int = 2,
    quiet: bool = False,
    own: OwnText | None = None,
) -> list[Row]:
    """Train the trials whose results are missing in `folder`, and return the rows of all.

    `own` is the text of one's own that the plan was made for; each network is kept in `folder/networks`.
    """
    # So that a package that is missing shows before anything is written.
    import babelscope.lab.experiments.locality_training  # noqa: F401

    _claim_folder(folder, plan)
    wanted = trials(plan, models, settings)
    missing = [trial for trial in wanted if not (folder / trial.file).exists()]
    if missing and not (folder / _DATA).exists():
        for name, model in zip(("source.spm", "target.spm"), own.models if own else (), strict=False):
            (folder / name).write_bytes(model)
        count = plan.sentences + plan.dev + plan.test
        pairs = itertools.islice(own.pairs if own else draw_pairs(plan), count)
        with (
            replacing(folder / _DATA) as file,
            progress(f"sentence pairs of {plan.length} words", count, quiet=quiet) as advance,
        ):
            for source, target in pairs:
                line = json.dumps({"source": source, "target": target}, ensure_ascii=False)
                file.write(line.encode() + b"\n")
                advance(1)
    done = len(wanted) - len(missing)
    with progress("locality", len(wanted), done=done, quiet=quiet) as advance:
        for trial, bleu in _train_in_parallel(folder, plan, missing, workers):
            advance(1, f"{trial.model} {trial.setting}: BLEU {bleu:.2f}")
    found = {trial: parse_json(read_bytes(folder / trial.file), folder / trial.file) for trial in wanted}
    return locality_rows(found)


_PLAN, _DATA = "plan.json", "pairs.jsonl"
NETWORKS = "networks"
"""Subfolder with a folder a network, which `lab:FOLDER` opens."""
_MOST_DRAWN = 200  # pairs drawn at most for each pair kept; of 18 words there is one in 36


def _train_in_parallel(
    folder: Path, plan: Plan, missing: Sequence[Trial], workers: int
) -> Iterator[tuple[Trial, float]]:
    """Train trials in new processes with one thread each, because threads help little in networks this small."""
    if workers == 1 or len(missing) < 2:
        yield from ((trial, _train_and_store(folder, plan, trial)) for trial in missing)
        return
    others = active_children()
    ignore = (signal.SIGINT, signal.SIG_IGN)  # only this process handles Ctrl-C
    new = get_context("spawn")
    with safe_import_path(), ProcessPoolExecutor(workers, new, signal.signal, ignore) as pool:
        running = {pool.submit(_train_and_store, folder, plan, trial): trial for trial in missing}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except BrokenExecutor:
            raise SystemFailure("a training process was killed; run the same command to resume") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(active_children()).difference(others):
                process.terminate()


def _claim_folder(folder: Path, plan: Plan) -> None:
    """Write the plan into a new folder; refuse the folder of another plan."""
    path = folder / _PLAN
    if path.exists():
        found = differences(parse_json(read_bytes(path), path), plan.as_json())
        if found:
            raise BabelscopeError(
                f"{folder} holds another experiment ({'; '.join(found[:3])}); choose another folder with --out"
            )
        return
    if folder.exists() and any(folder.iterdir()):
        raise BabelscopeError(f"{folder} is not empty, and no experiment of ours; choose another with --out")
    write_json(path, plan.as_json())


def draw_pairs(plan: Plan) -> Iterator[Pair]:
    """Sentence pairs of the wanted length, no sentence twice on either side: training and test do not overlap."""
    from babelscope.lab.grammar.corpus import generate

    wanted = plan.sentences + plan.dev + plan.test
    drawn = _MOST_DRAWN * wanted
    seen: set[str] = set()
    for pair in generate(drawn, plan.seed, "all"):
        if len(pair.german) == plan.length and seen.isdisjoint((pair.source, pair.target)):
            seen |= {pair.source, pair.target}
            yield [word.form for word in pair.german], [word.form for word in pair.english]
            if len(seen) == 2 * wanted:
                return
    raise BabelscopeError(
        f"of {drawn:,} sentence pairs only {len(seen) // 2:,} have {plan.length} German words, and {wanted:,} are "
        "needed; choose another --length or fewer --sentences"
    )


def _train_and_store(folder: Path, plan: Plan, trial: Trial) -> float:
    """Train one network, store its figures, and return its BLEU."""
    from babelscope.lab.experiments.locality_training import train_trial

    pairs = [(row["source"], row["target"]) for _, row in read_json_lines(folder / _DATA)]
    found = train_trial(plan, trial, pairs, keep=folder / NETWORKS / trial.file.removesuffix(".json"))
    write_json(folder / trial.file, {**dataclasses.asdict(trial), **found})
    return float(found["bleu"])


def arrange_source(words: Sequence[str], setting: Setting, permutation: Sequence[int]) -> list[str]:
    """The words of a source in the order in which the encoder reads them; a token about them comes first."""
    if setting in TOKEN_PLACES:
        token, *rest = words
        place = round(TOKEN_PLACES[setting] * len(rest))
        return [*rest[:place], token, *rest[place:]]
    if setting == "permuted":
        return [word for _, word in sorted(zip(permutation, words, strict=True))]
    return list(reversed(words)) if setting == "reversed" else list(words)


def source_positions(setting: Setting, permutation: Sequence[int]) -> list[int]:
    """The position embedding that each token gets (footnote 3)."""
    if setting == "positions":
        return list(permutation)
    return list(range(len(permutation) + (setting in TOKEN_PLACES)))


def locality_rows(found: dict[Trial, dict[str, Any]]) -> list[Row]:
    """BLEU of every model and setting, and its difference from the model's regular setting (table 1).

    Settings with a token about the sentence are another task, and compared with the token in the first place.

    Means over repetitions with t intervals; differences are taken within a repetition, whose networks begin
    with the same weights and see the sentences in the same order. With one repetition the interval comes from
    resampled test sentences, and a difference has none.
    """
    rows = []
    groups: dict[tuple[Model, Setting], dict[int, dict[str, Any]]] = {}
    for trial, figures in found.items():
        groups.setdefault((trial.model, trial.setting), {})[trial.repetition] = figures
    for (model, setting), own in groups.items():
        labels: dict[str, str | int] = {"model": model, "setting": setting}
        counts = {"unfinished": sum(figures["unfinished"] for figures in own.values())}
        if len(own) == 1:
            (only,) = own.values()
            bleu = _stored(only)
            rows.append(Row("bleu", bleu, labels, counts))
        else:
            mean, sd = mean_and_sd([figures["bleu"] for figures in own.values()], "repetitions")
            bleu = mean.converted(lambda score: min(max(score, 0.0), 100.0))
            rows += [Row("bleu", bleu, labels, counts), Row("sd", sd, labels)]
        base: Setting = "token-first" if setting in TOKEN_PLACES else "regular"
        regular = groups.get((model, base), {})
        both = sorted(own.keys() & regular.keys())
        if setting == base or not both:
            continue
        apart = [own[repetition]["bleu"] - regular[repetition]["bleu"] for repetition in both]
        if len(apart) > 1:
            difference = mean_and_sd(apart, "repetitions")[0]
        else:
            difference = Estimate.without_interval(apart[0], 1, "1 repetition")
        rows.append(Row(f"minus_{base.removeprefix('token-')}", difference, labels))
    return rows


def _stored(figures: Mapping[str, Any]) -> Estimate:
    """The BLEU of one repetition."""
    if figures["low"] is None:
        return Estimate.without_interval(figures["bleu"], figures["sentences"], figures["no_interval"])
    return Estimate(figures["bleu"], figures["low"], figures["high"], figures["sentences"])


# --- Parallel text of one's own for the locality experiment: pairs whose sources have one length -------------------


DEV, TEST = 500, 1000
_LEAST = 100  # pairs to train on
_WORDS = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")

Split = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class OwnText:
    """Pairs of the wanted length, no sentence twice on either side, and what they were split with."""

    pairs: list[Pair]
    digest: str
    models: tuple[bytes, ...] = ()
    """Two sentencepiece models, source and target; none where words are the tokens."""


def splitter(model: bytes | None) -> Split:
    """A function from a text to its tokens: the pieces of a sentencepiece model, or words and marks."""
    if model is None:
        return _WORDS.findall
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    def split(text: str) -> list[str]:
        pieces: list[str] = processor.encode(text, out_type=str)
        return pieces

    return split


def read_own_text(source: Path, target: Path, *, length: int, pieces: int = 0) -> OwnText:
    """Read two line-parallel files; with `pieces`, each side gets a BPE vocabulary of that size."""
    text = read_parallel(source, target)
    require_spaces(text.target, what=f"the lines of {target}")  # for BLEU, if not for the network
    if not pieces:
        require_spaces(
            text.source, what=f"the lines of {source}", todo="set words apart, or say --set pieces=N"
        )
    models: tuple[bytes, ...] = ()
    if pieces:
        sides = (text.source, text.target)
        models = tuple(train_pieces(iter(side), pieces, kind="bpe").proto for side in sides)
    cut = [splitter(model) for model in (models or (None, None))]
    lengths: Counter[int] = Counter()
    seen: set[str] = set()
    pairs: list[Pair] = []
    for one, other in zip(text.source, text.target, strict=True):
        words = cut[0](one)
        lengths[len(words)] += 1
        if len(words) == length and seen.isdisjoint((f"s{one}", f"t{other}")):
            seen |= {f"s{one}", f"t{other}"}
            pairs.append((words, cut[1](other)))
    if len(pairs) < _LEAST + 2:
        commonest = ", ".join(f"{size} ({count:,} pairs)" for size, count in lengths.most_common(3))
        raise BabelscopeError(
            f"{source} has {len(pairs):,} different pairs with {length} source tokens, too few to learn from; the "
            f"commonest lengths are {commonest}: choose one with --length"
        )
    digest = hashlib.sha256("".join(text.files[f"{side}_sha256"] for side in ("source", "target")).encode())
    return OwnText(pairs, digest.hexdigest(), models)


def plan_for(own: OwnText, *, pieces: int, quick: bool, given: dict[str, Any]) -> Plan:
    """A plan for this text: what is said, else all pairs but a tenth each, 500 and 1,000 at most, held out."""
    count = len(own.pairs)
    held = {"dev": max(1, min(DEV, count // 10)), "test": max(1, min(TEST, count // 10))}
    held |= {name: given[name] for name in held if name in given}
    sentences = given.get("sentences", count - held["dev"] - held["test"])
    needed = sentences + held["dev"] + held["test"]
    if sentences < 1 or needed > count:
        raise BabelscopeError(
            f"there are {count:,} pairs of this length, too few for {sentences:,} to train on, {held['dev']:,} to "
            f"choose the epoch by and {held['test']:,} to test, {needed:,} in all"
        )
    make = quick_plan if quick else Plan
    return make(**{**given, **held, "sentences": sentences, "text": own.digest, "pieces": pieces})


def joined(tokens: Sequence[str], pieces: int) -> str:
    """Tokens as text, as sacreBLEU expects it."""
    if pieces:
        return "".join(tokens).replace("▁", " ").strip()
    return re.sub(r" (?=[.,;:])", "", " ".join(tokens))
