"""Prices of VMs and of their I/O."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.errors import wrong_value

_HOUR_S = 3600.0
_INTEGERS_FROM = 2.0**52  # from here on every floating-point number is an integer


def billed_units(units: float) -> float:
    """Round up to whole units, at least 1. An excess of a billionth is rounding and is ignored.

    Source: pareto spec, section 3.

    >>> billed_units(0.2), billed_units(1.0000000001), billed_units(1.01)
    (1.0, 1.0, 2.0)
    """
    if units >= _INTEGERS_FROM:
        return units
    return float(max(1, math.ceil(units - 1e-9 * max(1.0, abs(units)))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Rent of one VM, and the price of its I/O.

    vm_hour_usd: one VM for one hour.  billing_s: length of a billed unit, seconds; 0 bills the
    exact time.  io_op_usd: one I/O operation.  io_bytes_per_op: bytes moved by one operation; 1
    charges every byte.  Source: pareto, spec section 2 and equations (12), (13).

    >>> Prices(vm_hour_usd=2.0, billing_s=3600.0).rent_usd(3601.0)
    4.0
    """

    vm_hour_usd: float
    billing_s: float = 1.0
    io_op_usd: float = 0.0
    io_bytes_per_op: float = 1.0

    def __post_init__(self) -> None:
        for name in ("vm_hour_usd", "billing_s", "io_op_usd"):
            number = getattr(self, name)
            if not 0 <= number < math.inf:
                raise wrong_value(name, number, "prices", "give a finite number of at least 0")
        if not 0 < self.io_bytes_per_op < math.inf:
            raise wrong_value(
                "io_bytes_per_op",
                self.io_bytes_per_op,
                "prices",
                "give a finite number of bytes above 0",
            )

    def paid_hours(self, length_s: float) -> float:
        """Hours billed for one VM in use for `length_s`, rounded up to whole billing units.

        >>> Prices(vm_hour_usd=1.0, billing_s=60.0).paid_hours(61.0) * 60
        2.0
        """
        if not self.billing_s:
            return length_s / _HOUR_S
        return billed_units(length_s / self.billing_s) * self.billing_s / _HOUR_S

    def rent_usd(self, length_s: float) -> float:
        """Rent of one VM for `length_s`, rounded up to whole billing units."""
        return self.paid_hours(length_s) * self.vm_hour_usd

    def io_usd(self, moved_bytes: float) -> float:
        """Price of moving `moved_bytes`."""
        return moved_bytes / self.io_bytes_per_op * self.io_op_usd
