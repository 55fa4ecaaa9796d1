"""The cost of tighter deadlines: figure 8, and the curve that the paper fits to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from sluice.estimate.bounds import Bound
from sluice.planning.capacity.instances import DrawnClasses, InstanceKind
from sluice.planning.capacity.problem import RentalPrices
from sluice.planning.capacity.relaxation import solve_relaxation
from sluice.reproductions.capacity.instances import GENERATOR, drawn_classes
from sluice.reproductions.charts import lines_chart
from sluice.reproductions.runner import Cell, Experiment, OnProgress

_STEP, _LAST = 5, 100  # percent
_PAPER = (71.0, 80.0)  # alpha, beta
_AT = 60  # percent at which the paper gives a figure
_SIZES = (5, 20)

Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperbola:
    """cost ratio = alpha / (beta - reduction in percent). deviation: the largest, relative."""

    alpha: float
    beta: float
    deviation: float


def tighter_deadlines(seeds: int, on_progress: OnProgress) -> Experiment:
    """Deadlines shortened in steps of 5 % until one cannot be met."""
    rows: list[dict[str, Cell]] = []
    curves: dict[str, Curve] = {}
    for classes in _SIZES:
        made: list[Curve] = []
        for seed in range(2 * seeds):
            on_progress(f"tighter deadlines: {classes} classes, instance {seed}")
            made.append(
                _ratios(*drawn_classes(seed, classes, InstanceKind.TEXT, has_reserved=False))
            )
        rows.append(_row(classes, made))
        shown = sorted(map(_up_to_sixty, made), key=lambda curve: (len(curve), curve[-1][1]))
        middle = shown[len(shown) // 2]
        curves[f"{classes} classes"] = middle
        if classes == _SIZES[-1]:
            fit = fitted(middle)
            for name, (alpha, beta) in (("fit", (fit.alpha, fit.beta)), ("paper", _PAPER)):
                line = [(x, alpha / (beta - x)) for x, _ in middle]
                curves[f"{name}: {alpha:.0f}/({beta:.0f} - x)"] = line
    return Experiment(
        rows=tuple(rows),
        name="tighter-deadlines",
        title="Cost of tighter deadlines (Fig. 8)",
        setup=f"{GENERATOR} No reserved machines, divisible machines; {2 * seeds} instances each.",
        why=(
            "As in the paper the curve is hyperbolic, with more than three times the cost at -60"
            " %. The fit of the paper, 71/(80 - x), is 0.89 instead of 1 at x = 0 (E13). For one"
            " class the law is exact, with alpha = beta = 100 * (1 - xi_0 / D). Fits over several"
            " classes, here up to -60 %, are close to it. Beyond that, the cost depends only on the"
            " class that first has no slack."
        ),
        chart=lines_chart(
            "Cost of tighter deadlines",
            "Median instance of each size, the fit to the larger one, and the fit of the paper.",
            ("reduction of all deadlines (%)", "cost relative to the first"),
            curves,
        ),
    )


def _ratios(classes: DrawnClasses, rent: RentalPrices) -> Curve:
    """Cost relative to the first deadlines, by reduction in percent, while all can be met."""
    found: list[tuple[float, float]] = []
    first_usd = 0.0
    for percent in range(0, _LAST, _STEP):
        tighter = replace(classes, deadline_s=classes.deadline_s * (1 - percent / 100))
        if not np.isfinite(tighter.needs(Bound.UP)).all():
            break
        problem = tighter.problem(rent)
        answer = solve_relaxation(problem)
        cost_usd = rent.on_demand_usd * answer.on_demand_vms + problem.refusals_usd(answer.jobs)
        first_usd = first_usd or cost_usd
        found.append((float(percent), cost_usd / first_usd))
    return found


def _row(classes: int, curves: Sequence[Curve]) -> dict[str, Cell]:
    at_sixty = [ratio for curve in curves for percent, ratio in curve if percent == _AT]
    fits = [fitted(_up_to_sixty(curve)) for curve in curves]
    return {
        "classes": classes,
        "instances": len(curves),
        "reach -60 %": len(at_sixty),
        "paper: ratio there": "> 3",
        "ours: median ratio there": median(at_sixty) if at_sixty else None,
        "least ratio there": min(at_sixty, default=None),
        "paper: alpha, beta": "71, 80",
        "ours: median alpha": median(fit.alpha for fit in fits),
        "median beta": median(fit.beta for fit in fits),
        "paper: deviation %": 2.90,
        "ours: median deviation %": 100 * median(fit.deviation for fit in fits),
    }


def _up_to_sixty(curve: Curve) -> Curve:
    return [(percent, ratio) for percent, ratio in curve if percent <= _AT]


def fitted(curve: Curve) -> Hyperbola:
    """The hyperbola through a curve: y * x = beta * y - alpha, by least squares.

    >>> fit = fitted([(x, 80 / (80 - x)) for x in (0.0, 20.0, 40.0, 60.0)])
    >>> round(fit.alpha, 6), round(fit.beta, 6)
    (80.0, 80.0)
    """
    x, y = np.array(curve).T
    (beta, alpha), *_ = np.linalg.lstsq(np.column_stack((y, -np.ones_like(y))), x * y, rcond=None)
    deviation = np.abs(alpha / (beta - x) / y - 1).max()
    return Hyperbola(alpha=float(alpha), beta=float(beta), deviation=float(deviation))
