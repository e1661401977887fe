"""Tags of lexicons in Universal Dependencies' parts of speech and features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TagTable = Mapping[str, str]
"""A tag -> a part of speech, `Feature=Value`, or several with a bar between."""


def convert(tags: Iterable[str], table: TagTable) -> tuple[str, str]:
    """(part of speech, features) of tags; the last part of speech counts, unknown tags are left out."""
    upos = "X"
    feats: dict[str, str] = {}
    for tag in tags:
        for part in table.get(tag, "").split("|"):
            name, _, value = part.partition("=")
            if value:
                feats[name] = f"{feats[name]},{value}" if name in feats and feats[name] != value else value
            elif name:
                upos = name
    return upos, "|".join(f"{name}={feats[name]}" for name in sorted(feats))


def _table(text: str) -> TagTable:
    """`tag value, tag value`; a value is a part of speech or a feature."""
    rows = (row.split(None, 1) for row in text.replace("\n", ",").split(",") if row.strip())
    return {tag: value.strip() for tag, value in rows}


UNIMORPH = _table("""
N NOUN, PROPN PROPN, ADJ ADJ, PRO PRON, DET DET, ART DET, V VERB, AUX AUX, NUM NUM, ADV ADV, ADP ADP
V.PTCP VERB|VerbForm=Part, V.CVB VERB|VerbForm=Conv, V.MSDR VERB|VerbForm=Vnoun, NFIN VerbForm=Inf
IND Mood=Ind|VerbForm=Fin, SBJV Mood=Sub|VerbForm=Fin, IMP Mood=Imp|VerbForm=Fin, COND Mood=Cnd|VerbForm=Fin
PRS Tense=Pres, PST Tense=Past, FUT Tense=Fut, IPFV Aspect=Imp, PFV Aspect=Perf
SG Number=Sing, PL Number=Plur, DU Number=Dual, 1 Person=1, 2 Person=2, 3 Person=3
MASC Gender=Masc, FEM Gender=Fem, NEUT Gender=Neut, MASC+FEM Gender=Com
ANIM Animacy=Anim, INAN Animacy=Inan, DEF Definite=Def, INDF Definite=Ind
NOM Case=Nom, ACC Case=Acc, GEN Case=Gen, DAT Case=Dat, INS Case=Ins, ESS Case=Loc, VOC Case=Voc, ABL Case=Abl
PRT Case=Par, IN+ESS Case=Ine, IN+ABL Case=Ela, IN+ALL Case=Ill, AT+ESS Case=Ade, AT+ABL Case=Abl, AT+ALL Case=All
CMPR Degree=Cmp, SPRL Degree=Sup, NEG Polarity=Neg, POS Polarity=Pos, PASS Voice=Pass, ACT Voice=Act
""")

PYMORPHY = _table("""
NOUN NOUN, ADJF ADJ, ADJS ADJ|Variant=Short, COMP ADJ|Degree=Cmp, VERB VERB|VerbForm=Fin, INFN VERB|VerbForm=Inf
PRTF VERB|VerbForm=Part, PRTS VERB|VerbForm=Part|Variant=Short, GRND VERB|VerbForm=Conv, NUMR NUM, ADVB ADV
NPRO PRON, PRED ADV, PREP ADP, CONJ CCONJ, PRCL PART, INTJ INTJ, Apro DET
sing Number=Sing, plur Number=Plur, 1per Person=1, 2per Person=2, 3per Person=3
masc Gender=Masc, femn Gender=Fem, neut Gender=Neut, anim Animacy=Anim, inan Animacy=Inan, ms-f Gender=Com
nomn Case=Nom, gent Case=Gen, gen1 Case=Gen, gen2 Case=Gen, datv Case=Dat, accs Case=Acc, acc2 Case=Acc
ablt Case=Ins, loct Case=Loc, loc1 Case=Loc, loc2 Case=Loc, voct Case=Voc
pres Tense=Pres, past Tense=Past, futr Tense=Fut, impr Mood=Imp, indc Mood=Ind, perf Aspect=Perf, impf Aspect=Imp
actv Voice=Act, pssv Voice=Pass, Supr Degree=Sup
""")

MORFEUSZ = _table("""
subst NOUN, depr NOUN, adj ADJ, adja ADJ, adjp ADV, adv ADV, num NUM, ppron12 PRON, ppron3 PRON|Person=3, siebie PRON
fin VERB|VerbForm=Fin|Mood=Ind|Tense=Pres, praet VERB|VerbForm=Fin|Mood=Ind|Tense=Past
impt VERB|VerbForm=Fin|Mood=Imp
bedzie AUX|VerbForm=Fin|Mood=Ind|Tense=Fut, inf VERB|VerbForm=Inf, imps VERB, pcon VERB|VerbForm=Conv
pant VERB|VerbForm=Conv, ger NOUN, pact VERB|VerbForm=Part|Voice=Act, ppas VERB|VerbForm=Part|Voice=Pass
winien VERB|VerbForm=Fin, prep ADP, conj CCONJ, comp SCONJ, qub PART, interj INTJ
sg Number=Sing, pl Number=Plur, nom Case=Nom, gen Case=Gen, dat Case=Dat, acc Case=Acc, inst Case=Ins, loc Case=Loc
voc Case=Voc, m1 Gender=Masc|Animacy=Hum, m2 Gender=Masc|Animacy=Nhum, m3 Gender=Masc|Animacy=Inan
f Gender=Fem, n Gender=Neut, n1 Gender=Neut, n2 Gender=Neut, pri Person=1, sec Person=2, ter Person=3
pos Degree=Pos, com Degree=Cmp, sup Degree=Sup, imperf Aspect=Imp, perf Aspect=Perf
neg Polarity=Neg, aff Polarity=Pos
""")

APERTIUM = _table("""
n NOUN, np PROPN, adj ADJ, det DET, prn PRON, num NUM, adv ADV, preadv ADV, pr ADP, post ADP, cnjcoo CCONJ
cnjsub SCONJ, cnjadv SCONJ, vblex VERB, vbser AUX, vbhaver AUX, vbmod AUX, vbdo AUX, vaux AUX, predet DET
pri Mood=Ind|Tense=Pres|VerbForm=Fin, pii Mood=Ind|Tense=Imp|VerbForm=Fin, ifi Mood=Ind|Tense=Past|VerbForm=Fin
fti Mood=Ind|Tense=Fut|VerbForm=Fin, cni Mood=Cnd|VerbForm=Fin, prs Mood=Sub|Tense=Pres|VerbForm=Fin
pis Mood=Sub|Tense=Imp|VerbForm=Fin, fts Mood=Sub|Tense=Fut|VerbForm=Fin, imp Mood=Imp|VerbForm=Fin
pres Mood=Ind|Tense=Pres|VerbForm=Fin, past Mood=Ind|Tense=Past|VerbForm=Fin, fut Mood=Ind|Tense=Fut|VerbForm=Fin
inf VerbForm=Inf, ger VerbForm=Ger, pp VerbForm=Part|Tense=Past, pprs VerbForm=Part|Tense=Pres, ppres VerbForm=Part
m Gender=Masc, f Gender=Fem, nt Gender=Neut, mf Gender=Com, un Gender=Com, mp Gender=Masc|Animacy=Hum
ma Gender=Masc|Animacy=Nhum, mi Gender=Masc|Animacy=Inan, aa Animacy=Anim, nn Animacy=Inan
sg Number=Sing, pl Number=Plur, sp Number=Sing|Number=Plur, du Number=Dual, p1 Person=1, p2 Person=2, p3 Person=3
nom Case=Nom, gen Case=Gen, dat Case=Dat, acc Case=Acc, ins Case=Ins, loc Case=Loc, prp Case=Loc, voc Case=Voc
comp Degree=Cmp, sup Degree=Sup, impf Aspect=Imp, perf Aspect=Perf, neg Polarity=Neg
""")
