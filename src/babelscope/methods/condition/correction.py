"""Accuracy corrected for what the evaluator misjudges: its error rates on known translations (Rogan and Gladen)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from babelscope.core.results import Estimate, Record, Row
from babelscope.methods.condition.figures import decided_items
from babelscope.methods.condition.makers import FEW
from babelscope.methods.condition.preflight import Truth
from babelscope.stats.detection import Counted, corrected_bounds
from babelscope.stats.weighted import effective_size, weighted_share


def corrected_row(records: Sequence[Record], truths: Sequence[Truth]) -> Row:
    """The share of correct translations behind the evaluator's verdicts, by its error rates on known translations.

    How often right translations are taken for wrong is known from those as they are written. Wrong ones are of two
    kinds: made under a wrong cue, which may be translated too and give them away, and with the sense alone exchanged.
    Which kind a system's errors are is not known, so the interval holds those by either rate, and the value is by the
    rate of both together.
    """
    judged = decided_items(records)
    right = [each for each in truths if each.right and each.by != "exchange"]
    wrong = [each for each in truths if not each.right]
    kinds = [[each for each in wrong if (each.by == "exchange") == kind] for kind in (False, True)]
    rates = [_found(kind) for kind in kinds if len(kind) >= FEW] or [_found(wrong)]
    taken, tested = _found(right)
    share = corrected_share(judged.worth, judged.sources, _found(wrong), rates, (tested - taken, tested))
    counts = {"known_right": len(right), "known_wrong": len(wrong)}
    labels = {"evaluator": records[0]["evaluator"]} if records else {}
    return Row("corrected", share, labels, counts)


def _found(truths: Sequence[Truth]) -> Counted:
    """Of how many items, how many are judged as they are; several known translations of one item count as one."""
    credits: dict[int, list[float]] = {}
    for each in truths:
        credits.setdefault(each.item, []).append(each.credit)
    return math.fsum(sum(own) / len(own) for own in credits.values()), len(credits)


def corrected_share(
    worth: Sequence[float], sources: Sequence[str], found: Counted, kinds: Sequence[Counted], false: Counted
) -> Estimate:
    """The corrected accuracy from 0 to 1: `found` and each of `kinds` of wrong ones found, `false` of right ones.

    Where it leaves 0 to 1 it is cut, and the interval reaches as far as without correction.
    """
    if not worth or not found[1] or not false[1]:
        return Estimate.of_nothing()
    ones = [1.0] * len(worth)
    plain, size = weighted_share(worth, sources, ones), effective_size(worth, sources, ones)
    alarms = ((1 - plain.value) * size, size)
    if found[0] / found[1] <= false[0] / false[1]:
        return Estimate(plain.value, 0.0, 1.0, len(worth))
    errors = float(corrected_bounds(alarms, found, false)[0])
    ends = [float(end) for kind in kinds for end in corrected_bounds(alarms, kind, false)[1]]
    low, high = (0.0, 1.0) if any(map(math.isnan, ends)) else (1 - max(ends), 1 - min(ends))
    value = min(max(1 - errors, 0.0), 1.0)
    if value in (0.0, 1.0):
        low, high = min(low, plain.low), max(high, plain.high)
    return Estimate(value, min(max(low, 0.0), value), max(min(high, 1.0), value), len(worth))
