"""Systems that read the sentences before a source.

With a separator, source and context are one text. Without one, systems that take context as such get it: language
models as turns of a chat or in `{context}` of their prompt, servers as a field of the request.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from babelscope.core.registry import Options
from babelscope.core.system import (
    Asked,
    Fingerprint,
    Question,
    Scored,
    Target,
    TopK,
    Unanswered,
    as_question,
)
from babelscope.systems.contract import ASK, Wrapper
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

_MOST_SENTENCES = 100
_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
# How tokenizers write a space at the beginning of a token, and in the middle of words.
_SPACES = str.maketrans("", "", "▁Ġ")
_CONTINUED = re.compile(r"@@$|^##|</w>$")


@dataclass(frozen=True, slots=True)
class Context:
    """How much context a system reads, and how."""

    sentences: int
    """Sentences before the source, at most."""
    target: bool = True
    """Whether the translation has the context, too (2-to-2), or is that of the last sentence alone (2-to-1)."""
    separator: str | None = None
    """None: not given, so that a system that takes context as such gets it as such; others get a space."""
    order: Literal["right", "random"] = "right"
    """random: the context of another question, as a control: what helps must be in the right context."""
    seed: int = 0

    @classmethod
    def of(cls, options: Options) -> Context | None:
        """What the options of a spec say; None if they say nothing about context."""
        sentences = options.integer("context", 0, least=0)
        target = options.choice("context_target", ("yes", "no"), "yes") == "yes"
        written = options.text("separator")
        separator = written if "separator" in options.names else None
        order: Any = options.choice("context_order", ("right", "random"), "right")
        given = {"context", "context_target", "separator", "context_order"} & set(options.names)
        if given and "context" not in given:
            raise BabelscopeError(
                f"{options.spec}: {min(given)} has no effect without context, a number of sentences"
            )
        if sentences > _MOST_SENTENCES:
            raise BabelscopeError(
                f"{options.spec}: context is at most {_MOST_SENTENCES} sentences, not {sentences}"
            )
        return cls(sentences, target, separator, order) if "context" in given else None

    @property
    def settings(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        return {name: value for name, value in found.items() if name != "seed" or self.order == "random"}


def with_context(system: Any, context: Context | None) -> Any:
    """`system` with the sentences before each source; itself without a number of sentences."""
    if context is None:
        return system
    separator = context.separator
    if separator is None and getattr(system, "takes_context", False):
        system.reads_context = True
        return WithContext(system, context)
    if context.sentences and context.target and not (separator or "").strip():
        raise BabelscopeError(
            f"{system.name}: where the translation has the context, too, a separator must tell sentences apart: "
            "separator=<sep>, or another text that the model was trained with; context_target=no for a model "
            "that translates the last sentence only"
        )
    return WithContext(
        system, dataclasses.replace(context, separator=" " if separator is None else separator)
    )


class WithContext(Wrapper):
    """A system that is asked about source and context, and answers about the source alone.

    With a separator both are one text, and a translation is what follows the last separator; one that lost a
    separator has the note `lost_context`. Scored are the tokens of the last sentence, given the context: the chain
    rule makes that the whole minus the context.
    """

    reads_context = True

    def __init__(self, inner: Any, context: Context) -> None:
        super().__init__(inner)
        self.capabilities &= {"translate", "score", "sample"}
        self.context = context
        # A random context is that of another question of the call.
        self.asked_as_a_whole = context.order == "random" or getattr(inner, "asked_as_a_whole", False)

    @property
    def fingerprint(self) -> Fingerprint:
        inner: Fingerprint = self.inner.fingerprint
        return dataclasses.replace(inner, settings={**inner.settings, "context": self.context.settings})

    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        if method not in self.capabilities:
            raise BabelscopeError(f"{self.name} with context cannot be asked for {method}")
        if method == "score":
            return self._score(asked)
        questions = self._with_their_context([as_question(each) for each in asked])
        if self.context.separator is None:
            return list(ASK[method](self.inner, questions, **how))
        answers = ASK[method](self.inner, [self._joined(each) for each in questions], **how)
        return [self._last_sentences(each, own) for each, own in zip(questions, answers, strict=True)]

    def _score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        questions = self._with_their_context([as_question(question) for question, _ in pairs])
        separator = self.context.separator
        if separator is None:
            targets_given = [target for _, target in pairs]
            return list(ASK["score"](self.inner, list(zip(questions, targets_given, strict=True))))
        targets = [target.text if isinstance(target, Scored) else target for _, target in pairs]
        whole = [
            separator.join([*question.context_target, target]) if self.context.target else target
            for question, target in zip(questions, targets, strict=True)
        ]
        joined = [self._joined(each) for each in questions]
        answers = ASK["score"](self.inner, list(zip(joined, whole, strict=True)))
        found, reasons = [], {}
        for number, (answer, target, text) in enumerate(zip(answers, targets, whole, strict=True)):
            own = answer if text == target else last_tokens(answer, target)
            if own is None:
                reasons[number] = (
                    f"the tokens of {shorten(target)} could not be told from those of its context"
                )
            else:
                found.append(own)
        if reasons:
            raise Unanswered(reasons)
        return found

    def _with_their_context(self, questions: Sequence[Question]) -> list[Question]:
        """The questions with as many sentences of context as the system reads; those of others if they are random."""
        sources = [each.context_source for each in questions]
        targets = [each.context_target for each in questions]
        if self.context.order == "random":
            others = _others(questions, self.context.seed)
            sources, targets = ([side[other] for other in others] for side in (sources, targets))
        n = self.context.sentences
        # Those who take context as such are told its translations by `context_target`.
        known = self.context.separator is not None or self.context.target
        return [
            dataclasses.replace(
                each,
                context_source=before[len(before) - n :] if n < len(before) else before,
                context_target=(after[len(after) - n :] if n < len(after) else after) if known else (),
            )
            for each, before, after in zip(questions, sources, targets, strict=True)
        ]

    def _joined(self, question: Question) -> Question:
        """Source and context as the source of a question without context."""
        source = (self.context.separator or " ").join([*question.context_source, question.source])
        return dataclasses.replace(question, source=source, context_source=(), context_target=())

    def _last_sentences(self, question: Question, answer: Any) -> Any:
        if isinstance(answer, TopK):
            raise BabelscopeError("a search with context has no answer about the last sentence alone")
        return [self._last_sentence(question, each) for each in answer]

    def _last_sentence(self, question: Question, answer: Scored) -> Scored:
        before = len(question.context_source)
        if not (self.context.target and before):
            return answer
        parts = answer.text.split((self.context.separator or " ").strip())
        notes = answer.notes if len(parts) == before + 1 else (*answer.notes, "lost_context")
        text = parts[-1].strip()
        own = last_tokens(answer, text) if answer.has_scores else None
        # Without tokens of its own, a text has no log-probabilities, which are then those of a black box.
        tokens, logprobs = (own.tokens, own.logprobs) if own else ((), ())
        return Scored(text, tokens, logprobs, tuple(sorted(set(notes))))


def _others(questions: Sequence[Question], seed: int) -> list[int]:
    """For each question the place of one with another context, the same for all questions with one context."""
    first = {
        (each.context_source, each.context_target): place
        for place, each in reversed(list(enumerate(questions)))
    }
    contexts = sorted(first)
    from babelscope.util.seeds import stream

    if len(contexts) < 2:
        raise BabelscopeError("a random context needs questions with at least two contexts")
    order = stream(seed, "context").permutation(len(contexts)).tolist()
    # Each context gets the next one in a random circle: never its own.
    following = {order[place]: order[(place + 1) % len(order)] for place in range(len(order))}
    places = {context: number for number, context in enumerate(contexts)}
    return [
        first[contexts[following[places[each.context_source, each.context_target]]]] for each in questions
    ]


def last_tokens(answer: Scored, text: str) -> Scored | None:
    """The last tokens of an answer that spell a text, EOS included; None if no token begins where the text does.

    Spaces and the marks that tokenizers write for them are not compared; tokens of single bytes count as bytes.
    """
    wanted = "".join(text.split()).encode()
    spelled = b""
    for place in range(len(answer.tokens) - 1, -1, -1):
        token = answer.tokens[place]
        is_end = place == len(answer.tokens) - 1 and "unfinished" not in answer.notes
        own = b"" if is_end and not _spells_end(token, wanted) else _bytes(token)
        if len(own) + len(spelled) > len(wanted):
            break
        spelled = own + spelled
        if spelled == wanted and own:
            while place and not _bytes(answer.tokens[place - 1]):  # the space before the text
                place -= 1
            return Scored(text, answer.tokens[place:], answer.logprobs[place:], answer.notes)
        if not wanted.endswith(spelled):
            break
    return None


def _spells_end(token: str, wanted: bytes) -> bool:
    """Whether the last token is text and not the end of sentence."""
    own = _bytes(token)
    return bool(own) and wanted.endswith(own) and not (token.startswith("<") and token.endswith(">"))


def _bytes(token: str) -> bytes:
    if _BYTE.fullmatch(token):
        return bytes([int(token[3:5], 16)])
    return "".join(_CONTINUED.sub("", token.translate(_SPACES)).split()).encode()
