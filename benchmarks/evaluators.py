"""Conditioning with evaluators that cannot judge, made with the lab, and with sound ones: who passes the test?

`python -m benchmarks.evaluators` makes the tables of docs/measured/checks.md; `--quick` takes few items.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from babelscope import condition
from babelscope.core.results import Record, Result
from babelscope.core.system import Fingerprint, Question, Scored, Target
from babelscope.lab.experiments.truth import Suite, cases, judge_translations
from babelscope.lab.grammar.corpus import generate
from babelscope.lab.grammar.lexicon import SENSES
from babelscope.lab.grammar.oracle import realize_with_mistake
from babelscope.lab.plugin import MODELS
from babelscope.lab.training.networks import new_network, save_network
from babelscope.lab.training.settings import settings_for
from babelscope.lab.training.text import copy_tokenizer, load_pieces
from babelscope.lab.training.train import train
from babelscope.methods.condition.figures import (
    accuracy_rows,
    margin_of_record,
    undecided_rows,
)
from babelscope.methods.condition.preflight import (
    Truth,
    corrected_row,
    known_truths,
    noise_of,
    preflight_of,
)
from babelscope.systems.registry import open_system
from babelscope.testsets.loading import load
from benchmarks.common import arguments

Change = Callable[[str], str]
GENDER: Suite = "gender-marked"
SENSES_OTHER: Suite = "senses-other"
SOUND = [
    f"{kind}{seed}" for kind in ("teacher", "student", "control", "unsmoothed") for seed in ("", "-2", "-3")
]


class Spoilt:
    """A system asked about other texts than it is given: the same as one that was trained on such texts."""

    def __init__(
        self,
        name: str,
        inner: Any,
        *,
        source: Change = lambda text: text,
        target: Change = lambda text: text,
        write: Change = lambda text: text,
    ) -> None:
        self.name, self.inner = name, inner
        self.fingerprint = Fingerprint("spoilt", name, settings={"inner": inner.fingerprint.digest})
        self._source, self._target, self._write = source, target, write

    def _asked(self, question: Question) -> Question:
        return replace(question, source=self._source(question.source))

    def score(self, pairs: Sequence[tuple[Question, Target]]) -> list[Scored]:
        texts = [target if isinstance(target, str) else target.text for _, target in pairs]
        asked = [
            (self._asked(question), self._target(text))
            for (question, _), text in zip(pairs, texts, strict=True)
        ]
        found: list[Scored] = self.inner.score(asked)
        lost = [self._write(self._target(text)) != text for text in texts]
        return [
            replace(each, text=text, notes=tuple({*each.notes, "changed"}) if gone else each.notes)
            for each, text, gone in zip(found, texts, lost, strict=True)
        ]

    def translate(
        self, questions: Sequence[Question], *, beam: int = 5, n_best: int = 1
    ) -> list[list[Scored]]:
        found = self.inner.translate([self._asked(each) for each in questions], beam=beam, n_best=n_best)
        return [[Scored(self._write(each.text)) for each in some] for some in found]


class Mixed(Spoilt):
    """What a model learns whose sources were changed at random in training: the mean of both probabilities."""

    def score(self, pairs: Sequence[tuple[Question, Target]]) -> list[Scored]:
        plain, other = self.inner.score(pairs), super().score(pairs)
        found = []
        for (question, _), one, two in zip(pairs, plain, other, strict=True):
            share = 0.45 + 0.1 * fraction(question.source)  # training never ends at exactly one half
            total = math.log(share) + one.total, math.log(1 - share) + two.total
            mean = (max(total) + math.log1p(math.exp(-abs(total[0] - total[1])))) / len(one.tokens)
            found.append(replace(one, logprobs=(mean,) * len(one.tokens)))
        return found


class Words:
    """A model of words: those of the training text (unigram), or those of the source (copy)."""

    def __init__(self, name: str, *, copies: bool) -> None:
        self.name, self.copies = name, copies
        self.fingerprint = Fingerprint("words", name)
        self.counts = Counter(word for pair in generate(2000, 1) for word in pair.target.split())

    def score(self, pairs: Sequence[tuple[Question, Target]]) -> list[Scored]:
        size = sum(self.counts.values()) + 10_000
        found = []
        for question, target in pairs:
            text = target if isinstance(target, str) else target.text
            source = question.source.split()
            words = text.split()
            chances = [(self.counts[word] + 1) / size for word in words]
            if self.copies:
                chances = [
                    0.9 * (word in source) / len(source) + 0.1 * p
                    for word, p in zip(words, chances, strict=True)
                ]
            logprobs = tuple(math.log(each) for each in (*chances, 0.1))
            found.append(Scored(text, (*words, "</s>"), logprobs))
        return found

    def translate(
        self, questions: Sequence[Question], *, beam: int = 5, n_best: int = 1
    ) -> list[list[Scored]]:
        del beam, n_best
        common = " ".join(word for word, _ in self.counts.most_common(8))
        return [[Scored(each.source if self.copies else common)] for each in questions]


class Remembered:
    """A system whose translations are asked for once: every evaluator judges the same ones."""

    def __init__(self, inner: Any) -> None:
        self.name, self.fingerprint, self.inner = inner.name, inner.fingerprint, inner
        self.known: dict[Question, list[Scored]] = {}

    def translate(
        self, questions: Sequence[Question], *, beam: int = 5, n_best: int = 1
    ) -> list[list[Scored]]:
        new = [each for each in dict.fromkeys(questions) if each not in self.known]
        found = self.inner.translate(new, beam=beam, n_best=n_best) if new else []
        self.known.update(zip(new, found, strict=True))
        return [self.known[each] for each in questions]


def fraction(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


def cipher(text: str, shift: int) -> str:
    """Another language: each vowel and each consonant is another one."""
    for letters in ("aeiou", "bcdfghjklmnpqrstvwxyz"):
        turned = letters[shift:] + letters[:shift]
        text = text.translate(str.maketrans(letters + letters.upper(), turned + turned.upper()))
    return text


_PAIRS = {"he": "she", "him": "her", "his": "her", "himself": "herself", "male": "female"}
_OTHER = {**_PAIRS, **{other: word for word, other in _PAIRS.items()}, "her": "him"}


def other_gender(source: str) -> str:
    return re.sub(r"\w+", lambda found: _OTHER.get(found[0], found[0]), source)


def frequent_only(source: str) -> str:
    """The source with the adjectives of rare senses replaced by those of the frequent one."""
    for sense in SENSES.values():
        if sense.frequency == "rare":
            usual = SENSES[f"{sense.word}/frequent"].adjectives
            for adjective in sense.adjectives:
                source = re.sub(
                    rf"\b{adjective} {sense.word}", f"{usual[len(source) % len(usual)]} {sense.word}", source
                )
    return source


def untrained(folder: Path) -> Any:
    settings = settings_for("lab-student")
    folder.mkdir(parents=True)
    save_network(
        new_network(settings.shape, load_pieces(MODELS / "tokenizer"), dropout=0.0, seed=1),
        folder,
        half=False,
    )
    copy_tokenizer(MODELS / "tokenizer", folder)
    return open_system(f"hf:{folder}")


def trained(folder: Path, *, steps: int, shuffled: bool) -> Any:
    """A model of so many steps on the lab's corpus, with its targets shuffled or not."""
    pairs = list(generate(4000, 1))
    targets = [pair.target for pair in pairs]
    if shuffled:
        random.Random(1).shuffle(targets)
    folder.mkdir(parents=True)
    (folder / "en").write_text("".join(f"{pair.source}\n" for pair in pairs))
    (folder / "de").write_text("".join(f"{target}\n" for target in targets))
    settings = settings_for(
        "lab-student", steps=steps, warmup=min(50, steps - 1), dev_every=steps, half=False
    )
    train(
        folder / "en", folder / "de", folder / "model", settings, tokenizer=MODELS / "tokenizer", quiet=True
    )
    return open_system(f"hf:{folder / 'model'}")


def spoilt(folder: Path, *, steps: int = 400) -> dict[str, tuple[Callable[[], Any], Sequence[Suite]]]:
    """How to make the twelve that cannot judge, and the test sets on which they cannot."""
    teacher = open_system("lab:teacher")
    both = (GENDER, SENSES_OTHER)

    def hidden(text: str) -> str:
        return re.sub(r"[^\W\d_]", "x", text)

    def other(name: str, **how: Change) -> Callable[[], Any]:
        return lambda: Spoilt(name, teacher, **how)

    return {
        "wrong target language": (
            other("wrong-target", target=lambda t: cipher(t, 3), write=lambda t: cipher(t, -3)), both
        ),
        "wrong source language": (other("wrong-source", source=lambda s: cipher(s, 3)), both),
        "random weights": (lambda: untrained(folder / "random"), both),
        "one step of training": (lambda: trained(folder / "one", steps=1, shuffled=False), both),
        "trained on shuffled targets": (lambda: trained(folder / "mixed", steps=steps, shuffled=True), both),
        "unigrams, no source": (lambda: Words("unigram", copies=False), both),
        "copies the source": (lambda: Words("copy", copies=True), both),
        "tokenizer destroys the script": (other("script", target=hidden, write=hidden), both),
        "blind to gender": (lambda: Mixed("blind-gender", teacher, source=other_gender), (GENDER,)),
        "blind to rare senses": (other("blind-rare", source=frequent_only), (SENSES_OTHER,)),
        "source cut to three words": (other("cut", source=lambda s: " ".join(s.split()[:3])), both),
        "language model, no source": (other("no-source", source=lambda _: "."), both),
    }  # fmt: skip


def judged(system: Any, evaluator: Any, suite: Suite, n: int) -> tuple[str, str, Result]:
    """Whether the evaluator passed, why not, and all of the result."""
    result = condition(system, load(f"lab:{suite}?n={n}&seed=2026"), evaluator=evaluator)
    passed = next(str(row.labels["passed"]) for row in result.rows if row.name == "preflight")
    return passed, "; ".join(preflight_of(result.records).reasons), result


def judged_right_and_wrong(evaluator: Any, suite: Suite, n: int) -> list[list[Record]]:
    """Verdicts on n translations of the grammar's own, and on the same with the noun exchanged."""
    made = cases(suite, n, 2026)
    rng = random.Random(7)
    wrong = [realize_with_mistake(case.pair, case.noun, rng, "noun") for case in made]
    right = [case.pair.target for case in made]
    return [judge_translations(evaluator, made, texts, suite)[1] for texts in (right, wrong)]


def draws(evaluator: Any, suite: Suite, *, n: int, of: int, count: int) -> Mapping[str, float]:
    """How often the intervals hold the grammar's accuracy, with half of the nouns exchanged, in `count` draws."""
    judged_both = judged_right_and_wrong(evaluator, suite, n)
    known = known_truths(judged_both[0])
    inside = Counter[str]()
    shares = []
    claims = 0
    for draw in range(count):
        rng = random.Random(draw)
        noise = noise_of(rng.choices(known, k=len(known))) or 0.0
        records = []
        for place in rng.choices(range(n), k=of):
            record = judged_both[rng.random() < 0.5][place]
            margin = margin_of_record(record)
            verdict = "undecided" if abs(margin) <= noise else "correct" if margin > 0 else "wrong"
            records.append({**record, "verdict": verdict})
        decided = [record for record in records if record["verdict"] != "undecided"]
        truth = [sum(record["truth"] for record in some) / max(1, len(some)) for some in (decided, records)]
        all_ = next(row.estimate for row in accuracy_rows(records) if row.name == "all")
        worst, best = (row.estimate for row in undecided_rows(records)[1:])
        claims += bool(decided)
        inside["decided"] += bool(decided) and all_.low <= truth[0] <= all_.high
        inside["all"] += bool(decided) and worst.low <= truth[1] <= best.high
        shares.append(len(decided) / of)
    return {
        "decided": inside["decided"] / max(1, claims),
        "all": inside["all"] / max(1, claims),
        "share decided": sum(shares) / count,
        "nothing decided": 1 - claims / count,
    }


def corrected_draws(
    evaluator: Any, suite: Suite, *, n: int, of: int, count: int, errors: float = 0.5
) -> Mapping[str, float]:
    """How often the corrected accuracy's interval holds the share of right translations, in `count` draws.

    A share of `errors` of the nouns is exchanged. Items and known translations are drawn anew each time. `expected`
    is the share in all draws together, which an interval must hold; that of the draw itself is nearer.
    """
    judged_both = judged_right_and_wrong(evaluator, suite, n)
    by_item: dict[int, list[Truth]] = {}
    for each in known_truths(judged_both[0]):
        by_item.setdefault(each.item, []).append(each)
    inside = Counter[str]()
    widths = []
    for draw in range(count):
        rng = random.Random(draw)
        chosen = rng.choices(list(by_item.values()), k=len(by_item))
        known = [replace(each, item=number) for number, own in enumerate(chosen) for each in own]
        records = [judged_both[rng.random() < errors][place] for place in rng.choices(range(n), k=of)]
        share = sum(record["truth"] for record in records) / of
        found = corrected_row(records, known).estimate
        inside["expected"] += found.low <= 1 - errors <= found.high
        inside["drawn"] += found.low <= share <= found.high
        widths.append(found.high - found.low)
    return {**{name: inside[name] / count for name in ("expected", "drawn")}, "width": sum(widths) / count}


def show_spoilt(system: Any, n: int, *, steps: int = 400) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, suites) in spoilt(Path(folder), steps=steps).items():
            evaluator = make()
            for suite in suites:
                passed, why, _ = judged(system, evaluator, suite, n)
                print(f"| {name} | `lab:{suite}` | {passed} | {why} |", flush=True)


def show_sound(system: Any, n: int) -> None:
    for name in SOUND:
        evaluator = open_system(f"lab:{name}")
        for suite in (GENDER, SENSES_OTHER):
            passed, why, _ = judged(system, evaluator, suite, n)
            print(f"| lab:{name} | `lab:{suite}` | {passed} | {why} |", flush=True)


def show_draws(n: int, count: int) -> None:
    for name in ("teacher", "control", "unsmoothed"):
        for suite in (GENDER, SENSES_OTHER):
            found = draws(open_system(f"lab:{name}"), suite, n=n, of=200, count=count)
            told = " | ".join(f"{100 * share:.1f} %" for share in found.values())
            print(f"| lab:{name} | `lab:{suite}` | {told} |", flush=True)
            for errors in (0.5, 0.1, 0.02):
                own = corrected_draws(
                    open_system(f"lab:{name}"), suite, n=n, of=200, count=count, errors=errors
                )
                told = f"{100 * own['expected']:.1f} % | {100 * own['drawn']:.1f} % | {own['width']:.3f}"
                print(f"| lab:{name} | `lab:{suite}` | corrected, {errors:.0%} wrong | {told} |", flush=True)


def main() -> None:
    options = arguments(__doc__ or "")
    n = 60 if options.quick else 200
    system = Remembered(open_system("lab:student"))
    show_spoilt(system, n, steps=60 if options.quick else 400)
    show_sound(system, n)
    show_draws(120 if options.quick else 500, 1000)


if __name__ == "__main__":
    main()
