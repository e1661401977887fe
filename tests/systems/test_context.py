"""Context: what is asked, which part of an answer is meant, and the chain rule of its score."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.core.system import Fingerprint, Question, Scored, properties
from babelscope.systems.context import Context, WithContext, last_tokens
from babelscope.systems.contract import ask_sample, ask_score, ask_translate
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError
from tests.support.models import SOURCES, TARGETS, build_causal
from tests.support.serving import App, Server

Serve = Callable[[App], Server]

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
    system = WithContext(toy, Context(1, target=False, separator=" "))
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


# --- Systems that take context as such: no separator is given ------------------------------------------------------

IT = question("It barks.", ["A cat.", "A dog."], ["Eine Katze.", "Ein Hund."])
ALONE = question("It sings.")


def openai_spec(server: Server, more: str = "") -> str:
    return f"openai:{server.url}/v1#m?source=English&target=German&prompt=Say {{text}}{more}"


def test_a_chat_has_the_context_as_turns(serve: Serve) -> None:
    server = serve(lambda _: {"choices": [{"message": {"content": "Er bellt."}, "finish_reason": "stop"}]})
    system = open_system(openai_spec(server, "&context=1"))
    assert properties(system).reads_context
    found = ask_translate(system, [IT, ALONE])
    assert [each.text for (each,) in found] == ["Er bellt.", "Er bellt."]
    turns = {tuple(each["content"] for each in request.body["messages"]) for request in server.seen}
    assert turns == {("Say A dog.", "Ein Hund.", "Say It barks."), ("Say It sings.",)}
    ask_translate(open_system(openai_spec(server)), [IT])
    assert [each["content"] for each in server.seen[-1].body["messages"]] == ["Say It barks."]


def test_a_prompt_has_a_field_for_context(serve: Serve) -> None:
    server = serve(lambda _: {"choices": [{"message": {"content": "Er."}, "finish_reason": "stop"}]})
    spec = openai_spec(server).replace("Say {text}", "{context} => {text}")
    ask_translate(open_system(f"{spec}&context=2&context_target=no"), [IT, question("{text}", ["{text}"])])
    sent = {request.body["messages"][-1]["content"] for request in server.seen}
    assert sent == {"A cat. A dog. => It barks.", "{text} => {text}"}
    with pytest.raises(BabelscopeError, match=r"the prompt has \{context\}; set context=N"):
        open_system(spec)
    with pytest.raises(BabelscopeError, match=r"need a prompt with \{context\}"):
        ask_translate(open_system(openai_spec(server, "&context=1&context_target=no")), [IT])


def test_a_server_gets_context_as_a_field_and_the_store_tells_contexts_apart(serve: Serve) -> None:
    server = serve(
        lambda request: {
            "translations": [f"ja {len(request.body['sources'])}"] * len(request.body["sources"])
        }
    )
    system = open_system(f"{server.url}/t?context=1")
    ask_translate(system, [IT, ALONE])
    (request,) = server.seen
    assert request.body["context_sources"] == [["A dog."], []]
    assert request.body["context_targets"] == [["Ein Hund."], []]
    other = dataclasses.replace(IT, context_source=("A cat.", "A wolf."))
    ask_translate(system, [other])
    assert server.seen[-1].body["context_sources"] == [["A wolf."]]
    ask_translate(open_system(f"{server.url}/t"), [IT])
    assert "context_sources" not in server.seen[-1].body


def test_a_template_of_a_service_has_a_place_for_context(serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda _: {"answer": "Er bellt."})
    body = 'url = "{}"\nanswers = "answer"\n[body]\ntext = "{{text}}"\nbefore = "{{context}}"\n'
    path = tmp_path / "service.toml"
    path.write_text(body.format(server.url))
    ask_translate(open_system(f"rest:{path}?context=2"), [IT])
    assert server.seen[-1].body == {"text": "It barks.", "before": "A cat. A dog."}
    with pytest.raises(BabelscopeError, match=r"the template has \{context\}; set context=N"):
        open_system(f"rest:{path}")


@pytest.mark.parametrize("chat", [False, True])
def test_a_language_model_scores_the_target_after_its_context(tmp_path: Path, chat: bool) -> None:
    """The score given context is that of the whole text minus that of what stands before the target."""
    folder = build_causal(tmp_path / "m", chat=chat)
    spec = f"llm:{folder}?source=English&target=German&max_length=40&prompt={{text}} ="
    system = open_system(f"{spec}&context=2")
    target = TARGETS[0][:20]
    others = [(question(SOURCES[1][:20], ["a"], ["b"]), target), (question(SOURCES[0][:20]), target)]
    asked = question(SOURCES[0][:20], ["one", "two"], ["eins", "zwei"])
    (found,) = ask_score(system, [(asked, target)])
    again = ask_score(system, [*others, (asked, target)])
    assert math.isclose(again[2].total, found.total, abs_tol=1e-4 * len(found.tokens))
    assert abs(again[1].total - found.total) > 1e-3, "context changes a score"
    (alone,) = ask_score(open_system(spec), [(asked, target)])
    assert math.isclose(alone.total, again[1].total, abs_tol=1e-4 * len(alone.tokens))
    if not chat:
        written = open_system(f"{spec.replace('{text} =', '')}one = eins%0Atwo = zwei%0A{{text}} =")
        (whole,) = ask_score(written, [(asked.source, target)])
        assert math.isclose(whole.total, found.total, abs_tol=1e-6)
    specs = [spec, f"{spec}&context=1", f"{spec}&context=2", f"{spec}&context=2&separator=|"]
    assert len({open_system(each).fingerprint.digest for each in specs}) == 4
