"""Endpoints, asked over loopback: real servers that translate, score, stumble, hang and lie."""

from __future__ import annotations

import json
import math
import random
import re
import signal
import subprocess
import sys
import time
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from babelscope.core.system import Scored, capabilities
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError, SystemFailure

SECRET = "sk-very-secret-4711"
QUICK = "backoff=0.01"


def backwards(source):
    return " ".join(source.split()[::-1])


def rotations(source, n):
    words = source.split()
    return [" ".join(words[k:] + words[:k])[::-1] for k in range(n)]


def translating(request):
    n_best = request.body["n_best"]
    return {"translations": [rotations(source, n_best) for source in request.body["sources"]]}


def failing(times, failure):
    """An application that fails the first `times` times it is asked."""
    return lambda request: failure(request) if request.number <= times else translating(request)


def texts(answers):
    return [[scored.text for scored in answer] for answer in answers]


# http:


def test_translations_come_in_batches_with_beam_and_n_best(serve):
    server = serve(translating)
    system = open_system(f"{server.url}/translate?batch=2&concurrency=1")
    sources = ["das ist gut", "ja", "süß \u2028 und \U0001f600"]
    assert texts(system.translate(sources, beam=7, n_best=3)) == [rotations(each, 3) for each in sources]
    assert [request.body["sources"] for request in server.seen] == [sources[:2], sources[2:]]
    assert {(r.path, r.body["beam"], r.body["n_best"]) for r in server.seen} == {("/translate", 7, 3)}
    assert system.name == f"{server.url}/translate?batch=2&concurrency=1"
    assert capabilities(system) == {"translate"}
    assert system.translate([]) == []
    with pytest.raises(BabelscopeError, match="source 2 has a lone surrogate"):
        system.translate(["a", "\ud800"])


def test_answers_keep_their_order_and_requests_their_bound(serve):
    rng, under_way, most = random.Random(1), [], []

    def app(request):
        under_way.append(1)
        most.append(len(under_way))
        time.sleep(rng.uniform(0, 0.03))
        under_way.pop()
        return translating(request)

    sources = [f"number {n} of many" for n in range(60)]
    system = open_system(f"{serve(app).url}?batch=1&concurrency=6")
    assert texts(system.translate(sources)) == [rotations(source, 1) for source in sources]
    assert 1 < max(most) <= 6


def short(request):
    """Half of an answer: cut in the middle of its JSON."""
    data = json.dumps(translating(request)).encode()
    return 200, {}, data[: len(data) // 2]


def torn(request):
    """Half of an answer: fewer bytes than announced."""
    data = json.dumps(translating(request)).encode()
    return 200, {"Content-Length": str(len(data))}, data[: len(data) // 2]


def hanging(request):
    request.server.closing.wait(5)
    return translating(request)


def dripping(_):
    return 200, {"Drip": "yes"}, json.dumps({"translations": ["x" * 1000]}).encode()


def status(code, text="overloaded", **headers):
    return lambda _: (code, {k.replace("_", "-"): v for k, v in headers.items()}, text.encode())


FAULTS = {
    "500": (status(500), r"answered 500: 'overloaded'"),
    "503": (status(503, "x" * 900), r"answered 503: 'x{199}…'"),
    "429": (status(429), r"answered 429: 'overloaded'"),
    "half JSON": (short, r"answered 200: '{\"transl.*, which is not JSON"),
    "torn": (torn, r"did not answer: "),
    "hangs": (hanging, r"did not answer within 0\.4 seconds"),
    "drips": (dripping, r"did not answer within 0\.4 seconds"),
    "deep": (status(200, "[" * 100_000), r"answered 200: .*, which is not JSON"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_passing_faults_are_tried_again_and_lasting_ones_told(serve, name):
    failure, told = FAULTS[name]
    slow = name in ("hangs", "drips")
    timeout, times = (0.4, 1) if slow else (20, 2)
    server = serve(failing(times, failure))
    system = open_system(f"{server.url}/mt?retries=2&timeout={timeout}&{QUICK}")
    assert texts(system.translate(["a b"])) == [rotations("a b", 1)]
    assert len(server.seen) == times + 1

    server = serve(failure)
    start = time.monotonic()
    with pytest.raises(SystemFailure, match=rf"^{server.url}/mt {told}.* \(tried 2 times\)$"):
        open_system(f"{server.url}/mt?retries=1&timeout={timeout}&{QUICK}").translate(["a b"])
    assert len(server.seen) == 2
    assert time.monotonic() - start < 4


@pytest.mark.parametrize("code", [400, 401, 404, 307])
def test_other_refusals_are_final(serve, code):
    server = serve(status(code, "your fault", Location="http://elsewhere.invalid"))
    with pytest.raises(SystemFailure, match=rf"^{server.url} answered {code}: 'your fault'$"):
        open_system(f"{server.url}?{QUICK}").translate(["a"])
    assert len(server.seen) == 1


@pytest.mark.parametrize("said", ["1", "date"])
def test_retry_after_is_honored(serve, said):
    # Dates have whole seconds, so that two ahead are more than one.
    server = serve(
        failing(
            1,
            lambda request: status(
                429, Retry_After=said if said == "1" else formatdate(time.time() + 2, usegmt=True)
            )(request),
        )
    )
    assert texts(open_system(f"{server.url}?{QUICK}").translate(["a b"])) == [rotations("a b", 1)]
    first, second = server.seen
    assert second.at - first.at >= 0.95


def test_a_server_that_wants_too_much_patience_is_an_error_at_once(serve):
    server = serve(status(503, Retry_After="3600"))
    with pytest.raises(SystemFailure, match="asks to be tried again in 3600 seconds"):
        open_system(f"{server.url}?{QUICK}").translate(["a"])
    assert len(server.seen) == 1


@pytest.mark.parametrize("terminal", [True, False])
def test_a_retry_is_told_once_on_a_terminal(serve, capsys, monkeypatch, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    server = serve(failing(2, status(503)))
    open_system(f"{server.url}/mt?retries=2&{QUICK}").translate(["a b"])
    told = f"babelscope: {server.url}/mt answered 503: 'overloaded'; trying again in 0 s\n"
    assert capsys.readouterr().err == (told if terminal else "")


def test_the_first_failure_ends_the_rest(serve):
    server = serve(lambda request: (403, {}, b"no") if request.number == 3 else translating(request))
    with pytest.raises(SystemFailure, match="answered 403"):
        open_system(f"{server.url}?batch=1&concurrency=2").translate([f"s {n}" for n in range(300)])
    seen = len(server.seen)
    time.sleep(0.2)
    assert len(server.seen) <= seen + 2  # those under way


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"translations": ["a"]}, r"was asked 2 sources but gave translations of 1: "),
        ({"result": []}, r"answered without 'translations\.\*': .*result"),
        (["a", "b"], r"answered JSON that is not an object"),
        ({"translations": ["a", 7]}, r"gave of 'y' is not a text: '7'"),
        ({"translations": [[None], "b"]}, r"gave of 'x' is not a text: 'null'"),
        ({"translations": [[], "b"]}, r"has 0 translations of 'x'"),
        ({"translations": ["a\nb", "c"]}, r"gave of 'x' has a line break inside; newlines=space would"),
        ({"translations": ["a", "\ud800"]}, r"gave of 'y' has a lone surrogate"),
        ({"translations": ["a", "b\0"]}, r"gave of 'y' has a NUL"),
    ],
)
def test_answers_that_are_not_translations(serve, answer, fault):
    server = serve(lambda _: answer)
    with pytest.raises(BabelscopeError, match=fault) as raised:
        open_system(f"{server.url}?{QUICK}").translate(["x", "y"])
    str(raised.value).encode()  # can be printed, whatever the server said
    assert len(server.seen) == 1


def test_the_token_is_sent_and_never_shown(serve, monkeypatch):
    monkeypatch.setenv("MT_TOKEN", SECRET)

    def app(request):
        sent = request.headers["Authorization"]
        return translating(request) if request.path == "/good" else (403, {}, f"you are {sent}".encode())

    server = serve(app)
    system = open_system(f"{server.url}/good?token_env=MT_TOKEN")
    system.translate(["a"])
    assert server.seen[0].headers["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in json.dumps([system.name, system.fingerprint.as_json()])
    assert system.fingerprint == open_system(f"{server.url}/good?concurrency=2&timeout=9").fingerprint
    with pytest.raises(SystemFailure, match=r"answered 403: 'you are Bearer \*\*\*'"):
        open_system(f"{server.url}/bad?token_env=MT_TOKEN").translate(["a"])


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (f"https://me:{SECRET}@host/x", "must hold no secret"),
        (f"https://host/x?api_key={SECRET}", "must hold no secret"),
        (f"openai:https://me:{SECRET}@host/v1", "must hold no secret"),
        ("http://host/x?token_env=NOWHERE", r"environment variable NOWHERE \(token_env=\) is not set"),
        ("http://host/x?token_env=TWO", r"TWO \(token_env=\) is no usable token"),
        ("http:host", "'http:host' is not a URL such as"),
        ("http://", "'http://' is not a URL such as"),
        ("http://host:port/", "is not a URL such as"),
        ("openai:http://host/v1", "use URL#MODEL"),
        ("openai:host/v1#m", "'host/v1' is not a URL"),
        ("openai:http://host/v1#m?target=German", "set source=LANGUAGE, which the prompt needs"),
        ("openai:http://host/v1#m?prompt=Hello", "prompt has no {text}"),
        ("openai:http://host/v1#m?prompt={text}&eos=x", "unknown option 'eos'"),
        ("http://host/x?format=libretranslate", "needs target=LANGUAGE"),
        ("http://host/x?retires=2", "did you mean retries"),
    ],
)
def test_names_that_cannot_be_opened(monkeypatch, spec, fault):
    monkeypatch.setenv("TWO", f"{SECRET}\nX-Evil: 1")
    with pytest.raises(BabelscopeError, match=fault) as raised:
        open_system(spec)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("batch", [1, 2])
def test_libretranslate(serve, monkeypatch, batch):
    monkeypatch.setenv("MT_TOKEN", SECRET)

    def app(request):
        q = request.body["q"]
        return {"translatedText": backwards(q) if isinstance(q, str) else [backwards(each) for each in q]}

    server = serve(app)
    system = open_system(
        f"{server.url}/translate?format=libretranslate&source=en&target=de&batch={batch}&token_env=MT_TOKEN"
    )
    assert texts(system.translate(["a b", "c d", "e f"])) == [["b a"], ["d c"], ["f e"]]
    body = server.seen[-1].body
    assert (body["source"], body["target"], body["format"], body["api_key"]) == ("en", "de", "text", SECRET)
    assert isinstance(body["q"], str if batch == 1 else list)
    with pytest.raises(BabelscopeError, match="gives one translation, but n_best=2"):
        system.translate(["a"], n_best=2)


def test_an_interrupt_does_not_wait_for_the_server(serve):
    server = serve(hanging)
    code = (
        "from babelscope.systems.registry import open_system\n"
        f"open_system('{server.url}?batch=1').translate(['a', 'b'])"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    while len(server.seen) < 2 and process.poll() is None:
        time.sleep(0.01)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=4)[1]
    assert time.monotonic() - start < 2


# openai:

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


def spoiled(path, value, model=None):
    """A model's answers with one value changed; what vLLM says of the prompt alone is left as it is."""

    def app(request):
        answer = at = (model or ToyModel())(request)
        if request.body.get("prompt", "the").endswith("the"):
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
        return answer

    return app


def scorer(server, how, extra=""):
    return open_system(f"openai:{server.url}/v1#toy?prompt=to: {{text}}&logprobs={how}&{QUICK}{extra}")


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
NOT_ECHOED = {"tokens": ["a"], "token_logprobs": [-1.0], "text_offset": [0]}


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
        ("echo", [*LOGPROBS, "tokens"], ["x"], "without tokens, token_logprobs and text_offset"),
        ("echo", LOGPROBS, None, "without tokens, token_logprobs and text_offset"),
        ("echo", LOGPROBS, NOT_ECHOED, "did not echo the prompt with its log-probabilities"),
        ("vllm", VLLM, None, "without prompt_logprobs of one token each"),
        ("vllm", [*VLLM, -1], {"5": {"logprob": -1.0}, "6": {"logprob": -1.0}}, "of one token each"),
    ],
)
def test_scores_that_are_none(serve, how, path, value, fault):
    with pytest.raises(BabelscopeError, match=fault):
        scorer(serve(spoiled(path, value)), how).score([("das", "the")])


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
