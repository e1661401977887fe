"""`errors` with a parser: detectors of any language, on a small language of our own with a parser of our own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import babelscope as bs
from babelscope.language.general.sentence import Sentence
from babelscope.language.ud import Tree
from babelscope.methods.errors import parsing
from babelscope.methods.errors.parsing import PARSED_TYPES, detect_parsed, open_detectors
from babelscope.testsets.items import ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.language.test_general import BOOK, STOP, clause, negated, sentence, treebank

KNOWN = {each.text: each.tree for each in treebank()}
"""The parser's memory: sentences, and the same with a wrong word."""


def parsed(_spec: str) -> Any:
    """A parser that tags words by the treebank, and draws the tree of a clause."""
    words = {row.form.lower(): row for tree in KNOWN.values() for row in tree.words}

    def tree(text: str) -> Tree:
        tokens = text.replace(".", " .").split()
        negative = "no" in tokens
        shape = negated(BOOK) if negative else BOOK
        rows = [
            (
                token.lower(),
                words[token.lower()].lemma,
                words[token.lower()].upos,
                words[token.lower()].feats,
                *own[4:],
            )
            for token, own in zip(tokens, shape, strict=True)
        ]
        return sentence(rows).tree

    return lambda texts: [tree(text) for text in texts]


@pytest.fixture
def own_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    lines = []
    for number, each in enumerate(treebank()):
        lines += [f"# sent_id = {number}", f"# text = {each.text}"]
        for row in each.words:
            feats = row.feats or "_"
            lines.append(
                f"{row.id}\t{row.form}\t{row.lemma}\t{row.upos}\t_\t{feats}\t{row.head}\t{row.deprel}\t_\t_"
            )
        lines.append("")
    path = tmp_path / "own.conllu"
    path.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(parsing, "open_parser", parsed)
    return {
        "parser": "udpipe:own",
        "lexicons": (str(path),),
        "source_language": "en",
        "target_language": "xx",
    }


def items() -> list[ParallelSentence]:
    made = []
    for number, (noun, adjective) in enumerate(
        (n, a) for n in ("libro", "gato", "casa") for a in ("roj", "alt")
    ):
        rows = clause(noun, "", adjective, STOP)
        made.append(ParallelSentence(f"p{number}", f"The {adjective} {noun} eats.", (sentence(rows).text,)))
        text = sentence(negated(rows)).text
        made.append(ParallelSentence(f"n{number}", f"The {adjective} {noun} does not eat.", (text,)))
    return made


class Spoiled:
    """Gives the references, of which some have lost their negation or the number of their verb."""

    name = "spoiled"

    def __init__(self, tests: Sequence[ParallelSentence], spoil: int) -> None:
        from tests.support.toys import ToySystem

        self.fingerprint = ToySystem().fingerprint
        self.texts = {each.source: each.references[0] for each in tests}
        for each in [each for each in tests if each.id.startswith("n")][:spoil]:
            self.texts[each.source] = each.references[0].replace(" no ", " ")
        for each in [each for each in tests if each.id.startswith("p")][:spoil]:
            self.texts[each.source] = each.references[0].replace("come.", "comen.")

    def translate(self, questions: Sequence[Any], *, beam: int = 5, n_best: int = 1) -> Any:  # noqa: ARG002
        from babelscope.core.system import Scored, sources_of

        return [[Scored(self.texts[source])] for source in sources_of(questions)]


@pytest.mark.filterwarnings("ignore:nobody checks")
def test_errors_in_parsed_translations_are_found_and_references_are_not_blamed(
    own_parser: dict[str, Any],
) -> None:
    tests = items()
    found = bs.errors(Spoiled(tests, 3), tests, **own_parser)
    rows = {row.labels["phenomenon"]: row for row in found.rows if row.name == "generated_errors"}
    assert set(rows) <= set(PARSED_TYPES)
    lost, verb = rows["negation_deleted"], rows["subj_verb_number"]
    assert (lost.counts["alarms"], lost.estimate.n, lost.counts["false_alarms"]) == (3, 6, 0)
    assert (verb.counts["alarms"], verb.estimate.n, verb.counts["false_alarms"]) == (3, 12, 0)
    assert lost.estimate.value == pytest.approx(0.5)
    assert verb.counts["found"] == verb.counts["variants"] > 0
    assert rows["np_gender"].counts["alarms"] == 0
    assert not any(str(name).endswith("_case") for name in rows)  # the language has no cases
    by_id = {record["id"]: record for record in found.records}
    assert by_id["n0"]["alarms"]["negation_deleted"]
    assert "negation_deleted" not in by_id["p0"]["alarms"]  # its source has no negation
    assert by_id["p5"]["verdict"] == "none"


@pytest.mark.filterwarnings("ignore:nobody checks")
def test_types_can_be_chosen_and_what_is_missing_is_refused(own_parser: dict[str, Any]) -> None:
    tests = items()
    chosen = bs.errors(Spoiled(tests, 1), tests, types=("np_gender",), **own_parser)
    assert {row.labels["phenomenon"] for row in chosen.rows} == {"np_gender"}
    for more, told in (
        ({"types": ("clause_omitted",)}, "no detector over parsed text finds clause_omitted"),
        ({"lexicons": ()}, "need all of parser, lexicons and target_language"),
        ({"lexicons": ("morfeusz2",)}, r"set lexicon=FILE\.conllu"),
    ):
        with pytest.raises(BabelscopeError, match=told):
            bs.errors(Spoiled(tests, 1), tests, **{**own_parser, **more})


def test_an_empty_translation_is_not_judged(own_parser: dict[str, Any]) -> None:
    record = {"source": "It does not eat.", "references": ["El libro rojo no come."], "best": {"text": " "}}
    own = open_detectors(own_parser["parser"], own_parser["lexicons"])
    (found,) = detect_parsed([record], ["negation_deleted"], ("en", "xx"), own)
    assert found["detected"]["best"] == {}
    assert found["detected"]["reference"] == {"negation_deleted": [False]}
    assert isinstance(next(iter(own.read(["El libro rojo come."]).values())), Sentence)
