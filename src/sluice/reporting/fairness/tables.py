"""Tables of the fairness ledger. Rich is imported when a table is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sluice.planning.sharing.ledger import Ledger, TenantPeriod
from sluice.reporting.fairness.amounts import AmountUnit, unit_of
from sluice.reporting.fairness.result import FairnessResult
from sluice.reporting.formatting import NOTHING, duration, hundredths
from sluice.reporting.table_style import (
    Panel,
    Table,
    Text,
    framed,
    left_out,
    name_cell,
    plain_table,
    plain_text,
)

TENANTS_MAX = 50
PERIODS_MAX = 12


def tenants_table(result: FairnessResult) -> Table:
    """One row for each tenant over the whole time."""
    rows = list(result.ledger.total.tenants.items())
    more = left_out(max(0, len(rows) - TENANTS_MAX))
    unit = unit_of(result.ledger)
    caption = f"{unit.name}; fairness: use / use on a fixed share, and / min(demand, share)"
    has_cpu = bool(result.cpu_s)
    names = ["share", "paid for", "used", "lent", "borrowed", "owed", "fairness", "observed"]
    shares, cpu_s = result.ledger.shares, result.cpu_s
    return plain_table(
        "; ".join(filter(None, (caption, more))),
        names=("tenant",),
        numbers=names + ["cpu"] * has_cpu,
        rows=(
            (
                name_cell(name),
                hundredths(shares[name]),
                *_cells(row, unit),
                *[plain_text(duration(cpu_s.get(name)))] * has_cpu,
            )
            for name, row in rows[:TENANTS_MAX]
        ),
    )


def _cells(row: TenantPeriod, unit: AmountUnit) -> list[Text]:
    amounts = (row.entitled, row.used, row.lent, row.borrowed, row.owed)
    return [
        *(plain_text(unit.text(amount)) for amount in amounts),
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
    unit = unit_of(result.ledger)
    return plain_table(
        f"each cell: used / owed at the end, in {unit.name}{earlier}",
        names=("until",),
        numbers=(*names, "benefit", "loss"),
        rows=(
            (
                duration(period.ended_at_s),
                *(
                    f"{unit.text(one.used)} / {unit.text(one.owed)}"
                    for one in map(period.tenants.__getitem__, names)
                ),
                hundredths(period.benefit),
                plain_text(hundredths(period.loss), "red" if period.loss < 0 else ""),
            )
            for period in periods
        ),
    )


def misreports_table(result: FairnessResult) -> Table:
    """Return what each tenant could have gained by false demands, with all others honest."""
    length_s, unit = result.ledger.periods[0].ended_at_s, unit_of(result.ledger)
    return plain_table(
        f"{unit.name}, in the fluid model of the rule",
        names=("tenant",),
        numbers=("honest", "best", "gain"),
        rows=(
            (
                name_cell(one.name),
                *(unit.text(float(units) * length_s) for units in (one.honest, one.best, one.gain)),
            )
            for one in (result.misreports or ())[:TENANTS_MAX]
        ),
    )


def fairness_panel(result: FairnessResult) -> Panel:
    """A summary of the ledger."""
    total, unit = result.ledger.total, unit_of(result.ledger)
    owed = max(total.tenants.items(), key=lambda item: item[1].owed, default=None)
    rows = [
        ("rule", result.scheduler),
        ("time", duration(total.ended_at_s)),
        ("benefit, loss", f"{hundredths(total.benefit)}, {hundredths(total.loss)}"),
        ("Jain's index", hundredths(result.ledger.jain)),
        (
            "owed most",
            f"{owed[0]}: {unit.text(owed[1].owed)} {unit.name}"
            if owed is not None and owed[1].owed > 0
            else NOTHING,
        ),
    ]
    return framed("Fairness", rows)


def rules_table(ledgers: Mapping[str, FairnessResult]) -> Table:
    """Return what each tenant got under each rule: one row for each tenant and rule."""
    first = next(iter(ledgers.values())).ledger
    tenants, unit = list(first.shares)[:TENANTS_MAX], unit_of(first)
    return plain_table(
        f"{unit.name}, of the simulation with the first seed",
        names=("tenant", "rule"),
        numbers=("used", "lent", "borrowed", "owed", "fairness"),
        rows=(
            (name_cell("" if index else tenant), rule, *_cells(row, unit)[1:6])
            for tenant in tenants
            for index, (rule, result) in enumerate(ledgers.items())
            for row in (result.ledger.total.tenants[tenant],)
        ),
    )


def losses_table(ledgers: Mapping[str, FairnessResult]) -> Table:
    """One row for each rule: benefit, loss and Jain's index, at the end and at worst."""
    return plain_table(
        "worst loss: at the end of any period",
        names=("rule",),
        numbers=("benefit", "loss", "worst loss", "Jain's index"),
        rows=((name_cell(rule), *_losses(result.ledger)) for rule, result in ledgers.items()),
    )


def _losses(ledger: Ledger) -> Iterator[str]:
    worst = min((period.loss for period in ledger.periods), default=0.0)
    return map(hundredths, (ledger.total.benefit, ledger.total.loss, worst, ledger.jain))
