"""Context: what is asked, which part of an answer is meant, and the chain rule of its score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.core.system import Fingerprint, Question, Scored
from babelscope.systems.context import Context, WithContext, last_tokens
from babelscope.systems.contract import ask_sample, ask_score, ask_translate
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError

WORDS = st.lists(st.text("abcß", min_size=1, max_size=4), min_size=1, max_size=5).map(" ".join)


@dataclass
class Chain:
    """A toy whose next token depends on the source and on all tokens before it; a token per word, or per letter."""

    name: str = "chain"
    letters: bool = False
    asked: list[Question] = field(default_factory=list)
    lose: bool = False

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint("toy", self.name)

    def tokens(self, text: str) -> list[str]:
        words = [f"▁{word}" for word in text.split()]
        return [letter for word in words for letter in word] if self.letters else words

    def scored(self, source: str, target: str) -> Scored:
        tokens = [*self.tokens(target), "</s>"]
        seeds = [hash((source, *tokens[: place + 1])) % 1000 for place in range(len(tokens))]
        return Scored(target, tuple(tokens), tuple(-(1 + each) / 500 for each in seeds))

    def score(self, pairs: Sequence[tuple[Question, Any]]) -> list[Scored]:
        self.asked += [question for question, _ in pairs]
        return [self.scored(question.source, target) for question, target in pairs]

    def translate(self, questions: Sequence[Question], **_: int) -> list[list[Scored]]:
        self.asked += questions
        return [[self.scored(each.source, self.made(each.source))] for each in questions]

    def sample(self, questions: Sequence[Question], *, n: int, seed: int) -> list[list[Scored]]:  # noqa: ARG002
        return [[self.scored(each.source, self.made(each.source))] * n for each in questions]

    def made(self, source: str) -> str:
        return source.upper().replace("| ", "" if self.lose else "| ")


def question(source: str, sources: Sequence[str] = (), targets: Sequence[str] = ()) -> Question:
    return Question(source, tuple(sources), tuple(targets))


@given(st.lists(st.tuples(WORDS, WORDS), max_size=4), WORDS, WORDS, st.integers(0, 4), st.booleans())
def test_score_is_the_whole_minus_the_context(
    context: list[tuple[str, str]], source: str, target: str, sentences: int, letters: bool
) -> None:
    toy = Chain(letters=letters)
    system = WithContext(toy, Context(sentences, separator=" | "))
    asked = question(source, [one for one, _ in context], [other for _, other in context])
    (found,) = ask_score(system, [(asked, target)])
    kept = context[len(context) - min(sentences, len(context)) :]
    joined = " | ".join([*(one for one, _ in kept), source])
    before = " | ".join(other for _, other in kept)
    whole = toy.scored(joined, f"{before} | {target}" if kept else target)
    prefix = toy.scored(joined, f"{before} |").logprobs[:-1] if kept else ()
    assert math.isclose(math.fsum(found.logprobs), whole.total - math.fsum(prefix), abs_tol=1e-6)
    assert (found.text, found.tokens[-1]) == (target, "</s>")


@pytest.mark.parametrize("spec", ["lab:student", "lab:llm"])
def test_chain_rule_of_models(spec: str) -> None:
    system = open_system(f"{spec}?context=1&separator=.")
    inner = open_system(spec)
    asked = question("The man sees the woman.", ["The dog sleeps"], ["Der Hund schläft"])
    (found,) = ask_score(system, [(asked, "der Mann sieht die Frau.")])
    joined, whole = "The dog sleeps.The man sees the woman.", "Der Hund schläft.der Mann sieht die Frau."
    (score,) = ask_score(inner, [(joined, whole)])
    before = len(score.tokens) - len(found.tokens)
    assert "".join(score.tokens[:before]).replace("▁", "").replace(" ", "") == "DerHundschläft."
    assert math.isclose(found.total, score.total - math.fsum(score.logprobs[:before]), abs_tol=1e-6)
    # Other items of a batch, and an item without context, change nothing.
    others = [
        (question("A cat sings.", ["x", "y"], ["x", "y"]), "eine Katze singt."),
        (question("A cat sings."), "eine Katze singt."),
    ]
    again = ask_score(system, [*others, (asked, "der Mann sieht die Frau.")])[-1]
    assert math.isclose(again.total, found.total, abs_tol=1e-4 * len(found.tokens))


def test_translation_is_what_follows_the_last_separator() -> None:
    system = WithContext(Chain(), Context(2, separator=" | "))
    asked = [question("c d", ["x", "a", "b"]), question("e")]
    (found,), (alone,) = ask_translate(system, asked)
    assert (found.text, found.notes) == ("C D", ())
    assert found.tokens == ("▁C", "▁D", "</s>")
    assert (alone.text, alone.notes) == ("E", ())
    assert [each.text for each in ask_sample(system, asked[:1], n=2, seed=1)[0]] == ["C D", "C D"]


def test_lost_separators_are_noted() -> None:
    ((found,),) = ask_translate(
        WithContext(Chain(lose=True), Context(2, separator=" | ")), [question("c", ["a", "b"])]
    )
    assert found.notes == ("lost_context",)


def test_models_of_the_last_sentence_alone() -> None:
    toy = Chain()
    system = WithContext(toy, Context(1, target=False))
    ((found,),) = ask_translate(system, [question("b", ["a"], ["A"])])
    assert found.text == "A B"  # all that such a model writes
    (score,) = ask_score(system, [(question("b", ["a"], ["A"]), "B")])
    assert score == toy.scored("a b", "B")


@pytest.mark.parametrize("n", [2, 3, 7])
def test_random_context_is_never_the_right_one(n: int) -> None:
    toy = Chain()
    system = WithContext(toy, Context(1, separator=" | ", order="random"))
    asked = [question(f"s{number}", [f"c{number}"], [f"t{number}"]) for number in range(n)]
    ask_translate(system, asked)
    contexts = [each.source.split(" | ")[0] for each in toy.asked]
    assert sorted(contexts) == [f"c{number}" for number in range(n)]
    assert all(context != f"c{number}" for number, context in enumerate(contexts))
    again, toy.asked = toy.asked, []
    ask_translate(system, asked)
    assert toy.asked == again


def test_amount_and_kind_of_context_are_in_the_fingerprint() -> None:
    options = ["context=1", "context=2", "context=1&context_order=random", "context=1&context_target=no"]
    specs = ["lab:student", *(f"lab:student?separator=|&{each}" for each in options)]
    digests = [open_system(each).fingerprint.digest for each in specs]
    assert len(set(digests)) == len(specs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("separator=|", "has no effect without context"),
        ("context=101", "at most 100 sentences"),
        ("context=2", "a separator must tell sentences apart"),
        ("context=2&context_order=left", "context_order=left is not one of"),
    ],
)
def test_what_is_refused(options: str, message: str) -> None:
    with pytest.raises(BabelscopeError, match=message):
        open_system(f"lab:student?{options}")


@pytest.mark.parametrize(
    ("tokens", "text", "kept"),
    [
        (["▁a", "▁|", "▁b", "c", "</s>"], "bc", 3),
        (["Ġa", "|", "Ġb", "<|end|>"], "b", 2),
        (["<0xC3>", "<0x9F>", "</s>"], "ß", 3),
        (["ab@@", "c", "|", "d@@", "e", "</s>"], "de", 3),
        (["▁a|b", "</s>"], "b", None),
        (["▁x", "</s>"], "b", None),
    ],
)
def test_tokens_of_the_last_sentence(tokens: list[str], text: str, kept: int | None) -> None:
    answer = Scored("", tuple(tokens), tuple(-1.0 for _ in tokens))
    found = last_tokens(answer, text)
    assert (found and len(found.tokens)) == kept
