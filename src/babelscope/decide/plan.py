"""How many items a decision needs, and which sentences of a pool to translate."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.decide.outcomes import WEIGHT
from babelscope.language.checks.negation import negations
from babelscope.language.checks.numbers import has_number, has_unit
from babelscope.language.checks.registry import base_code
from babelscope.language.checks.shape import has_pairs
from babelscope.language.checks.words import has_copied, has_name
from babelscope.stats.gates import items_to_clear, items_to_see
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

PLAIN = "none of these"
_LONG = 30
"""Words of a sentence that is called long."""


@dataclass(frozen=True, slots=True)
class Need:
    """How many items one check needs."""

    check: str
    discordant: float
    """The share of items on which one system alone is wrong."""
    to_clear: int
    """To show that a system that is as good is not worse by the margin."""
    to_see: int
    """To see a system that is worse by the difference."""


def needs(
    discordant: Mapping[str, float],
    *,
    margin: float,
    difference: float,
    power: float = 0.8,
    alpha: float = 0.05,
) -> list[Need]:
    """What each check needs; to see a difference, p-values are corrected for the number of checks."""
    return [
        Need(
            check,
            share,
            items_to_clear(margin, share, power=power),
            items_to_see(difference, share, power=power, alpha=alpha / len(discordant)),
        )
        for check, share in discordant.items()
    ]


def discordance_of(document: Mapping[str, Any], where: str) -> dict[str, float]:
    """Check -> share of items on which one system alone was wrong, in what `gate --format json` printed."""
    try:
        found = {
            str(each["check"]): (int(each["only_old"]) + int(each["only_new"])) / int(each["difference"]["n"])
            for each in document["checks"]
        }
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise BabelscopeError(f"{where} is not what `babelscope gate --format json` prints") from None
    if not found:
        raise BabelscopeError(f"{where} has no checks")
    return found


# --- Which sentences of a pool --------------------------------------------------------------------------------------


_GENDERED = re.compile(r"\b(?:he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)


def features(source_language: str = "") -> dict[str, Callable[[str], bool]]:
    """What sentences may test, each with a test that needs no parser: what checks apply to, and more."""
    code = base_code(source_language)
    return {
        "number": has_number,
        "unit": has_unit,
        "name": has_name,
        "copy": has_copied,
        "punctuation": has_pairs,
        "negation": lambda text: bool(negations(text, code)),
        "gender": lambda text: code == "en" and bool(_GENDERED.search(text)),
        "question": lambda text: bool(re.search(r"[?？؟]", text)),
        f"over {_LONG} words": lambda text: len(text.split()) > _LONG,
    }


@dataclass(frozen=True, slots=True)
class Sample:
    """Sentences drawn from a pool."""

    lines: Sequence[Mapping[str, Any]]
    """One JSON object per sentence, with its stratum and weight."""
    strata: Mapping[str, tuple[int, int]]
    """Stratum -> sentences in the pool, sentences drawn."""

    @property
    def worth(self) -> float:
        """How many sentences of a simple random sample the overall rates are worth (Kish)."""
        weights = [float(each[WEIGHT]) for each in self.lines]
        return math.fsum(weights) ** 2 / math.fsum(weight**2 for weight in weights)


def draw_sample(
    pool: Sequence[str],
    n: int,
    *,
    seed: int = 0,
    known: Mapping[str, Callable[[str], bool]] | None = None,
    languages: Mapping[str, str] | None = None,
) -> Sample:
    """A stratified sample: each sentence belongs to the rarest feature that it has, strata are drawn equally often.

    Of equal sentences, all but the first are left out, since gates count a source once.

    The weight of a sentence is its stratum's share of the pool by its share of the sample, so that weighted error
    rates estimate those of the whole pool without bias.
    """
    numbers = {text: number for number, text in reversed(list(enumerate(pool, 1)))}
    pool = sorted(numbers, key=lambda text: numbers[text])
    if not 0 < n <= len(pool):
        raise BabelscopeError(f"{n} sentences cannot be drawn from a pool of {len(pool)} different ones")
    tests = features((languages or {}).get("source_language", "")) if known is None else known
    found = [[name for name, has in tests.items() if has(text)] for text in pool]
    frequency = Counter(name for own in found for name in own)
    strata: dict[str, list[int]] = {
        name: [] for name in [*sorted(tests, key=lambda name: frequency[name]), PLAIN]
    }
    for place, own in enumerate(found):
        strata[min(own, key=lambda name: (frequency[name], name), default=PLAIN)].append(place)
    sizes = allocate({name: len(places) for name, places in strata.items() if places}, n)
    draws = stream(seed, "plan")
    lines = []
    for name, size in sizes.items():
        places = strata[name]
        weight = (len(places) / len(pool)) / (size / n) if size else 0.0
        for place in sorted(draws.permutation(len(places))[:size].tolist()):
            text = pool[places[place]]
            lines.append(
                {
                    "id": str(numbers[text]),
                    "source": text,
                    **(languages or {}),
                    "stratum": name,
                    WEIGHT: weight,
                }
            )
    lines.sort(key=lambda line: int(str(line["id"])))
    return Sample(lines, {name: (len(strata[name]), size) for name, size in sizes.items()})


def allocate(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """How many to draw from strata of these sizes: equally many of each, and what small ones lack from the others."""
    left, chosen = n, dict.fromkeys(sizes, 0)
    if n < len(sizes):
        raise BabelscopeError(f"a sample of {len(sizes)} kinds of sentences needs at least as many, not {n}")
    waiting = sorted(sizes, key=lambda name: sizes[name])
    while waiting:
        name = waiting.pop(0)
        chosen[name] = min(sizes[name], left // (len(waiting) + 1))
        left -= chosen[name]
    return chosen
