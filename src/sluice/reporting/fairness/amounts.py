"""Container-seconds for people: in hours, or in seconds where a run was short."""

from __future__ import annotations

from typing import Final, NamedTuple

from sluice.planning.sharing.ledger import Ledger
from sluice.reporting.formatting import tenths

_HOUR_S: Final = 3600.0
_HOURS_LEAST: Final = 0.1  # with less in all, a tenant's part would be thousandths of an hour
_LEAST: Final = 0.001


class AmountUnit(NamedTuple):
    """A unit for amounts of work. size_s: container-seconds."""

    name: str
    size_s: float

    def text(self, container_s: float) -> str:
        """An amount with three digits.

        >>> HOURS.text(5400.0), HOURS.text(0.003), SECONDS.text(0.5)
        ('1.5', '<0.001', '0.5')
        """
        size = container_s / self.size_s
        if 0 < abs(size) < _LEAST:
            return f"<{_LEAST}" if size > 0 else f">-{_LEAST}"
        return tenths(size) if abs(size) >= 10 or size == 0 else f"{size:.3g}"  # noqa: PLR2004  # three digits


HOURS: Final = AmountUnit("container-hours", _HOUR_S)
SECONDS: Final = AmountUnit("container-seconds", 1.0)


def unit_of(ledger: Ledger) -> AmountUnit:
    """The unit of all tables and charts of a ledger."""
    tenants = ledger.total.tenants.values()
    largest_s = max((max(one.entitled, one.used) for one in tenants), default=0.0)
    return SECONDS if 0 < largest_s < _HOURS_LEAST * _HOUR_S else HOURS
