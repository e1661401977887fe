"""Public formats: what each reader makes of a small file of its layout, what it refuses, and the released counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from babelscope.testsets import load
from babelscope.util.errors import BabelscopeError

Files = Mapping[str, str]


def write(folder: Path, files: Files) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8", newline="")


def lines(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


ANAPHORA = {
    "1": {
        "src": ["The lamp is new.", "It shines."],
        "trg": [
            {"correct": ["La lampe est neuve.", "Elle brille."], "type": "f.sg",
             "incorrect": ["La lampe est neuve.", "Il brille."]},
            {"semi-correct": ["Le phare est neuf.", "Il brille."],
             "incorrect": ["Le phare est neuf.", "Elle brille."]},
        ],
    }
}  # fmt: skip
CHOICE = {
    "7": {"examples": [{"src": ["A mad day.", "Mad."],
                        "trg": {"correct": ["Un jour fou.", "Fou."], "incorrect": ["Un jour fou.", "Dingue."]}}]}
}  # fmt: skip
VOITA = [
    {"src": "One . _eos Two .", "dst": ["Один . _eos Два .", "Один . _eos Две .", "Один . _eos Два ."], "true_ind": 1,
     "ctx_dist": 1},
    {"src": "One . _eos Two .", "dst": ["Раз . _eos Два .", "Один . _eos Две ."], "true_ind": 0},
]  # fmt: skip
CONTRAPRO = [
    {"src segment": "It works.", "ref segment": "Er läuft.", "ante distance": 1,
     "errors": [{"contrastive": "Sie läuft."}, {"contrastive": "Er läuft."}]}
]  # fmt: skip
CTXPRO = [
    {"src segment": "I like it.", "ref segment": "La quiero.", "expected": "la", "src ante segment": "A lamp.",
     "rule": "ACC.FEM"}
]  # fmt: skip
DEMETR = [
    {"src_sent": "Drei.", "mt_sent": "Three.", "pert_sent": "Four.\nThree.", "eng_sent": "Three!",
     "pert_name": "numbers", "pert_check": True, "severity": "critical"},
    {"src_sent": "Drei.", "mt_sent": "Three.", "pert_sent": "Three.", "eng_sent": "Three!", "pert_name": "numbers",
     "pert_check": False},
]  # fmt: skip
DFKI = {
    "items": [
        {"id": "5", "langpair": "ende", "source_sentence": "The bat flies.", "positive_tokens": ["Die Maus fliegt."],
         "negative_tokens": [], "positive_regex": "Fledermaus", "negative_regex": "", "category": "Ambiguity"},
        {"id": "5", "langpair": "ende", "source_sentence": "The bat.", "positive_tokens": [],
         "negative_tokens": ["Nein."], "positive_regex": "", "negative_regex": ""},
    ]
}  # fmt: skip
GATE = lines(
    "labels\tsource\tf\tm\tkw_s\tkw_f\tkw_m\r",
    "SUBJ\tThe boss sees us.\tLa jefa nos ve.\tEl jefe nos ve.\tboss=boss\tjefa\tjefe\r",
    "SUBJ\tYou sing.\tCantas sola.\tCantas solo.\tYou\tsola\tsolo\r",
)
WMT = """<dataset id="x"><doc id="d1" origlang="en" domain="news"><src lang="en"><p><seg id="1">One
 day.</seg><seg id="2">Two days.</seg></p></src>
<ref lang="de" translator="A"><p><seg id="1">Ein Tag.</seg><seg id="2">Zwei Tage.</seg></p></ref>
<ref lang="de" translator="B"><p><seg id="1">1 Tag.</seg></p></ref>
<hyp system="S" lang="de"><p><seg id="1">Tag.</seg></p></hyp></doc></dataset>"""
PRONOUNS = {
    "x.current.src": lines("It runs.", "It runs."),
    "x.current.trg": lines("Elle marche.", "Il marche."),
    "x.c1.context.src": lines("A car.", "A car."),
    "x.c1.context.trg": lines("Une voiture.", "Une voiture."),
}
CONTRACAT = {
    "en.txt": lines(*["A car. <SEP> It runs."] * 3, *["A man. <SEP> He runs."] * 2),
    "de.txt": lines("Ein Auto. <SEP> Es läuft.", "Ein Auto. <SEP> Er läuft.", "Ein Auto. <SEP> Sie läuft.",
                    "Ein Mann. <SEP> Er läuft.", "Ein Mann. <SEP> Es läuft."),
    "sentence_groups.txt": lines("0", "3"),
}  # fmt: skip
GENEVAL = {
    f"geneval-sentences-{version}-test.en_de.{language}": lines(text)
    for version, language, text in [
        ("feminine", "en", "She sings."),
        ("feminine", "de", "Sie singt."),
        ("masculine", "en", "He sings."),
        ("masculine", "de", "Er singt."),
    ]
}
GENEVAL_CONTEXT = {
    "geneval-context-wikiprofessions-2to1-test.en_es.en": lines("She came. <sep> The author wrote."),
    "geneval-context-wikiprofessions-original-test.en_es.es": lines("La autora escribió."),
    "geneval-context-wikiprofessions-flipped-test.en_es.es": lines("El autor escribió."),
}
MITTENS = (
    ',inputs,targets,lang,encoded_gender,eval_set_key,example,format,eval_set_family,"\ncanary GUID"\n'
    '0,"Translate.\nGerman:",The doctor came.,de,feminine,late_binding,"Die Ärztin\nkam.",2en,late_binding,\n'
    "1,Translate.,Vino.,es,masculine,news,He came.,2xx,gender_sets,\n"
)
HALLUCINATIONS = lines(
    ",src,mt,ref,repetitions,named-entities,omission,strong-unsupport,full-unsupport",
    '0,"Ja, ja.",Yes.,"Yes, yes.",0,0,1,1,0',
    "1,Nein.,No.,No.,0,0,0,0,0",
)
GENDEROUS = lines(
    "base\tbase_type\tsentences\ttype\tDE_DeepL\tDE_annotation\tDE_GPT_annotation",
    "baker\tmale_base\tThe baker won.\tbase\tDie Bäckerin gewann.\tF\tF",
    "guard\tmale_base\tThe guard won.\tbase\tDie Wache gewann.\tN\tN",
)
LINGEVAL = [
    {"source": "He sleeps.", "reference": "Er schläft.", "origin": "newstest2009.1", "errors": [
        {"type": "subj_verb_agreement", "contrastive": "Er schlafen.", "distance": 1, "frequency": 3},
        {"type": "polarity_particle_nicht_ins", "contrastive": "Er schläft nicht."}]}
]  # fmt: skip
CONTRAWSD = [
    {"source": "Das Schloss.", "reference": "The castle.", "ambig word": "Schloss", "sense": "castle",
     "errors": [{"contrastive": "The lock."}, {"contrastive": "The bolt."}]}
]  # fmt: skip
SGM = {
    "n-src.en.sgm": '<srcset setid="n" srclang="any">\n<doc docid="d" origlang="de" genre="news">\n<p>\n'
    '<seg id="1">A &amp; B.</seg>\n<seg id="2">Two days.</seg></p></doc></srcset>',
    "n-ref.de.sgm": '<refset setid="n" srclang="any" trglang="de"><doc docid="d" origlang="de">'
    "<seg id='1'>A &amp; B!</seg><seg id='2'>Zwei\nTage.</seg></doc></refset>",
}
WMT_LINES = lines(
    *(json.dumps({"lp": "en-de_DE", "document_id": "d", "domain": "news", "is_bad_source": number == 0,
                  "source": f"Line {number}.", "target": f"Zeile {number}."}) for number in range(3))
)  # fmt: skip
FLORES = {"eng_Latn.devtest": lines("One.", "Two."), "deu_Latn.devtest": lines("Eins.", "Zwei.")}
NTREX = {
    "newstest2019-src.eng.txt": lines("One.", "Two.", "Three."),
    "newstest2019-ref-2.yor.txt": lines("-", "-", "-"),
    "newstest2019-ref.yor.txt": lines("Ọ̀kan.", "Méjì.", "Mẹ́ta."),
    "DOCUMENT_IDS.tsv": lines("a", "a", "b"),
}

# Name -> files, spec after the folder, number of items, fields of the first item, what is skipped.
CASES: dict[str, tuple[Files, str, int, dict[str, Any], dict[str, int]]] = {
    "discevalmt, pronouns": (
        {"anaphora.json": json.dumps(ANAPHORA)}, "discevalmt:{}/anaphora.json", 2,
        {"id": "anaphora/1/1", "source": "It shines.", "correct": "Elle brille.", "contrastive": "Il brille.",
         "context_source": ["The lamp is new."], "context_target": ["La lampe est neuve."], "type": "f.sg"}, {},
    ),
    "discevalmt, words": (
        {"lexical-choice.json": json.dumps(CHOICE)}, "discevalmt:{}/lexical-choice.json", 1,
        {"correct": "Fou.", "contrastive": "Dingue.", "context_source": ["A mad day."], "target_language": "fr"}, {},
    ),
    "en-fr-pronouns": (
        PRONOUNS, "en-fr-pronouns:{}", 1,
        {"correct": "Elle marche.", "contrastive": "Il marche.", "context_target": ["Une voiture."]}, {},
    ),
    "en-fr-pronouns without context": (
        {name: text for name, text in PRONOUNS.items() if "current" in name}, "en-fr-pronouns:{}", 1,
        {"correct": "Elle marche.", "source": "It runs."}, {},
    ),
    "voita": (
        {"deixis.json": json.dumps(VOITA)}, "voita:{}/deixis.json", 1,
        {"source": "Two .", "correct": "Две .", "contrastive": ["Два .", "Два ."], "context_target": ["Один ."],
         "ctx_dist": 1}, {"translations that differ before the last sentence": 1},
    ),
    "contrapro": (
        {"c.json": json.dumps(CONTRAPRO)}, "contrapro:{}/c.json", 1,
        {"correct": "Er läuft.", "contrastive": "Sie läuft.", "ante_distance": 1},
        {"variant equal to the correct translation": 1},
    ),
    "contracat": (
        CONTRACAT, "contracat:{}", 2,
        {"source": "It runs.", "correct": "Es läuft.", "contrastive": ["Er läuft.", "Sie läuft."],
         "context_source": ["A car."], "context_target": ["Ein Auto."]}, {},
    ),
    "ctxpro": (
        {"gender.opensubtitles.en-es.dev.json": json.dumps(CTXPRO)},
        "ctxpro:{}/gender.opensubtitles.en-es.dev.json", 1,
        {"reference": "La quiero.", "rules": [{"require": "la"}], "context_source": ["A lamp."],
         "target_language": "es", "phenomenon": "gender"}, {},
    ),
    "mt-geneval": (
        GENEVAL, "mt-geneval:{},en_de", 2,
        {"id": "1/feminine", "source": "She sings.", "correct": "Sie singt.", "contrastive": "Er singt."}, {},
    ),
    "mt-geneval with context": (
        GENEVAL_CONTEXT, "mt-geneval:{},en_es", 1,
        {"source": "The author wrote.", "contrastive": "El autor escribió.", "context_source": ["She came."]}, {},
    ),
    "gate": (
        {"ES_2_variants.tsv": GATE}, "gate:{}/ES_2_variants.tsv", 2,
        {"id": "1/f", "correct_sources": ["The female boss sees us."], "translation": "La jefa nos ve.",
         "incorrect_sources": ["The male boss sees us."], "category": "f", "target_language": "es"},
        {"no place for a cue": 1},
    ),
    "mittens": (
        {"m.csv": MITTENS}, "mittens:{}/m.csv", 1,
        {"source": "Die Ärztin kam.", "phenomenon": "late_binding", "source_language": "de", "gender": "feminine",
         "reference": "The doctor came.",
         "rules": [{"ban": r"\b(he|him|his|himself)\b", "regex": True, "ignore_case": True}]}, {"out of English": 1},
    ),
    "hallucinations": (
        {"h.csv": HALLUCINATIONS}, "hallucinations:{}/h.csv", 2,
        {"source": "Ja, ja.", "given_translation": "Yes.", "labels": ["omission", "strong_unsupport"],
         "phenomenon": "omission+strong_unsupport", "reference": "Yes, yes."}, {},
    ),
    "genderous, sentences": (
        {"g.tsv": GENDEROUS}, "genderous:{}/g.tsv", 2, {"source": "The baker won.", "phenomenon": "male_base"}, {},
    ),
    "genderous, labels": (
        {"g.tsv": GENDEROUS}, "genderous:{}/g.tsv?language=de", 1,
        {"correct_sources": ["The female baker won."], "incorrect_sources": ["The male baker won."],
         "category": "female", "translation": "Die Bäckerin gewann.", "target_language": "de"}, {"label N": 1},
    ),
    "lingeval97": (
        {"l.json": json.dumps(LINGEVAL)}, "lingeval97:{}/l.json", 2,
        {"id": "1/1", "correct": "Er schläft.", "contrastive": "Er schlafen.", "phenomenon": "subj_verb_agreement",
         "distance": 1, "origin": "newstest2009.1"}, {},
    ),
    "contrawsd": (
        {"contrawsd.de-en.json": json.dumps(CONTRAWSD)}, "contrawsd:{}/contrawsd.de-en.json", 1,
        {"contrastive": ["The lock.", "The bolt."], "ambig_word": "Schloss", "source_language": "de",
         "target_language": "en"}, {},
    ),
    "blimp": (
        {"b.jsonl": json.dumps({"sentence_good": "He runs.", "sentence_bad": "He run.", "UID": "agreement"})},
        "blimp:{}/b.jsonl", 1, {"correct": "He runs.", "contrastive": "He run.", "phenomenon": "agreement"}, {},
    ),
    "flores": (
        FLORES, "flores:{},eng_Latn,deu_Latn", 2,
        {"source": "One.", "reference": "Eins.", "source_language": "en", "target_language": "de"}, {},
    ),
    "ntrex": (
        NTREX, "ntrex:{},eng,yor", 3,
        {"source": "One.", "reference": "Ọ̀kan.", "target_language": "yor", "document": "a"}, {},
    ),
    "wmt, sgm": (
        SGM, "wmt:{}/n-src.en.sgm,{}/n-ref.de.sgm", 2,
        {"id": "d/1", "source": "A & B.", "reference": "A & B!", "origlang": "de", "target_language": "de"}, {},
    ),
    "wmt, json lines": (
        {"en-de_DE.jsonl": WMT_LINES}, "wmt:{}/en-de_DE.jsonl", 2,
        {"id": "2", "source": "Line 1.", "reference": "Zeile 1.", "target_language": "de", "domain": "news"},
        {"is_bad_source": 1},
    ),
    "demetr": (
        {"d.json": json.dumps(DEMETR)}, "demetr:{}/d.json", 1,
        {"correct": "Three.", "contrastive": "Four. Three.", "human_reference": "Three!", "reference": "machine"},
        {"without the error, as the release says": 1},
    ),
    "demetr, a folder, and a baseline": (
        {"base_id35_reference.json": json.dumps([{**DEMETR[0], "pert_sent": "Three!", "severity": "base"}]),
         "critical_id8_negation.json": json.dumps(DEMETR)}, "demetr:{}", 2,
        {"id": "base_id35_reference/1", "correct": "Three!", "contrastive": "Three.", "reference": "human"},
        {"without the error, as the release says": 1},
    ),
    "dfki": (
        {"i.json": json.dumps(DFKI)}, "dfki:{}/i.json", 2,
        {"id": "5", "category": "Ambiguity", "target_language": "de",
         "rules": [{"right": "Die Maus fliegt."}, {"right": "Fledermaus", "regex": True}]}, {},
    ),
    "clams": (
        {"a.txt": lines("True\tHe runs.", "False\tHe run.", "True\tThey run.", "False\tThey runs.")},
        "clams:{}/a.txt", 2, {"correct": "He runs.", "contrastive": "He run.", "phenomenon": "a"}, {},
    ),
    "wmt": (
        {"n.xml": WMT}, "wmt:{}/n.xml", 2,
        {"id": "d1/1", "source": "One day.", "reference": ["Ein Tag.", "1 Tag."], "origlang": "en",
         "domain": "news"}, {},
    ),
    "wmt, one translator": (
        {"n.xml": WMT}, "wmt:{}/n.xml?translator=B", 1, {"reference": "1 Tag."}, {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_read(case: str, tmp_path: Path) -> None:
    files, spec, count, fields, skipped = CASES[case]
    write(tmp_path, files)
    tests = load(spec.replace("{}", str(tmp_path)))
    assert (len(tests), dict(tests.skipped)) == (count, skipped)
    first = tests.items[0].as_json()
    assert {name: first.get(name) for name in fields} == fields


def test_context_of_a_wmt_sentence_is_the_one_before(tmp_path: Path) -> None:
    write(tmp_path, {"n.xml": WMT})
    first, second = load(f"wmt:{tmp_path}/n.xml").items
    assert "context_source" not in first.as_json()
    assert second.as_json()["context_source"] == ["One day."]


def test_context_is_of_the_same_document(tmp_path: Path) -> None:
    write(tmp_path, {**NTREX, **SGM, "en-de_DE.jsonl": WMT_LINES})

    def contexts(spec: str) -> list[Any]:
        items = load(spec.replace("{}", str(tmp_path))).items
        return [
            (item.as_json().get("context_source"), item.as_json().get("context_target")) for item in items
        ]

    assert contexts("ntrex:{},eng,yor") == [(None, None), (["One."], ["Ọ̀kan."]), (None, None)]
    assert contexts("wmt:{}/n-src.en.sgm,{}/n-ref.de.sgm") == [(None, None), (["A & B."], None)]
    assert contexts("wmt:{}/en-de_DE.jsonl")[1] == (["Line 1."], ["Zeile 1."])


BOMB = (
    '<!DOCTYPE d [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]><d><doc><src><seg id="1">&b;</seg></src></doc></d>'
)
OUTSIDE = '<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/hostname">]><d><doc><src><seg id="1">&a;</seg></src></doc></d>'
REFUSED: dict[str, tuple[Files, str, str]] = {
    "no JSON": ({"a.json": "{"}, "discevalmt:{}/a.json", "a.json"),
    "a list": ({"a.json": "[]"}, "discevalmt:{}/a.json", "JSON object"),
    "a missing field": ({"a.json": '[{"src": "x"}]'}, "voita:{}/a.json", "field 'dst' is missing"),
    "a wrong type": ({"a.json": '[{"src": "x", "dst": 3, "true_ind": 0}]'}, "voita:{}/a.json", "a list"),
    "an index": ({"a.json": '[{"src": "x", "dst": ["y"], "true_ind": 4}]'}, "voita:{}/a.json", "none of 1"),
    "a line": ({**CONTRACAT, "sentence_groups.txt": "0\nx\n"}, "contracat:{}", "sentence_groups.txt:2"),
    "falling lines": ({**CONTRACAT, "sentence_groups.txt": "3\n0\n"}, "contracat:{}", "must rise"),
    "lines": ({**CONTRACAT, "de.txt": "x\n"}, "contracat:{}", "equally many lines"),
    "languages": (GENEVAL, "mt-geneval:{}", "needs a folder and languages"),
    "no columns": ({"m.csv": "a,b\n1,2\n"}, "mittens:{}/m.csv", "has no column 'example'"),
    "a gender": (
        {"m.csv": MITTENS.replace("feminine", "blue")},
        "mittens:{}/m.csv",
        "m.csv:5: gender 'blue'",
    ),
    "a label": (
        {"h.csv": HALLUCINATIONS.replace("0,1,1,0", "0,2,1,0")},
        "hallucinations:{}/h.csv",
        "must be 0 or 1",
    ),
    "too many cells": (
        {"h.csv": HALLUCINATIONS + "2,a,b,c,0,0,0,0,0,0\n"},
        "hallucinations:{}/h.csv",
        "10 columns",
    ),
    "no labels": ({"g.tsv": GENDEROUS}, "genderous:{}/g.tsv?language=fr", "no labeled translations into fr"),
    "one language": (FLORES, "flores:{},eng_Latn", "two languages are needed"),
    "no such language": (FLORES, "flores:{},eng_Latn,fra_Latn", "has no file of fra_Latn"),
    "sources alone": (SGM, "wmt:{}/n-src.en.sgm", "write SOURCE.sgm,REFERENCE.sgm"),
    "an open segment": (
        {"a.sgm": "<seg id='1'>x", "b.sgm": ""},
        "wmt:{}/a.sgm,{}/b.sgm",
        "a segment without its end",
    ),
    "no label": ({"a.txt": "Yes\tHe runs.\n"}, "clams:{}/a.txt", "True or False"),
    "no header": ({"g.tsv": "a\tb\n"}, "gate:{}/g.tsv", "no GATE file"),
    "entities": ({"n.xml": BOMB}, "wmt:{}/n.xml", "declares entities"),
    "a file of ours": ({"n.xml": OUTSIDE}, "wmt:{}/n.xml", "declares entities"),
    "no files": ({"a.json": "[]"}, "demetr:{}", "no files of DEMETR"),
    "no XML": ({"n.xml": "<a>"}, "wmt:{}/n.xml", "is not XML"),
    "no translator": ({"n.xml": WMT}, "wmt:{}/n.xml?translator=C", "by translator C"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path) -> None:
    files, spec, message = REFUSED[case]
    write(tmp_path, files)
    with pytest.raises(BabelscopeError) as error:
        load(spec.replace("{}", str(tmp_path)))
    assert message in str(error.value)


COUNTED = Path(__file__).parents[2] / "docs/measured/public-sets.md"
ROWS = [
    [cell.strip(" `") for cell in line.strip("| ").split(" | ")]
    for line in COUNTED.read_text("utf-8").split("\n")
    if line.startswith("| `") and line.count("|") == 6
]
_MORE = {"distil-lingeval", "mucow", "mucow-scoring", "winomt"}
"""Formats whose released files have tests of their own."""


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row[0].partition(":")[0] not in _MORE], ids=lambda row: row[0]
)
def test_released_files(row: list[str], shared: Path) -> None:
    """The table of docs/measured/public-sets.md."""
    spec, _, items, variants, *left_out = row
    name, _, path = spec.partition(":")
    tests = load(f"{name}:{shared}/data/{path}")
    found = sum(len(getattr(item, "contrastive", ())) for item in tests.items)
    skipped = "; ".join(f"{count} {reason}" for reason, count in tests.skipped.items())
    assert (f"{len(tests):,}", f"{found:,}", skipped) == (items, variants, "".join(left_out).strip("| "))


@pytest.mark.parametrize(("file", "most"), [("anaphora", 101), ("lexical-choice", 100)])
def test_without_context_discevalmt_is_half_right(file: str, most: int, shared: Path) -> None:
    """Whatever a scorer prefers of two sentences, it is wrong where they change places; group 17 has one too many."""
    items: Any = load(f"discevalmt:{shared}/data/context/discevalmt/{file}.json").items
    pairs = Counter((item.source, item.correct, *item.contrastive) for item in items)
    both = [(count, pairs[source, wrong, right]) for (source, right, wrong), count in pairs.items()]
    # Each two sentences are counted from both sides, those without a mirror image from one.
    right = sum(max(two) / (1 + (two[1] > 0)) for two in both)
    assert (len(items), right) == (200, most)
