"""`openai:` over loopback: chats, scores of echoed prompts and samples, and what cannot be right in any of them."""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from babelscope.core.system import Drawing, Scored, capabilities
from babelscope.systems.cache import Store
from babelscope.systems.contract import ask_sample
from babelscope.systems.registry import open_system
from babelscope.systems.servers.openai import tokens_match_text
from babelscope.testsets import AmbiguousSource, MinimalPair, ParallelSentence
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support.chat_servers import EOS as END
from tests.support.chat_servers import ChatModel, answers

QUICK = "backoff=0.01"


def backwards(source):
    return " ".join(source.split()[::-1])


LETTERS = "abcdehlostu äß😀.:"
ALPHABET = LETTERS + "\n</>"
EOS, BOS = "</s>", "<s>"


class ToyModel:
    """A bigram model over characters behind the OpenAI protocol; translates by reversing the words."""

    def __init__(self, *, tokens=r"</s>|(?s:.)", bos=False):
        self.pattern, self.bos = re.compile(tokens), bos

    def probability(self, before, after):
        """p(after | before), characters or EOS; the weights are arbitrary, and normalized."""
        weights = {c: 1 + (ord(before[-1]) * 7 + ord(c[-1]) * 13) % 11 for c in (*ALPHABET, EOS)}
        return weights[after] / sum(weights.values())

    def tokens(self, text):
        """(token, log-probability, offset); a token of several characters has the product of theirs."""
        rows: list[Any] = []
        before, offset = None, 0
        for token in ([BOS] if self.bos else []) + self.pattern.findall(text):
            units = [token] if token in (EOS, BOS) else list(token)
            logprob = 0.0
            for unit in units:
                logprob += math.log(self.probability(before, unit)) if before else 0.0
                before = unit
            rows.append((token, logprob if rows else None, offset))
            offset += len(token)
        return rows

    def __call__(self, request):
        body = request.body
        if request.path == "/v1/chat/completions":
            prompt = body["messages"][0]["content"]
            words = backwards(prompt.split("\n")[-1]).split()
            limit = body.get("max_tokens", len(words))
            text = " ".join(words[:limit])
            reason = "length" if limit < len(words) else "stop"
            return {"choices": [{"message": {"content": text}, "finish_reason": reason}]}
        rows = self.tokens(body["prompt"])
        if "prompt_logprobs" in body:
            listed = [
                p if p is None else {str(sum(map(ord, t))): {"logprob": p, "decoded_token": t}}
                for t, p, _ in rows
            ]
            return {"choices": [{"text": "", "prompt_logprobs": listed}]}
        assert body["echo"]
        last = max(ALPHABET, key=lambda c: self.probability(rows[-1][0], c))
        rows += [(last, math.log(self.probability(rows[-1][0], last)), rows[-1][2] + len(rows[-1][0]))]
        names = ("tokens", "token_logprobs", "text_offset")
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        return {"choices": [{"logprobs": columns}]}


def spoiled(path, value):
    """A model's answers with one value changed, or appended; what vLLM says of the prompt alone is left as it is."""
    model = ToyModel()

    def app(request):
        answer = at = model(request)
        if request.body.get("prompt", "the").endswith("the"):
            for key in path[:-1]:
                at = at[key]
            if path[-1] == "append":
                at.append(at[-1])
            else:
                at[path[-1]] = value
        return answer

    return app


def scorer(server, how, extra=""):
    return open_system(f"openai:{server.url}/v1#toy?prompt=to: {{text}}&logprobs={how}&{QUICK}{extra}")


# -- chats


def reply(text, finish="stop"):
    return {"choices": [{"message": {"content": text}, "finish_reason": finish}]}


def said(request):
    """What the model is asked to translate."""
    return request.body["messages"][0]["content"]


def test_chat_translates_with_the_prompt_at_temperature_0(serve):
    server = serve(ToyModel())
    system = open_system(f"openai:{server.url}/v1/#org/toy?source=English&target=German&max_tokens=2")
    answers = system.translate(["das ist", "{target} sehr gut"])
    assert answers == [[Scored("ist das")], [Scored("gut sehr", notes=("unfinished",))]]
    bodies = {request.body["messages"][0]["content"]: request.body for request in server.seen}
    prompt = "Translate this text from English into German. Answer with the translation only.\n\n"
    assert set(bodies) == {prompt + "das ist", prompt + "{target} sehr gut"}
    assert {(b["model"], b["temperature"], b["max_tokens"]) for b in bodies.values()} == {("org/toy", 0, 2)}
    assert capabilities(system) == {"translate", "sample", "reply"}
    with pytest.raises(BabelscopeError, match="one translation per source, but n_best=3"):
        system.translate(["a"], n_best=3)
    with pytest.raises(BabelscopeError, match="gives no log-probabilities; set logprobs="):
        system.score([("a", "b")])


def test_reasons_to_end_are_notes(serve):
    ends = {"a": "stop", "b": "length", "c": "content_filter", "d": "tool_calls", "e": None}
    server = serve(lambda request: reply("x", ends[said(request)]))
    found = open_system(spec(server)).translate(list(ends))
    assert [each.notes for (each,) in found] == [(), ("unfinished",), ("filtered",), ("stopped",), ()]
    server = serve(lambda request: reply("" if said(request) == "a" else "x"))
    assert open_system(spec(server)).translate(["a", "b"]) == [[Scored("", notes=("empty",))], [Scored("x")]]


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (["choices"], [], "answered without a message"),
        (["choices", 0, "message"], "ja", "answered without a message"),
        (["choices", 0, "message", "content"], None, "of 'a' is empty \\(finish_reason: stop\\)"),
    ],
)
def test_a_chat_answer_without_text_is_told(serve, path, value, fault):
    system = open_system(f"openai:{serve(spoiled(path, value)).url}/v1#toy?prompt={{text}}")
    with pytest.raises(SystemFailure, match=fault):
        system.translate(["a"])


def test_a_prompt_is_part_of_the_fingerprint():
    base = "openai:http://host/v1#toy?prompt={text}"
    names = [
        base,
        base.replace("toy", "boy"),
        base.replace("host", "ghost"),
        base + "!",
        base + "&max_tokens=9",
    ]
    names += [base + more for more in ("&newlines=space", "&logprobs=echo", "&logprobs=echo&eos=x")]
    names += [base + "&logprobs=echo&score_prompt={text}:", "http://host/v1", "https://host/v1"]
    assert len({open_system(name).fingerprint.digest for name in names}) == len(names)


# -- scores


@pytest.mark.parametrize("how", ["echo", "vllm"])
@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("eos", ["", EOS])
def test_scores_are_the_products_of_the_model_s_probabilities(serve, how, bos, eos):
    model = ToyModel(bos=bos)
    system = scorer(serve(model), how, f"&eos={eos}&concurrency=3")
    assert capabilities(system) == {"translate", "score", "sample", "reply"}
    line = st.text(LETTERS, min_size=1, max_size=8).filter(str.strip)

    @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.tuples(line, line), max_size=4))
    def check(pairs):
        scored = system.score([(s, t if n % 2 else Scored(t)) for n, (s, t) in enumerate(pairs)])
        assert [each.text for each in scored] == [target for _, target in pairs]
        for (_, target), answer in zip(pairs, scored, strict=True):
            units = [*target, eos] if eos else [*target]
            product = math.prod(
                model.probability(*step) for step in zip(["\n", *units[:-1]], units, strict=True)
            )
            assert math.exp(answer.total) == pytest.approx(product, rel=1e-9)
            assert answer.tokens == tuple(units)
            assert answer.notes == (() if eos else ("end_unscored",))

    check()


@pytest.mark.parametrize("how", ["echo", "vllm"])
def test_tokens_of_several_characters(serve, how):
    scored = scorer(serve(ToyModel(tokens=r"</s>|\w+|(?s:.)")), how).score(
        [("das", "the lost boat"), ("das", "a b")]
    )
    assert [each.tokens for each in scored] == [("the", " ", "lost", " ", "boat"), ("a", " ", "b")]


@pytest.mark.parametrize("how", ["echo", "vllm"])
@pytest.mark.parametrize("across", [r"\n\w", r"\n\w+", r"\w+\s\w"])
def test_a_token_across_the_border_is_refused(serve, how, across):
    system = scorer(serve(ToyModel(tokens=rf"{across}|(?s:.)")), how)
    told = (
        r"a token covers both .* the target 'the'; let the prompt end in another way than with a line break"
    )
    with pytest.raises(BabelscopeError, match=told):
        system.score([("das", "the")])


LOGPROBS = ["choices", 0, "logprobs"]
VLLM = ["choices", 0, "prompt_logprobs"]
LAST = [*VLLM, -1, str(ord("e"))]
TWO = {"5": {"logprob": -1.0}, "6": {"logprob": -1.0}}
NOT_ECHOED = {"tokens": ["a"], "token_logprobs": [-1.0], "text_offset": [0]}
MISSING = "without tokens, token_logprobs and text_offset"


@pytest.mark.parametrize(
    ("how", "path", "value", "fault"),
    [
        ("echo", [*LOGPROBS, "token_logprobs", -2], math.nan, "gave nan as the log-probability of token 'e'"),
        (
            "echo",
            [*LOGPROBS, "tokens", -2],
            "x",
            "read 'thx' for the target 'the': its text_offset cannot be",
        ),
        ("echo", [*LOGPROBS, "tokens"], ["x"], MISSING),
        ("echo", LOGPROBS, None, MISSING),
        ("echo", LOGPROBS, NOT_ECHOED, "did not echo the prompt with its log-probabilities"),
        ("vllm", VLLM, None, "without prompt_logprobs of one token each"),
        ("vllm", [*VLLM, -1], TWO, "of one token each"),
        (
            "vllm",
            [*LAST, "decoded_token"],
            "x",
            "read 'thx' for the target 'the': its prompt_logprobs are of another",
        ),
        ("vllm", [*VLLM, "append"], None, "gave tokens that read 'thee' for the target 'the'"),
        ("vllm", [*LAST, "logprob"], False, "gave False as the log-probability of token 'e'"),
        ("vllm", [*LAST, "logprob"], "-1", "gave '-1' as the log-probability"),
        ("vllm", [*LAST, "logprob"], 0.5, "natural log of at most 0"),
    ],
)
def test_scores_that_cannot_be_right_are_refused_and_not_kept(serve, tmp_path, how, path, value, fault):
    server = serve(spoiled(path, value))
    system = scorer(server, how)
    store = Store(tmp_path / "answers.sqlite", "server")
    system.use_store(lambda _: store)
    with pytest.raises(BabelscopeError, match=fault):
        system.score([("das", "the")])
    server.app = ToyModel()  # a server that was fixed is asked again
    assert system.score([("das", "the")])[0].tokens == ("t", "h", "e")


def test_tokens_decoded_one_by_one_may_lose_their_spaces(serve):
    model = ToyModel(tokens=r"</s>|\w+|(?s:.)")

    def app(request):
        answer = model(request)
        for entry in filter(None, answer["choices"][0]["prompt_logprobs"]):
            for token in entry.values():
                token["decoded_token"] = token["decoded_token"].strip()
        return answer

    whole, bare = (scorer(serve(each), "vllm").score([("das", "the boat")])[0] for each in (model, app))
    assert (bare.tokens, bare.total) == (("the", "", "boat"), whole.total)


@pytest.mark.parametrize("how", ["echo", "vllm"])
def test_an_end_of_sentence_that_the_server_splits_is_refused(serve, how):
    with pytest.raises(BabelscopeError, match="does not read eos=</s> as one token"):
        scorer(serve(ToyModel(tokens=r"</s|(?s:.)")), how, f"&eos={EOS}").score([("das", "the")])


def test_parts_of_a_character_are_tokens_too(serve):
    """As servers with byte-level tokens write them: U+FFFD, several to a character, all at its offset."""
    model = ToyModel()

    def app(request):
        answer = model(request)
        columns = answer["choices"][0]["logprobs"]
        at = columns["tokens"].index("ß")
        columns["tokens"][at : at + 1] = ["\ufffd", "\ufffd"]
        columns["token_logprobs"].insert(at, -0.25)
        columns["text_offset"].insert(at, columns["text_offset"][at])
        return answer

    (scored,) = scorer(serve(app), "echo").score([("das", "saß da")])
    (whole,) = scorer(serve(model), "echo").score([("das", "saß da")])
    assert scored.tokens == ("s", "a", "\ufffd", "\ufffd", " ", "d", "a")
    assert scored.total == pytest.approx(whole.total - 0.25)


def test_what_a_prompt_is_made_of_is_asked_once_a_source(serve):
    server = serve(ToyModel())
    scorer(server, "vllm").score([("das", "the"), ("das", "that"), ("das", "a")])
    assert len(server.seen) == 4
    for pairs, fault in [([("", "a")], "source 1 is empty"), ([("a", "")], "target 1 is empty")]:
        with pytest.raises(BabelscopeError, match=fault):
            scorer(server, "vllm").score(pairs)
    assert scorer(server, "vllm", f"&eos={EOS}").score([("a", "")])[0].tokens == (EOS,)


def test_odd_echoes_are_compared_in_no_time():
    start = time.monotonic()
    assert tokens_match_text("a\ufffdb", "aäb")
    assert tokens_match_text("\ufffd\ufffd\ufffd", "日")
    assert not tokens_match_text("a\ufffdb", "ab")
    assert not tokens_match_text("\ufffd", "")
    for many in (300, 3_000, 300_000):
        tokens_match_text("a\ufffd" * many + "b", "a" * 3 * many)
        tokens_match_text("\ufffda" * many, "a" * 2 * many)
    assert time.monotonic() - start < 5


# -- samples


def spec(server, more=""):
    return f"openai:{server.url}/v1#toy?prompt={{text}}&retries=0{more}"


def opened(server, more=""):
    return open_system(spec(server, more))


def test_samples_have_the_model_s_frequencies_and_log_probabilities(serve):
    server = serve(ChatModel())
    system = opened(server, "&per_request=150")
    assert {"sample", "reply", "translate"} <= capabilities(system)
    known = answers()
    (drawn,) = ask_sample(system, ["the house"], n=400, seed=1)
    for each in drawn:
        assert each.tokens[-1] == END
        assert math.exp(each.total) == pytest.approx(known[each.text])
        assert each.notes == (() if each.text else ("empty",))
    counts = Counter(each.text for each in drawn)
    assert chisquare([counts[text] for text in known], [400 * p for p in known.values()]).pvalue > 1e-4
    assert [request.body["n"] for request in server.seen].count(150) == 2
    for request in server.seen:
        body = request.body
        assert (body["temperature"], body["top_p"], body["logprobs"]) == (1, 1, True)
        assert "draw" not in body
    assert len({request.body["seed"] for request in server.seen}) == 3


def test_requests_depend_on_seed_source_and_place_alone(serve):
    server = serve(ChatModel())
    system = opened(server, "&per_request=2")
    first = ask_sample(system, ["a", "b", "a"], n=4, seed=1)
    assert first[0] == first[2]
    asked = len(server.seen)
    assert asked == 4
    assert ask_sample(system, ["a"], n=2, seed=1) == [first[0][:2]]
    assert len(server.seen) == asked, "what a server answered is kept as it came"
    ask_sample(system, ["a"], n=4, seed=2)
    seeds = [request.body["seed"] for request in server.seen]
    assert len(set(seeds)) == len(seeds) == 6


def test_without_seeds_samples_of_one_message_are_still_different_requests(serve):
    server = serve(ChatModel())
    ask_sample(opened(server, "&send_seed=no&per_request=1"), ["a"], n=5, seed=1)
    assert len(server.seen) == 5
    assert all("seed" not in request.body for request in server.seen)


def test_an_end_of_sentence_that_is_not_told_is_noted_and_has_no_total(serve):
    (drawn,) = ask_sample(opened(serve(ChatModel(tells_eos=False))), ["a"], n=60, seed=1)
    assert all("without_eos" in each.notes and not each.has_total for each in drawn)
    assert any(each.has_scores for each in drawn)
    assert {each.tokens for each in drawn if not each.text} <= {()}


def test_other_temperatures_have_texts_only(serve):
    server = serve(ChatModel())
    system = opened(server)
    (drawn,) = ask_sample(system, ["a"], n=3, seed=1, drawing=Drawing(temperature=0.7, top_p=0.9))
    assert not any(each.has_scores for each in drawn)
    assert server.seen[0].body["temperature"] == 0.7
    assert server.seen[0].body["top_p"] == 0.9
    assert "logprobs" not in server.seen[0].body
    for drawing in (Drawing(top_k=3), Drawing(epsilon=0.1)):
        with pytest.raises(BabelscopeError, match="leave top-k and epsilon out"):
            ask_sample(system, ["a"], n=1, seed=1, drawing=drawing)


@pytest.mark.parametrize(
    ("server_kind", "sent"), [("vllm", ("top_k", -1)), ("llamacpp", ("repeat_penalty", 1.0))]
)
def test_a_server_s_own_cuts_are_turned_off(serve, server_kind, sent):
    server = serve(ChatModel())
    system = opened(server, f"&server={server_kind}")
    ask_sample(system, ["a"], n=1, seed=1)
    assert server.seen[0].body[sent[0]] == sent[1]
    assert system.fingerprint != opened(server).fingerprint


def test_what_hits_the_limit_is_unfinished(serve):
    (drawn,) = ask_sample(opened(serve(ChatModel())), ["a"], n=40, seed=1, drawing=Drawing(max_length=1))
    assert {each.notes for each in drawn} == {("unfinished",), ("empty",)}
    assert all(len(each.tokens) == 1 for each in drawn)


def first_token(**values):
    return lambda choice: choice["logprobs"]["content"][0].update(values)


SPOILT: dict[str, tuple[Any, str]] = {
    "positive": (first_token(logprob=0.5), "must be a natural log of at most 0"),
    "NaN": (first_token(logprob=math.nan), "must be a natural log of at most 0"),
    "no number": (first_token(logprob="-1"), "has '-1' as the log-probability of token"),
    "true": (first_token(logprob=True), "has True as the log-probability of token"),
    "misspelled": (
        first_token(token="x", bytes=[120]),
        "its tokens 'x.*log-probabilities are of another text",
    ),
    "filtered": (
        lambda choice: choice.update(finish_reason="content_filter"),
        "drawn to its end .*content_f",
    ),
    "no content": (lambda choice: choice["message"].update(content=None), "not drawn to its end"),
    "lines": (lambda choice: choice["message"].update(content="a\nb"), "has a line break inside"),
    "no message": (lambda choice: choice.pop("message"), "answered without a message"),
    "odd reason": (lambda choice: choice.update(finish_reason=7), "a finish_reason that is no text"),
    "odd tokens": (first_token(token=None), "answered without logprobs of its tokens"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_samples_that_cannot_be_right_are_refused(serve, name):
    spoil, told = SPOILT[name]
    words = ChatModel(spoil=spoil)
    words.rng.seed(3)  # whose first draws have some text
    server = serve(words)
    system = opened(server)
    with pytest.raises(BabelscopeError, match=told) as raised:
        ask_sample(system, ["a"], n=2, seed=1)
    str(raised.value).encode()
    words.spoil = lambda _choice: None
    assert len(ask_sample(system, ["a"], n=2, seed=1)[0]) == 2, "a server that was fixed is asked again"


def test_a_server_without_log_probabilities_says_how_to_do_without(serve):
    server = serve(ChatModel(tells_logprobs=False))
    with pytest.raises(BabelscopeError, match="set sample_logprobs=no"):
        ask_sample(opened(server), ["a"], n=9, seed=1)
    (drawn,) = ask_sample(opened(server, "&sample_logprobs=no"), ["a"], n=9, seed=1)
    assert not any(each.has_scores for each in drawn)
    refusing = serve(lambda _: (400, {}, b"logprobs are not supported"))
    with pytest.raises(
        BabelscopeError, match=r"not supported.*sample_logprobs=no, per_request=1, send_seed=no"
    ):
        ask_sample(opened(refusing), ["a"], n=1, seed=1)


@pytest.mark.parametrize("given", [0, 1, 3])
def test_wrong_counts_of_choices_end_it(serve, given):
    model = ChatModel()

    def app(request):
        request.body["n"] = given
        return model(request)

    told = f"was asked 2 samples but gave {given}"
    with pytest.raises(BabelscopeError, match=told) as raised:
        ask_sample(opened(serve(app)), ["a"], n=2, seed=1)
    assert ("set per_request=1" in str(raised.value)) == (given == 1)


def test_parts_of_a_character_are_read_by_their_bytes(serve):
    parts = [[*b"s\xc3"], [*b"\xbc\xc3"], [*b"\x9f"]]
    content = [{"token": f"\\x{n}", "bytes": part, "logprob": -0.5} for n, part in enumerate(parts)]
    end = {"token": END, "bytes": None, "logprob": -0.25}

    def spoil(choice):
        choice.update(message={"content": "süß"}, logprobs={"content": [*content, end]}, finish_reason="stop")

    (drawn,) = ask_sample(opened(serve(ChatModel(spoil=spoil))), ["a"], n=1, seed=1)
    assert drawn[0].total == pytest.approx(-1.75)
    assert drawn[0].has_total


@pytest.mark.parametrize(
    ("place", "values", "scored", "whole"),
    [
        (-1, {"token": "", "bytes": []}, True, True),  # an end that reads as nothing
        (-1, {"token": "\n", "bytes": [10]}, True, False),  # white space that the server has stripped
        (0, {"logprob": -9999.0}, False, False),  # a number that stands for a rare token
    ],
)
def test_which_samples_have_a_total(serve, place, values, scored, whole):
    def spoil(choice):
        choice["logprobs"]["content"][place].update(values)

    known = answers()
    (drawn,) = ask_sample(opened(serve(ChatModel(spoil=spoil))), ["a"], n=5, seed=1)
    assert {(each.has_scores, each.has_total) for each in drawn} == {(scored, whole)}
    if whole:
        assert [math.exp(each.total) for each in drawn] == pytest.approx([known[each.text] for each in drawn])


PAIRS = [
    MinimalPair("1", "the house", "das Haus", ("das Boot",), "noun", "human"),
    MinimalPair("2", "a boat", "ein Boot", ("ein Haus", "das Boot"), "noun", "human"),
    MinimalPair("3", "that boat", "das Boot", ("ein Boot",), "article", "human"),
]
BATS = [
    AmbiguousSource("1", "the bat flew", ("the animal bat flew",), ("the wooden bat flew",), "animal"),
    AmbiguousSource("2", "the bat broke", ("the wooden bat broke",), ("the animal bat broke",), "tool"),
]
SENTENCES = [
    ParallelSentence("1", "the house", ("das Haus",)),
    ParallelSentence("2", "a boat", ("ein Boot",)),
    ParallelSentence("3", "that boat", ("das Boot",)),
]


def written(path, items):
    path.write_text("".join(json.dumps(item.as_json()) + "\n" for item in items), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("items", "more", "told"),
    [
        (PAIRS, ["--set", "beam=2"], "beam has no effect on minimal pairs"),
        (PAIRS, ["--evaluator", "toy:1"], "evaluator has no effect on minimal pairs"),
        (PAIRS, ["--question", "{first} {second}"], "question has no {source}; it needs {source}, {first}"),
        (BATS, ["--question", "{source} {first}"], "question has no {translation}"),
        (PAIRS, ["--question", "missing.txt"], "missing.txt: no such file"),
        (PAIRS, [], "needs a system that answers prompts in words"),
        (BATS, [], "needs a system that answers prompts in words"),
    ],
)
def test_what_cannot_be_asked_is_refused(babelscope, tmp_path, items, more, told):
    tests = written(tmp_path / "t.jsonl", items)
    found = babelscope("prompted-choice", "--system", "toy:one", "--tests", tests, *more)
    assert found.code == 2
    assert told in " ".join(found.err.split())


@pytest.mark.parametrize("name", ["positive", "no content"])
def test_bad_samples_leave_their_sentence_out(serve, babelscope, tmp_path, name):
    spoil, told = SPOILT[name]
    good, bad = ChatModel(), ChatModel(spoil=spoil)
    server = serve(lambda request: (bad if "house" in json.dumps(request.body) else good)(request))
    tests = written(tmp_path / "sentences.jsonl", SENTENCES)
    asked = ("space", "--system", spec(server), "--tests", tests, "--k", "0", "--samples", "30", "--json")
    found = [row for row in babelscope(*asked, "--out", "run").rows if row["name"] == "krg"]
    assert {(row["n"], row["skipped"]) for row in found} == {(2, 1)}
    first, *_ = map(json.loads, Path("run/records.jsonl").read_text().splitlines())
    assert told in first["unanswered"]
