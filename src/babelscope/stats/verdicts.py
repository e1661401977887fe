"""Verdicts about error rates that survive testing many of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import betainc, ndtr, ndtri

from babelscope.core.results import Estimate
from babelscope.core.tables import Verdict
from babelscope.stats.paired import holm

_LEVEL = 0.05
_Z = float(ndtri(1 - _LEVEL / 2))


def error_verdicts(errors: Sequence[Estimate], *, threshold: float = 0.05, fewest: int = 10) -> list[Verdict]:
    """A verdict for each error rate from 0 to 1: is it above the threshold, after Holm's correction over all?

    One rate alone is an error if its interval is above the threshold. Of several, each p is at least that of the
    exact binomial test: far out in the tail of small samples, where the correction looks, the score test finds
    errors four times too often. A rate of fewer than `fewest` items, or without an interval, is not tested.
    """
    verdicts: list[Verdict] = [_untested(each, fewest) for each in errors]
    tested = [place for place, verdict in enumerate(verdicts) if not verdict]
    adjusted = holm([_p(errors[place], threshold, exact=len(tested) > 1) for place in tested])
    for place, p in zip(tested, adjusted, strict=True):
        # Rounding must not decide where the interval ends at the threshold.
        above = errors[place].value > threshold and p <= _LEVEL * (1 + 1e-9)
        verdicts[place] = "error" if above else "not significant"
    return verdicts


def _untested(error: Estimate, fewest: int) -> Verdict:
    if error.n < fewest:
        return "too few items"
    return "unknown" if math.isnan(error.value) or math.isnan(error.low) else ""


def _p(error: Estimate, threshold: float, *, exact: bool) -> float:
    """The two-sided p of a rate that equals the threshold: the score test whose interval the estimate has.

    The lower end L of Wilson's interval of a rate p says how many independent items the rate is worth,
    z² L (1 - L) / (p - L)², also where items are clustered. `exact`: at least the binomial probability of such a
    rate or a higher one.
    """
    value, low = error.value, error.low
    if low <= 0:
        return 1.0
    if low >= value:
        return 0.0 if value > threshold else 1.0
    worth = _Z**2 * low * (1 - low) / (value - low) ** 2
    z = (value - threshold) / math.sqrt(threshold * (1 - threshold) / worth)
    p = float(2 * ndtr(-abs(z)))
    wrong = value * worth
    return max(p, float(betainc(wrong, worth - wrong + 1, threshold))) if exact and z > 0 else p
