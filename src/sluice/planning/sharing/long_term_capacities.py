"""Capacities of sibling queues that bring their use up to now to their shares.

LTYARN gives a container to the tenant that has had the least for its share over the whole past.
Where only capacities can be set, each queue gets what it still lacks of its share at the end of the
coming time. Source: LTYARN spec, section 4 (long-term resource fairness).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

WHOLE = 100.0
_STEPS = 10  # of a percent: YARN adds up single-precision numbers


def long_term_capacities(
    shares: Mapping[str, float], used: Mapping[str, float], coming: float, least: float = 1.0
) -> dict[str, float]:
    """Percentages by queue, which add up to 100.

    shares: by queue, in any unit, above 0.  used: what each has had so far, such as core-seconds.
    coming: what all of them can have until the next change, in the same unit, above 0.
    least: percent that each queue keeps at least.

    >>> long_term_capacities({"a": 50, "b": 50}, {"a": 100, "b": 100}, 100)
    {'a': 50.0, 'b': 50.0}
    >>> long_term_capacities({"a": 50, "b": 50}, {"a": 130, "b": 70}, 100)
    {'a': 20.6, 'b': 79.4}
    """
    least = min(least, WHOLE / len(shares))
    whole = math.fsum(shares.values())
    total = math.fsum(used.get(name, 0.0) for name in shares) + coming
    lacks = {
        name: max(0.0, share / whole * total - used.get(name, 0.0))
        for name, share in shares.items()
    }  # fmt: skip
    owed = math.fsum(lacks.values())
    spare = WHOLE - least * len(shares)
    exact = {name: least + spare * lack / owed for name, lack in lacks.items()}
    # A floor of each, then one step more for those that lost the most by it.
    steps = {name: math.floor(one * _STEPS + 1e-9) for name, one in exact.items()}
    left = round(WHOLE * _STEPS) - sum(steps.values())
    by_loss = sorted(exact, key=lambda name: steps[name] - exact[name] * _STEPS)
    for name in by_loss[:left]:
        steps[name] += 1
    return {name: one / _STEPS for name, one in steps.items()}
