"""Samples of servers: drawn as asked, with the log-probabilities told, and refused where these cannot be right."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chisquare

from babelscope.core.system import Drawing, capabilities
from babelscope.systems.contract import ask_sample
from babelscope.systems.registry import open_system
from babelscope.testsets import AmbiguousSource, MinimalPair, ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.chat_servers import EOS, ChatModel, answers
from tests.support.serving import App, Server
from tests.support.toy_fixtures import Babelscope

Serve = Callable[[App], Server]


def spec(server: Server, more: str = "") -> str:
    return f"openai:{server.url}/v1#toy?prompt={{text}}&retries=0{more}"


def opened(server: Server, more: str = "") -> Any:
    return open_system(spec(server, more))


def test_samples_have_the_model_s_frequencies_and_log_probabilities(serve: Serve) -> None:
    server = serve(ChatModel())
    system = opened(server, "&per_request=150")
    assert {"sample", "reply", "translate"} <= capabilities(system)
    known = answers()
    (drawn,) = ask_sample(system, ["the house"], n=400, seed=1)
    for each in drawn:
        assert each.tokens[-1] == EOS
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


def test_requests_depend_on_seed_source_and_place_alone(serve: Serve) -> None:
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


def test_without_seeds_samples_of_one_message_are_still_different_requests(serve: Serve) -> None:
    server = serve(ChatModel())
    ask_sample(opened(server, "&send_seed=no&per_request=1"), ["a"], n=5, seed=1)
    assert len(server.seen) == 5
    assert all("seed" not in request.body for request in server.seen)


def test_an_end_of_sentence_that_is_not_told_is_noted_and_has_no_total(serve: Serve) -> None:
    (drawn,) = ask_sample(opened(serve(ChatModel(tells_eos=False))), ["a"], n=60, seed=1)
    assert all("without_eos" in each.notes and not each.has_total for each in drawn)
    assert any(each.has_scores for each in drawn)
    assert {each.tokens for each in drawn if not each.text} <= {()}


def test_other_temperatures_have_texts_only(serve: Serve) -> None:
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
def test_a_server_s_own_cuts_are_turned_off(serve: Serve, server_kind: str, sent: tuple[str, float]) -> None:
    server = serve(ChatModel())
    system = opened(server, f"&server={server_kind}")
    ask_sample(system, ["a"], n=1, seed=1)
    assert server.seen[0].body[sent[0]] == sent[1]
    assert system.fingerprint != opened(server).fingerprint


def test_what_hits_the_limit_is_unfinished(serve: Serve) -> None:
    (drawn,) = ask_sample(opened(serve(ChatModel())), ["a"], n=40, seed=1, drawing=Drawing(max_length=1))
    assert {each.notes for each in drawn} == {("unfinished",), ("empty",)}
    assert all(len(each.tokens) == 1 for each in drawn)


def first_token(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda choice: choice["logprobs"]["content"][0].update(values)


SPOILT: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
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
        "drawn to its end .*content_filter",
    ),
    "no content": (lambda choice: choice["message"].update(content=None), "not drawn to its end"),
    "lines": (lambda choice: choice["message"].update(content="a\nb"), "has a line break inside"),
    "no message": (lambda choice: choice.pop("message"), "answered without a message"),
    "odd reason": (lambda choice: choice.update(finish_reason=7), "a finish_reason that is no text"),
    "odd tokens": (first_token(token=None), "answered without logprobs of its tokens"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_samples_that_cannot_be_right_are_refused(serve: Serve, name: str) -> None:
    spoil, told = SPOILT[name]
    words = ChatModel(spoil=spoil)
    words.rng.seed(3)  # whose first draws have some text
    server = serve(words)
    system = opened(server)
    with pytest.raises(BabelscopeError, match=told) as raised:
        ask_sample(system, ["a"], n=2, seed=1)
    str(raised.value).encode()
    words.spoil = lambda _choice: None
    assert len(ask_sample(system, ["a"], n=2, seed=1)[0]) == 2, "a server that was mended is asked again"


def test_a_server_without_log_probabilities_says_how_to_do_without(serve: Serve) -> None:
    server = serve(ChatModel(tells_logprobs=False))
    with pytest.raises(BabelscopeError, match="say sample_logprobs=no"):
        ask_sample(opened(server), ["a"], n=9, seed=1)
    (drawn,) = ask_sample(opened(server, "&sample_logprobs=no"), ["a"], n=9, seed=1)
    assert not any(each.has_scores for each in drawn)
    refusing = serve(lambda _: (400, {}, b"logprobs are not supported"))
    with pytest.raises(
        BabelscopeError, match=r"not supported.*sample_logprobs=no, per_request=1, send_seed=no"
    ):
        ask_sample(opened(refusing), ["a"], n=1, seed=1)


@pytest.mark.parametrize("given", [0, 1, 3])
def test_wrong_counts_of_choices_end_it(serve: Serve, given: int) -> None:
    model = ChatModel()

    def app(request: Any) -> Any:
        request.body["n"] = given
        return model(request)

    told = f"was asked 2 samples but gave {given}"
    with pytest.raises(BabelscopeError, match=told) as raised:
        ask_sample(opened(serve(app)), ["a"], n=2, seed=1)
    assert ("say per_request=1" in str(raised.value)) == (given == 1)


def test_a_number_that_stands_for_a_rare_token_is_no_log_probability(serve: Serve) -> None:
    (drawn,) = ask_sample(opened(serve(ChatModel(spoil=first_token(logprob=-9999.0)))), ["a"], n=2, seed=1)
    assert not any(each.has_scores for each in drawn)


def test_parts_of_a_character_are_read_by_their_bytes(serve: Serve) -> None:
    parts = [[*b"s\xc3"], [*b"\xbc\xc3"], [*b"\x9f"]]
    content = [{"token": f"\\x{n}", "bytes": part, "logprob": -0.5} for n, part in enumerate(parts)]
    end = {"token": EOS, "bytes": None, "logprob": -0.25}

    def spoil(choice: dict[str, Any]) -> None:
        choice.update(message={"content": "süß"}, logprobs={"content": [*content, end]}, finish_reason="stop")

    (drawn,) = ask_sample(opened(serve(ChatModel(spoil=spoil))), ["a"], n=1, seed=1)
    assert drawn[0].total == pytest.approx(-1.75)
    assert drawn[0].has_total


def test_an_end_that_reads_as_nothing_is_an_end(serve: Serve) -> None:
    def spoil(choice: dict[str, Any]) -> None:
        choice["logprobs"]["content"][-1].update(token="", bytes=[])

    (drawn,) = ask_sample(opened(serve(ChatModel(spoil=spoil))), ["a"], n=5, seed=1)
    known = answers()
    assert all(each.has_total for each in drawn)
    assert [math.exp(each.total) for each in drawn] == pytest.approx([known[each.text] for each in drawn])


def test_spaces_at_the_end_that_a_server_strips_are_not_its_end(serve: Serve) -> None:
    def spoil(choice: dict[str, Any]) -> None:
        choice["logprobs"]["content"][-1].update(token="\n", bytes=[10])

    (drawn,) = ask_sample(opened(serve(ChatModel(spoil=spoil))), ["a"], n=3, seed=1)
    assert all("without_eos" in each.notes for each in drawn)


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


def written(path: Path, items: Sequence[Any]) -> str:
    path.write_text("".join(json.dumps(item.as_json()) + "\n" for item in items), encoding="utf-8")
    return str(path)


def by_boat(prompt: str) -> str:
    return "B" if "Translation B: das Boot" in prompt or "Text B: the animal" in prompt else "A"


def test_contrast_by_answer(serve: Serve, babelscope: Babelscope, tmp_path: Path) -> None:
    system, tests = spec(serve(ChatModel(choose=by_boat))), written(tmp_path / "pairs.jsonl", PAIRS)
    refused = babelscope("contrast", "--system", system, "--tests", tests)
    assert refused.code == 2
    assert "it can be asked in words, by prompted_choice" in refused.err
    run = tmp_path / "run"
    done = babelscope("prompted-choice", "--system", system, "--tests", tests, "--out", str(run))
    assert done.code == 0, done.err
    assert "not likelihoods" in " ".join(done.out.split())
    names = {each["name"] for each in json.loads((run / "summary.json").read_text())["rows"]}
    assert names == {
        "answer_accuracy",
        "answer_accuracy_decided",
        "answer_undecided",
        "position_bias",
        "answer_given",
    }
    assert babelscope("report", str(run), "--to", "report.html").code == 0
    assert "Choice by answer" in Path("report.html").read_text()


@pytest.mark.parametrize("letter", ["A", "B"])
def test_a_model_that_always_gives_one_letter_has_no_error_rate(
    letter: str, serve: Serve, babelscope: Babelscope, tmp_path: Path
) -> None:
    pairs = [MinimalPair(f"{n}", f"text {n}", "das Haus", ("das Boot",), "noun", "human") for n in range(12)]
    system, tests = spec(serve(ChatModel(choose=lambda _: letter))), written(tmp_path / "pairs.jsonl", pairs)
    asked = ("prompted-choice", "--system", system, "--tests", tests)
    found = {row["name"]: row for row in babelscope(*asked, "--json").rows if "phenomenon" not in row}
    for name in ("answer_accuracy", "answer_accuracy_decided"):
        assert (found[name]["value"], found[name]["n"], found[name]["undecided"]) == (None, 0, 12), name
    assert (found["answer_undecided"]["value"], found["position_bias"]["value"]) == (
        1,
        1 - 2 * (letter == "B"),
    )
    told = " ".join(babelscope(*asked).out.split())
    assert "error " not in told.partition("verdict")[2].partition("Warnings:")[0]
    assert "50.0 %" not in told
    assert "12 items without a decision" in told
    assert "position bias" in told


def test_figures_by_answer_and_by_likelihood_are_never_compared(
    serve: Serve, babelscope: Babelscope, tmp_path: Path
) -> None:
    server, tests = serve(ChatModel(choose=by_boat)), written(tmp_path / "pairs.jsonl", PAIRS)
    for command in ("contrast", "prompted-choice"):
        system = spec(server, "&logprobs=vllm")
        assert babelscope(command, "--system", system, "--tests", tests, "--out", command).code == 0
    found = babelscope("compare", "contrast", "prompted-choice", "--json")
    assert not [line for line in found.out.splitlines() if "difference" in line], found.out


@pytest.mark.parametrize(
    ("items", "more", "told"),
    [
        (PAIRS, ["--beam", "2"], "beam has no effect on minimal pairs"),
        (PAIRS, ["--evaluator", "toy:1"], "evaluator has no effect on minimal pairs"),
        (PAIRS, ["--question", "{first} {second}"], "question has no {source}; it needs {source}, {first}"),
        (BATS, ["--question", "{source} {first}"], "question has no {translation}"),
        (PAIRS, ["--question", "missing.txt"], "missing.txt: no such file"),
        (PAIRS, [], "needs a system that answers prompts in words"),
        (BATS, [], "needs a system that answers prompts in words"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    babelscope: Babelscope, tmp_path: Path, items: Sequence[Any], more: Sequence[str], told: str
) -> None:
    tests = written(tmp_path / "t.jsonl", items)
    found = babelscope("prompted-choice", "--system", "toy:one", "--tests", tests, *more)
    assert found.code == 2
    assert told in " ".join(found.err.split())


def test_sampled_space(serve: Serve, babelscope: Babelscope, tmp_path: Path) -> None:
    tests = written(tmp_path / "sentences.jsonl", SENTENCES)
    system, known = spec(serve(ChatModel())), answers()
    asked = ("space", "--system", system, "--tests", tests, "--k", "0", "--samples", "30", "--json")
    found = {row["name"]: row for row in babelscope(*asked, "--out", "run").rows}
    assert found["krg"]["n"] == found["kqrg"]["n"] == 3
    for line in Path("run/records.jsonl").read_text().splitlines():
        for each in json.loads(line)["samples"]["hypotheses"]:
            assert math.exp(each["logprob"]) == pytest.approx(known[each["text"]])


@pytest.mark.parametrize(
    ("model", "more"),
    [
        (ChatModel(tells_eos=False), ()),
        (ChatModel(), ("--temperature", "0.5")),
    ],
)
def test_space_of_samples_without_whole_log_probabilities_ranks_none(
    serve: Serve, babelscope: Babelscope, tmp_path: Path, model: ChatModel, more: Sequence[str]
) -> None:
    tests = written(tmp_path / "sentences.jsonl", SENTENCES)
    asked = ("space", "--system", spec(serve(model)), "--tests", tests, "--k", "0", "--samples", "30", *more)
    found = babelscope(*asked, "--json").rows
    for row in found:
        if row["name"] in ("krg", "kqrg", "krg_above_random"):
            assert (row["n"], row["undefined"], row["without_logprob"]) == (0, 3, 3)
    (quality,) = [row for row in found if row["name"] == "quality" and row["decoding"] == "samples"]
    (mbr,) = [row for row in found if row["name"] == "quality" and row["decoding"] == "mbr"]
    assert quality["n"] == mbr["n"] == 3
    told = " ".join(babelscope(*asked).out.split())
    assert "have samples without a whole log-probability" in told


def test_mbr_on_samples_of_a_server(serve: Serve, babelscope: Babelscope, tmp_path: Path) -> None:
    tests = written(tmp_path / "sentences.jsonl", SENTENCES)
    system = spec(serve(ChatModel(tells_eos=False)))
    ran = babelscope("translate --decode mbr --system", system, "--tests", tests, "--n", "30", "--json")
    chosen = [row["translation"]["text"] for row in ran.rows if "translation" in row]
    assert len(chosen) == 3
    assert set(chosen) <= answers().keys()
    refused = babelscope(
        "translate --decode mbr --system",
        system,
        "--tests",
        tests,
        "--n",
        "9",
        "--set",
        "weights=probability",
    )
    assert refused.code == 2
    assert "has no log-probabilities to weigh candidates by" in refused.err


@pytest.mark.parametrize("name", ["positive", "no content"])
def test_bad_samples_leave_their_sentence_out(
    serve: Serve, babelscope: Babelscope, tmp_path: Path, name: str
) -> None:
    spoil, told = SPOILT[name]
    good, bad = ChatModel(), ChatModel(spoil=spoil)
    server = serve(lambda request: (bad if "house" in json.dumps(request.body) else good)(request))
    tests = written(tmp_path / "sentences.jsonl", SENTENCES)
    asked = ("space", "--system", spec(server), "--tests", tests, "--k", "0", "--samples", "30", "--json")
    found = [row for row in babelscope(*asked, "--out", "run").rows if row["name"] == "krg"]
    assert {(row["n"], row["skipped"]) for row in found} == {(2, 1)}
    first = json.loads(Path("run/records.jsonl").read_text().splitlines()[-1])
    assert told in first["unanswered"]


def test_answers_cut_off_or_withheld_are_no_choice(
    serve: Serve, babelscope: Babelscope, tmp_path: Path
) -> None:
    model = ChatModel()

    def app(request: Any) -> Any:
        answer = model(request)
        first = "Translation A: das Haus" in json.dumps(request.body)
        answer["choices"][0]["finish_reason"] = "length" if first else "content_filter"
        return answer

    tests = written(tmp_path / "pairs.jsonl", PAIRS[:1])
    ran = babelscope("prompted-choice", "--system", spec(serve(app)), "--tests", tests, "--json")
    given = next(row for row in ran.rows if row["name"] == "answer_given")
    assert (given["value"], given["cut"], given["refused"], given["neither"]) == (0.0, 1, 1, 0)
