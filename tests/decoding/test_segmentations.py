"""Sums over segmentations against enumeration of all token sequences of models whose tokens overlap."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from babelscope import open_system
from babelscope.core.system import Scored
from babelscope.decoding.segmentations import Pieces, find_segmentations, sum_probabilities
from babelscope.systems.contract import ask_segmentations
from babelscope.util.errors import BabelscopeError
from tests.decoding.test_exact import Table, enumerate_table
from tests.support.models import FAMILIES, SOURCES, TARGETS, build, build_causal, spec
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

SURFACES = {3: b"a", 4: b"b", 5: b"ab"}
SOURCE = (1, 2)
TEXT = "Der alte Arzt erinnert sich an einen Anwalt."
ASKED = "The old doctor remembers a lawyer."


def texts_of(model: Table) -> dict[bytes, dict[tuple[int, ...], float]]:
    """Every text of the model with all of its token sequences."""
    complete, _ = enumerate_table(model, SOURCE)
    found: dict[bytes, dict[tuple[int, ...], float]] = defaultdict(dict)
    for ids, total in complete.items():
        found[b"".join(SURFACES[token] for token in ids[:-1])][ids] = total
    return found


def steps(model: Table, ids: tuple[int, ...]) -> list[float]:
    prefix = model.vocabulary.prefix
    return [float(model.row(SOURCE, (*prefix, *ids[:i]))[token]) for i, token in enumerate(ids)]


@pytest.mark.parametrize("kind", ["random", "sharp", "forced", "ties"])
@pytest.mark.parametrize("prefix", [(0,), (0, 4)])
def test_without_an_end_the_sum_is_that_of_all_sequences(kind: str, prefix: tuple[int, ...]) -> None:
    several = 0
    for seed in range(3):
        model = Table(seed, kind, words=3, limit=6, prefix=prefix)
        whole = 0.0
        for text, sequences in texts_of(model).items():
            usual = min(sequences, key=len)
            found, exact = find_segmentations(
                model, SOURCE, usual, steps(model, usual), Pieces(SURFACES), n=10_000
            )
            assert exact
            assert found == pytest.approx(sequences, abs=1e-5), text
            whole += math.exp(sum_probabilities(list(found.values())))
            several += len(found) > 1
        assert whole == pytest.approx(
            sum(map(math.exp, enumerate_table(model, SOURCE)[0].values())), abs=1e-5
        )
        assert whole <= 1 + 1e-5
    assert several > 3


@pytest.mark.parametrize("n", [1, 2, 3])
def test_with_an_end_it_is_a_lower_bound(n: int) -> None:
    cut = 0
    for seed in range(4):
        model = Table(seed, "random", words=3, limit=8)
        for text, sequences in texts_of(model).items():
            usual = max(sequences, key=len)
            found, exact = find_segmentations(
                model, SOURCE, usual, steps(model, usual), Pieces(SURFACES), n=n
            )
            assert usual in found
            assert all(found[key] == pytest.approx(sequences[key], abs=1e-5) for key in found)
            assert exact <= (len(found) == len(sequences)), text
            cut += len(found) < len(sequences)
    assert cut


def test_a_model_s_text_has_at_least_the_probability_of_its_usual_tokens() -> None:
    system = open_system("lab:teacher")
    [one], [few], [many] = (system.segmentations([(ASKED, TEXT)], n=n) for n in (1, 5, 400))
    [usual] = system.score([(ASKED, TEXT)])
    assert (one.total, one.count, one.exact, one.share) == (usual.total, 1, False, 1.0)
    assert one.total <= few.total <= many.total <= 0
    assert few.count >= 5
    assert many.usual == usual


def cut(names: dict[str, list[str]], text: str) -> list[tuple[str, ...]]:
    """Every sequence of names that is `text`."""
    found: list[tuple[str, ...]] = [] if text else [()]
    for end in range(1, len(text) + 1):
        if text[:end] in names:
            found += [(text[:end], *rest) for rest in cut(names, text[end:])]
    return found


@pytest.mark.parametrize("family", [*FAMILIES, "llama", "llama-chat"])
def test_each_kind_of_vocabulary(family: str, tmp_path: Path) -> None:
    if family in FAMILIES:
        system: Any = open_system(spec(family, build(family, tmp_path / family)))
    else:
        chat = family.endswith("chat")
        folder = build_causal(tmp_path / "llm", chat=chat)
        system = open_system(f"llm:{folder}?source=English&target=German&max_length=48")
    text = TARGETS[0][:7].strip()
    [answer] = system.segmentations([(SOURCES[0], text)], n=10_000)
    assert answer.usual == system.score([(SOURCES[0], text)])[0]
    assert answer.exact
    size = system.vocabulary.size
    special = {*system.tokens.tokenizer.all_special_ids, *system.vocabulary.masked}
    names = [*zip(range(size), system.tokens.tokens(range(size)), strict=True)]
    known = {name: [name] for number, name in names if number not in special}
    *body, end = answer.usual.tokens
    ways = [Scored(text, (*way, end), (0.0,) * (len(way) + 1)) for way in cut(known, "".join(body))]
    alike = [way for way in ways if system._texts([system.tokens.ids_of(way)])[0] == text]
    assert len(alike) == answer.count
    assert answer.count > 1
    totals = [each.total for each in system.score([(SOURCES[0], way) for way in alike])]
    assert answer.total == pytest.approx(sum_probabilities(totals), abs=1e-4)


def test_what_is_no_local_model_is_refused() -> None:
    several = open_system("ensemble:lab:student,lab:student-2")
    for system in (ToySystem(), several, open_system("lab:student?context=1&separator=<sep>")):
        with pytest.raises(BabelscopeError, match="has no vocabulary over which a text's segmentations"):
            ask_segmentations(system, [("a", "b")], n=3)


def test_on_the_command_line(babelscope: Babelscope, tmp_path) -> None:
    (tmp_path / "in.en").write_text(f"{ASKED}\nThe dog sleeps.\n")
    (tmp_path / "out.de").write_text(f"{TEXT}\nDer Hund schläft.\n")
    line = f"score --system lab:teacher {tmp_path}/in.en --target {tmp_path}/out.de"
    head, first, _ = babelscope(f"{line} --set segmentations=4").out.splitlines()
    assert head.split("\t") == ["mean", "total", "tokens", "summed", "segmentations", "share", "target"]
    *rows, whole, share = babelscope(f"{line} --set segmentations=4 --json").rows
    assert [row["target"] for row in rows] == [TEXT, "Der Hund schläft."]
    for row in rows:
        assert row["summed"] >= row["total"]
        assert row["usual_segmentation"] == pytest.approx(math.exp(row["total"] - row["summed"]))
    assert first.split("\t")[3] == f"{'>=' if rows[0]['lower_bound'] else ''}{rows[0]['summed']:.4f}"
    assert (whole["name"], share["name"]) == ("all", "usual_segmentation")
    assert share["value"] == pytest.approx(sum(row["usual_segmentation"] for row in rows) / 2)
    assert "segmentations:4" in share["signature"]
    plain = babelscope(f"{line} --json").rows
    assert plain[0] == {key: rows[0][key] for key in plain[0]}
