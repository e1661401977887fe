"""Systems on an open model: given source and target ids, they score, translate, sample and search exactly."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from torch import Tensor

from babelscope.core.system import (
    Asked,
    Budget,
    Diversity,
    Drawing,
    LengthRule,
    Note,
    Scored,
    Segmented,
    Target,
    TopK,
)
from babelscope.decoding.beam import beam_search
from babelscope.decoding.model import Memory, OpenModel, Vocabulary, out_of_memory, score_targets
from babelscope.decoding.sampling import draw_distinct, draw_samples
from babelscope.decoding.segmentations import Pieces, find_segmentations, sum_probabilities
from babelscope.systems.contract import check_targets
from babelscope.systems.models.checkpoints import ModelSystem, check_ids, checked
from babelscope.util.errors import SystemFailure

if TYPE_CHECKING:
    from babelscope.decoding.exact import ExactResult


_Answer = TypeVar("_Answer")
_Ids = tuple[int, ...]

SourceIds = tuple[list[tuple[int, ...]], list[tuple[Note, ...]]]
"""For each question its source ids, and notes on it."""


class LocalModel(ModelSystem):
    """A network on token ids, with the texts around it: subclasses define how texts become ids and back."""

    vocabulary: Vocabulary
    model: OpenModel
    _budget: int
    """Decoder tokens in one batch of scores."""

    def _source_ids(self, asked: Sequence[Asked]) -> SourceIds:
        raise NotImplementedError

    def _target_ids(self, targets: Sequence[Target]) -> SourceIds:
        """For each target its ids, EOS included, and notes on it."""
        check_targets(targets)
        texts = [target for target in targets if isinstance(target, str)]
        encoded = iter(self._text_ids(texts))
        rows = [next(encoded) if isinstance(t, str) else self.tokens.ids_of(t) for t in targets]
        check_ids(rows, self.vocabulary.size, self.name)
        kept, cut = self._limited(rows, targets)
        back = iter(self._texts([row for row, t in zip(rows, targets, strict=True) if isinstance(t, str)]))
        notes: list[tuple[Note, ...]] = []
        for target, cut_note in zip(targets, cut, strict=True):
            if isinstance(target, Scored):
                notes.append((*cut_note, *target.notes))
            else:
                notes.append(cut_note if next(back) == target else (*cut_note, "changed"))
        return kept, notes

    def _limited(self, rows: list[list[int]], targets: Sequence[Target]) -> SourceIds:
        """Target ids that the network takes, and notes on what was cut; refuses others."""
        raise NotImplementedError

    def _written(
        self, rows: Sequence[tuple[list[int], list[float]]], noted: tuple[Note, ...] = ()
    ) -> list[Scored]:
        """Generated ids and their log-probabilities as answers; each different text is made once."""
        distinct = list(dict.fromkeys(tuple(ids) for ids, _ in rows))
        texts = self._texts(distinct)
        known: dict[_Ids, tuple[str, tuple[str, ...], tuple[Note, ...]]] = {}
        for ids, text, retokenized in zip(distinct, texts, self._text_ids(texts), strict=True):
            notes: set[Note] = {*noted, *(("unnamed",) if self.tokens.has_unnamed(ids) else ())}
            if ids[-1] != self.vocabulary.eos:
                notes.add("unfinished")
            elif list(ids) != retokenized:
                notes.add("changed")
            known[ids] = (text, self.tokens.tokens(ids), tuple(sorted(notes)))
        answers = []
        for row, logprobs in rows:
            text, tokens, all_notes = known[tuple(row)]
            answers.append(Scored(text, tokens, tuple(logprobs), all_notes))
        return answers

    def _texts(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Texts of generated ids."""
        raise NotImplementedError

    def _text_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of target texts, ending in the end token."""
        raise NotImplementedError

    def _longest(self, asked: int = 0) -> int:
        """The most tokens that a generated translation may have."""
        raise NotImplementedError

    @checked
    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        """Log-probabilities of targets: texts are tokenized, earlier answers are scored by their own tokens."""
        sources, source_notes = self._source_ids([asked for asked, _ in pairs])
        targets, target_notes = self._target_ids([target for _, target in pairs])
        groups: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
        for source_ids, target_ids in zip(sources, targets, strict=True):
            group = groups.setdefault(source_ids, {})
            group.setdefault(target_ids, len(group))
        numbers = {source: number for number, source in enumerate(groups)}
        found: list[list[list[float]]] = [[] for _ in groups]
        try:
            for number, scores in score_targets(
                self.model, list(groups), [list(group) for group in groups.values()], budget=self._budget
            ):
                found[number] = scores
        except Exception as error:
            if out_of_memory(error):
                raise no_memory(self.name) from error
            raise
        answers = []
        for number, (_, target) in enumerate(pairs):
            group = groups[sources[number]]
            logprobs = found[numbers[sources[number]]][group[targets[number]]]
            text = target if isinstance(target, str) else target.text
            notes = sorted({*source_notes[number], *target_notes[number]})
            answers.append(Scored(text, self.tokens.tokens(targets[number]), tuple(logprobs), tuple(notes)))
        return answers

    @checked
    def segmentations(self, pairs: Sequence[tuple[Asked, str]], *, n: int) -> list[Segmented]:
        """The probability of each target summed over its segmentations; the search stops after `n` of them.

        Segmentations are sequences of tokens that the vocabulary writes alike and that are read as the same text.
        """
        scored = self.score(pairs)
        sources = self._source_ids([asked for asked, _ in pairs])[0]
        targets = self._target_ids([target for _, target in pairs])[0]
        answers = []
        for own, source, target in zip(scored, sources, targets, strict=True):
            found, exact = find_segmentations(self.model, source, target, own.logprobs, self._pieces, n=n)
            (text, *texts) = self._texts(list(found))  # the first is the tokenizer's own
            totals = list(found.values())
            kept = [
                totals[0],
                *(total for total, each in zip(totals[1:], texts, strict=True) if each == text),
            ]
            answers.append(Segmented(own, sum_probabilities(kept), len(kept), exact))
        return answers

    @functools.cached_property
    def _pieces(self) -> Pieces:
        surfaces = self._surfaces()
        left_out = {*self.vocabulary.masked, self.vocabulary.eos}
        return Pieces({token: each for token, each in surfaces.items() if token not in left_out})

    def _surfaces(self) -> dict[int, bytes]:
        """What each token stands for in a text, as the vocabulary writes it."""
        return self.tokens.surfaces(self.vocabulary.size)

    @checked
    def sample(
        self, questions: Sequence[Asked], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        """Ancestral samples, in the order drawn, with the model's own log-probabilities as they were drawn from."""
        drawing = drawing or Drawing()
        ids, notes = self._source_ids(questions)
        longest = self._longest(drawing.max_length)
        drawn = each_once(
            self.name,
            lambda some: draw_samples(self.model, some, n=n, seed=seed, limit=longest, drawing=drawing),
            ids,
        )
        answers = [
            self._written([(each.ids, each.logprobs) for each in found], noted)
            for found, noted in zip(drawn, notes, strict=True)
        ]
        return self._watched(questions, answers)

    @checked
    def sample_distinct(
        self, questions: Sequence[Asked], *, n: int, seed: int, max_length: int = 0
    ) -> list[tuple[list[Scored], float]]:
        """For each question `n` different samples, drawn without replacement, and their threshold.

        `babelscope.decoding.sampling` has the estimators that need both.
        """
        ids, notes = self._source_ids(questions)
        longest = self._longest(max_length)
        drawn = in_parts(
            self.name, lambda some: draw_distinct(self.model, some, n=n, seed=seed, limit=longest), ids
        )
        return [
            (self._written([(each.ids, each.logprobs) for each in found.samples], noted), found.threshold)
            for found, noted in zip(drawn, notes, strict=True)
        ]

    @checked
    def top_k(
        self,
        questions: Sequence[Asked],
        *,
        k: int,
        budget: Budget | None = None,
        lengths: LengthRule | None = None,
    ) -> list[TopK]:
        """Exact search over all hypotheses that end within the model's own limit, if it has one."""
        from babelscope.decoding.exact import exact_search  # with numba, which nothing else here needs

        ids, notes = self._source_ids(questions)
        search = functools.partial(exact_search, self.model, k=k, budget=budget, lengths=lengths)
        found = each_once(self.name, search, ids)
        answers = [self._top_k(each, noted) for each, noted in zip(found, notes, strict=True)]
        return self._watched(questions, answers)

    def _top_k(self, found: ExactResult, noted: tuple[Note, ...]) -> TopK:
        hypotheses = self._written(list(zip(found.ids, found.logprobs, strict=True)), noted)
        certificate = (found.exact, found.bound, found.mass, found.expansions, found.minimum, found.seconds)
        return TopK(tuple(hypotheses), *certificate)

    def _generate(
        self,
        questions: Sequence[Asked],
        beam: int,
        n_best: int,
        length_penalty: float,
        diversity: Diversity | None = None,
    ) -> list[list[Scored]]:
        search = functools.partial(
            beam_search,
            self.model,
            beam=beam,
            n_best=n_best,
            max_length=self._longest(),
            length_penalty=length_penalty,
            diversity=diversity,
        )
        found = in_parts(self.name, search, self._source_ids(questions)[0])
        return [self._written([(ids, [0.0] * len(ids)) for ids in group]) for group in found]

    @checked
    def encode(self, questions: Sequence[Asked]) -> Memory:
        """Begin decoding: node i of the memory is question i with nothing fed."""
        return self.model.encode(self._source_ids(questions)[0])

    def step(self, memory: Memory, parents: Sequence[int], tokens: Sequence[int]) -> Tensor:
        """Feed tokens after prefixes: log-probabilities of the next token [prefixes, vocabulary]."""
        return self.model.step(memory, parents, tokens)

    def opened(self) -> LocalModel:
        """Itself, for an ensemble, which decodes only with systems that have this."""
        return self


def each_once(
    name: str, run: Callable[[list[_Ids]], list[_Answer]], sources: Sequence[_Ids]
) -> list[_Answer]:
    """What `run` finds for each source, each different one asked once."""
    distinct = list(dict.fromkeys(sources))
    found = dict(zip(distinct, in_parts(name, run, distinct), strict=True))
    return [found[source] for source in sources]


def in_parts(name: str, run: Callable[[list[_Ids]], list[_Answer]], sources: list[_Ids]) -> list[_Answer]:
    """`run` of all sources, in as many parts as memory asks for."""
    try:
        return run(sources)
    except Exception as error:
        if not out_of_memory(error):
            raise
        if len(sources) == 1:
            raise no_memory(name) from error
    middle = len(sources) // 2
    return [*in_parts(name, run, sources[:middle]), *in_parts(name, run, sources[middle:])]


def no_memory(name: str) -> SystemFailure:
    return SystemFailure(f"{name}: out of memory on a single sentence; try a shorter one or another device")
