"""When two times or two costs are told apart: sums in another order must not make another plan."""

from __future__ import annotations

# Two costs or times nearer than this, as a share, differ by rounding only.
ROUNDING = 1e-12


def is_below(value: float, other: float) -> bool:
    """Whether a value is less by more than rounding.

    >>> is_below(0.1 + 0.2, 0.3), is_below(0.3, 0.1 + 0.2), is_below(1.0, 2.0)
    (False, False, True)
    """
    return value < other * (1 - ROUNDING)
