"""What goes with minimum accuracy over many systems: BLEU, and having been distilled (paper, table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, stdtr, stdtrit

from babelscope.core.results import Estimate, Row
from babelscope.util.errors import BabelscopeError

INTERCEPT = "intercept"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """How much the outcome changes with a variable, all others held; `p` is that of no change."""

    estimate: Estimate
    p: float


@dataclass(frozen=True, slots=True)
class Regression:
    """Ordinary least squares: a coefficient a variable, the intercept first."""

    coefficients: Mapping[str, Coefficient]
    r_squared: float
    p: float
    """Of the regression as a whole (F test)."""

    def rows(self, labels: Mapping[str, str | float] | None = None) -> list[Row]:
        """A row a variable; those that table 3 marks with a star are `significant` (p < 0.05)."""
        return [
            Row(
                "coefficient",
                each.estimate,
                {
                    **(labels or {}),
                    "variable": name,
                    "p": each.p,
                    "significant": "yes" if each.p < 0.05 else "no",
                },
            )
            for name, each in self.coefficients.items()
        ]


def regress(outcome: Sequence[float], variables: Mapping[str, Sequence[float]]) -> Regression:
    """Ordinary least squares of `outcome` on `variables`, one value per system each, with 95 % intervals.

    Table 3: outcome the minimum accuracy, variables BLEU and a 0/1 variable for distilled students.
    """
    n = len(outcome)
    names = [INTERCEPT, *variables]
    for name, values in variables.items():
        if len(values) != n:
            raise BabelscopeError(f"the variable {name} has {len(values)} values for {n} outcomes")
    if n <= len(names):
        raise BabelscopeError(
            f"a regression on {len(variables)} variables needs more than {len(names)} systems"
        )
    columns = np.column_stack(
        [np.ones(n), *(np.asarray(values, dtype=float) for values in variables.values())]
    )
    if not (np.isfinite(columns).all() and np.isfinite(outcome).all()):
        raise BabelscopeError("a regression needs finite numbers")
    if np.ptp(outcome) <= 1e-12 * np.abs(outcome).max():
        raise BabelscopeError(
            f"the figure is {outcome[0]:.4g} for all {n} systems, so that nothing can explain its differences; "
            "choose another --figure"
        )
    if np.linalg.matrix_rank(columns) < len(names):
        # The pseudoinverse would share the coefficient out among them without a word.
        raise BabelscopeError(
            f"the variables {', '.join(variables)} cannot be told apart: one is constant or follows from others"
        )
    observed = np.asarray(outcome, dtype=float)
    inverse = np.linalg.pinv(columns)
    slopes = inverse @ observed
    unexplained = float(((observed - columns @ slopes) ** 2).sum())
    total = float(((observed - observed.mean()) ** 2).sum())
    freedom = n - len(names)
    errors = np.sqrt(unexplained / freedom * np.diag(inverse @ inverse.T))
    margins = stdtrit(freedom, 0.975) * errors
    with np.errstate(divide="ignore"):  # a perfect fit
        p_values = 2 * stdtr(freedom, -np.abs(slopes / errors))
        f_value = np.float64((total - unexplained) / len(variables)) / (unexplained / freedom)
    coefficients = {
        name: Coefficient(Estimate(float(slope), float(slope - margin), float(slope + margin), n), float(p))
        for name, slope, margin, p in zip(names, slopes, margins, p_values, strict=True)
    }
    p = float(fdtrc(len(variables), freedom, f_value))
    return Regression(coefficients, 1 - unexplained / total, p)
