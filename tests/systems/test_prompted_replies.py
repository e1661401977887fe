"""`llm:` answers questions in words, so that `--by-answer` can be asked of it."""

from __future__ import annotations

import functools
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from babelscope.core.replies import Reply
from babelscope.methods.answers.questions import BETTER, fill, letter_of
from babelscope.systems.opening import open_system
from babelscope.testsets.items import AmbiguousSource, MinimalPair
from babelscope.testsets.sets import TestSet
from tests.support.models import build_causal
from tests.support.toy_fixtures import Babelscope, Ran

QUESTIONS = ["which?", "A or B?\n\nSay it."]


@pytest.fixture(scope="module", params=["llama", "llama-chat", "gpt2"])
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    kind, _, chat = request.param.partition("-")
    folder = build_causal(tmp_path_factory.mktemp(request.param), chat=bool(chat), kind=kind)
    return open_system(f"llm:{folder}?source=English&target=German&max_length=9")


def greedy(system: Any, text: str) -> tuple[list[int], bool]:
    """The most probable token after another, by the network alone; and whether it came to an end."""
    ids = system.tokens.tokenizer(text, add_special_tokens=False)["input_ids"]
    start, ends = len(ids), {system._end_id, *system._ends}
    for _ in range(9):
        with torch.inference_mode():
            probabilities = system.network(input_ids=torch.tensor([ids])).logits[0, -1].double().softmax(-1)
            probabilities[system._end_id] = probabilities[list(ends)].sum()
        ids.append(int(probabilities.argmax()))
        if ids[-1] in ends:
            return ids[start:-1], True
    return ids[start:], False


def test_replies_are_greedy(system: Any) -> None:
    assert "reply" in system.capabilities
    for question, reply in zip(QUESTIONS, system.reply(QUESTIONS), strict=True):
        shown = f"<|user|>{question}</s><|assistant|>" if system._chat else f"{question}\nAnswer:"
        ids, whole = greedy(system, shown)
        assert reply == Reply(system.tokens.decode([ids])[0].strip(), "whole" if whole else "cut")


def test_a_question_that_is_too_long_gets_no_answer(system: Any) -> None:
    first, long, last = system.reply([QUESTIONS[0], "dog " * 10_000, QUESTIONS[0]])
    assert long == Reply("", "refused")
    assert first == last == system.reply(QUESTIONS[:1])[0]
    assert system.reply([]) == []


def test_without_a_prompt_nothing_is_answered(tmp_path: Path) -> None:
    folder = build_causal(tmp_path / "m")
    assert "reply" not in open_system(f"llm:{folder}?prompt=none").capabilities


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny Llama that was taught to say A to every question."""
    folder = build_causal(tmp_path_factory.mktemp("taught") / "model", chat=True)
    spec = f"llm:{folder}?source=English&target=German&max_length=9"
    system = open_system(spec)
    encode = functools.partial(system.tokens.tokenizer, add_special_tokens=False)
    (said,) = encode("A")["input_ids"]
    rows = []
    for first, second in itertools.permutations("abcdefgh", 2):
        question = fill(BETTER, {"source": first, "first": first, "second": second})
        rows.append([*encode(f"<|user|>{question}</s><|assistant|>")["input_ids"], said])
    network = system.network.train().requires_grad_(True)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
    rows = [row for row in rows if len(row) == len(rows[0])]
    ids, wanted = torch.tensor(rows[:8]), torch.tensor([said, system._end_id])
    for _ in range(25):
        optimiser.zero_grad()
        logits = network(input_ids=ids, logits_to_keep=2).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.repeat(len(ids)))
        loss.backward()
        optimiser.step()
    network.save_pretrained(folder)
    return spec


PAIRS = [MinimalPair(str(n), "abcdefgh"[n], "abcd"[n], ("hgfe"[n],), "cut", "human") for n in range(4)]
SENSES = [
    AmbiguousSource(str(n), "abcd"[n], ("ef"[n % 2],), ("gh"[n % 2],), "c", translation="ab"[n % 2])
    for n in range(4)
]


def rows_of(done: Ran) -> dict[str, Any]:
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    return {row["name"]: row for row in rows if not {"phenomenon", "category"} & row.keys()}


def test_contrast_by_answer(taught: str, babelscope: Babelscope, tmp_path: Path) -> None:
    TestSet("items", tuple(PAIRS)).write(tmp_path / "pairs.jsonl")
    done = babelscope(
        "contrast", "--by-answer", "--system", taught, "--tests", str(tmp_path / "pairs.jsonl"), "--json"
    )
    rows = rows_of(done)
    # It says A whatever is asked: nothing is decided, and the order is all that counts.
    assert rows["answer_given"]["value"] == 1
    assert rows["position_bias"]["value"] == 1
    assert rows["answer_undecided"]["value"] == 1


def test_condition_by_answer_counts_what_is_no_answer(
    taught: str, babelscope: Babelscope, tmp_path: Path
) -> None:
    TestSet("items", tuple(SENSES)).write(tmp_path / "senses.jsonl")
    tests = ("--tests", str(tmp_path / "senses.jsonl"), "--json")
    untaught = build_causal(tmp_path / "random")
    other = f"llm:{untaught}?source=English&target=German&max_length=5"
    rows = rows_of(babelscope("condition", "--by-answer", "--evaluator", other, *tests))
    given = rows["answer_given"]
    assert given["value"] == 0
    assert given["neither"] + given["cut"] + given["refused"] == 8
    rows = rows_of(babelscope("condition", "--by-answer", "--evaluator", taught, *tests))
    assert rows["answer_given"]["value"] == 1


def test_lab_llm_answers_nothing_usable() -> None:
    replies = open_system("lab:llm").reply(
        [fill(BETTER, {"source": "A dog.", "first": "Hund", "second": "Ein"})]
    )
    assert all(letter_of({"text": each.text, "ended": each.ended}) is None for each in replies)
