"""General error types, with a treebank of a small language of our own: variants, detectors, lexicons, commands."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from babelscope.language.general.lexicons import Apertium, entries_of, open_lexicon, round_trip
from babelscope.language.general.sentence import Sentence, Source, features
from babelscope.language.general.tags import APERTIUM, MORFEUSZ, PYMORPHY, UNIMORPH, convert
from babelscope.language.general.treebank import Tools, read_treebank
from babelscope.language.general.types import GENERAL_TYPES, why_none
from babelscope.language.ud import parse_tree
from babelscope.making.parsed_pairs import ParsedPairs, ParsedReferences, choose_types
from babelscope.util.errors import BabelscopeError
from tests.support.toy_fixtures import Babelscope

# A word: form, lemma, part of speech, features, head, relation. Nouns in -o are masculine, those in -a feminine;
# -s is the plural; what agrees takes the same ending. "crisi" has one form for both numbers.
Row = tuple[str, str, str, str, int, str]
NOUNS = ("libro", "perro", "gato", "casa", "mesa", "vaca")
ADJECTIVES = ("roj", "negr", "alt")
ARTICLES = {("o", ""): "el", ("o", "s"): "los", ("a", ""): "la", ("a", "s"): "las"}
VERBS = {"": "come", "s": "comen"}


def phrase(noun: str, plural: str, head: int, relation: str, start: int, adjective: str = "roj") -> list[Row]:
    """Article, noun and adjective, the noun at start + 1."""
    gender = noun[-1]
    feats = f"Gender={'Masc' if gender == 'o' else 'Fem'}|Number={'Plur' if plural else 'Sing'}"
    return [
        (ARTICLES[gender, plural], "el", "DET", f"Definite=Def|{feats}|PronType=Art", start + 1, "det"),
        (noun + plural, noun, "NOUN", feats, head, relation),
        (f"{adjective}{gender}{plural}", f"{adjective}o", "ADJ", feats, start + 1, "amod"),
    ]


def clause(noun: str, plural: str, adjective: str = "roj", *more: Row) -> list[Row]:
    feats = f"Mood=Ind|Number={'Plur' if plural else 'Sing'}|Person=3|Tense=Pres|VerbForm=Fin"
    verb = (VERBS[plural], "comer", "VERB", feats, 0, "root")
    return [*phrase(noun, plural, 4, "nsubj", 1, adjective), verb, *more]


def sentence(rows: list[Row], name: str = "") -> Sentence:
    """A sentence of rows, without a space before marks."""
    text = ""
    for form, *_ in rows:
        text += form if form in ".," or not text else f" {form}"
    lines = [f"# sent_id = {name}", f"# text = {text[:1].upper()}{text[1:]}"]
    for number, (form, lemma, upos, feats, head, relation) in enumerate(rows, 1):
        shown = form[:1].upper() + form[1:] if number == 1 else form
        lines.append(f"{number}\t{shown}\t{lemma}\t{upos}\t_\t{feats or '_'}\t{head}\t{relation}\t_\t_")
    return Sentence(parse_tree(lines, "a test"))


NOT = ("no", "no", "ADV", "Polarity=Neg", 4, "advmod")
STOP = (".", ".", "PUNCT", "", 4, "punct")


def negated(rows: list[Row]) -> list[Row]:
    """A clause with *no* before its verb."""
    moved = [(*row[:4], row[4] + (row[4] > 3), row[5]) for row in rows]
    return [*moved[:3], (*NOT[:4], 5, "advmod"), *moved[3:]]


def treebank() -> list[Sentence]:
    found = [
        sentence(clause(noun, plural, adjective, STOP))
        for noun, plural, adjective in itertools.product(NOUNS, ("", "s"), ADJECTIVES * 6)
    ]
    found += [sentence(negated(clause(noun, "", "alt", STOP))) for noun in NOUNS]
    first = ("yo", "yo", "PRON", "Number=Sing|Person=1|PronType=Prs", 2, "nsubj")
    verb = ("como", "comer", "VERB", "Mood=Ind|Number=Sing|Person=1|Tense=Pres|VerbForm=Fin", 0, "root")
    found += [sentence([first, verb])] * 12
    for number in ("Sing", "Plur"):
        feats = f"Gender=Fem|Number={number}"
        article = (
            "la" if number == "Sing" else "las",
            "el",
            "DET",
            f"Definite=Def|{feats}|PronType=Art",
            2,
            "det",
        )
        found.append(sentence([article, ("crisi", "crisi", "NOUN", feats, 0, "root")]))
    return found


@pytest.fixture(scope="module")
def tools() -> Tools:
    return read_treebank(treebank())


NOTHING = Source("")


def made(name: str, given: Sentence, tools: Tools, source: Source = NOTHING) -> list[str]:
    variants = list(GENERAL_TYPES[name].make(given, source, tools))
    assert all(variant.text != given.text for variant in variants)
    assert all(given.text[variant.start :].startswith(variant.word) for variant in variants)
    return [variant.text for variant in variants]


BOOK = clause("libro", "", "roj", STOP)
CONJOINED = [*BOOK[:4], ("casa", "casa", "NOUN", "Gender=Fem|Number=Sing", 2, "conj"), STOP]
CRISIS = [
    (*clause("casa", "")[0][:4], 2, "det"),
    ("crisi", "crisi", "NOUN", "Gender=Fem|Number=Sing", 0, "root"),
]
OBJECT = [*BOOK[:4], *phrase("gato", "s", 4, "obj", 5), STOP]
MADE = [
    ("subj_verb_number", BOOK, ["El libro rojo comen."]),
    ("subj_verb_number", CONJOINED, []),
    ("subj_verb_number", OBJECT, []),  # the verb could agree with the object
    ("subj_verb_person", BOOK, ["El libro rojo como."]),
    ("np_number", BOOK, ["Los libro rojo come.", "El libro rojos come."]),
    ("np_gender", BOOK, ["La libro rojo come.", "El libro roja come."]),
    ("np_number", CONJOINED, []),
    ("np_number", CRISIS, []),  # one form for both numbers
    ("np_case", BOOK, []),
    ("negation_deleted", negated(BOOK), ["El libro rojo come."]),
    ("negation_deleted", BOOK, []),
    ("negation_inserted", BOOK, ["El libro rojo no come."]),
    ("negation_inserted", negated(BOOK), []),
    ("word_order", BOOK, ["Libro el rojo come."]),
    ("garbled_word", clause("vacaciona", "", "roj", STOP), ["La vnoicacaa roja come."]),
    ("garbled_word", BOOK, []),
]


@pytest.mark.parametrize(("name", "rows", "expected"), MADE)
def test_variants_have_the_error_and_no_form_that_may_be_right(
    name: str, rows: list[Row], expected: list[str], tools: Tools
) -> None:
    assert made(name, sentence(rows), tools) == expected


def test_numbers_and_names_and_pronouns_are_changed_only_where_the_source_has_them(tools: Tools) -> None:
    year = sentence([("1984", "1984", "NUM", "", 0, "root")])
    (changed,) = made("number_changed", year, tools, Source("in 1984"))
    assert changed != "1984"
    assert sum(one != other for one, other in zip(changed, "1984", strict=True)) == 1
    assert made("number_changed", year, tools, Source("long ago")) == []
    he = ("él", "él", "PRON", "Gender=Masc|Number=Sing|Person=3|PronType=Prs", 2, "nsubj")
    she = ("ella", "él", "PRON", "Gender=Fem|Number=Sing|Person=3|PronType=Prs", 2, "nsubj")
    verb = (*clause("libro", "")[3][:4], 0, "root")
    own = read_treebank([sentence([each, verb]) for each in (he, she)])
    english = [("he", "he", "PRON", "Gender=Masc", 2, "nsubj"), ("eats", "eat", "VERB", "", 0, "root")]
    parsed = sentence(english)
    assert made("pronoun_gender", sentence([he, verb]), own, Source(parsed.text, parsed)) == ["Ella come"]
    assert made("pronoun_gender", sentence([she, verb]), own, Source(parsed.text, parsed)) == []
    assert made("pronoun_gender", sentence([he, verb]), own, Source("he eats")) == []


@pytest.mark.parametrize("others", ["Number=Sing", "Gender=Fem|Number=Sing"])
def test_a_noun_known_with_another_gender_or_none_agrees_with_any(others: str) -> None:
    rows = phrase("gato", "", 0, "root", 1)[:2]
    cited = [("dentista", "dentista", "NOUN", others, 0, "root")]
    dentist = [rows[0], ("dentista", "dentista", *rows[1][2:])]
    for more, expected in (([], ["la dentista"]), ([sentence(cited)] * 2, [])):
        tools = read_treebank([*treebank(), *[sentence(dentist)] * 20, *more])
        assert [each.lower() for each in made("np_gender", sentence(dentist), tools)] == expected


def test_case_follows_what_adpositions_were_seen_with() -> None:
    forms = {"Nom": "dom", "Gen": "doma", "Loc": "dome"}

    def governed(case: str, *adposition: str) -> list[Row]:
        before: list[Row] = [(adposition[0], adposition[0], "ADP", "", 2, "case")] if adposition else []
        return [*before, (forms[case], "dom", "NOUN", f"Case={case}|Number=Sing", 0, "root")]

    seen = [sentence(governed(*each)) for each in (("Gen", "od"), ("Loc", "v"), ("Nom",)) for _ in range(10)]
    tools = read_treebank(seen)
    wrong = made("adposition_case", sentence(governed("Gen", "od")), tools)
    assert wrong == ["Od dome"]
    find = GENERAL_TYPES["adposition_case"].find
    assert find is not None
    assert find(sentence(governed("Gen", "od")), tools) is None
    assert find(sentence([governed("Gen", "od")[0], governed("Loc", "v")[1]]), tools) is not None


def test_case_follows_what_nouns_of_a_relation_were_seen_with() -> None:
    """A subject is never put in a case of objects, which would make it an object where subjects can be left out."""
    forms = {"Nom": "dom", "Acc": "domu", "Gen": "doma", "Loc": "dome"}

    def clause_with(subject: str, noun: str) -> list[Row]:
        verb = ("vidi", "videti", "VERB", "Mood=Ind|Number=Sing|VerbForm=Fin", 0, "root")
        return [
            (forms[subject], "dom", "NOUN", f"Case={subject}|Number=Sing", 2, "nsubj"),
            verb,
            ("grad" + forms[noun][3:], "grad", "NOUN", f"Case={noun}|Number=Sing", 2, "obj"),
        ]

    oblique = [("dome", "dom", "NOUN", "Case=Loc|Number=Sing", 2, "obl"), clause_with("Nom", "Acc")[1]]
    genitive = [("doma", "dom", "NOUN", "Case=Gen|Number=Sing", 2, "iobj"), clause_with("Nom", "Acc")[1]]
    seen = [clause_with("Nom", "Acc")] * 10 + [clause_with("Nom", "Gen")] * 2 + [oblique] * 3 + [genitive] * 6
    seen += [[("grad", "grad", "NOUN", "Case=Nom|Number=Sing", 0, "root")]]
    tools = read_treebank(map(sentence, seen))
    given = sentence(clause_with("Nom", "Acc"))
    assert made("subject_case", given, tools) == ["Dome vidi gradu"]
    assert made("object_case", given, tools) == ["Dom vidi grad"]
    assert (
        made("object_case", sentence([*oblique, ("gradu", *clause_with("Nom", "Acc")[2][1:])]), tools) == []
    )
    find = GENERAL_TYPES["subject_case"].find
    assert find is not None
    assert find(given, tools) is None
    assert find(sentence(clause_with("Loc", "Acc")), tools) is not None


def test_detectors_find_planted_errors_and_are_silent_on_the_treebank(tools: Tools) -> None:
    found = 0
    for name, kind in GENERAL_TYPES.items():
        if kind.find is None:
            continue
        assert not [each.text for each in treebank() if kind.find(each, tools)], name
        for rows in (BOOK, negated(BOOK)):
            given = sentence(rows)
            for variant in kind.make(given, NOTHING, tools):
                place = next(n for n, (start, _) in enumerate(given.spans) if start == variant.start)
                if variant.text.split()[place].strip(".").lower() == variant.changed.lower() and kind.agrees:
                    changed = [
                        (variant.changed.lower(), *rows[place][1:]) if n == place else row
                        for n, row in enumerate(rows)
                    ]
                    found += kind.find(sentence(changed), tools) is not None
    assert found >= 8


def test_why_a_type_gives_nothing(tools: Tools) -> None:
    assert why_none(GENERAL_TYPES["np_case"], tools) == "the parses mark no case on such words"
    assert "few to tell" in why_none(GENERAL_TYPES["np_number"], read_treebank(treebank()[:3]))


# --- Lexicons ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "table", "expected"),
    [
        (["V", "IND", "PRS", "3", "SG"], UNIMORPH, ("VERB", "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin")),
        (["NOUN", "masc", "sing", "gent"], PYMORPHY, ("NOUN", "Case=Gen|Gender=Masc|Number=Sing")),
        (["subst", "sg", "nom", "m1"], MORFEUSZ, ("NOUN", "Animacy=Hum|Case=Nom|Gender=Masc|Number=Sing")),
        (["adjp", "gen"], MORFEUSZ, ("ADV", "Case=Gen")),  # z francuska
        (["adj", "mf", "sp"], APERTIUM, ("ADJ", "Gender=Com|Number=Sing,Plur")),
    ],
)  # fmt: skip
def test_tags_of_lexicons_are_those_of_universal_dependencies(
    tags: list[str], table: dict[str, str], expected: tuple[str, str]
) -> None:
    assert convert(tags, table) == expected
    assert features("Gender=Com")["Gender"] == {"Com", "Masc", "Fem"}


def test_a_unimorph_file_adds_forms_and_readings(tmp_path: Path) -> None:
    path = tmp_path / "spa"
    path.write_text(
        "comer\tcomerán\tV;IND;FUT;3;PL\ncomer\tcome\tV;IND;PRS;3;SG\ncomer\tcomen\tV;IND;PRS;3;PL\n"
    )
    lexicon = open_lexicon(str(path))
    (reading,) = lexicon.analyze("Comen")
    assert {each.form for each in lexicon.paradigm(reading)} == {"comerán", "come", "comen"}
    known = round_trip(lexicon, entries_of(sentence(BOOK).tree))
    assert (known.words, known.known, known.fitting, known.lost) == (4, 1, 1, 0)
    for text, fault in (("a\tb\n", "lemma, form and features"), (None, "no such lexicon")):
        if text is not None:
            path.write_text(text)
        with pytest.raises(BabelscopeError, match=fault):
            open_lexicon(str(path) if text is not None else "nothing.there")


def test_pymorphy_knows_the_forms_of_a_word() -> None:
    pytest.importorskip("pymorphy3_dicts_ru")
    lexicon = open_lexicon("pymorphy3:ru")
    readings = [each for each in lexicon.analyze("книгу") if each.upos == "NOUN"]
    assert [each.feats for each in readings] == ["Animacy=Inan|Case=Acc|Gender=Fem|Number=Sing"]
    assert {"книга", "книгой", "книги"} <= {each.form for each in lexicon.paradigm(readings[0])}
    assert lexicon.analyze("абракадаброидность") == ()


_LT_PROC = """#!/usr/bin/env python3
import sys
READ = {"casa": "casa<n><f><sg>/casar<vblex><pri><p3><sg>", "casas": "casa<n><f><pl>"}
FORMS = {"casa<n><f><sg>": "casa", "casa<n><f><pl>": "casas"}
if "-g" in sys.argv:
    for line in sys.stdin:
        print(FORMS.get(line.strip()[1:-1], "#" + line.strip()[1:-1]))
else:
    word = ""
    while char := sys.stdin.read(1):
        if char == "\\0":
            print(f"^{word}/{READ.get(word, '*' + word)}$", end="\\0", flush=True)
            word = ""
        else:
            word += char
"""


def test_apertium_is_asked_by_its_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "lt-proc"
    program.parent.mkdir()
    program.write_text(_LT_PROC)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("spa-cat.automorf.bin", "cat-spa.autogen.bin"):
        (tmp_path / name).touch()
    lexicon = open_lexicon(f"apertium:{tmp_path}:spa")
    assert isinstance(lexicon, Apertium)
    noun, _verb = lexicon.analyze("casa")
    assert (noun.upos, noun.feats) == ("NOUN", "Gender=Fem|Number=Sing")
    assert [each.form for each in lexicon.paradigm(noun)] == ["casa", "casas"]
    assert lexicon.analyze("perro") == lexicon.analyze("a^b") == ()
    with pytest.raises(BabelscopeError, match=r"no \*-fra\.autogen\.bin|no fra-\*"):
        open_lexicon(f"apertium:{tmp_path}:fra")


# --- Pairs ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A treebank and its sources, in another order."""
    monkeypatch.chdir(tmp_path)
    lines = []
    for number, each in enumerate(treebank(), 1):
        rows = "\n".join("\t".join([*map(str, word[:8]), "_", word.misc]) for word in each.words)
        lines.append(f"# sent_id = {number}\n# text = {each.text}\n{rows}\n\n")
    (tmp_path / "es.conllu").write_text("".join(lines))
    rest = "\t_\t_\n\n"
    sources = [f"# sent_id = {n}\n1\tText{n}\t_\tX\t_\t_\t0\troot{rest}" for n in range(1, len(lines) + 1)]
    (tmp_path / "en.conllu").write_text("".join(reversed(sources)))
    return tmp_path


def test_make_pairs_counts_and_writes_pairs_of_any_language(files: Path, babelscope: Babelscope) -> None:
    given = "--language es --source-parses en.conllu --parses es.conllu --lexicon es.conllu"
    counted = {row["type"]: row for row in babelscope(f"make pairs {given} --type all --count --json").rows}
    assert set(counted) == set(GENERAL_TYPES)
    assert counted["np_number"]["pairs"] > 50
    assert "mark no case" in counted["np_case"]["reason"]
    printed = babelscope(f"make pairs {given} --type subj_verb_number")
    first = printed.rows[0]
    assert (first["source"], first["correct"]) == ("Text1", "El libro rojo come.")
    assert first["contrastive"] == "El libro rojo comen."
    assert "lexicon the treebank: knows" in printed.err
    (files / "es.txt").write_text("a\n")
    for asked, fault in (
        ("--parses es.conllu --source es.txt --language es --type np_number", "not as many sources"),
        ("--parses es.conllu --source es.txt --language es --type np_numbers", "did you mean np_number"),
        ("--parses es.conllu --source es.txt --type all", "--language"),
        ("--parses es.conllu --source es.txt --audit 3 --language es --type all", "no effect"),
        ("--type all --count --source es.txt --reference es.txt", "no effect"),
    ):
        assert fault in babelscope(f"make pairs {asked}").err


def test_pairs_do_not_depend_on_other_types_and_one_variant_is_drawn(files: Path) -> None:
    where = ParsedReferences(parses=files / "es.conllu", source_parses=files / "en.conllu")
    every = [pair.as_json() for pair in ParsedPairs(where, choose_types(["all"]), "es")]
    some = [pair.as_json() for pair in ParsedPairs(where, choose_types(["np_number"]), "es")]
    assert some == [pair for pair in every if pair["phenomenon"] == "np_number"]
    assert len({pair["id"] for pair in every}) == len(every)
    with pytest.raises(BabelscopeError, match="--parser"):
        ParsedReferences(source=files / "es.txt")


@pytest.mark.parametrize("code", ["fr", "ru", "tr"])
def test_parallel_treebanks_give_pairs_of_many_types(shared: Path, code: str) -> None:
    folder = shared / "data" / "pud"
    trees, english = (folder / f"{each}_pud-ud-test.conllu" for each in (code, "en"))
    pairs = ParsedPairs(
        ParsedReferences(parses=trees, source_parses=english, lexicons=(str(trees),)),
        choose_types(["all"]),
        code,
    )
    assert all(pair.correct not in pair.contrastive for pair in pairs)
    enough = [str(row["type"]) for row in pairs.count_rows() if int(row["pairs"]) >= 10]
    grammar = [
        name for name in enough if name.startswith(("subj_verb", "np", "predicate")) or name.endswith("_case")
    ]
    assert len(enough) >= 6
    assert len(grammar) >= 3
