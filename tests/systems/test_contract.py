"""What every system promises: scores, batches, flags, samples, search, refusals, fingerprints."""

from __future__ import annotations

import functools
import itertools
import json
import math
import pickle
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.core.system import Budget, Drawing, Scored, capabilities
from babelscope.systems.contract import ask_sample, ask_score, ask_translate
from babelscope.systems.registry import find_scheme, open_system
from babelscope.util.errors import BabelscopeError
from tests.support import marian_binary
from tests.support.models import FAMILIES, SOURCES, TARGETS, build_causal, spec
from tests.support.serving import Server

KINDS = (*FAMILIES, "transformers", "llama", "llama-chat", "gpt2", "ct2", "marian-binary", "ensemble")
PAIRS = list(zip(SOURCES, TARGETS, strict=True))
SHORT = Drawing(max_length=6)
Named = Callable[..., str]


@pytest.fixture(scope="module")
def named(checkpoint: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Named:
    """The name of a small system of each kind."""

    @functools.cache
    def made(kind: str) -> Path:
        folder = tmp_path_factory.mktemp(kind) / "model"
        if kind == "ct2":
            converters = pytest.importorskip("ctranslate2").converters
            converters.TransformersConverter(str(checkpoint("marian"))).convert(str(folder))
            return folder
        if kind == "marian-binary":
            return marian_binary.build(folder)
        family, _, chat = kind.partition("-")
        return build_causal(folder, chat=bool(chat), kind=family)

    def name(kind: str, longest: int = 48) -> str:
        if kind in FAMILIES:
            return spec(kind, checkpoint(kind), max_length=longest)
        if kind == "transformers":
            return spec("marian", checkpoint("marian"), max_length=longest, forward="transformers")
        if kind == "ct2":
            return f"ct2:{made(kind)}?tokenizer={checkpoint('marian')}&max_length={longest}"
        if kind == "marian-binary":
            return f"marian:{made(kind)}?max_length={longest}"
        if kind == "ensemble":
            seeds = (checkpoint("marian", seed=seed) for seed in (1, 2))
            return f"ensemble:{','.join(spec('marian', folder, max_length=longest) for folder in seeds)}"
        return f"llm:{made(kind)}?source=English&target=German&max_length={longest}"

    return name


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def system(kind: str, named: Named) -> Any:
    return open_system(named(kind))


def assert_rescored(system: Any, source: str, answers: list[Scored], end: str) -> None:
    """Answers have the log-probabilities of their tokens, and say whether they came to an end."""
    for one, again in zip(answers, ask_score(system, [(source, each) for each in answers]), strict=True):
        assert ("unfinished" in one.notes) == (one.tokens[-1] != end)
        assert again.tokens == one.tokens
        assert again.logprobs == pytest.approx(one.logprobs, abs=1e-4)


@pytest.fixture(scope="module")
def end(system: Any) -> str:
    """The token that ends a target."""
    [scored] = system.score(PAIRS[:1])
    return str(scored.tokens[-1])


def test_it_can_do_what_its_scheme_says(kind, system, named):
    assert capabilities(system) == find_scheme(named(kind)).capabilities


@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_company_does_not_change_a_score(system, data):
    """Batch size, order, padding, repeated sources and repeated targets change nothing beyond 1e-4 per token."""
    numbers = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
    for member in getattr(system, "members", [system]):
        setattr(
            member,
            "_batch" if hasattr(member, "_batch") else "_budget",
            data.draw(st.sampled_from([1, 40, 200, 4096])),
        )
    asked = [(SOURCES[i], TARGETS[j]) for i, j in numbers]
    for pair, scored in zip(asked, ask_score(system, asked), strict=True):
        [alone] = ask_score(system, [pair])
        assert scored.text == pair[1]
        assert scored.tokens == alone.tokens
        assert scored.logprobs == pytest.approx(alone.logprobs, abs=1e-4)


def test_translations_carry_the_tokens_generated(system, end):
    answers = ask_translate(system, SOURCES[:3], beam=3, n_best=2)
    assert [len(group) for group in answers] == [2, 2, 2]
    for source, group in zip(SOURCES, answers, strict=False):
        assert group[0].tokens != group[1].tokens
        assert_rescored(system, source, group, end)
    with pytest.raises(BabelscopeError, match="beam of 2 cannot give 3"):
        system.translate(SOURCES, beam=2, n_best=3)


@pytest.mark.parametrize("penalty", [-1.0, 0.0, 2.0])
def test_lists_are_in_the_order_of_the_length_penalty(kind, system, named, penalty):
    """Totals divided by length to the power of the penalty fall from first to last, said either way."""
    if kind == "ensemble":
        pytest.skip("its members have the penalty")
    lists = ask_translate(system, SOURCES[:3], beam=4, n_best=4, length_penalty=penalty)
    for found in lists:
        ranks = [each.total / len(each.tokens) ** penalty for each in found]
        assert all(a >= b - 1e-3 * max(1, abs(b)) for a, b in itertools.pairwise(ranks))
    stated = open_system(f"{named(kind)}&length_penalty={penalty}")
    assert (system.length_penalty, stated.length_penalty) == (1, penalty)
    tokens = [
        [[each.tokens for each in found] for found in made]
        for made in (lists, stated.translate(SOURCES[:3], beam=4, n_best=4))
    ]
    assert tokens[0] == tokens[1]
    assert stated.fingerprint.digest != system.fingerprint.digest
    for value in ("x", "nan", "-11", "1e400"):
        with pytest.raises(
            BabelscopeError, match=r"length_penalty=\S+ is not a number (of at least|from) -10"
        ):
            open_system(f"{named(kind)}&length_penalty={value}")


def test_samples_are_answers_like_any_other(system, end):
    asked = [*SOURCES[:2], SOURCES[0]]
    answers = ask_sample(system, asked, n=20, seed=1, drawing=SHORT)
    assert answers[0] == answers[2] != answers[1]
    for seed in (1, 2):
        [more] = ask_sample(system, asked[1:2], n=25, seed=seed, drawing=SHORT)
        assert ([each.tokens for each in more[:20]] == [each.tokens for each in answers[1]]) == (seed == 1)
    for source, group in zip(asked, answers, strict=True):
        assert_rescored(system, source, group, end)
        assert all(len(each.tokens) == 6 or each.tokens[-1] == end for each in group)
    drawn = answers[0]
    assert any("unfinished" in each.notes for each in drawn), "six tokens are too few for some"
    # In the order drawn: sorted ones would begin with the most probable.
    assert [each.total for each in drawn] != sorted((each.total for each in drawn), reverse=True)
    cold = Drawing(temperature=1e-4, max_length=4)
    assert len({each.tokens for each in ask_sample(system, asked[:1], n=9, seed=1, drawing=cold)[0]}) == 1
    with pytest.raises(BabelscopeError, match="at least one sample must be drawn, not 0"):
        system.sample(asked[:1], n=0, seed=1)


def test_no_beam_and_no_sample_beats_the_proven_best(kind, system, named, end):
    if "top_k" not in capabilities(system):
        pytest.skip("it does not search")
    for found in system.top_k(SOURCES[:1], k=2, budget=Budget(expansions=20)):
        assert_rescored(system, SOURCES[0], list(found.found), end)
    short = open_system(named(kind, 3))
    for source, best in zip(SOURCES[:2], short.top_k(SOURCES[:2], k=1), strict=True):
        assert best.exact
        rivals = [*short.translate([source], beam=4)[0], *short.sample([source], n=20, seed=1)[0]]
        ended = [each.total for each in rivals if "unfinished" not in each.notes]
        assert best.found[0].total >= max(ended, default=-math.inf) - 1e-4


def test_what_cannot_be_asked_is_refused_with_its_place(kind, system):
    long = "dog " * 2000
    no_limit = kind in ("t5", "mt5", "marian-binary")
    for source in ("", "  ", "a\nb", "a\rb", "a\0b", "a\ud800b", *([] if no_limit else [long])):
        for ask in (
            lambda source=source: system.translate([SOURCES[0], source]),
            lambda source=source: system.score([(SOURCES[0], ""), (source, "")]),
            lambda source=source: system.sample([SOURCES[0], source], n=1, seed=1),
        ):
            with pytest.raises(BabelscopeError, match=r"^source 2 (is|has|makes)"):
                ask()
    with pytest.raises(BabelscopeError, match=r"^target 1 has \d+ tokens"):
        system.score([(SOURCES[0], long)])
    with pytest.raises(BabelscopeError, match="not in the vocabulary"):
        system.score([(SOURCES[0], Scored("x", ("no such piece", "</s>"), (-1.0, -1.0)))])
    with pytest.raises(BabelscopeError, match="has no tokens"):
        system.score([(SOURCES[0], Scored("x"))])


def test_the_fingerprint_is_of_content_and_options(kind, named):
    one, same, other = (open_system(named(kind, longest)).fingerprint.digest for longest in (48, 48, 47))
    assert one == same != other


# -- black boxes: systems of texts alone, each of which turns the words of a source around ---------------------------

BOXES = ("file", "pairs", "lists", "cmd", "http", "libretranslate", "rest", "openai")
WORDS = ["das ist gut", "ja", "süß und \U0001f600", "das ist gut", "{target} ' \" {text}"]
SEPARATED = "a \u0085 b \u2028 c"  # one line to a program, several to other readers of files
LANGUAGES = "source=en&target=de"


def turned(source):
    return " ".join(source.split(" ")[::-1])


def answer(request):
    """The same in the protocols of all servers."""
    body = request.body
    if "messages" in body:
        text = turned(body["messages"][0]["content"].split("\n")[-1])
        return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    if "q" in body:
        return {"translatedText": [turned(each) for each in body["q"]]}
    return {"translations": [turned(each) for each in body["sources"]]}


@pytest.fixture(scope="module", params=BOXES)
def box(request, tmp_path_factory):
    """The name of a black box of this kind."""
    kind, folder = request.param, tmp_path_factory.mktemp("box")
    distinct = list(dict.fromkeys(WORDS))
    (folder / "in").write_text("".join(f"{each}\n" for each in distinct))
    lines = {
        "file": turned,
        "pairs": lambda source: f"{source} ||| {turned(source)}",
        "lists": lambda source: f"{distinct.index(source)} ||| {turned(source)} ||| -1",
    }
    code = "import sys\nfor line in sys.stdin: print(' '.join(line[:-1].split(' ')[::-1]))"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        server = Server(answer)
        template = {"url": f"{server.url}/", "answers": "translations.*", "batch": 2}
        (folder / "t.toml").write_text(
            "".join(f"{name} = {json.dumps(value)}\n" for name, value in template.items())
            + '[body]\nsources = ["{text}"]\n'
        )
        if kind in lines:
            (folder / "out").write_text("".join(f"{lines[kind](each)}\n" for each in distinct))
        yield {
            "file": f"file:{folder}/out?source={folder}/in",
            "pairs": f"file:{folder}/out?format=pairs",
            "lists": f"lists:{folder}/out?source={folder}/in",
            "cmd": f"cmd:{shlex.quote(sys.executable)} -c {shlex.quote(code)}?batch=2",
            "http": f"{server.url}/?batch=2",
            "libretranslate": f"{server.url}/?format=libretranslate&{LANGUAGES}&batch=2",
            "rest": f"rest:{folder}/t.toml",
            "openai": f"openai:{server.url}/v1#toy?{LANGUAGES}&logprobs=vllm",
        }[kind]
        server.shutdown()
        server.server_close()


def test_a_black_box_answers_in_order_whatever_is_asked_with(box):
    system = open_system(box)
    # Lists also tell regions, but only those that are named so.
    assert capabilities(system) == find_scheme(box).capabilities - {"regions"}
    sources = WORDS if box.startswith(("file:", "lists:")) else [*WORDS, SEPARATED]
    found = ask_translate(system, sources, beam=7)
    assert [each.text for (each,) in found] == [turned(source) for source in sources]
    assert not any(each.has_scores or each.notes for (each,) in found)
    assert ask_translate(system, WORDS[1:3]) == found[1:3]
    assert ask_translate(system, []) == []
    assert system.name == box


def test_what_a_black_box_cannot_be_asked_is_refused_with_its_place(box):
    system = open_system(box)
    for source in ("", "  ", "a\nb", "a\rb", "a\0b", "a\ud800b"):
        with pytest.raises(BabelscopeError, match=r"^source 2 (is|has)") as told:
            system.translate([WORDS[0], source])
        str(told.value).encode()
    with pytest.raises(BabelscopeError, match=r"n_best=2"):
        system.translate(WORDS[:1], n_best=2)


def test_the_fingerprint_of_a_black_box_is_of_what_it_is(box):
    one, same = open_system(box).fingerprint, open_system(box).fingerprint
    assert one == same == pickle.loads(pickle.dumps(one))
    with pytest.raises(BabelscopeError, match=r"unknown option 'odd'"):
        open_system(f"{box}{'&' if '?' in box else '?'}odd=1")
