"""`llm:` on tiny random decoder-only models: only the target is scored, left padding changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from babelscope.systems.opening import open_system
from babelscope.util.errors import BabelscopeError
from tests.support.models import CHAT, SOURCES, TARGETS, build_causal

PAIRS = list(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture(scope="module", params=["llama", "llama-chat", "gpt2"])
def system(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    kind, _, chat = request.param.partition("-")
    folder = build_causal(tmp_path_factory.mktemp(request.param), chat=bool(chat), kind=kind)
    return open_system(f"llm:{folder}?source=English&target=German&max_length=60")


def test_only_the_target_is_scored(system: Any) -> None:
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


def test_company_does_not_change_a_score(system: Any) -> None:
    asked = [*PAIRS, *reversed(PAIRS), (SOURCES[0], TARGETS[3])]
    for budget in (1, 150, 4096):
        system._budget = budget
        for pair, scored in zip(asked, system.score(asked), strict=True):
            assert scored.logprobs == pytest.approx(system.score([pair])[0].logprobs, abs=1e-4)


def test_translations_are_scored_by_their_tokens(system: Any) -> None:
    for source, group in zip(SOURCES[:2], system.translate(SOURCES[:2], beam=2, n_best=2), strict=True):
        for scored in group:
            assert ("unfinished" in scored.notes) == (system._end_id != system.tokens.ids_of(scored)[-1])
            assert system.score([(source, scored)])[0].logprobs == pytest.approx(scored.logprobs, abs=1e-4)


def test_the_prompt_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    folder = build_causal(tmp_path / "m", chat=True)
    name = f"llm:{folder}?source=English&target=German&max_length=60"
    one, two = open_system(name), open_system(f"{name}&prompt=Now {{text}} in {{target}}:")
    assert one.fingerprint.digest != two.fingerprint.digest
    assert one.fingerprint.digest != open_system(f"{name}&chat=no").fingerprint.digest
    [prompt] = two._prompts(["a {target} b"])
    assert two.tokens.tokenizer.decode(prompt) == "<|user|>Now a {target} b in German:</s><|assistant|>"
    assert "template" in one.fingerprint.settings
    assert one.fingerprint.settings["template"] == CHAT


def test_bad_input(tmp_path: Path) -> None:
    folder = build_causal(tmp_path / "m", chat=False)
    with pytest.raises(BabelscopeError, match=r"say \?source=LANGUAGE"):
        open_system(f"llm:{folder}")
    with pytest.raises(BabelscopeError, match=r"has no \{text\}"):
        open_system(f"llm:{folder}?prompt=hello")
    with pytest.raises(BabelscopeError, match="no chat template"):
        open_system(f"llm:{folder}?source=English&target=German&chat=yes")
    system = open_system(f"llm:{folder}?source=English&target=German&max_length=60")
    with pytest.raises(BabelscopeError, match="source 1 makes a prompt of"):
        system.score([("dog " * 10_000, "Hund")])
    with pytest.raises(BabelscopeError, match="target 1 has"):
        system.score([("dog", "Hund " * 100)])
    with pytest.raises(BabelscopeError, match="source 1 is empty"):
        system.score([("", "Hund")])
