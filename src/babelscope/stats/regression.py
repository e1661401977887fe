"""What goes with minimum accuracy over many systems: BLEU, and having been distilled (paper, table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import fdtrc, stdtr, stdtrit

from babelscope.core.results import Estimate, Row
from babelscope.util.errors import BabelscopeError


def regress(
    outcome: Sequence[float],
    variables: Mapping[str, Sequence[float]],
    labels: Mapping[str, str | float] | None = None,
) -> list[Row]:
    """Ordinary least squares of `outcome` on `variables`, one value per system each: a row per coefficient.

    A coefficient is how much the outcome changes with a variable, all others held; that of the intercept is first.
    `p` is that of no change, `p_regression` that of the whole (F test). Table 3: outcome the minimum accuracy,
    variables BLEU and a 0/1 variable for distilled students; it marks what is `significant` (p < 0.05).
    """
    n = len(outcome)
    names = ["intercept", *variables]
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
    p_regression = float(fdtrc(len(variables), freedom, f_value))
    whole = {"r_squared": 1 - unexplained / total, "p_regression": p_regression}
    rows = []
    for name, slope, margin, p in zip(names, slopes, margins, map(float, p_values), strict=True):
        own: dict[str, str | float] = {"variable": name, "p": p, "significant": "yes" if p < 0.05 else "no"}
        estimate = Estimate(float(slope), float(slope - margin), float(slope + margin), n)
        rows.append(Row("coefficient", estimate, {**(labels or {}), **whole, **own}))
    return rows
