"""CoNLL-U: everything it may have is read, nothing is lost without a word, and no bad tree gets through."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.language.ud import Tree, _tree_fault, read_trees
from babelscope.util.errors import BabelscopeError

FULL = """\
# newdoc id = weblog-7
# sent_id = weblog-7-s1
# text = Sie gehen  zum Haus, das leer steht.
1	Sie	sie	PRON	PPER	Case=Nom|Number=Plur	2	nsubj	_	_
2	gehen	gehen	VERB	VVFIN	VerbForm=Fin	0	root	_	SpacesAfter=\\s\\s
3-4	zum	_	_	_	_	_	_	_	_
3	zu	zu	ADP	APPR	_	5	case	_	_
4	dem	der	DET	ART	Case=Dat	5	det	_	_
5	Haus	Haus	NOUN	NN	Case=Dat	2	obl	_	SpaceAfter=No
6	,	,	PUNCT	$,	_	9	punct	_	_
7	das	der	PRON	PRELS	Case=Nom	9	nsubj	_	_
7.1	ganz	ganz	ADV	_	_	_	_	8:advmod	_
8	leer	leer	ADJ	ADJD	_	9	xcomp	_	_
9	steht	stehen	VERB	VVFIN	VerbForm=Fin	5	acl	_	SpaceAfter=No
10	.	.	PUNCT	$.	_	2	punct	_	_

"""
# As Choshen and Abend released their parses: word 1 on the line of the comment, two blank lines between.
GLUED = """\
# sent_id = 241	Das	der	PRON	PDS	_	2	nsubj	_	_
2	geht	gehen	VERB	VVFIN	_	0	root	_	_
3	auf	auf	ADP	PTKVZ	_	2	compound:prt	_	_


# sent_id = 251	Gut	gut	ADJ	ADJD	_	0	root	_	_

"""


def written(folder: Path, text: str) -> Path:
    path = folder / "t.conllu"
    path.write_text(text, encoding="utf-8")
    return path


def rows(*heads: str) -> str:
    lines = (f"{n}\tw{n}\tw\tX\t_\t_\t{head}\tdep\t_\t_" for n, head in enumerate(heads, 1))
    return "\n".join(lines) + "\n\n"


def only(path: Path) -> Tree:
    (tree,) = read_trees(path)
    assert tree is not None
    return tree


def test_all_that_a_sentence_may_have(tmp_path: Path) -> None:
    tree = only(written(tmp_path, FULL))
    assert [word.id for word in tree.words] == list(range(1, 11))
    assert [word.head for word in tree.words] == [2, 0, 5, 5, 2, 9, 9, 9, 5, 2]
    assert tree.sent_id == "weblog-7-s1"
    assert (tree.number, tree.line, tree.repaired) == (1, 1, False)
    assert tree.tokens == ["Sie", "gehen", "zum", "Haus", ",", "das", "leer", "steht", "."]
    assert tree.words[1].misc == "SpacesAfter=\\s\\s"
    assert tree.matches(tree.text)
    assert tree.matches("Sie gehen zum\u00a0Haus , das leer steht .")
    assert not tree.matches("Sie gehen zu dem Haus, das leer steht.")


def test_offsets_lead_into_the_text(tmp_path: Path) -> None:
    tree = only(written(tmp_path, FULL))
    shown = [tree.text[start:end] for start, end in tree.offsets(tree.text)]
    assert shown == ["Sie", "gehen", "zum", "zum", "Haus", ",", "das", "leer", "steht", "."]
    spaced = FULL.replace("\tleer\t", "\tl eer\t")  # a form may have a space where the text has none
    other = only(written(tmp_path, spaced))
    assert other.offsets(tree.text) == tree.offsets(tree.text)


@given(st.lists(st.text("ab ", min_size=1).filter(str.strip), min_size=1, max_size=6), st.randoms())
def test_spans_cover_every_letter_once(forms: list[str], random: object) -> None:
    from babelscope.language.ud import token_spans

    text = "".join(form + random.choice(["", " ", "\u2003 "]) for form in forms)  # type: ignore[attr-defined]
    found = token_spans(forms, text)
    assert ["".join(text[a:b].split()) for a, b in found] == ["".join(form.split()) for form in forms]
    assert all(before[1] <= after[0] for before, after in pairwise(found))


def test_sentences_are_numbered_and_zipped_files_are_read(tmp_path: Path) -> None:
    text = FULL + "\n\n" + rows("0", "1") + FULL.rstrip("\n")  # blank lines too many, none at the end
    path = tmp_path / "t.conllu.gz"
    path.write_bytes(gzip.compress(text.encode()))
    trees = list(read_trees(path))
    assert [(tree.number, tree.line, len(tree.words)) for tree in trees if tree] == [
        (1, 1, 10),
        (2, 19, 2),
        (3, 22, 10),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (rows("2", "1"), ":1: sentence 1: heads go round in a cycle: words 1 -> 2 -> 1"),
        (rows("0", "3", "2"), ":1: sentence 1: heads go round in a cycle: words 2 -> 3 -> 2"),
        (rows("0", "2"), ":1: sentence 1: heads go round in a cycle: words 2 -> 2"),
        (rows("0", "0", "1"), ":1: sentence 1: a tree has one root, this one 2: words 1, 2"),
        (rows("0") + rows("0", "9"), ":3: sentence 2: the head of word 2 is 9, but it has 2 words"),
        (rows("0", "9" * 5000), ":2: sentence 1: the head of word 2 is '999"),
        (
            rows("0", "1").replace("2\tw2", "# c2\tw2"),
            ":2: sentence 1: a comment and a word stand on one line",
        ),
        (rows("0", "x"), ":2: sentence 1: the head of word 2 is 'x', no number"),
        (rows("0", "-1"), ":2: sentence 1: the head of word 2 is '-1', no number"),
        (rows("0", "_"), ":2: sentence 1: word 2 has no head: the sentence is not parsed"),
        (rows("0", "1").replace("\tw\tX", "\tX"), ":1: sentence 1: a line has 10 columns, this one 9"),
        (
            rows("0", "1").replace("2\tw2", "3\tw3"),
            ":2: sentence 1: word 2 is missing: this one is numbered 3",
        ),
        (rows("0") + rows("0").replace("1\tw1", "2\tw1"), ":3: sentence 2: word 1 is missing"),
        (
            rows("0", "1").rstrip() + "\n" + rows("0"),
            ":3: sentence 1: word 3 is missing: this one is numbered 1",
        ),
        (rows("0").replace("1\tw1", "one\tw1"), ":1: sentence 1: 'one' is no number of a word"),
        (rows("0").replace("1\tw1", "1\t"), ":1: sentence 1: word 1 has no form"),
        ("2-3\tx" + "\t_" * 8 + "\n" + rows("0"), ":1: sentence 1: the multiword token 2-3 does not begin"),
        ("1-4\tx" + "\t_" * 8 + "\n" + rows("0"), ":1: sentence 1: the multiword token 'x' ends after"),
        ("# only a comment\n\n", ":1: sentence 1: it has no words"),
        (
            GLUED.partition("\n\n")[0].replace("241", "24a") + "\n\n",
            ":1: sentence 1: a comment and a word stand on one line",
        ),
    ],
)
def test_a_bad_sentence_is_told_with_its_place_and_can_be_counted(
    tmp_path: Path, text: str, told: str
) -> None:
    path = written(tmp_path, text + rows("0"))
    with pytest.raises(BabelscopeError) as caught:
        list(read_trees(path))
    assert f"{path}{told}" in str(caught.value)
    skipped: dict[str, int] = {}
    trees = list(read_trees(path, skipped=skipped))
    assert sum(skipped.values()) == trees.count(None) == 1
    assert len(trees) == sum(1 for block in path.read_text().split("\n\n") if block.strip())


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"1\tw\xff\n\n", ":1: sentence 1: not UTF-8"),
        (rows("0").replace("\n", "\r\n").encode(), ":1: lines must end with LF alone"),
    ],
)
def test_bad_bytes(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "t.conllu"
    path.write_bytes(data)
    with pytest.raises(BabelscopeError) as caught:
        list(read_trees(path))
    assert f"{path}{told}" in str(caught.value)


def test_a_word_glued_to_its_comment_is_kept_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"t\.conllu:1: sentence 1: a line break is missing") as told:
        trees = list(read_trees(written(tmp_path, GLUED)))
    assert len(told) == 1
    assert [[word.form for word in tree.words] for tree in trees if tree] == [["Das", "geht", "auf"], ["Gut"]]
    assert [(tree.sent_id, tree.repaired) for tree in trees if tree] == [("24", True), ("25", True)]


def test_a_comment_with_tabs_is_a_comment(tmp_path: Path) -> None:
    tree = only(written(tmp_path, "# a" + "\t1" * 9 + "\n" + rows("0", "1")))
    assert (len(tree.words), tree.repaired) == (2, False)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=5))
def test_only_trees_are_taken_for_trees(heads: list[int]) -> None:
    def rooted(word: int) -> bool:
        for _ in heads:
            if word == 0 or word > len(heads):
                break
            word = heads[word - 1]
        return word == 0

    tree = heads.count(0) == 1 and all(rooted(word) for word in range(1, len(heads) + 1))
    assert (_tree_fault([0, *heads]) is None) == tree


def test_the_released_parses_are_read_to_the_last_word(shared: Path) -> None:
    repaired = sorted((shared / "data" / "ldd" / "repaired").glob("*.conllu"))
    assert len(repaired) == 8
    for path in repaired:
        (raw,) = (shared / "data" / "ldd").glob(f"[bn]*/{path.name}")
        with pytest.warns(UserWarning, match="a line break is missing"):
            released = list(read_trees(raw))
        wanted = list(read_trees(path))
        assert [tree and tree.words for tree in released] == [tree and tree.words for tree in wanted]
        assert all(tree.repaired for tree in released if tree)
        assert all(tree.matches(tree.text) and not tree.repaired for tree in wanted if tree)


def test_gold_trees_are_read_as_the_conllu_library_reads_them(shared: Path) -> None:
    conllu = pytest.importorskip("conllu")
    path = shared / "data" / "ud" / "de_gsd-ud-dev.conllu"
    theirs = conllu.parse(path.read_text(encoding="utf-8"))
    ours = [tree for tree in read_trees(path) if tree]
    assert len(ours) == len(theirs) == 799
    assert sum(len(tree.words) for tree in ours) == 12480
    assert sum(len(tree.multiword) for tree in ours) == 164
    for mine, other in zip(ours, theirs, strict=True):
        words = [token for token in other if isinstance(token["id"], int)]
        assert [word[:2] for word in mine.words] == [(token["id"], token["form"]) for token in words]
        assert [(word.head, word.deprel) for word in mine.words] == [
            (token["head"], token["deprel"]) for token in words
        ]
        assert mine.sent_id == other.metadata["sent_id"]
        assert mine.matches(other.metadata["text"])


def test_every_gold_text_matches_its_words(shared: Path) -> None:
    for name, sentences, words in (
        ("en_ewt-ud-dev", 2001, 25147),
        ("en_pud-ud-test", 1000, 21180),
        ("de_pud-ud-test", 1000, 21332),
    ):
        trees = [tree for tree in read_trees(shared / "data" / "ud" / f"{name}.conllu") if tree]
        assert (len(trees), sum(len(tree.words) for tree in trees)) == (sentences, words)
        for tree in trees:
            assert tree.matches(tree.text)
            joined = [tree.text[start:end] for start, end in tree.offsets(tree.text)]
            assert len(joined) == len(tree.words)
            if not tree.multiword:
                assert joined == [word.form for word in tree.words]
