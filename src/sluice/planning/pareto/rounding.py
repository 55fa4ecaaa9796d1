"""Comparison of times and costs with a tolerance, so that rounding cannot create another plan."""

from __future__ import annotations

# Costs or times whose relative difference is below this differ only by rounding.
ROUNDING = 1e-12


def is_below(value: float, other: float) -> bool:
    """Whether `value` is less than `other` by more than rounding.

    >>> is_below(0.1 + 0.2, 0.3), is_below(0.3, 0.1 + 0.2), is_below(1.0, 2.0)
    (False, False, True)
    """
    return value < other * (1 - ROUNDING)
