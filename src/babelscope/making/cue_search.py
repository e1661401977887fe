"""Finds disambiguation cues with a masked language model, and selects the best (conditioning, appendix D).

Candidates are words that the model expects before the ambiguous word in sentences of one sense, but not of the
others. The candidates are kept by which an evaluator best distinguishes references of the senses.

`mode="paper"` follows the released code: it selects cues on the sentences that are tested, sums logits over
sentences, hardly weighs the other senses (a softmax of probabilities), accepts pieces of words, selects by the
score of right references alone, inserts by plain replacement, and computes 2 to the power of natural logs.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from babelscope.language.cues import Cues, Mode, find_form, insert_cue, insert_cues, plural
from babelscope.language.fitness import check_language, other_language_of_set
from babelscope.systems.contract import ask_score
from babelscope.systems.models.checkpoints import fetch, load_model, position_limit
from babelscope.systems.models.folders import ModelFolder, TokenizerFolder
from babelscope.systems.models.tokenizers import load_tokenizer
from babelscope.testsets.items import AmbiguousSource, Item, TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import file_stamp
from babelscope.util.progress import progress


def check_source_languages(items: Sequence[AmbiguousSource]) -> None:
    """Refuse sources that are not in the language that the items say; warn where English rules read others."""
    named = {item.source_language for item in items if item.source_language}
    for language in sorted(named):
        own = [item.source for item in items if item.source_language == language]
        check_language(own, language, what="the sources", needed_by=f"items of {language}")
    if not named and (other := other_language_of_set([item.source for item in items], "en")):
        warnings.warn(
            f"the sources are in the language {other}; forms of words are found, and cues put in, by English rules",
            stacklevel=2,
        )


# --- A masked language model from transformers: the words it expects at a gap in a sentence ------------------------

Array = np.ndarray[Any, Any]

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BATCH = 32
_CERTAIN = -50.0


class MaskedModel:
    """A masked language model that is asked for the words it expects at a gap."""

    def __init__(self, name: str, *, revision: str = "", device: str = "auto") -> None:
        """Open a local folder, or a model of the hub such as roberta-large."""
        folder = fetch(name, revision=revision)
        self.name = name
        self._folder = folder
        model = ModelFolder(folder)
        self._tokenizer = load_tokenizer(TokenizerFolder(folder))
        self._network = load_model(
            "AutoModelForMaskedLM", model, device=device, dtype="float32", remote_code=False
        )
        self._files = model.files
        if self._tokenizer.mask_token is None:
            raise BabelscopeError(f"{name} is no masked language model: its tokenizer has no mask token")
        limits = (self._tokenizer.model_max_length, position_limit(self._network.config, folder))
        self._longest = min(limit for limit in limits if limit is not None)

    def files(self) -> list[tuple[str, int, int]]:
        """Stamps of the model's files, to see later whether it is the same model."""
        return [file_stamp(path) for path in sorted(self._folder.iterdir()) if path.is_file()]

    def with_gap(self, before: str, after: str) -> str:
        """A sentence with a gap between two of its words."""
        return f"{before}{self._tokenizer.mask_token} {after}"

    def fits(self, sentence: str) -> bool:
        """Whether a sentence has a gap and is not too long for the model."""
        ids = self._tokenizer(sentence, verbose=False)["input_ids"]
        return self._tokenizer.mask_token_id in ids and len(ids) <= self._longest

    def log_prob_absent(self, sentences: Sequence[str]) -> Array:
        """Log-probability of each token to be in none of the gaps, filled independently [vocabulary], in nats."""
        total: Any = 0.0
        for start in range(0, len(sentences), _BATCH):
            some = sentences[start : start + _BATCH]
            filled = self._logits(some, see_padding=False).double().softmax(-1)
            # A certain token would give -inf, and differences of -inf are NaN.
            total = total + (-filled).log1p().clamp(min=_CERTAIN).sum(0)
        return np.asarray(total.cpu())

    def released_probabilities(self, sentences: Sequence[str]) -> Array:
        """Probabilities of the released code: softmax of logits summed over one unmasked batch [vocabulary]."""
        return np.asarray(self._logits(sentences, see_padding=True).sum(0).double().softmax(-1).cpu())

    def _logits(self, sentences: Sequence[str], *, see_padding: bool) -> Any:
        """Logits at the first gap of each sentence [sentences, vocabulary]."""
        import torch

        rows = self._tokenizer(list(sentences), padding=True, return_tensors="pt").to(self._network.device)
        if see_padding:
            rows["attention_mask"] = torch.ones_like(rows["attention_mask"])
        gaps = (rows["input_ids"] == self._tokenizer.mask_token_id).int().argmax(-1)
        with torch.inference_mode():
            logits = self._network(**rows).logits[torch.arange(len(gaps)), gaps]
        self._files.check()
        return logits

    def tokens(self, scores: Array, *, whole_words: bool) -> Iterator[str]:
        """Yield the texts of tokens with a score above 0, best first; with `whole_words`, only words."""
        for number in np.argsort(-scores, kind="stable"):
            if scores[number] <= 0:
                return
            text = self._tokenizer.decode([int(number)]).strip()
            # A word-internal piece may look like a word, but the word is tokenized otherwise.
            if not whole_words or (_WORD.fullmatch(text) and self._ids(f" {text}") == [number]):
                yield text

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


# --- Finds disambiguation cues with a masked language model, and selects the best ----------------------------------

Candidates = Mapping[str, Mapping[str, Sequence[str]]]
"""Word -> sense -> cues, best first: the released file's shape (see `cues.read_candidates`)."""

Sense = tuple[str, str]
"""An ambiguous word, and the name of one of its senses."""

Keep = Callable[[str, Callable[[], Any]], Any]
"""Gives a part of the work by its name: the stored one, or what the function makes."""

Criterion = Literal["difference", "reference"]
"""How discriminative a cue is; see `select_cues`."""

N_CANDIDATES, N_SHORTLISTED, N_KEPT = 50, 10, 3
"""Of each sense: candidates listed; correct and incorrect ones that are scored; cues kept of each of the two."""

_STOP = frozenset({"the", "a", "an", "and", ",", "-"})
_ASKED_AT_ONCE = 512
_IMPOSSIBLE = -100.0  # nats a token in place of -inf, so that means stay finite


def _make(_name: str, make: Callable[[], Any]) -> Any:
    return make()


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with an ambiguous word in one of its senses."""

    item: AmbiguousSource
    word: str
    form: str
    """The form of the word in the sentence."""

    @property
    def sense(self) -> Sense:
        return self.word, str(self.item.gold)

    @property
    def reference(self) -> str:
        found = self.item.extra.get("reference")
        if not isinstance(found, str) or not found.strip():
            raise BabelscopeError(
                f"item {self.item.id} needs a field 'reference', on which cues are selected"
            )
        return found


@dataclass(frozen=True, slots=True)
class CuedTestSet:
    """Cues by sense, and the test set with the cues in its sources."""

    cues: Mapping[Sense, Cues]
    candidates: Candidates
    tests: TestSet
    selected_on: int
    """Number of sentences that the cues were selected on."""
    by_item: Sequence[Cues] = field(repr=False, default=())
    """The cues of each item of the given test set, in its order; empty for items that are not tested."""


def examples_of(tests: TestSet, skipped: dict[str, int]) -> list[Example]:
    """The items with their ambiguous word (field `word`) in the sentence; others are counted in `skipped`."""
    found = []
    for item in tests.items_of(AmbiguousSource, what_for="make cues"):
        word = item.extra.get("word")
        if not isinstance(word, str) or not word or item.gold is None:
            raise BabelscopeError(
                f"item {item.id} of {tests.name} needs 'word', its ambiguous word, and 'gold', the sense meant"
            )
        if (form := find_form(word, item.source)) is None:
            skipped["word not in the sentence"] = skipped.get("word not in the sentence", 0) + 1
        else:
            found.append(Example(item, word, form))
    check_source_languages([example.item for example in found])
    return found


def split_examples(
    examples: Sequence[Example], share: float, seed: int
) -> tuple[list[Example], list[Example]]:
    """Split examples into those to select cues on and those to test, by a hash: no sentence is in both."""
    chosen: list[Example] = []
    tested: list[Example] = []
    for example in examples:
        digest = hashlib.sha256(f"{seed}\0{example.item.source}".encode()).digest()
        part = chosen if int.from_bytes(digest[:8], "big") < share * 2**64 else tested
        part.append(example)
    return chosen, tested


def find_candidates(
    model: MaskedModel,
    examples: Sequence[Example],
    *,
    mode: Mode = "words",
    skipped: dict[str, int],
    keep: Keep = _make,
) -> Candidates:
    """For each sense of each word, the words that the model expects before this sense and not before others."""
    found: dict[str, dict[str, list[str]]] = {}
    gaps: dict[str, dict[str, list[str]]] = {}
    for example in examples:
        sentence = _with_gap(model, example, mode)
        if model.fits(sentence):
            gaps.setdefault(example.word, {}).setdefault(example.sense[1], []).append(sentence)
        else:
            skipped["no room for a gap in the masked model"] = (
                skipped.get("no room for a gap in the masked model", 0) + 1
            )
    gaps = {word: senses for word, senses in gaps.items() if len(senses) > 1}
    total = sum(len(sentences) for senses in gaps.values() for sentences in senses.values())
    with progress("asking the masked model", total) as advance:
        for word, senses in gaps.items():
            found[word] = keep(
                f"candidates of {word}",
                lambda word=word, senses=senses: _expected(model, word, senses, mode),  # type: ignore[misc]
            )
            advance(sum(len(each) for each in senses.values()))
    return found


def _expected(
    model: MaskedModel, word: str, senses: Mapping[str, Sequence[str]], mode: Mode
) -> dict[str, list[str]]:
    """The candidates of each sense of a word, from sentences of the sense with a gap before the word."""
    if mode == "paper":
        scores = _paper_scores([model.released_probabilities(each) for each in senses.values()])
    else:
        sizes = [len(each) for each in senses.values()]
        scores = _scores([model.log_prob_absent(each) for each in senses.values()], sizes)
    return {
        sense: list(itertools.islice(_listed(model, own, word, mode), N_CANDIDATES))
        for sense, own in zip(senses, scores, strict=True)
    }


def _with_gap(model: MaskedModel, example: Example, mode: Mode) -> str:
    source, word = example.item.source, example.word
    if mode == "paper":
        gap = model.with_gap("", word)
        return source.replace(word, gap).replace(word.title(), gap)
    marked = insert_cue(source, example.form, "\0")
    before, _, after = marked.partition("\0 ")
    return model.with_gap(before, after.replace("\0 ", ""))


def _scores(absent: Sequence[Array], sizes: Sequence[int]) -> list[Array]:
    """P(in some example and in no counterexample) [vocabulary] by sense; 0 where another sense has more.

    `absent` is log P(in no sentence) by sense. It is scaled as if all senses had equally many sentences: else the
    sense with most sentences would win every common word.
    """
    equal = sum(sizes) / len(sizes)
    rates = [equal / size * own for size, own in zip(sizes, absent, strict=True)]
    total = np.sum(rates, axis=0)
    scores = np.stack([-np.expm1(own) * np.exp(total - own) for own in rates])
    return list(np.where(scores == scores.max(axis=0), scores, 0.0))


def _paper_scores(expected: Sequence[Array]) -> list[Array]:
    """Scores of the released code: a softmax over probabilities of the other senses, updated one sense at a time."""
    scores = list(expected)
    for number, own in enumerate(scores):
        others = np.exp(sum(each for other, each in enumerate(scores) if other != number))
        scores[number] = own * (1 - others / others.sum())
    return scores


def _listed(model: MaskedModel, scores: Array, word: str, mode: Mode) -> Iterator[str]:
    listed = model.tokens(scores, whole_words=mode == "words")
    stop = frozenset() if mode == "paper" else _STOP | {word, plural(word)}
    return (each for each in listed if each.lower() not in stop)


def shortlist(
    candidates: Mapping[str, Sequence[str]], sense: str, mode: Mode = "words", most: int = N_SHORTLISTED
) -> Cues:
    """The best `most` candidates that only this sense has, and the best of other senses that this one lacks.

    As in the released code, candidates of several other senses are taken in turn.
    """
    own = candidates[sense]
    others = [cues for name, cues in candidates.items() if name != sense]
    correct = [cue for cue in own if not any(cue in cues for cues in others)]
    incorrect = [
        cue for turn in itertools.zip_longest(*others) for cue in turn if cue is not None and cue not in own
    ]
    if mode == "words":  # a cue of two other senses counts once
        incorrect = list(dict.fromkeys(incorrect))
    return Cues("", tuple(correct[:most]), tuple(incorrect[:most]))


def select_cues(
    candidates: Candidates,
    examples: Sequence[Example],
    evaluator: Any,
    *,
    criterion: Criterion = "difference",
    mode: Mode = "words",
    kept: int = N_KEPT,
    narrow: int = N_SHORTLISTED,
) -> dict[Sense, Cues]:
    """The most discriminative cues of each sense, by the likelihood of references given sources with cues.

    `reference` (appendix D) takes the correct cues with which references of the sense are most likely, and the
    incorrect ones with which they are least likely. This favors words that change nothing over informative ones,
    whose translation the references lack. So `difference` takes correct cues that raise the likelihood of the
    sense's references more than that of other senses' references, and incorrect ones that do the opposite.
    """
    few = {
        (word, sense): shortlist(own, sense, mode, narrow)
        for word, own in candidates.items()
        for sense in own
    }
    likelihoods = _likelihoods(few, examples, evaluator, criterion, mode)
    found = {}
    for key, cues in few.items():
        others = [each for each in likelihoods if each[0] == key[0] and each != key]
        if key not in likelihoods or (criterion == "difference" and not others):
            continue
        own = likelihoods[key]
        if criterion == "reference":
            right, wrong = own, {cue: -each for cue, each in own.items()}
        else:
            gains = [_gain(likelihoods[each]) for each in others]
            gain = _gain(own)
            right = {cue: gain[cue] - math.fsum(each[cue] for each in gains) / len(gains) for cue in gain}
            wrong = {cue: max(each[cue] for each in gains) - gain[cue] for cue in gain}
        found[key] = Cues(
            key[0], _best(cues.correct, right, key[0], kept), _best(cues.incorrect, wrong, key[0], kept)
        )
    return found


def _likelihoods(
    few: Mapping[Sense, Cues], examples: Sequence[Example], evaluator: Any, criterion: Criterion, mode: Mode
) -> dict[Sense, dict[str, float]]:
    """For each sense and cue ("" for none) the mean likelihood of the sense's references.

    For `reference` as probability per token. For `difference` in nats per token, where cues that make everything
    unlikely still differ.
    """
    asked: list[tuple[Sense, str, str, str]] = []
    for example in examples:
        if example.sense not in few or (
            # The released code skips capitalized words.
            mode == "paper" and example.form not in (example.word, plural(example.word))
        ):
            continue
        senses = [example.sense] if criterion == "reference" else [s for s in few if s[0] == example.word]
        cues = dict.fromkeys(cue for s in senses for cue in (*few[s].correct, *few[s].incorrect))
        sources = {cue: insert_cue(example.item.source, example.form, cue, mode) for cue in cues}
        if criterion == "difference":
            sources[""] = example.item.source
        asked += [(example.sense, cue, source, example.reference) for cue, source in sources.items()]

    def likelihood(nats: float) -> float:
        if criterion == "difference":
            return max(nats, _IMPOSSIBLE)
        return math.exp(nats * (math.log(2) if mode == "paper" else 1.0))

    found: dict[Sense, dict[str, list[float]]] = {}
    with progress("asking the evaluator", len(asked)) as advance:
        for start in range(0, len(asked), _ASKED_AT_ONCE):
            some = asked[start : start + _ASKED_AT_ONCE]
            answers = ask_score(evaluator, [(source, reference) for *_, source, reference in some])
            for (sense, cue, _, _), scored in zip(some, answers, strict=True):
                found.setdefault(sense, {}).setdefault(cue, []).append(likelihood(scored.mean))
            advance(len(some))
    return {
        sense: {cue: math.fsum(some) / len(some) for cue, some in own.items()} for sense, own in found.items()
    }


def _gain(likelihoods: Mapping[str, float]) -> dict[str, float]:
    """The change of likelihood by each cue, against no cue."""
    return {cue: each - likelihoods[""] for cue, each in likelihoods.items() if cue}


def _best(cues: Sequence[str], scores: Mapping[str, float], word: str, kept: int) -> tuple[str, ...]:
    telling = [cue for cue in dict.fromkeys(cues) if cue not in _STOP and cue != word]
    return tuple(sorted(telling, key=lambda cue: scores[cue], reverse=True)[:kept])


def make_cues(
    tests: TestSet,
    evaluator: Any,
    model: MaskedModel | None = None,
    *,
    candidates: Candidates | None = None,
    select_on: TestSet | None = None,
    criterion: Criterion = "difference",
    mode: Mode = "words",
    kept: int = N_KEPT,
    narrow: int = N_SHORTLISTED,
    share: float = 0.5,
    seed: int = 0,
    keep: Keep = _make,
) -> CuedTestSet:
    """Find cues for the ambiguous words of a test set, and insert them into the sources that are tested.

    Sentences used to select cues (`select_on`, or a `share` of the test set) are not tested, unless the mode is
    `paper`. Candidates may be given in place of a model. `keep` stores candidates, so that work can be resumed.
    """
    if (model is None) == (candidates is None):
        raise BabelscopeError("make cues needs either a masked language model or candidates")
    skipped = dict(tests.skipped)
    tested = examples_of(tests, skipped)
    if select_on is not None:
        chosen = _held_out(select_on, tests)
    elif mode == "paper":
        chosen = tested
    else:
        chosen, tested = split_examples(tested, share, seed)
    if candidates is None and model is not None:
        candidates = find_candidates(model, chosen, mode=mode, skipped=skipped, keep=keep)
    cues = select_cues(
        candidates or {},
        chosen,
        evaluator,
        criterion="reference" if mode == "paper" else criterion,
        mode=mode,
        kept=kept,
        narrow=narrow,
    )
    items, by_item = _with_cues(tested, cues, mode, skipped)
    if chosen is not tested and select_on is None:
        skipped["used to select cues"] = len(chosen)
    if not items:
        raise BabelscopeError(
            f"no item of {tests.name} got cues: each sense needs sentences to select on and to test, and each "
            f"word two senses ({'; '.join(f'{count} {reason}' for reason, count in skipped.items())})"
        )
    lines = [by_item.get(item.id, Cues(_word(item), (), ())) for item in tests.items]
    made = replace(tests, items=tuple(items), skipped=skipped)
    return CuedTestSet(cues, candidates or {}, made, len(chosen), lines)


def _held_out(select_on: TestSet, tests: TestSet) -> list[Example]:
    """The examples of `select_on`; an error if one of their sentences is tested."""
    sources = {item.source for item in tests.items_of(AmbiguousSource, what_for="make cues")}
    chosen = examples_of(select_on, {})
    if shared := next((each for each in chosen if each.item.source in sources), None):
        raise BabelscopeError(f"item {shared.item.id} of {select_on.name} is in {tests.name} too")
    return chosen


def _with_cues(
    tested: Sequence[Example], cues: Mapping[Sense, Cues], mode: Mode, skipped: dict[str, int]
) -> tuple[list[Item], dict[str, Cues]]:
    """The items whose sense has cues, with the cues in their sources, and the cues by item id."""
    items: list[Item] = []
    by_item: dict[str, Cues] = {}
    for example in tested:
        own = cues.get(example.sense)
        if own is None or not (own.correct and own.incorrect):
            skipped["no cues for its sense"] = skipped.get("no cues for its sense", 0) + 1
            continue
        cued = insert_cues(example.item.source, example.form, own, mode)
        extra = {**example.item.extra, "cues": {"correct": own.correct, "incorrect": own.incorrect}}
        items.append(
            replace(example.item, correct_sources=cued.correct, incorrect_sources=cued.incorrect, extra=extra)
        )
        by_item[example.item.id] = own
    return items, by_item


def write_candidates(candidates: Candidates) -> str:
    """Candidates as a file that `cues.read_candidates` reads."""
    listed = {word: {sense: list(cues) for sense, cues in own.items()} for word, own in candidates.items()}
    return json.dumps(listed, ensure_ascii=False, indent=1)


def _word(item: Item) -> str:
    return str(item.extra.get("word", ""))
