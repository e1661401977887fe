"""`ensemble:` averages probabilities, not their logs."""

from __future__ import annotations

import json
import math
import pickle
import shutil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.core.system import Budget, LengthRule, Scored, capabilities, properties
from babelscope.systems.contract import ask_translate
from babelscope.systems.models.base import in_parts
from babelscope.systems.models.ensemble import Ensemble, log_mean
from babelscope.systems.registry import open_system
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support.models import SOURCES, TARGETS, build_causal, spec

PAIRS = list(zip(SOURCES, TARGETS, strict=True))


def means_of(one: Scored, other: Scored) -> Any:
    """The logs of the mean probabilities of a hypothesis' tokens."""
    logs = zip(one.logprobs, other.logprobs, strict=True)
    return pytest.approx([math.log((math.exp(a) + math.exp(b)) / 2) for a, b in logs], abs=1e-4)


def test_the_order_of_members_does_not_matter(checkpoint):
    one, two = checkpoint("marian"), checkpoint("marian", seed=2)
    forward, backward = open_system(f"ensemble:hf:{one},hf:{two}"), open_system(f"ensemble:hf:{two},hf:{one}")
    assert forward.fingerprint == backward.fingerprint
    assert forward.fingerprint.digest != open_system(f"ensemble:hf:{one},hf:{one}").fingerprint.digest


def test_members_must_share_a_vocabulary_and_score(checkpoint, tmp_path):
    mixed = open_system(f"ensemble:hf:{checkpoint('marian')},hf:{checkpoint('fsmt')}")
    with pytest.raises(BabelscopeError, match="into different tokens"):
        mixed.score(PAIRS)
    (tmp_path / "out").write_text("x\n")
    with pytest.raises(
        BabelscopeError, match=r"an ensemble needs a system that gives log-prob.*these do: hf:.*lab:"
    ):
        open_system(f"ensemble:hf:{checkpoint('marian')},file:{tmp_path / 'out'}")
    with pytest.raises(BabelscopeError, match="at least two members"):
        open_system(f"ensemble:hf:{checkpoint('marian')}")


@given(st.lists(st.floats(-2000, 0), min_size=1, max_size=5))
def test_log_mean(logs):
    assert min(logs) - 1e-9 <= log_mean(logs) <= max(logs) + 1e-9
    assert log_mean([logs[0]] * 3) == pytest.approx(logs[0])
    if min(logs) > -700:
        assert log_mean(logs) == pytest.approx(math.log(math.fsum(map(math.exp, logs)) / len(logs)))


def test_impossible_tokens_stay_possible_if_one_member_allows_them():
    assert log_mean([-math.inf, 0.0]) == pytest.approx(math.log(0.5))
    assert log_mean([-math.inf, -math.inf]) == -math.inf


LAB = "ensemble:lab:teacher,lab:student"
SENTENCES = ["the dog sees the cat .", "a woman sings ."]


@pytest.fixture(scope="module")
def lab() -> Ensemble:
    found: Ensemble = open_system(LAB)
    return found


def test_the_order_of_members_changes_no_sample(lab):
    turned = open_system("ensemble:lab:student,lab:teacher")
    assert turned.sample(SENTENCES, n=10, seed=3) == lab.sample(SENTENCES, n=10, seed=3)


def test_an_ensemble_searches_by_length(lab):
    short = lab.top_k(SENTENCES[:1], k=5, lengths=LengthRule(at_most=4))[0]
    assert short.exact
    assert all(len(each.tokens) <= 4 for each in short.found)
    of_four = [each for each in short.found if len(each.tokens) == 4]
    (exactly,) = lab.top_k(SENTENCES[:1], k=len(of_four), lengths=LengthRule(exactly=4))
    assert [each.text for each in exactly.found] == [each.text for each in of_four]
    rule = LengthRule(at_most=4, penalty=1.0)
    ranked = lab.top_k(SENTENCES[:1], k=5, lengths=rule)[0].found
    ranks = [rule.rank(sum(each.logprobs), len(each.tokens)) for each in ranked]
    assert ranks == sorted(ranks, reverse=True)
    assert {each.text for each in of_four[:1]} <= {ranked[0].text}, "longer ones gain"


@pytest.mark.parametrize("family", ["marian", "fsmt", "m2m100", "nllb", "mbart50", "t5"])
def test_families_with_one_vocabulary_decode_together(family, checkpoint):
    """The best of an exact search scores what members' mean says, and no beam hypothesis beats it."""
    one, two = (spec(family, checkpoint(family, seed=seed), max_length=4) for seed in (1, 2))
    both = open_system(f"ensemble:{one},{two}")
    assert capabilities(both) >= {"translate", "score", "sample", "top_k"}
    asked = SOURCES[:2]
    beams = both.translate(asked, beam=3, n_best=2)
    for question, group, top in zip(asked, beams, both.top_k(asked, k=3), strict=True):
        assert top.exact
        singles = [open_system(each).score([(question, top.found[0])])[0] for each in (one, two)]
        assert top.found[0].logprobs == means_of(*singles)
        finished = [each.total for each in group if "unfinished" not in each.notes]
        assert all(total <= top.found[0].total + 1e-4 for total in finished)
    drawn = both.sample(asked, n=3, seed=1)
    assert [len(group) for group in drawn] == [3, 3]


@pytest.mark.parametrize("chat", [False, True])
def test_language_models_with_one_vocabulary_decode_together(chat, tmp_path):
    """Of two prompts, or two models: each reads its own prompt, the answer is one."""
    folder = build_causal(tmp_path / "model", chat=chat)
    options = "source=English&target=German&max_length=3"
    members = [f"llm:{folder}?{options}", f"llm:{folder}?{options}&prompt=Say {{text}}:"]
    both = open_system(f"ensemble:{','.join(members)}")
    asked = SOURCES[:2]
    for question, top in zip(asked, both.top_k(asked, k=2), strict=True):
        assert top.exact
        singles = [open_system(each).score([(question, top.found[0])])[0] for each in members]
        assert singles[0].logprobs != pytest.approx(singles[1].logprobs, abs=1e-3)
        assert top.found[0].logprobs == means_of(*singles)
    translated = both.translate(asked, beam=2)
    assert all(len(group[0].tokens) <= 3 for group in translated)
    assert len(both.sample(asked[:1], n=4, seed=1)[0]) == 4


def test_closed_members_score_only(checkpoint):
    class Closed:
        name = "closed"

        def __init__(self, inner: object) -> None:
            self.score = inner.score  # type: ignore[attr-defined]
            self.fingerprint = inner.fingerprint  # type: ignore[attr-defined]

    open_one = open_system(f"hf:{checkpoint('marian')}")
    mixed = Ensemble("mixed", [open_one, Closed(open_one)])
    assert capabilities(mixed) == {"score"}
    with pytest.raises(BabelscopeError, match="closed does not give next-token distributions"):
        mixed.translate(SOURCES[:1])


def test_other_vocabularies_are_refused(checkpoint, tmp_path):
    """Same size, same pieces, two of them swapped: ids would mean something else."""
    one = checkpoint("marian")
    other = tmp_path / "swapped"
    shutil.copytree(one, other)
    vocabulary = json.loads((other / "vocab.json").read_text())
    first, second = [piece for piece, number in vocabulary.items() if number in (5, 6)]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    (other / "vocab.json").write_text(json.dumps(vocabulary))
    mixed = open_system(f"ensemble:hf:{one},hf:{other}")
    with pytest.raises(BabelscopeError, match="members must share a vocabulary, but token 5 is"):
        mixed.translate(SOURCES[:1])


def test_different_length_penalties_are_refused(checkpoint, tmp_path):
    one = checkpoint("marian")
    other = tmp_path / "shorter"
    shutil.copytree(one, other)
    settings = json.loads((other / "generation_config.json").read_text())
    (other / "generation_config.json").write_text(json.dumps({**settings, "length_penalty": 0.0}))
    mixed = open_system(f"ensemble:hf:{one},hf:{other}")
    with pytest.raises(BabelscopeError, match=r"different length penalties \(0.0, 1.0\)"):
        mixed.translate(SOURCES[:1])
    assert mixed.top_k(SOURCES[:1], k=1, budget=Budget(expansions=5))


def test_the_length_penalty_of_a_call_is_that_of_the_search(checkpoint):
    """Search errors are those of beam search without a penalty, of ensembles too."""
    folder = checkpoint("marian")
    own, none = (
        open_system(f"ensemble:hf:{folder}{option},hf:{folder}{option}")
        for option in ("", "?length_penalty=0")
    )
    assert (properties(own).length_penalty, properties(none).length_penalty) == (1.0, 0.0)
    plain = ask_translate(own, SOURCES, beam=3, n_best=3, length_penalty=0.0)
    expected = ask_translate(none, SOURCES, beam=3, n_best=3)
    assert [[each.tokens for each in group] for group in plain] == [
        [each.tokens for each in group] for group in expected
    ]
    with pytest.raises(BabelscopeError, match="no beam search whose length penalty could be set"):
        ask_translate(
            open_system(f"ensemble:hf:{folder},hf:{folder}?length_penalty=0"), SOURCES, length_penalty=0.5
        )


def test_a_used_ensemble_can_be_sent_to_another_process(lab):
    before = lab.translate(SENTENCES[:1], beam=2)
    sent = pickle.loads(pickle.dumps(lab))
    assert sent.translate(SENTENCES[:1], beam=2) == before


IDS = [(1, 2), (3,), (1, 2), (4, 5, 6)]


def test_what_does_not_fit_into_memory_is_halved_until_it_does():
    asked: list[int] = []

    def run(sources: list[tuple[int, ...]]) -> list[int]:
        asked.append(len(sources))
        if len(sources) > 1:
            raise MemoryError
        return [sum(each) for each in sources]

    assert in_parts("model", run, IDS) == [3, 3, 3, 15]
    assert asked == [4, 2, 1, 1, 2, 1, 1]

    def never(_: list[tuple[int, ...]]) -> list[int]:
        raise MemoryError

    with pytest.raises(SystemFailure, match=r"^model: out of memory on a single sentence; try a shorter one"):
        in_parts("model", never, IDS)

    def wrong(_: list[tuple[int, ...]]) -> list[int]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_parts("model", wrong, IDS)
