"""How often something happens, told by a detector that misses some of it and raises false alarms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from babelscope.core.results import Estimate
from babelscope.stats.intervals import Array, Bounds
from babelscope.util.errors import BabelscopeError

Counted = tuple[Any, Any]
"""How many of how many."""


def corrected_bounds(alarms: Counted, found: Counted, false: Counted) -> tuple[Array, Bounds]:
    """Rogan and Gladen's (1978) share, and Lang and Reiczigel's (2014) interval; neither is cut at 0 or 1.

    NaN where the interval's own rates, z^2 observations more for alarms and two more for what is known of the
    detector, half of them positive, tell nothing.
    """
    z = float(ndtri(0.975))
    (apparent, sensitivity, false_rate) = (np.asarray(count / size) for count, size in (alarms, found, false))
    more = (z * z, 2.0, 2.0)
    sizes = [size + extra for (_, size), extra in zip((alarms, found, false), more, strict=True)]
    rates = [
        (count + extra / 2) / size
        for (count, _), extra, size in zip((alarms, found, false), more, sizes, strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = (apparent - false_rate) / (sensitivity - false_rate)
        tells = np.where(rates[1] > rates[2], rates[1] - rates[2], np.nan)
    center = (rates[0] - rates[2]) / tells
    own, of_sensitivity, of_false_rate = (
        rate * (1 - rate) / size for rate, size in zip(rates, sizes, strict=True)
    )
    variance = own + center**2 * of_sensitivity + (1 - center) ** 2 * of_false_rate
    reach = z * np.sqrt(variance) / tells
    center = center + 2 * z * z * (center * of_sensitivity - (1 - center) * of_false_rate)
    return value, (center - reach, center + reach)


def rogan_gladen(
    alarms: float, n: int, *, found: float, wrong: int, false_alarms: float, right: int
) -> Estimate:
    """The share of wrong texts behind `alarms` in n, by a detector that misses some and raises false alarms.

    Its sensitivity is known from `wrong` texts, of which it found `found`, its false-positive rate from `right` texts
    with `false_alarms`; the three samples are independent, and the interval has the uncertainty of all three. A share
    below 0 or above 1 is left as it is (see `impossible`). A detector that raises no more alarms on wrong texts
    than on right ones tells nothing: its share of alarms is left as it is, between 0 and 1.
    """
    for count, size in ((alarms, n), (found, wrong), (false_alarms, right)):
        if not 0 <= count <= size:
            raise BabelscopeError(f"{count} of {size} texts is no count")
    if min(n, wrong, right) == 0:
        return Estimate.empty()
    if found / wrong <= false_alarms / right:
        return Estimate(alarms / n, 0.0, 1.0, n)
    share, bounds = corrected_bounds((alarms, n), (found, wrong), (false_alarms, right))
    value, (low, high) = float(share), (float(each) for each in bounds)
    if 0 <= value <= 1:
        low, high = (0.0, 1.0) if np.isnan(low) else (min(max(each, 0.0), 1.0) for each in (low, high))
    elif np.isnan(low):
        return Estimate.without_interval(value, n, "too little is known of the detector")
    return Estimate.around(value, low, high, n)


def corrected_difference(
    apart: Estimate, p: float, *, found: float, wrong: int, false_alarms: float, right: int
) -> Estimate:
    """The difference of two corrected shares from that of their alarms: one detector, so one correction for both.

    Its interval adds the uncertainty of the correction, which cannot change the sign: it excludes 0 where p < 0.05.
    """
    if min(apart.n, wrong, right) == 0:
        return Estimate.empty()
    tells = found / wrong - false_alarms / right
    if tells <= 0:
        return Estimate.without_interval(
            apart.value, apart.n, "its detector tells right from wrong texts by chance"
        )
    value = apart.value / tells
    if apart.no_interval:
        return Estimate.without_interval(value, apart.n, apart.no_interval)
    rates = ((found + 1) / (wrong + 2), wrong + 2), ((false_alarms + 1) / (right + 2), right + 2)
    unsure = (
        value * float(ndtri(0.975)) * np.sqrt(sum(rate * (1 - rate) / size for rate, size in rates)) / tells
    )
    low = float(value - np.hypot(value - apart.low / tells, unsure))
    high = float(value + np.hypot(apart.high / tells - value, unsure))
    if p < 0.05:
        low, high = (max(low, 0.0), high) if value > 0 else (low, min(high, 0.0))
    return Estimate.around(value, low, high, apart.n)


def impossible(share: Estimate) -> str:
    """What is wrong with a corrected share below 0 or above 1; "" if nothing is."""
    if not share.n or 0 <= share.value <= 1:
        return ""
    chance = share.no_interval or (share.low <= 1 and share.high >= 0)
    if share.value > 1:
        said = "over 100 %: its detector finds more in this text than in the variants that its sensitivity is from"
    else:
        said = "below 0: its detector raises fewer alarms in this text than false ones on references"
    return f"{said}{'; this may be chance' if chance else '; the correction is wrong for this text'}"


def possible(share: Estimate) -> Estimate:
    """A corrected share and its interval cut at 0 and 1; without an interval where all of it lies beyond."""
    if not impossible(share):
        return share
    value = min(max(share.value, 0.0), 1.0)
    if share.no_interval:
        return Estimate.without_interval(value, share.n, share.no_interval)
    if share.low > 1 or share.high < 0:
        return Estimate.without_interval(value, share.n, "its correction is wrong for this text")
    return Estimate(value, max(share.low, 0.0), min(share.high, 1.0), share.n)
