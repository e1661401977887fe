"""The small files of the cases: sentences of our own, or of the lab's grammar."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.hostile.commands import files as odd_files

ENGLISH = [
    "The old man does not read the newspaper that lies on the table.",
    "She has no time, but she will open the door for the guests.",
    "The children, who play in the garden, never wake up the dog.",
    "It was impossible to see the house behind the high trees.",
    "We closed the window because the wind was cold.",
    "The teachers of the school praised the brave girl.",
    "He gave up the search and drove back to the city.",
    "I know the doctor who lives in the small house.",
    "They've not seen the new bridge.",
    "The manager introduced herself to the workers of the factory.",
    "Mary Smith and the tall man from Berlin sing a song.",
    "Nobody was unhappy about the end of the film.",
]
GERMAN = [
    "Der alte Mann liest die Zeitung nicht, die auf dem Tisch liegt.",
    "Sie hat keine Zeit, aber sie wird die Tür für die Gäste öffnen.",
    "Die Kinder, die im Garten spielen, wecken den Hund nie auf.",
    "Es war unmöglich, das Haus hinter den hohen Bäumen zu sehen.",
    "Wir schlossen das Fenster, weil der Wind kalt war.",
    "Die Lehrer der Schule lobten das tapfere Mädchen.",
    "Er gab die Suche auf und fuhr in die Stadt zurück.",
    "Ich kenne den Arzt, der in dem kleinen Haus wohnt.",
    "Sie haben die neue Brücke nicht gesehen.",
    "Die Leiterin stellte sich den Arbeitern der Fabrik vor.",
    "Mary Smith und der große Mann aus Berlin singen ein Lied.",
    "Niemand war unglücklich über das Ende des Films.",
]
FIRST = [
    "Der alte Mann liest die Zeitung, die auf dem Tisch liegt.",
    "Sie hat keine Zeit, aber sie öffnet die Tür für die Gäste.",
    "Die Kinder, die im Garten spielt, wecken den Hund auf.",
    "Es war möglich, das Haus hinter den Bäumen zu sehen.",
    "Wir schlossen das Fenster, weil der Wind kalt war.",
    "Die Lehrer der Schule lobten der tapfere Mädchen.",
    "Er gab die Suche auf und fuhr zurück.",
    "Ich kenne der Arzt, der wohnt in dem kleinen Haus.",
    "Sie haben die neue Brücke gesehen.",
    "Der Leiter stellte sich den Arbeitern vor.",
    "Mary Smith und der große Mann aus Berlin singen ein Lied.",
    "Niemand war glücklich über das Ende des Films.",
]
SECOND = [
    "Der alte Mann liest nicht die Zeitung auf dem Tisch.",
    "Sie hat keine Zeit, wird aber die Tür für die Gäste öffnen.",
    "Die Kinder, die im Garten spielen, wecken nie den Hund auf.",
    "Es war unmöglich, das Haus hinter den hohen Bäumen zu sehen.",
    "Wir machten das Fenster zu, weil der Wind kalt war.",
    "Die Lehrer der Schule lobten das mutige Mädchen.",
    "Er gab die Suche auf und fuhr in die Stadt zurück.",
    "Ich kenne den Arzt, der im kleinen Haus wohnt.",
    "Sie haben die neue Brücke nicht gesehen.",
    "Die Leiterin stellte sich den Arbeitern der Fabrik vor.",
    "",
    "Niemand war unglücklich über das Ende vom Film.",
]
OCCUPATIONS = (("doctor", "Arzt", "Ärztin"), ("teacher", "Lehrer", "Lehrerin"), ("cook", "Koch", "Köchin"))


def lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def text(sentences: Iterable[str]) -> str:
    return "".join(f"{sentence}\n" for sentence in sentences)


def _pairs() -> str:
    """Minimal pairs with a repeated source, several variants, and fields to group by."""
    rows: list[dict[str, Any]] = []
    for number, (source, right, wrong) in enumerate(zip(ENGLISH, GERMAN, FIRST, strict=True)):
        variants = [wrong if wrong != right else f"{right[:-1]} nicht."]
        variants += [f"Ding {right}"] if number % 5 == 0 else []
        rows.append(
            {
                "id": f"p{number}",
                "source": source if number != 7 else ENGLISH[6],
                "correct": right,
                "contrastive": variants,
                "phenomenon": "polarity" if number % 3 else "placeholder_ding",
                "reference": "machine" if number in (3, 9) else "human",
                "domain": "home" if number % 2 else "town",
            }
        )
    return lines(rows)


def _winomt() -> tuple[str, str]:
    rows, translations = [], []
    for number in range(12):
        name, male, female = OCCUPATIONS[number % 3]
        gender = "male" if number % 2 else "female"
        pronoun = "he" if gender == "male" else "she"
        source = f"The {name} slept because {pronoun} was tired."
        rows.append(f"{gender}\t1\t{source}\t{name}\t{'pro' if number % 4 < 2 else 'anti'}")
        wrong = number in (2, 5, 6)
        form = female if (gender == "female") != wrong else male
        article = "Die" if form == female else "Der"
        translations.append("Schlaf." if number == 9 else f"{article} {form} schlief vor Müdigkeit.")
    return text(rows), text(translations)


def _mucow() -> tuple[str, str, str]:
    sources, keys, translations = [], [], []
    for number in range(10):
        cage = number % 3 == 0
        sources.append("A pig in its pen." if cage else f"My {'blue' if number % 2 else 'old'} pen writes.")
        right, wrong = ("gehege", "stift kugelschreiber") if cage else ("stift kugelschreiber", "gehege")
        keys.append(f"{number}\tted\tpen\t{right}\t{wrong}")
        said = "Gehege" if cage != (number in (3, 4)) else "Stift"
        translations.append("Ein Schwein." if number == 9 else f"Mein {said} ist hier.")
    return text(sources), text(keys), text(translations)


def _scores() -> dict[str, str]:
    """Stored scores of `pairs.jsonl`, item by item with ties, and human scores beside two metrics'."""
    drawn = random.Random(5)
    groups = [1 + len(json.loads(line)["contrastive"]) for line in _pairs().split("\n") if line]
    interleaved = [f"{drawn.randint(10, 15) / 4}" for size in groups for _ in range(size)]
    rated = [
        {"system": system, "id": number, "score": round(drawn.gauss(shift + number / 9, 1), 3)}
        for shift, system in enumerate("abc")
        for number in range(12)
    ]
    human = [{**row, "score": round(float(str(row["score"])) + drawn.gauss(0, 1), 3)} for row in rated]
    records = [
        {"system": name, "id": n, "source": s, "translation": t, "references": [r]}
        for name, found in (("a", FIRST), ("b", SECOND), ("c", GERMAN))
        for n, (s, t, r) in enumerate(zip(ENGLISH, found, GERMAN, strict=True))
    ]
    return {
        "pairs.scores": text(interleaved),
        "rated.jsonl": lines(rated),
        "human.jsonl": lines(human),
        "translated.jsonl": lines(records),
    }


def _scoring() -> str:
    """MuCoW's scoring suite: items with two variants, one, and none."""
    items = [
        {
            "source": ENGLISH[n],
            "reference": GERMAN[n],
            "ambig word": "house",
            "sense": "ab"[n % 2],
            "origin": "own",
            "errors": [
                {"contrastive": FIRST[n] + "!" * each, "replacement": "x", "type": "y"}
                for each in range(n % 3)
            ],
        }
        for n in range(4)
    ]
    return json.dumps(items)


def _lists() -> dict[str, str]:
    drawn = random.Random(6)
    top, beam = [], []
    for number, right in enumerate(GERMAN):
        words = right.split()
        found = ["", right, " ".join(words[:-2]), " ".join(words[1:]), FIRST[number]]
        drawn.shuffle(found)
        for rank, each in enumerate(dict.fromkeys(found)):
            top.append(f"{number} ||| {each} ||| {-1.0 - rank * 0.7 - drawn.random():.4f}")
            if each:
                beam.append(f"{number} ||| {each} ||| {-1.5 - rank * 0.9 - drawn.random():.4f}")
    return {"top.moses": text(top), "beam.moses": text(beam)}


def _released() -> dict[str, str]:
    """Labels of two annotators in the released forms of WinoMT and MuCoW, about `wino.de` and `senses.de`."""
    drawn = random.Random(10)
    winomt, winomt_de = (each.split("\n")[:-1] for each in _winomt())
    sources, keys, mucow_de = (each.split("\n")[:-1] for each in _mucow())
    found = {}
    for name in ("one", "two"):
        rows: list[dict[str, Any]] = []
        for number, (line, translation) in enumerate(zip(winomt, winomt_de, strict=True)):
            gold, _, source, entity, _ = line.split("\t")
            label = drawn.choice(["Male", "Female", "Both / Neutral / Ambiguous", gold.title(), gold.title()])
            told = {
                "Gold Gender": gold,
                "Source Sentence": source,
                "Translation": translation,
                "Entity": entity,
            }
            rows.append({"label": [label], "Index": str(number), "Sample ID": str(number), **told})
        found[f"winomt.{name}.jsonl"] = lines(rows)
        rows = []
        for number, (source, key, translation) in enumerate(zip(sources, keys, mucow_de, strict=True)):
            label = drawn.choice(["Correct Sense", "Correct Sense", "Wrong Sense"])
            told = {"Word": "pen", "Source Sentence": source, "Translation": translation}
            senses = dict(zip(("Correct Sense", "Wrong Sense"), key.split("\t")[3:], strict=True))
            rows.append({"label": [label], "Sample ID": str(number), **told, **senses})
        found[f"mucow.{name}.jsonl"] = lines(rows)
    earlier = [f"{n},the {OCCUPATIONS[n % 3][0]},x,Y,{'MF'[n % 2]}," for n in range(0, 12, 2)]
    heading = "Index,Entity,Sentence,Find entity? [Y/N],Gender? [M/F/N],Comments"
    found["earlier.csv"] = text([heading, *earlier])
    return found


def _people() -> dict[str, str]:
    """A queue and the answers of three annotators, some missing."""
    drawn = random.Random(7)
    queue = [
        {
            "task": "challenge",
            "id": n,
            "source": s,
            "translation": t,
            "phenomenon": "particle" if n % 2 else "x",
        }
        for n, (s, t) in enumerate(zip(ENGLISH, FIRST, strict=True))
    ]
    labels = ["Correct Sense", "Wrong Sense", "Both / Neutral / Ambiguous", "Bad sample / Ill-defined senses"]
    found = {"judged.jsonl": lines(queue)}
    truth = [drawn.choice(labels[:2]) for _ in queue]
    for name in ("ann", "bob", "cy"):
        rows = [
            {"label": [label if drawn.random() < 0.7 else drawn.choice(labels)], "Sample ID": n}
            for n, label in enumerate(truth)
            if drawn.random() < 0.9
        ]
        found[f"released.{name}.jsonl"] = lines(rows)
    return found


STUDY = """
[[systems]]
name = "teacher"
spec = "lab:teacher"
[[systems]]
name = "student"
spec = "lab:student"
[[tests]]
name = "sentences"
spec = "lab:parallel?n=14&seed=5"
[[tests]]
name = "pairs"
spec = "lab:pairs?n=2&seed=5"
[[tests]]
name = "gender"
spec = "lab:gender?n=16&seed=5"
[[methods]]
name = "likelihood"
tests = ["sentences"]
[[methods]]
name = "contrast"
[[methods]]
name = "condition"
evaluator = "lab:teacher"
preflight = 12
[[methods]]
name = "space"
tests = ["sentences"]
k = 3
samples = 6
mbr_samples = 4
[run]
chunk = 6
"""
SEEDS = (
    """
[study]
name = "seeds"
"""
    + "".join(
        f'[[systems]]\nname = "{kind}-{seed}"\nspec = "lab:{kind}{"" if seed == 1 else f"-{seed}"}"\n'
        f'factors = {{ kind = "{kind}", width = {width}, seed = {seed}, smoothed = {smoothed} }}\n'
        for kind, width, smoothed in (
            ("student", 96, "true"),
            ("teacher", 128, "true"),
            ("unsmoothed", 96, "false"),
        )
        for seed in (1, 2)
    )
    + """
[[tests]]
name = "sentences"
spec = "lab:parallel?n=10&seed=6"
[[methods]]
name = "quality"
metric = ["chrf"]
"""
)
SMALL = """
[[systems]]
name = "teacher"
spec = "lab:teacher"
[[systems]]
name = "student"
spec = "lab:student"
[[tests]]
name = "sentences"
spec = "lab:parallel?n=11&seed=5"
[[tests]]
name = "own"
spec = "pairs.jsonl"
[[methods]]
name = "likelihood"
tests = ["sentences"]
[[methods]]
name = "contrast"
spread = 3
[run]
chunk = 4
"""
STORED = """
[[systems]]
name = "first"
spec = "file:first.de"
[[systems]]
name = "second"
spec = "file:second.de"
[[tests]]
name = "own"
spec = "parallel:own.en,own.de"
[[methods]]
name = "quality"
[[methods]]
name = "errors"
target_language = "de"
"""


def files() -> dict[str, str]:
    """All files, by name; every case has them."""
    winomt, winomt_de = _winomt()
    sources, keys, mucow_de = _mucow()
    return {
        **odd_files(),
        "own.en": text(ENGLISH),
        "own.de": text(GERMAN),
        "first.de": text(FIRST),
        "second.de": text(SECOND),
        "twice.en": text([*ENGLISH[:6], *ENGLISH[:6]]),
        "twice.de": text([*GERMAN[:6], *GERMAN[:6]]),
        "twice-first.de": text([*FIRST[:6], *SECOND[:6]]),
        "pairs.jsonl": _pairs(),
        "wino.tsv": winomt,
        "wino.de": winomt_de,
        "senses.text.txt": sources,
        "senses.key.tsv": keys,
        "senses.de": mucow_de,
        "scoring.json": _scoring(),
        "scoring.scores": text(f"{n * 7 % 5}" for n in range(7)),
        "study.toml": STUDY,
        "small.toml": SMALL,
        "seeds.toml": SEEDS,
        "stored.toml": STORED,
        **_scores(),
        **_lists(),
        **_people(),
        **_released(),
    }


def lay(folder: Path) -> None:
    for name, content in files().items():
        (folder / name).write_text(content, encoding="utf-8")
