"""Servers with the OpenAI protocol through the commands: with likelihoods, by answer, and by their samples."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope.testsets import AmbiguousSource, MinimalPair, ParallelSentence
from tests.support.chat_servers import ChatModel, answers
from tests.support.serving import App, Server
from tests.support.toy_fixtures import Babelscope, Ran

Serve = Callable[[App], Server]
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


def spec(server: Server, more: str = "") -> str:
    return f"openai:{server.url}/v1#toy?prompt={{text}}&retries=0{more}"


def rows(ran: Ran) -> list[dict[str, Any]]:
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def by_boat(prompt: str) -> str:
    return "B" if "Translation B: das Boot" in prompt or "Text B: the animal" in prompt else "A"


def test_contrast_by_prompt_log_probabilities(serve: Serve, babelscope: Babelscope, tmp_path: Path) -> None:
    tests = written(tmp_path / "pairs.jsonl", PAIRS)
    system = spec(serve(ChatModel()), "&logprobs=vllm")
    first = rows(babelscope("contrast", "--system", system, "--tests", tests, "--json"))[0]
    assert (first["name"], first["method"], first["n"]) == ("all", "contrast", 3)
    assert (first["end_unscored"], first["unfinished"]) == (3, 0), "no end of sentence is told"
    told = " ".join(babelscope("contrast", "--system", system, "--tests", tests).out.split())
    assert "3 items have scores without the end of the sentence" in told
    assert "eos=</s>" in told


def test_condition_by_prompt_log_probabilities(serve: Serve, babelscope: Babelscope, tmp_path: Path) -> None:
    tests = written(tmp_path / "bats.jsonl", BATS)
    server = serve(ChatModel())
    asked = ("--system", spec(server), "--evaluator", spec(server, "&logprobs=vllm"), "--tests", tests)
    found = rows(babelscope("condition", *asked, "--json"))
    assert {row["method"] for row in found} == {"condition"}
    assert not any("answer" in row["name"] for row in found)


def test_contrast_by_answer(serve: Serve, babelscope: Babelscope, tmp_path: Path) -> None:
    system, tests = spec(serve(ChatModel(choose=by_boat))), written(tmp_path / "pairs.jsonl", PAIRS)
    refused = babelscope("contrast", "--system", system, "--tests", tests)
    assert refused.code == 2
    assert "it can be asked in words: --by-answer" in refused.err
    run = tmp_path / "run"
    done = babelscope("contrast", "--system", system, "--tests", tests, "--by-answer", "--out", str(run))
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
    asked = ("contrast", "--by-answer", "--system", system, "--tests", tests)
    found = {row["name"]: row for row in rows(babelscope(*asked, "--json")) if "phenomenon" not in row}
    for name in ("answer_accuracy", "answer_accuracy_decided"):
        assert (found[name]["value"], found[name]["n"], found[name]["undecided"]) == (None, 0, 12), name
    assert (found["answer_undecided"]["value"], found["position_bias"]["value"]) == (
        1,
        1 - 2 * (letter == "B"),
    )
    told = " ".join(babelscope(*asked).out.split())
    assert "Errors" not in told
    assert "50.0 %" not in told
    assert "12 items without a decision" in told
    assert "Position bias" in told


def test_condition_by_answer(serve: Serve, babelscope: Babelscope, tmp_path: Path) -> None:
    system, tests = spec(serve(ChatModel(choose=by_boat))), written(tmp_path / "bats.jsonl", BATS)
    asked = ("condition", "--system", system, "--evaluator", system, "--tests", tests)
    refused = babelscope(*asked)
    assert refused.code == 2
    assert "it can be asked in words: --by-answer" in refused.err
    Path("question").write_text("{translation}? A or B?\nText A: {first}\nText B: {second}")
    first = rows(babelscope(*asked, "--by-answer", "--question", "question", "--ties", "wrong", "--json"))[0]
    assert (first["method"], first["name"], first["n"]) == ("condition_answers", "answer_accuracy", 2)
    assert (first["correct"], first["wrong"]) == (1, 1)
    assert "undecided:wrong" in first["signature"]


def test_figures_by_answer_and_by_likelihood_are_never_compared(
    serve: Serve, babelscope: Babelscope, tmp_path: Path
) -> None:
    server, tests = serve(ChatModel(choose=by_boat)), written(tmp_path / "pairs.jsonl", PAIRS)
    for name, more in (("one", ()), ("two", ("--by-answer",))):
        system = spec(server, "&logprobs=vllm")
        assert babelscope("contrast", "--system", system, "--tests", tests, "--out", name, *more).code == 0
    found = babelscope("compare", "one", "two", "--json")
    assert not [line for line in found.out.splitlines() if "difference" in line], found.out


@pytest.mark.parametrize(
    ("command", "more", "told"),
    [
        ("contrast", ["--by-answer", "--score", "total"], "--score has no effect beside --by-answer"),
        ("contrast", ["--by-answer", "--table"], "--table has no effect beside --by-answer"),
        ("contrast", ["--by-answer", "--protocol", "paper"], "--protocol has no effect beside --by-answer"),
        ("contrast", ["--question", "x"], "--question has no effect without --by-answer"),
        (
            "condition",
            ["--by-answer", "--likelihood", "total"],
            "--likelihood has no effect beside --by-answer",
        ),
        ("contrast", ["--by-answer"], "needs a system that answers prompts in words"),
    ],
)
def test_options_of_likelihoods_are_refused(
    babelscope: Babelscope, tmp_path: Path, command: str, more: Sequence[str], told: str
) -> None:
    tests = written(tmp_path / "t.jsonl", PAIRS if command == "contrast" else BATS)
    evaluator = ("--evaluator", "toy:judge") if command == "condition" else ()
    found = babelscope(command, "--system", "toy:one", "--tests", tests, *evaluator, *more)
    assert found.code == 2
    assert told in " ".join(found.err.split())


def test_sampled_space(serve: Serve, babelscope: Babelscope, tmp_path: Path) -> None:
    tests = written(tmp_path / "sentences.jsonl", SENTENCES)
    system, known = spec(serve(ChatModel())), answers()
    asked = ("space", "--system", system, "--tests", tests, "--k", "0", "--samples", "30", "--json")
    found = {row["name"]: row for row in rows(babelscope(*asked, "--records", "records.jsonl"))}
    assert found["krg"]["n"] == found["kqrg"]["n"] == 3
    for line in Path("records.jsonl").read_text().splitlines():
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
    found = rows(babelscope(*asked, "--json"))
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
    ran = babelscope("mbr", "--system", system, "--tests", tests, "--n", "30", "--json")
    chosen = [row["translation"]["text"] for row in rows(ran) if "translation" in row]
    assert len(chosen) == 3
    assert set(chosen) <= answers().keys()
    refused = babelscope("mbr", "--system", system, "--tests", tests, "--n", "9", "--weights", "probability")
    assert refused.code == 2
    assert "has no log-probabilities to weigh candidates by" in refused.err


SPOILT: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "positive": (lambda choice: choice["logprobs"]["content"][0].update(logprob=0.5), "at most 0"),
    "truncated": (lambda choice: choice.update(finish_reason="content_filter"), "not drawn to its end"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_bad_samples_leave_their_sentence_out(
    serve: Serve, babelscope: Babelscope, tmp_path: Path, name: str
) -> None:
    spoil, told = SPOILT[name]
    good, bad = ChatModel(), ChatModel(spoil=spoil)
    server = serve(lambda request: (bad if "house" in json.dumps(request.body) else good)(request))
    tests = written(tmp_path / "sentences.jsonl", SENTENCES)
    asked = ("space", "--system", spec(server), "--tests", tests, "--k", "0", "--samples", "30", "--json")
    found = [row for row in rows(babelscope(*asked, "--records", "records.jsonl")) if row["name"] == "krg"]
    assert {(row["n"], row["skipped"]) for row in found} == {(2, 1)}
    first = json.loads(Path("records.jsonl").read_text().splitlines()[-1])
    assert told in first["unanswered"]


def test_a_wrong_count_of_samples_ends_the_run(serve: Serve, babelscope: Babelscope, tmp_path: Path) -> None:
    model = ChatModel()

    def app(request: Any) -> Any:
        if "n" in request.body:
            request.body["n"] = 1
        return model(request)

    tests = written(tmp_path / "sentences.jsonl", SENTENCES)
    found = babelscope("space", "--system", spec(serve(app)), "--tests", tests, "--k", "0", "--samples", "5")
    assert found.code == 1
    assert "was asked 5 samples but gave 1; if it knows no n, say per_request=1" in found.err


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
    ran = babelscope("contrast", "--system", spec(serve(app)), "--tests", tests, "--by-answer", "--json")
    given = next(row for row in rows(ran) if row["name"] == "answer_given")
    assert (given["value"], given["cut"], given["refused"], given["neither"]) == (0.0, 1, 1, 0)
