"""Systems on an open model: given source and target ids, they score, translate, sample and search exactly."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from torch import Tensor

from babelscope.core.answers import Budget, Drawing, LengthRule, Note, Scored, Target, TopK
from babelscope.core.question import Asked
from babelscope.decoding.beam import beam_search
from babelscope.decoding.model import Memory, OpenModel, Vocabulary, out_of_memory, score_targets
from babelscope.decoding.sampling import draw_samples
from babelscope.decoding.without_replacement import draw_distinct
from babelscope.systems.checkpoints import ModelSystem, checked
from babelscope.systems.opened import Opened, SourceIds, as_top_k, each_once, in_parts, no_memory


class OpenSystem(ModelSystem):
    """A network on token ids, with the texts around it: what is left to say is how texts become ids and back."""

    vocabulary: Vocabulary
    model: OpenModel
    _budget: int
    """Decoder tokens in one batch of scores."""

    def _source_ids(self, asked: Sequence[Asked]) -> SourceIds:
        raise NotImplementedError

    def _target_ids(self, targets: Sequence[Target]) -> SourceIds:
        """For each target its ids, EOS included, and notes on it."""
        raise NotImplementedError

    def _written(
        self, rows: Sequence[tuple[list[int], list[float]]], noted: tuple[Note, ...] = ()
    ) -> list[Scored]:
        """Generated ids and their log-probabilities as answers."""
        raise NotImplementedError

    def _longest(self, asked: int = 0) -> int:
        """The most tokens that a generated translation may have."""
        raise NotImplementedError

    @checked
    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        """Log-probabilities of targets: texts are tokenised, earlier answers are scored by their own tokens."""
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

        `babelscope.decoding.without_replacement` has the estimators that need both.
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
        answers = [as_top_k(each, self._written, noted) for each, noted in zip(found, notes, strict=True)]
        return self._watched(questions, answers)

    def _generate(
        self, questions: Sequence[Asked], beam: int, n_best: int, length_penalty: float
    ) -> list[list[Scored]]:
        search = functools.partial(
            beam_search,
            self.model,
            beam=beam,
            n_best=n_best,
            max_length=self._longest(),
            length_penalty=length_penalty,
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

    def opened(self) -> Opened:
        """The network with the texts around it, for an ensemble."""
        return Opened(
            self.model,
            self.tokens,
            sources=self._source_ids,
            written=self._written,
            longest=self._longest(),
            length_penalty=self.length_penalty,
            check_files=self.check_files,
        )
