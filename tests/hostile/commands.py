"""A small case of every command, and the files that it names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PAIR = {
    "source": "He does not come.",
    "correct": "Er kommt nicht.",
    "contrastive": "Er kommt.",
    "phenomenon": "polarity_particle_nicht_del",
    "reference": "human",
}
_CONLLU = """\
# text = Er gibt nie auf
1\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tgibt\tgeben\tVERB\t_\t_\t0\troot\t_\t_
3\tnie\tnie\tADV\t_\t_\t2\tadvmod\t_\t_
4\tauf\tauf\tADP\t_\t_\t2\tcompound:prt\t_\t_

"""
_WINOMT = "male\t1\tThe cook slept because he was tired.\tcook\tpro\n"


def files() -> dict[str, str]:
    """The files that cases name, by their names."""
    return {
        "a.en": "He does not come.\nShe sings.\n",
        "a.de": "Er kommt nicht.\nSie singt.\n",
        "terms.tsv": "source\trequire\nHe does not come.\tnicht\n",
        "given.txt": "Er kommt nicht.\nSie singt.\n",
        "pairs.jsonl": _lines(*({"id": str(n), **_PAIR} for n in range(3))),
        "sentences.jsonl": _lines(
            *(
                {"id": str(n), "source": "The cat sleeps.", "reference": "Die Katze schläft."}
                for n in range(2)
            )
        ),
        "challenge.jsonl": _lines(
            *({"id": str(n), "source": "a b", "reference": "b a", "dependencies": []} for n in range(4))
        ),
        "doctors.en": "The doctor sleeps.\n",
        "doctors.de": "Der Arzt schläft.\n",
        "a.conllu": _CONLLU,
        "parsed.de": "Er gibt nie auf\n",
        "parsed.en": "He never gives up\n",
        "lexicon.tsv": "come\tkommt\ncome\tgeht\n",
        "wino.tsv": _WINOMT,
        "wino.de": "Der Koch schlief, weil er müde war.\n",
        "wino.ru": "Повар спал, потому что он устал.\n",
        "mucow.text.txt": "My pen.\nA pig in its pen.\n",
        "mucow.key.tsv": "1\tted\tpen\tstift\tgehege\n2\tted\tpen\tgehege\tstift\n",
        "mucow.de": "Meine Stifte.\nEin Schwein mit Stift.\n",
        "candidates.json": json.dumps(
            {
                word: {f"{word}/frequent": one, f"{word}/rare": two}
                for word, one, two in (
                    ("bank", ["private", "modern", "rich"], ["muddy", "sandy", "steep"]),
                    ("bat", ["wooden", "broken", "expensive"], ["hungry", "blind", "brown"]),
                )
            }
        ),
        "judge.jsonl": _lines({"task": "assessment", "id": 1, "source": "A cat.", "translation": "Katze."}),
        "scores.jsonl": _lines(*({"system": s, "id": i, "score": i * 0.2} for s in "ab" for i in (1, 2, 3))),
        "study.toml": '[[systems]]\nspec = "lab:teacher"\n[[tests]]\nspec = "lab:pairs?n=6&seed=3"\n'
        '[[methods]]\nname = "contrast"\n[run]\ncache = true\nchunk = 2\n',
    }


def _lines(*items: Mapping[str, Any]) -> str:
    return "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)


CASES = """
translate --system lab:teacher a.en --to translated.txt
translate --system file:given.txt a.en --json
translate --system {hf} a.en --cache
translate --system {fsmt} a.en
translate --system {ct2} a.en
2 translate --system hf:teacher a.en
translate --system {t5} a.en
translate --decode sample --system lab:teacher a.en --n 2
translate --decode exact --system lab:teacher a.en --n 2 --budget-expansions 200
translate --decode mbr --system lab:teacher a.en --n 3
score --system lab:teacher a.en --target a.de --json
contrast --system lab:teacher --tests pairs.jsonl --json
errors --system lab:teacher --tests pairs.jsonl --json
likelihood --system lab:teacher --tests sentences.jsonl --set references=first
quality --system lab:teacher --tests sentences.jsonl --metric chrf --out quality-run
prompted-choice --system lab:llm --tests pairs.jsonl
condition --tests lab:gender?n=4 --system lab:student --evaluator lab:teacher --out condition-run
space --system lab:teacher --tests sentences.jsonl --k 2 --samples 2 --set mbr_samples=2 --out space-run
space --rejudge space-run --metric bleu --set segments=segments.jsonl
challenge --tests challenge.jsonl --system lab:teacher --set matched_corpora=2 --out challenge-run
run --init --system lab:student --tests pairs.jsonl --method contrast init.toml
run study.toml --out whole
run study.toml --out shard-1 --shard 1/2
run study.toml --out shard-2 --shard 2/2
run --merge shard-1 shard-2 --out merged
compare whole space-run --format markdown
report whole space-run challenge-run -o page-of-runs.html
demo --n 10 --out demo-run
systems --json
doctor lab:student
rules --system lab:teacher --tests rules:terms.tsv
judged --system lab:student --judge lab:llm --tests lab:parallel?n=4 --error omission
check lab:student --text a.en --source-language en --target-language de
4 gate old=file:a.de new=file:given.txt --source a.en --source-language en --target-language de
plan --margin 2%
annotate judge.jsonl --annotator me --task assessment --port 0 --no-open
2 annotate challenge.jsonl --annotator me --port 0 --no-open
annotate --sample winomt:wino.tsv --set translations=wino.de --queue sampled.jsonl
2 agreement judge.jsonl
agreement scores.jsonl --human scores.jsonl --set field=score
data list
data get chrf
1 data echo distil-lingeval/clause_omission.mt source
2 data publish .
data show distil-lingeval/clause_omission.mt
1 data get distil-lingeval/clause_omission.mt
make cues --tests lab:senses?n=60 --evaluator lab:teacher --candidates candidates.json --to cued.jsonl
make challenge --parses a.conllu --source parsed.de --reference parsed.en --to made.jsonl
make challenge --parser udpipe:lab-en --source a.en --reference a.de
make machine-references --tests pairs.jsonl --system lab:teacher --to machine.jsonl --set score_with=lab:student
make counts --source a.en --target a.de --lexicon lexicon.tsv
make counts --source doctors.en --target doctors.de --words lab:occupations
make pairs --list-types
make pairs --type np_agreement --source a.en --reference a.de --to np.jsonl
make pairs --type polarity_particle_nicht_del --source a.en --reference a.de
make pairs --audit 2 --type subj_verb_agreement --source a.en --reference a.de
condition --judge winomt --tests winomt:wino.tsv?neutral=yes --system file:wino.de?format=auto --target de
condition --judge winomt --tests winomt:wino.tsv?neutral=yes --system file:wino.ru?format=auto --target ru
condition --judge mucow --tests mucow:mucow?all=yes --system file:mucow.de?format=auto --lemmatize de
flow --source doctors.en --target doctors.de --words lab:occupations
lab evaluate --evaluator lab:teacher --system lab:student --n 24 --tests senses-other
lab locality --out local --set quick=yes --set model=sine --set model=learned --set setting=regular --set epochs=1
lab corpus --n 200 --out corpus
lab prepare --source corpus/corpus.en --target corpus/corpus.de --languages en-de --out prepared
lab train --source corpus/corpus.en --target corpus/corpus.de --out trained --shape tiny --steps 2 --vocabulary 300
2 lab train --teacher trained --source corpus/corpus.en --out distilled --shape tiny --steps 2 --set beam=1
lab prepare --source corpus/corpus.en --target corpus/corpus.de --forward trained --out augmented --set beam=1
lab evaluate --system lab:student --n 10
""".strip().split("\n")
"""In their order: some read what others wrote; a number is the exit code, if it is not 0.

`lab train --teacher` ends where its
teacher, which was hardly trained, has given no translation that was finished.
"""


def cases(systems: Mapping[str, str]) -> list[tuple[int, list[str]]]:
    """The exit code and the arguments of each, with the names of systems that lie elsewhere filled in."""
    found = []
    for line in CASES:
        words = [systems.get(word[1:-1], word) if word[0] == "{" else word for word in line.split()]
        code = int(words.pop(0)) if words[0].isdecimal() else 0
        found.append((code, words))
    return found


def lay(folder: Path) -> None:
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")


RAY_CASES = """
run study.toml --out spread --ray --set workers=1
make pairs --type polarity_particle_nicht_del --source a.en --reference a.de --ray
""".strip().split("\n")
