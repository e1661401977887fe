"""`llm:` on tiny random decoder-only models: only the target is scored, left padding changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from babelscope.core.system import Reply
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError
from tests.support.models import CHAT, SOURCES, TARGETS, build_causal

PAIRS = list(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture(scope="module", params=["llama", "llama-chat", "gpt2"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    kind, _, chat = request.param.partition("-")
    return build_causal(tmp_path_factory.mktemp(request.param), chat=bool(chat), kind=kind)


@pytest.fixture(scope="module")
def system(built: Path) -> Any:
    return open_system(f"llm:{built}?source=English&target=German&max_length=60")


def test_only_the_target_is_scored(system):
    """Scores equal a plain forward pass over prompt and target, one pair, no padding."""
    for (source, target), scored in zip(PAIRS, system.score(PAIRS), strict=True):
        [prompt] = system._prompts([source])
        ids = system.tokens.ids_of(scored)
        with torch.inference_mode():
            logits = system.network(input_ids=torch.tensor([prompt + ids])).logits[0].double()
        logs = logits[len(prompt) - 1 : -1].log_softmax(-1)
        expected = logs[range(len(ids)), ids]
        # A line break, the end of the text: whatever ends the answer.
        expected[-1] = logs[-1, [system._end_id, *system._ends]].logsumexp(-1)
        assert scored.logprobs == pytest.approx(expected.tolist(), abs=1e-4)
        assert scored.text == target
        assert scored.notes == ()


def test_the_prompt_is_part_of_the_fingerprint(tmp_path):
    folder = build_causal(tmp_path / "m", chat=True)
    name = f"llm:{folder}?source=English&target=German&max_length=60"
    one, two = open_system(name), open_system(f"{name}&prompt=Now {{text}} in {{target}}:")
    assert one.fingerprint.digest != two.fingerprint.digest
    assert one.fingerprint.digest != open_system(f"{name}&chat=no").fingerprint.digest
    [prompt] = two._prompts(["a {target} b"])
    assert two.tokens.tokenizer.decode(prompt) == "<|user|>Now a {target} b in German:</s><|assistant|>"
    assert "template" in one.fingerprint.settings
    assert one.fingerprint.settings["template"] == CHAT


def test_bad_input(tmp_path):
    folder = build_causal(tmp_path / "m", chat=False)
    with pytest.raises(BabelscopeError, match=r"set \?source=LANGUAGE"):
        open_system(f"llm:{folder}")
    with pytest.raises(BabelscopeError, match=r"has no \{text\}"):
        open_system(f"llm:{folder}?prompt=hello")
    with pytest.raises(BabelscopeError, match="no chat template"):
        open_system(f"llm:{folder}?source=English&target=German&chat=yes")


QUESTIONS = ["which?", "A or B?\n\nSay it."]


@pytest.fixture(scope="module")
def replying(built: Path) -> Any:
    return open_system(f"llm:{built}?source=English&target=German&max_length=9")


def greedy(replying: Any, text: str) -> tuple[list[int], bool]:
    """The most probable token after another, by the network alone; and whether it came to an end."""
    ids = replying.tokens.tokenizer(text, add_special_tokens=False)["input_ids"]
    start, ends = len(ids), {replying._end_id, *replying._ends}
    for _ in range(9):
        with torch.inference_mode():
            probabilities = replying.network(input_ids=torch.tensor([ids])).logits[0, -1].double().softmax(-1)
            probabilities[replying._end_id] = probabilities[list(ends)].sum()
        ids.append(int(probabilities.argmax()))
        if ids[-1] in ends:
            return ids[start:-1], True
    return ids[start:], False


def test_replies_are_greedy(replying):
    assert "reply" in replying.capabilities
    for question, reply in zip(QUESTIONS, replying.reply(QUESTIONS), strict=True):
        shown = f"<|user|>{question}</s><|assistant|>" if replying._chat else f"{question}\nAnswer:"
        ids, whole = greedy(replying, shown)
        assert reply == Reply(replying.tokens.decode([ids])[0].strip(), "whole" if whole else "cut")


def test_a_question_that_is_too_long_gets_no_answer(replying):
    first, long, last = replying.reply([QUESTIONS[0], "dog " * 10_000, QUESTIONS[0]])
    assert long == Reply("", "refused")
    assert first == last == replying.reply(QUESTIONS[:1])[0]
    assert replying.reply([]) == []


def test_without_a_prompt_nothing_is_answered(tmp_path):
    folder = build_causal(tmp_path / "m")
    assert "reply" not in open_system(f"llm:{folder}?prompt=none").capabilities
