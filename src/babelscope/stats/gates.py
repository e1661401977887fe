"""Is a new system worse than an old one: paired error rates, in a fixed sample or stopped early, and sample sizes.

A difference is the error rate of the new system minus that of the old one: above 0, the new system is worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import beta, binom

from babelscope.core.results import Estimate
from babelscope.stats.paired import paired_difference

_SIDES = 2


@dataclass(frozen=True, slots=True)
class PairedRates:
    """Errors of two systems on the same items."""

    old: float
    new: float
    """Error rates."""
    difference: Estimate
    """New minus old."""
    p: float
    """Two-sided p of there being no difference."""
    only_old: int
    only_new: int
    """Items on which one of them alone is wrong, or more wrong."""


def paired_rates(
    old: Sequence[float], new: Sequence[float], weights: Sequence[float] | None = None
) -> PairedRates:
    """Compare errors (0 right to 1 wrong) of independent items, one by one.

    Items of equal weight that are either right or wrong get Tango's (1998) score interval of a difference of paired
    proportions, and the exact sign test (McNemar); others those of `paired_difference`. Few discordant items do not
    show how much others may vary, so their interval also contains Tango's of as many equal items as if all weighed
    as much as the heaviest one.
    """
    n = len(old)
    if not n:
        return PairedRates(math.nan, math.nan, Estimate.empty(), 1.0, 0, 0)
    differences = [mine - other for mine, other in zip(new, old, strict=True)]
    only_new, only_old = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
    own = [1.0] * n if weights is None else weights
    total, heaviest = math.fsum(own), max(own)
    weighted = [weight * each / heaviest for weight, each in zip(own, differences, strict=True)]
    low, high = tango_interval(
        math.fsum(each for each in weighted if each > 0),
        -math.fsum(each for each in weighted if each < 0),
        total / heaviest,
    )
    if len(set(own)) == 1 and {*old, *new} <= {0.0, 1.0}:
        found, p = Estimate.around((only_new - only_old) / n, low, high, n), sign_test(only_new, only_old)
    else:
        found, p = paired_difference(differences, list(map(str, range(n))), verdicts=True, weights=own)
        if not found.no_interval:
            low, high = min(low, found.low), max(high, found.high)
        found = Estimate.around(found.value, low, high, n)
    old_rate = math.fsum(weight * each for weight, each in zip(own, old, strict=True)) / total
    return PairedRates(old_rate, old_rate + found.value, found, p, only_old, only_new)


def sign_test(only_new: int, only_old: int) -> float:
    """Two-sided exact p of the discordant pairs being a fair coin's."""
    total = only_new + only_old
    return min(1.0, 2 * float(binom.cdf(min(only_new, only_old), total, 0.5))) if total else 1.0


def tango_z(only_new: float, only_old: float, n: float, difference: float) -> float:
    """Tango's score statistic of a true difference of paired proportions (only_new - only_old) / n."""
    variance = n * _null_variance(only_new, only_old, n, difference)
    apart = only_new - only_old - n * difference
    return apart / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, apart) if apart else 0.0


def _null_variance(only_new: float, only_old: float, n: float, difference: float) -> float:
    """The variance of one pair if the difference is true, the share of `only_old` by maximum likelihood."""
    a = 2 * n
    b = (2 * n - only_new + only_old) * difference - only_new - only_old
    c = -only_old * difference * (1 - difference)
    share = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
    return 2 * share + difference * (1 - difference)


def tango_interval(only_new: float, only_old: float, n: float, *, alpha: float = 0.05) -> tuple[float, float]:
    """The differences that the score test does not reject; without discordant pairs on one side, nor the exact
    binomial test of the other side, which is stricter there."""
    z = float(ndtri(1 - alpha / _SIDES))
    value = (only_new - only_old) / n

    def end(sign: int) -> float:
        if value == sign:
            return value
        # At the far end the statistic is infinite.
        far = sign * (1 - 1e-12)
        inside = value * (1 - 1e-12)
        return float(
            brentq(lambda at: sign * tango_z(only_new, only_old, n, at) + z, inside, far, xtol=1e-10)
        )

    low, high = end(-1), end(1)
    if not only_old:
        high = max(high, _clopper_pearson_high(only_new, n, alpha))
    if not only_new:
        low = min(low, -_clopper_pearson_high(only_old, n, alpha))
    return low, high


def _clopper_pearson_high(count: float, n: float, alpha: float) -> float:
    return 1.0 if count >= n else float(beta.ppf(1 - alpha / _SIDES, count + 1, n - count))


# --- Stopping early -------------------------------------------------------------------------------------------------


def _bets(most: float) -> np.ndarray:
    """Fractions of the capital that are staked: the largest ones are best where nothing goes wrong."""
    return most * np.array([0.95, 0.7, 0.5, 0.35, 0.25, 0.17, 0.12, 0.08, 0.05, 0.03, 0.015])


_WEIGHTS = np.array([0.5, *[0.05] * 10])


@dataclass(slots=True)
class BettingTest:
    """A one-sided test of a mean of values from -1 to 1 that may be looked at after every value.

    The null hypothesis is that the mean is at least `bound`. A gambler bets on lower values; if the null is true, the
    capital is a supermartingale, so the chance that it ever reaches 1/alpha is at most alpha (Ville's inequality;
    Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting"). The capital is a mixture
    over fixed stakes.
    """

    bound: float
    p: float = 1.0
    """The least 1 / capital so far: a p-value at any stopping time."""
    _log_capital: np.ndarray = field(default_factory=lambda: np.zeros(len(_WEIGHTS)))

    def update(self, values: ArrayLike, sizes: ArrayLike | None = None) -> None:
        """Bet on each value in turn; values come in an order that does not depend on them.

        With sizes, of at most 1, the mean is weighted by these.
        """
        gains = self.bound - np.asarray(values, dtype=float)
        if not len(gains):
            return
        if sizes is not None:
            gains = gains * np.asarray(sizes)
        stakes = _bets(1 / (1 - self.bound))
        after = self._log_capital + np.cumsum(np.log1p(np.multiply.outer(gains, stakes)), axis=0)
        self._log_capital = after[-1]
        capital = float((np.exp(np.minimum(after, 600)) @ _WEIGHTS).max())
        self.p = min(self.p, 1 / capital if capital > 0 else math.inf)


# --- Sample sizes ---------------------------------------------------------------------------------------------------


def items_to_see(difference: float, discordant: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Items for McNemar's test to see a difference of two error rates (Connor 1987).

    `discordant` is the share of items on which one system alone is wrong; it is at least the difference.
    """
    difference = abs(difference)
    discordant = max(discordant, difference)
    z_alpha, z_power = float(ndtri(1 - alpha / _SIDES)), float(ndtri(power))
    reach = z_alpha * math.sqrt(discordant) + z_power * math.sqrt(discordant - difference**2)
    # Fewer discordant pairs than these cannot be significant, whatever they say.
    fewest = math.ceil(1 - math.log2(alpha)) / discordant
    return math.ceil(max(reach**2 / difference**2, fewest))


def items_to_clear(
    margin: float, discordant: float, *, difference: float = 0.0, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Items for Tango's test to show that a difference is below a margin, if it is `difference` (Nam 1997)."""
    z_alpha, z_power = float(ndtri(1 - alpha / _SIDES)), float(ndtri(power))
    discordant = max(discordant, abs(difference))
    only_new, only_old = (discordant + difference) / 2, (discordant - difference) / 2
    null = _null_variance(only_new, only_old, 1, margin)
    reach = z_alpha * math.sqrt(null) + z_power * math.sqrt(discordant - difference**2)
    # Even without any discordant pair, so many items are needed.
    none_wrong = math.log(alpha / _SIDES) / math.log1p(-margin)
    return math.ceil(max(reach**2 / (margin - difference) ** 2, none_wrong))
