"""Tables of the fairness ledger. Rich is imported when a table is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sluice.planning.sharing.ledger import TenantPeriod
from sluice.reporting.fairness.result import FairnessResult
from sluice.reporting.formatting import NOTHING, duration, hundredths, tenths
from sluice.reporting.table_style import framed, left_out, name_cell, plain_table, plain_text

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

TENANTS_MAX = 50
PERIODS_MAX = 12
_HOUR_S = 3600.0
_HOURS_MIN = 0.001  # less is shown as less: a short run uses millionths of an hour


def hours(container_s: float) -> str:
    """Container-seconds as container-hours.

    >>> hours(5400.0), hours(3.6)
    ('1.5', '0.001')
    >>> hours(0.003), hours(-0.003)
    ('<0.001', '>-0.001')
    """
    size = container_s / _HOUR_S
    if 0 < abs(size) < _HOURS_MIN:
        return f"<{_HOURS_MIN}" if size > 0 else f">-{_HOURS_MIN}"
    return tenths(size) if abs(size) >= 10 or size == 0 else f"{size:.3g}"  # noqa: PLR2004  # three digits


def tenants_table(result: FairnessResult) -> Table:
    """One row for each tenant over the whole time."""
    rows = list(result.ledger.total.tenants.items())
    more = left_out(max(0, len(rows) - TENANTS_MAX))
    caption = "container-hours; fairness: use / use on a fixed share, and / min(demand, share)"
    has_cpu = bool(result.cpu_s)
    names = ["share", "paid for", "used", "lent", "borrowed", "owed", "fairness", "observed"]
    table = plain_table(
        "; ".join(filter(None, (caption, more))),
        names=("tenant",),
        numbers=names + ["cpu"] * has_cpu,
    )
    for name, row in rows[:TENANTS_MAX]:
        cpu = [plain_text(duration(result.cpu_s.get(name)))] if has_cpu else []
        table.add_row(name_cell(name), hundredths(result.ledger.shares[name]), *_cells(row), *cpu)
    return table


def _cells(row: TenantPeriod) -> list[Text]:
    amounts = (row.entitled, row.used, row.lent, row.borrowed, row.owed)
    return [
        *(plain_text(hours(amount)) for amount in amounts),
        _degree(row.fairness),
        _degree(row.fairness_observed),
    ]


def _degree(degree: float | None) -> Text:
    is_low = degree is not None and degree < 1 - 5e-3  # shown with two decimals
    return plain_text(hundredths(degree), "red" if is_low else "")


def periods_table(result: FairnessResult) -> Table:
    """Return what each tenant used and is owed, period by period."""
    periods = result.ledger.periods[-PERIODS_MAX:]
    first = len(result.ledger.periods) - len(periods)
    earlier = f"; {first} earlier periods left out" if first else ""
    names = list(result.ledger.shares)[:TENANTS_MAX]
    table = plain_table(
        f"each cell: used / owed at the end, in container-hours{earlier}",
        names=("until",),
        numbers=(*names, "benefit", "loss"),
    )
    for period in periods:
        cells = [period.tenants[name] for name in names]
        table.add_row(
            duration(period.ended_at_s),
            *(f"{hours(one.used)} / {hours(one.owed)}" for one in cells),
            hundredths(period.benefit),
            plain_text(hundredths(period.loss), "red" if period.loss < 0 else ""),
        )
    return table


def misreports_table(result: FairnessResult) -> Table:
    """Return what each tenant could have gained by false demands, with all others honest."""
    table = plain_table(
        "container-hours, in the fluid model of the rule",
        names=("tenant",),
        numbers=("honest", "best", "gain"),
    )
    length_s = result.ledger.periods[0].ended_at_s
    for one in (result.misreports or ())[:TENANTS_MAX]:
        amounts = [float(units) * length_s for units in (one.honest, one.best, one.gain)]
        table.add_row(name_cell(one.name), *(hours(amount) for amount in amounts))
    return table


def fairness_panel(result: FairnessResult) -> Panel:
    """A summary of the ledger."""
    total = result.ledger.total
    owed = max(total.tenants.items(), key=lambda item: item[1].owed, default=None)
    rows = [
        ("rule", result.scheduler),
        ("time", duration(total.ended_at_s)),
        ("benefit, loss", f"{hundredths(total.benefit)}, {hundredths(total.loss)}"),
        ("Jain's index", hundredths(result.ledger.jain)),
        (
            "owed most",
            f"{owed[0]}: {hours(owed[1].owed)} container-hours"
            if owed is not None and owed[1].owed > 0
            else NOTHING,
        ),
    ]
    return framed("Fairness", rows)


def rules_table(ledgers: Mapping[str, FairnessResult]) -> Table:
    """Return what each tenant got under each rule: one row for each tenant and rule."""
    table = plain_table(
        "container-hours, of the simulation with the first seed",
        names=("tenant", "rule"),
        numbers=("used", "lent", "borrowed", "owed", "fairness"),
    )
    tenants = next(iter(ledgers.values())).ledger.shares
    for tenant in list(tenants)[:TENANTS_MAX]:
        for index, (rule, result) in enumerate(ledgers.items()):
            row = result.ledger.total.tenants[tenant]
            table.add_row(
                name_cell(tenant if index == 0 else ""),
                rule,
                *(hours(one) for one in (row.used, row.lent, row.borrowed, row.owed)),
                _degree(row.fairness),
            )
    return table


def losses_table(ledgers: Mapping[str, FairnessResult]) -> Table:
    """One row for each rule: benefit, loss and Jain's index, at the end and at worst."""
    table = plain_table(
        "worst loss: at the end of any period",
        names=("rule",),
        numbers=("benefit", "loss", "worst loss", "Jain's index"),
    )
    for rule, result in ledgers.items():
        ledger = result.ledger
        worst = min((period.loss for period in ledger.periods), default=0.0)
        figures = (ledger.total.benefit, ledger.total.loss, worst, ledger.jain)
        table.add_row(name_cell(rule), *(hundredths(figure) for figure in figures))
    return table
