"""What machines cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.errors import InvalidInput

_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Rent of one machine.

    vm_hour_usd: a machine's hour.  billing_s: length of a paid unit, seconds; 0 bills exact time.
    Source: pareto, spec section 2 and equation (12).

    >>> Prices(vm_hour_usd=2.0).rent_usd(3601.0)
    4.0
    """

    vm_hour_usd: float
    billing_s: float = _HOUR_S

    def __post_init__(self) -> None:
        for name in ("vm_hour_usd", "billing_s"):
            number = getattr(self, name)
            if not 0 <= number < math.inf:
                raise InvalidInput(
                    f"{name} is {number}", where="prices", mend="give a finite number of at least 0"
                )

    def rent_usd(self, length_s: float) -> float:
        """Rent of one machine for a time, begun units counting whole."""
        if self.billing_s:
            # A billion-th of a unit over is rounding, not another unit.
            units = max(1, math.ceil(length_s / self.billing_s - 1e-9))
            length_s = units * self.billing_s
        return self.vm_hour_usd * length_s / _HOUR_S
