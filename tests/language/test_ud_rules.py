"""Rules over trees: what they find, in toys, in the released parses and in gold treebanks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from babelscope.language.ud import Tree, parse_tree, read_trees
from babelscope.language.ud_rules import LONGEST, RULES, Finder, choose_rules, read_rules, shipped_rules
from babelscope.making.challenge import Corpus, Search, SearchSettings
from babelscope.util.errors import BabelscopeError
from tests.support.trees import tree as small_tree

GERMAN = """\
1	Er	er	PRON	PPER	_	2	nsubj	_	_
2	lud	laden	VERB	VVFIN	_	0	root	_	_
3	sich	sich	PRON	PRF	Case=Acc|Reflex=Yes	2	obj	_	_
4	selbst	selbst	ADV	ADV	_	3	advmod	_	_
5	ein	ein	ADP	PTKVZ	_	2	compound:prt	_	_"""
ENGLISH = """\
1	Himself	himself	PRON	PRP	PronType=Prs|Reflex=Yes	0	root	_	_
2	she	she	PRON	PRP	_	3	nsubj	_	_
3	looked	look	VERB	VBD	_	1	acl:relcl	_	_
4	straight	straight	ADV	RB	_	3	advmod	_	_
5	at	at	ADP	IN	_	3	obl:arg	_	_
6	best	best	ADJ	JJ	_	3	xcomp	_	_
7	for	for	ADP	IN	_	6	obl	_	_"""


def tree(text: str) -> Tree:
    return parse_tree(text.split("\n"), "toy")


def found(text: str, *names: str, roots: bool = False, strict: bool = False) -> list[tuple[object, ...]]:
    finder = Finder(choose_rules(names, strict=strict), roots=roots)
    return [
        (each.phenomenon, each.head, each.dependent, each.distance, each.head_form, each.dependent_form)
        for each in finder(tree(text), "source")
    ]


def test_what_is_found_keeps_its_two_words_and_their_distance() -> None:
    assert found(GERMAN) == [
        ("reflexive", 2, 3, 0, "lud", "sich"),
        ("particle", 2, 5, 2, "lud", "ein"),
    ]
    assert found(ENGLISH) == [
        ("preposition_stranding", 3, 5, 1, "looked", "at"),
        ("preposition_stranding", 6, 7, 0, "best", "for"),
    ]
    assert found(GERMAN, "particle") == [("particle", 2, 5, 2, "lud", "ein")]


def test_a_pronoun_is_no_particle() -> None:
    spanish = """\
1	Se	se	PRON	_	Reflex=Yes	2	compound:prt	_	_
2	fue	ir	VERB	_	_	0	root	_	_"""
    assert found(spanish) == [("reflexive", 2, 1, 0, "fue", "Se")]


def test_a_root_depends_on_nothing_but_in_the_release() -> None:
    assert found(ENGLISH, "reflexive") == []
    assert found(ENGLISH, "reflexive", roots=True) == [("reflexive", 0, 1, 0, "", "Himself")]
    assert found(GERMAN, roots=True) == found(GERMAN)


def test_strict_rules_want_a_verb() -> None:
    assert found(ENGLISH, strict=True) == [("preposition_stranding", 3, 5, 1, "looked", "at")]
    assert found(GERMAN, strict=True) == found(GERMAN)


def test_rules_are_chosen_by_name_or_language() -> None:
    assert [rule.name for rule in choose_rules()] == [rule.name for rule in RULES]
    assert [rule.name for rule in choose_rules(language="de")] == ["particle", "reflexive"]
    assert [rule.name for rule in choose_rules(["stranding"], language="de")] == ["preposition_stranding"]
    with pytest.raises(BabelscopeError, match="there is no phenomenon 'partikel'; did you mean particle"):
        choose_rules(["partikel"])


OWN = """
[light_verb]
definition = "a verb that says little, and its noun"
languages = ["en"]
dependent = { relation = "obj", upos = ["NOUN"], lemma = ["walk", "look"] }
head = { upos = ["VERB"], lemma = ["take", "have"] }

[relative]
dependent = { relation = ["acl:relcl"] }
"""
TAKEN = """\
1	She	she	PRON	PRP	Case=Nom	2	nsubj	_	_
2	takes	take	VERB	VBZ	_	0	root	_	_
3	a	a	DET	DT	_	4	det	_	_
4	walk	walk	NOUN	NN	Number=Sing	2	obj	_	_
5	takes	take	VERB	VBZ	_	4	acl:relcl	_	_
6	time	time	NOUN	NN	Number=Sing	5	obj	_	_"""


def test_own_rules_work_like_ours(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN, encoding="utf-8")
    own = read_rules(path)
    finder = Finder(choose_rules(["light_verb", "relative"], more=own))
    assert [(each.phenomenon, each.head, each.dependent) for each in finder(tree(TAKEN), "source")] == [
        ("light_verb", 2, 4),
        ("relative", 4, 5),
    ]
    assert [rule.name for rule in choose_rules(language="de", more=own)] == [
        "particle",
        "reflexive",
        "relative",
    ]


def sentences(path: Path, phenomenon: str, rules: str, distances: range) -> list[int]:
    counts = []
    finder = Finder(choose_rules([phenomenon]), roots=rules == "released")
    greatest = []
    for parsed in read_trees(path):
        assert parsed is not None
        greatest.append(max((each.distance for each in finder(parsed, "source")), default=-1))
    for distance in distances:
        counts.append(sum(each >= distance for each in greatest))
    return counts


# README-ldd.md of the shared data: sentences with at least 0..6 words between.
RELEASED = {
    "en_preposition_stranding0": [682, 191, 85, 40, 27, 19, 18],
    "en_particle": [786, 786, 111, 36, 20, 16, 11],
    "en_reflexive": [1188, 1188, 460, 274, 184, 133, 100],
    "de_particle_news": [232, 232, 181, 158, 134, 111, 92],
    "de_reflexive_news": [281, 281, 222, 184, 151, 112, 81],
}
SOUND = {**RELEASED, "en_reflexive": [1177, 1177, 450, 266, 178, 128, 96]}


@pytest.mark.parametrize(("rules", "table"), [("released", RELEASED), ("sound", SOUND)])
def test_the_released_parses_give_the_published_table(
    shared: Path, rules: str, table: dict[str, list[int]]
) -> None:
    for name, wanted in table.items():
        path = shared / "data" / "ldd" / "repaired" / f"{name}.conllu"
        phenomenon = name.split("_", 1)[1].removesuffix("_news").removesuffix("0")
        assert sentences(path, phenomenon, rules, range(7)) == wanted, name


def test_the_parses_have_the_very_sentences_of_the_stored_ids(shared: Path) -> None:
    folder = shared / "data" / "ldd"
    for name in ("en_preposition_stranding", "en_particle", "en_reflexive"):
        parses = folder / "repaired" / f"{name}{'0' if 'strand' in name else ''}.conllu"
        finder = Finder(choose_rules([name.split("_", 1)[1]]), roots=True)
        reach = {
            each.sent_id: max(one.distance for one in finder(each, "source"))
            for each in read_trees(parses)
            if each is not None
        }
        for digit, least in (("", 1), ("2", 2), ("3", 3)):
            wanted_ids = (folder / "books" / f"{name}{digit}.ids").read_text().split()
            assert {number for number, far in reach.items() if far >= least} == set(wanted_ids), name


# README-ldd.md: sentences with at least 0..3 words between, root tokens left out.
GOLD = {
    "de_gsd-ud-test": ([73, 63, 56, 47], [102, 56, 45, 43], [0, 0, 0, 0]),
    "de_pud-ud-test": ([112, 104, 94, 72], [131, 68, 52, 42], [0, 0, 0, 0]),
    "en_ewt-ud-test": ([83, 20, 7, 4], [4, 1, 0, 0], [24, 7, 3, 2]),
    "en_pud-ud-test": ([69, 6, 3, 1], [10, 2, 0, 0], [4, 0, 0, 0]),
}


def test_gold_treebanks_give_the_known_counts(shared: Path) -> None:
    for name, wanted in GOLD.items():
        search = Search(Corpus(parses=shared / "data" / "ud" / f"{name}.conllu"), SearchSettings())
        search.count()
        rows = [row.as_json() for row in search.rows()]
        got = [
            [row["sentences"] for row in rows if row["phenomenon"] == rule.name and row["name"] == "share"]
            for rule in RULES
        ]
        assert tuple(got) == wanted, name


def column(path: Path, place: int) -> list[tuple[str, str, int]]:
    """(form, or with place 2 the lemma; part of speech; head) of every word, read without our reader."""
    rows = [line.split("\t") for line in path.read_text("utf-8").split("\n")]
    return [(row[place], row[3], int(row[6])) for row in rows if len(row) == 10 and row[0].isdigit()]


@pytest.mark.parametrize(
    ("language", "place", "words", "count"),
    [
        ("ru", 2, ("себя",), 28),
        ("fr", 1, ("se", "Se", "s'", "S'", "s’", "S’", "soi"), 141),
        ("it", 1, ("si", "Si", "se", "s'", "sé"), 181),
    ],
)
def test_reflexives_that_treebanks_do_not_mark_are_found_by_lemma_or_form(
    shared: Path, language: str, place: int, words: tuple[str, ...], count: int
) -> None:
    path = shared / "data" / "pud" / f"{language}_pud-ud-test.conllu"
    known = [each for each in column(path, place) if each[0] in words and each[1] == "PRON" and each[2]]
    finder = Finder(choose_rules(["reflexive"], language=language))
    got = [each for sentence in read_trees(path) if sentence for each in finder(sentence, "source")]
    assert len(got) == len(known) == count
    nobody = Finder(choose_rules(["reflexive"]))  # without a language, features alone
    assert sum(len(nobody(sentence, "source")) for sentence in read_trees(path) if sentence) <= 3


def test_two_part_negations_count_once(shared: Path) -> None:
    path = shared / "data" / "pud" / "fr_pud-ud-test.conllu"
    finder = Finder(choose_rules(["negation_scope"], language="fr"))
    found = [finder(each, "source") for each in read_trees(path) if each]
    assert sum(each.dependent_form == "pas" for own in found for each in own) == 84
    for own in found:
        negated = [each.head for each in own]
        assert len(negated) == len(set(negated)), own
    pas = "Je je PRON _ 3 nsubj\nne ne ADV Polarity=Neg 3 advmod\nsais savoir VERB _ 0 root"
    assert found_by("negation_scope", pas, "fr") == [("sais", "ne", 0)]
    both = f"{pas}\npas pas ADV Polarity=Neg 3 advmod"
    assert found_by("negation_scope", both, "fr") == [("sais", "pas", 0)]
    infinitive = (
        "ne ne ADV Polarity=Neg 3 advmod\npas pas ADV Polarity=Neg 3 advmod\nsavoir savoir VERB _ 0 root"
    )
    assert found_by("negation_scope", infinitive, "fr") == [("savoir", "pas", 0)]


def found_by(name: str, text: str, language: str | None = None) -> list[tuple[str, str, float]]:
    finder = Finder(choose_rules([name], language=language))
    return [
        (each.head_form, each.dependent_form, each.distance) for each in finder(small_tree(text), "source")
    ]


KEYS = """
Die der DET Number=Plur 2 det
Schlüssel Schlüssel NOUN Number=Plur 5 nsubj
des der DET Number=Sing 4 det
Hauses Haus NOUN Number=Sing 2 nmod
fehlen fehlen VERB Number=Plur|VerbForm=Fin 0 root"""
KEYS_HAVE = """
Die der DET Number=Plur 2 det
Schlüssel Schlüssel NOUN Number=Plur 6 nsubj
haben haben AUX Number=Plur|VerbForm=Fin 6 aux
dem der DET Number=Sing 5 det
Mann Mann NOUN Number=Sing 6 iobj
gefehlt fehlen VERB VerbForm=Part 0 root"""
PAST = """
The the DET _ 2 det
keys key NOUN Number=Plur 3 nsubj
fell fall VERB Tense=Past|VerbForm=Fin 0 root"""
SEEN = """
Er er PRON Number=Sing 5 nsubj
hat haben AUX VerbForm=Fin 5 aux
den der DET _ 4 det
Mann Mann NOUN _ 5 obj
gesehen sehen VERB VerbForm=Part 0 root
, , PUNCT _ 8 punct
der der PRON PronType=Rel 8 nsubj
lacht lachen VERB VerbForm=Fin 4 acl:relcl"""
IN_PLACE = """
Er er PRON Number=Sing 8 nsubj
hat haben AUX VerbForm=Fin 8 aux
den der DET _ 4 det
Mann Mann NOUN _ 8 obj
, , PUNCT _ 7 punct
der der PRON PronType=Rel 7 nsubj
lacht lachen VERB VerbForm=Fin 4 acl:relcl
gesehen sehen VERB VerbForm=Part 0 root"""
WHAT = """
What what PRON PronType=Int 5 obj
did do AUX _ 5 aux
the the DET _ 4 det
man man NOUN _ 5 nsubj
buy buy VERB _ 0 root"""
WHICH = """
Which which DET PronType=Int 2 det
book book NOUN _ 5 obj
did do AUX _ 5 aux
she she PRON PronType=Prs 5 nsubj
buy buy VERB _ 0 root"""
WHO = """
Who who PRON PronType=Int 2 nsubj
slept sleep VERB _ 0 root"""
ECHO = """
She she PRON PronType=Prs 2 nsubj
bought buy VERB _ 0 root
what what PRON PronType=Int 2 obj"""
NOT = """
Er er PRON _ 5 nsubj
ist sein AUX _ 5 aux
nicht nicht PART Polarity=Neg 5 advmod
heute heute ADV _ 5 advmod
gekommen kommen VERB _ 0 root"""
NO = """
No no DET PronType=Neg 3 det
clear clear ADJ _ 3 amod
answer answer NOUN _ 4 nsubj
came come VERB _ 0 root"""
NOTHING = """
Nothing nothing PRON PronType=Neg 2 nsubj
came come VERB _ 0 root"""
DECIDE = """
We we PRON _ 2 nsubj
made make VERB _ 0 root
a a DET _ 5 det
good good ADJ _ 5 amod
decision decision NOUN _ 2 obj"""
CAKE = DECIDE.replace("decision decision", "cake cake")
DECIDED_UPON = DECIDE.replace("made make", "liked like")
BECAUSE = """
weil weil SCONJ _ 5 mark
er er PRON _ 5 nsubj
das der DET _ 4 det
Buch Buch NOUN _ 5 obj
las lesen VERB VerbForm=Fin 0 root"""
BECAUSE_HAD = """
weil weil SCONJ _ 4 mark
er er PRON _ 4 nsubj
Bücher Buch NOUN _ 4 obj
gelesen lesen VERB VerbForm=Part 0 root
hat haben AUX VerbForm=Fin 4 aux"""
SECOND = """
weil weil SCONJ _ 3 mark
er er PRON _ 3 nsubj
las lesen VERB VerbForm=Fin 0 root
ein ein DET _ 5 det
Buch Buch NOUN _ 3 obj"""
SECOND_HAD = """
weil weil SCONJ _ 5 mark
er er PRON _ 5 nsubj
hat haben AUX VerbForm=Fin 5 aux
Bücher Buch NOUN _ 5 obj
gelesen lesen VERB VerbForm=Part 0 root"""

Found = list[tuple[str, str, float]]


@pytest.mark.parametrize(
    ("name", "text", "language", "expected"),
    [
        ("subject_verb_agreement", KEYS, "de", [("fehlen", "Schlüssel", 2)]),
        ("subject_verb_agreement", KEYS_HAVE, "de", [("haben", "Schlüssel", 0)]),
        ("subject_verb_agreement", PAST, "en", []),
        # Marked by its mood alone, as in German and Italian PUD.
        (
            "subject_verb_agreement",
            KEYS.replace("VerbForm=Fin", "Mood=Ind"),
            "de",
            [("fehlen", "Schlüssel", 2)],
        ),
        ("subject_verb_agreement", KEYS.replace("VerbForm=Fin", "Mood=Ind|VerbForm=Vnoun"), "tr", []),
        ("subject_verb_agreement", KEYS.replace("nsubj", "obj"), "de", []),
        ("extraposed_relative", SEEN, "de", [("Mann", "lacht", 3)]),
        ("extraposed_relative", IN_PLACE, "de", []),
        ("extraposed_relative", SEEN.replace("PronType=Rel", "PronType=Art"), "de", []),
        ("wh_movement", WHAT, "en", [("buy", "What", 3)]),
        ("wh_movement", WHICH, "en", [("buy", "book", 2)]),
        ("wh_movement", WHAT.replace("PronType=Int", "PronType=Int,Rel"), "de", [("buy", "What", 3)]),
        ("wh_movement", WHAT.replace("PronType=Int", "PronType=Rel"), "en", []),
        ("wh_movement", WHO, "en", []),
        ("wh_movement", ECHO, "en", []),
        ("negation_scope", NOT, "de", [("gekommen", "nicht", 1)]),
        ("negation_scope", NO, "en", [("answer", "No", 1)]),
        ("negation_scope", NOTHING, "en", []),
        ("negation_scope", NOT.replace("Polarity=Neg", "Polarity=Pos"), "de", []),
        ("light_verb", DECIDE, "en", [("made", "decision", 2)]),
        ("light_verb", CAKE, "en", []),
        ("light_verb", DECIDED_UPON, "en", []),
        ("light_verb", DECIDE, "de", []),
        ("light_verb", CAKE.replace("obj", "compound:lvc"), "tr", [("made", "cake", 2)]),
        ("verb_final", BECAUSE, "de", [("las", "weil", 3)]),
        ("verb_final", BECAUSE_HAD, "de", [("hat", "weil", 3)]),
        ("verb_final", SECOND, "de", []),
        ("verb_final", SECOND_HAD, "de", []),
    ],
)
def test_what_fits_a_rule_and_what_nearly_does(name: str, text: str, language: str, expected: Found) -> None:
    assert found_by(name, text, language) == expected


def test_shipped_rules_are_looked_for_by_name_only() -> None:
    papers = {rule.name for rule in RULES}
    assert choose_rules() == list(RULES)
    assert all(rule.languages for rule in shipped_rules() if rule.name in papers)
    names = {rule.name for rule in shipped_rules()} - papers
    assert len(names) == 6
    assert all(any(rule.label for rule in shipped_rules() if rule.name == name) for name in names)


def test_alternatives_find_a_pair_once() -> None:
    both = NOT.replace("Polarity=Neg", "Polarity=Neg|PronType=Neg")
    assert found_by("negation_scope", both) == [("gekommen", "nicht", 1)]


def test_a_very_long_sentence_is_counted_instead_of_searched() -> None:
    finder = Finder(choose_rules(["wh_movement", "particle"]))
    tail = "\n".join("ja ja INTJ _ 5 discourse" for _ in range(LONGEST))
    assert (
        finder(small_tree(f"{WHAT}\n{tail}\nup up ADP _ 5 compound:prt"), "source") != []
    )  # the particle alone
    assert finder.too_long == 1


def written(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_several_tables_of_a_name_are_alternatives(tmp_path: Path) -> None:
    text = '[[a]]\ndependent = { upos = "ADP" }\n[[a]]\ndependent = { upos = "ADV" }\norder = "after"\n'
    own = read_rules(written(tmp_path, text))
    assert [rule.name for rule in own] == ["a", "a"]
    lines = ["1\tup\tup\tADP\t_\t_\t2\tx\t_\t_", "2\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_"]
    lines += ["3\tnow\tnow\tADV\t_\t_\t2\tx\t_\t_"]
    finder = Finder(choose_rules(["a"], more=own))
    assert [each.dependent for each in finder(parse_tree(lines, "toy"), "source")] == [1, 3]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[a]\ndependent = { upos = 'X' }\norder = 'left'", "rule 'a': order: Input should be"),
        ("[b]\ndependent = { upos = 'X' }\nheads = {}", "rule 'b': heads: Unexpected"),
        ("[a]\ndependent.upos = 'X'\n[a.head]\nlemma = [1]", "rule 'a': head.lemma.0: Input should be"),
        ("x = 1", "must be a table"),
        ("[all]\ndependent = { upos = 'X' }", "this name is taken"),
        ("[b]\nhead = { upos = 'X' }", "must say what the dependent is like"),
    ],
)
def test_a_bad_rule_is_refused_by_its_name(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BabelscopeError) as caught:
        read_rules(written(tmp_path, text))
    assert told in str(caught.value)


def test_not_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(BabelscopeError, match=r"not TOML.*line 2"):
        read_rules(written(tmp_path, "[a]\ndependent = { upos = X }"))


def test_a_value_is_no_pattern_of_characters_and_nothing_hangs(tmp_path: Path) -> None:
    nasty = "(a+)+$"
    own = read_rules(written(tmp_path, f"[a]\ndependent = {{ form = '{nasty}' }}"))
    finder = Finder(own, roots=True)
    began = time.monotonic()
    for form, places in (("a" * 100_000 + "b", []), (nasty, [1])):
        parsed = parse_tree([f"1\t{form}\t_\tX\t_\t_\t0\troot\t_\t_"], "toy")
        assert [each.dependent for each in finder(parsed, "source")] == places
    assert time.monotonic() - began < 2


def test_too_many_rules_are_refused(tmp_path: Path) -> None:
    text = "\n".join(f"[r{number}]\ndependent = {{ upos = 'X' }}" for number in range(201))
    with pytest.raises(BabelscopeError, match="201 rules"):
        read_rules(written(tmp_path, text))


@pytest.mark.slow
def test_most_dependencies_of_ewt_are_up_to_one_word_apart(shared: Path) -> None:
    """The paper says 62 %; the treebank's version is another than the authors'."""
    lengths = [
        abs(word.id - word.head)
        for tree in read_trees(shared / "data/ud/en_ewt-ud-train.conllu.gz")
        if tree is not None
        for word in tree.words
        if word.head
    ]
    assert len(lengths) > 190_000
    assert sum(each <= 2 for each in lengths) / len(lengths) == pytest.approx(0.628, abs=0.0005)
