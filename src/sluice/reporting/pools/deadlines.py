"""Prices of a job by its deadline, and jobs that are better planned for an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluice.model.vm_pools import VmType
from sluice.planning.pools.deadline_prices import DeadlinePrice, EarlierDeadline
from sluice.planning.pools.problem import PoolJob
from sluice.planning.pools.schedule import PoolSchedule
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.formatting import count, counted, hundredths, tenths, visible
from sluice.reporting.table_style import Table, plain_table, plain_text

_NAMED_MAX = 3


@dataclass(frozen=True, slots=True, repr=False)
class DeadlinePricesResult(NotebookView):
    """The cost of a job by its deadline, next to the other jobs of its file.

    prices: the earliest deadline first; empty if the job can meet none.
    """

    job: PoolJob
    prices: Sequence[DeadlinePrice]
    types: Sequence[VmType]

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        return {
            "job": self.job.job_id,
            "submitted_at_s": self.job.submitted_at_s,
            "prices": [self._row(one) for one in self.prices],
        }

    def _row(self, one: DeadlinePrice) -> dict[str, object]:
        outcome = one.outcome
        assert outcome.option is not None, "a job without VMs has no price"
        return {
            **document_of(one, "deadline_at_s planned_for_s=planned_at_s price_server_s"),
            "vm_type": self.types[outcome.option.pool].type_id,
            **document_of(outcome, "option.vms started_at_s finished_at_s cost_server_s"),
            "total_cost_server_s": one.total_server_s,
            "total_if_planned_for_it_server_s": one.own_total_server_s,
        }


def prices_sentence(result: DeadlinePricesResult) -> str:
    """Return the cost of the earliest deadline, and of the cheapest. The job can meet one."""
    first, last = result.prices[0], result.prices[-1]
    cheapest = next(one for one in result.prices if one.price_server_s == last.price_server_s)
    name = visible(result.job.job_id)
    costs = (
        f"Job {name} costs {hundredths(first.price_server_s)} server-seconds"
        f" by its earliest deadline, {tenths(first.deadline_at_s)} s"
    )
    if cheapest is first:
        return f"{costs}, and as much by any later one."
    return (
        f"{costs}, and {hundredths(cheapest.price_server_s)}"
        f" from {tenths(cheapest.deadline_at_s)} s on."
    )


def prices_table(result: DeadlinePricesResult) -> Table:
    """One row for each deadline from which on the price changes."""
    table = plain_table(
        "",
        names=("VM type",),
        numbers=("VMs", "start s", "end s", "own server-s", "all jobs", "deadline from s", "price"),
    )
    planned_s = None
    for one in result.prices:
        if one.planned_at_s == planned_s:
            continue
        planned_s, outcome = one.planned_at_s, one.outcome
        assert outcome.option is not None, "a job without VMs has no price"
        table.add_row(
            plain_text(result.types[outcome.option.pool].type_id),
            count(outcome.option.vms),
            tenths(outcome.started_at_s),
            tenths(outcome.finished_at_s),
            hundredths(outcome.cost_server_s),
            hundredths(one.total_server_s),
            tenths(one.deadline_at_s),
            hundredths(one.price_server_s),
        )
    return table


def earlier_notes(schedule: PoolSchedule, found: Sequence[EarlierDeadline]) -> list[str]:
    """A sentence for each of the first jobs that are better planned for an earlier deadline."""
    notes = [
        f"the later deadline of job {visible(one.job_id)} {_harm(schedule, one)}"
        for one in found[:_NAMED_MAX]
    ]
    more = len(found) - _NAMED_MAX
    return [
        *notes,
        *([f"{counted(more, 'more job')}: see earlier_deadlines of --json"] if more > 0 else []),
    ]


def _harm(schedule: PoolSchedule, one: EarlierDeadline) -> str:
    """Return in words what the later deadline makes worse, and how it is with the earlier one."""
    total, less = schedule.total_cost_server_s, one.total_server_s
    instead = f"with {tenths(one.planned_at_s)} s in place of {tenths(one.deadline_at_s)} s"
    if len(one.missed) == len(schedule.missed):
        return (
            f"makes all jobs dearer: {instead} they cost {hundredths(less)} server-seconds,"
            f" {hundredths(total - less)} less"
        )
    late = [name for name in schedule.missed if name not in one.missed]
    named = ", ".join(map(visible, late[:_NAMED_MAX])) + ", .." * (len(late) > _NAMED_MAX)
    whose = f"job {named} miss its own" if len(late) == 1 else f"jobs {named} miss theirs"
    return f"makes {whose}: {instead} all jobs cost {hundredths(less)} server-seconds"


def earlier_document(found: Sequence[EarlierDeadline]) -> list[dict[str, object]]:
    """Return the fields as plain JSON values."""
    return [
        {
            "job": one.job_id,
            "deadline_at_s": one.deadline_at_s,
            "planned_for_s": one.planned_at_s,
            "total_cost_server_s": one.total_server_s,
            "missed": list(one.missed),
        }
        for one in found
    ]
