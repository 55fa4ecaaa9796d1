"""The optimum with all arrivals known beforehand, next to the cost of the online scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluice.planning.pools.offline_optimum import OfflineOptimum
from sluice.planning.pools.schedule import PoolSchedule
from sluice.planning.pools.slots import Slot
from sluice.reporting.columns import Column, column_document, column_table
from sluice.reporting.document_html import NotebookView
from sluice.reporting.formatting import NOTHING, count, hundredths, tenths
from sluice.reporting.table_style import Panel, Table, framed

_ROWS_MAX = 50


@dataclass(frozen=True, slots=True, repr=False)
class OptimumResult(NotebookView):
    """The cheapest schedule, and that of the VM-aware scheduler for the same jobs."""

    optimum: OfflineOptimum
    online: PoolSchedule

    @property
    def is_feasible(self) -> bool:
        """Whether a schedule that meets all deadlines was found."""
        return self.optimum.cost_server_s is not None

    @property
    def above_optimum(self) -> float | None:
        """Share by which the online schedule costs more; None unless both meet all deadlines."""
        best = self.optimum.cost_server_s
        if best is None or self.online.missed:
            return None
        return self.online.total_cost_server_s / best - 1 if best else 0.0

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        optimum = self.optimum
        has_bound = optimum.cost_server_s is not None or not optimum.is_proven
        return {
            "cost_server_s": optimum.cost_server_s,
            "bound_server_s": optimum.bound_server_s if has_bound else None,
            "proven": optimum.is_proven,
            "method": optimum.method,
            "online_cost_server_s": self.online.total_cost_server_s,
            "online_missed": list(self.online.missed),
            "above_optimum": self.above_optimum,
            "jobs": {
                job: column_document(self.columns(), slot) for job, slot in optimum.slots.items()
            },
        }

    def columns(self) -> Sequence[Column[Slot]]:
        """The columns of a job of the cheapest schedule."""
        types = self.online.problem.types
        return (
            Column(
                "vm_type", "VM type", of=lambda slot: types[slot.option.pool].type_id, is_left=True
            ),
            Column("vms", "VMs", count, lambda slot: slot.option.vms),
            Column("started_at_s", "start s", tenths, lambda slot: slot.start_s),
            Column("finished_at_s", "end s", tenths, lambda slot: slot.end_s),
            Column("cost_server_s", "server-s", hundredths, lambda slot: slot.option.cost_server_s),
        )


def optimum_table(result: OptimumResult) -> Table | None:
    """One row for each job of the cheapest schedule; None without one."""
    slots = result.optimum.slots
    return column_table(result.columns(), slots, key="job", rows_max=_ROWS_MAX) if slots else None


def optimum_panel(result: OptimumResult) -> Panel:
    """The optimum, whether it is proven, and what the online scheduler costs."""
    optimum, above = result.optimum, result.above_optimum
    proof = "proven" if optimum.is_proven else f"not proven, at least {_cost(optimum)}"
    if optimum.cost_server_s is None:
        found = "no schedule meets all deadlines" if optimum.is_proven else "none found"
    else:
        found = f"{hundredths(optimum.cost_server_s)} server-seconds"
    online = f"{hundredths(result.online.total_cost_server_s)} server-seconds"
    if result.online.missed:
        online = f"misses {', '.join(result.online.missed[:5])}"
    rows = [("optimum", found), ("proof", f"{proof}, by {optimum.method}"), ("online", online)]
    if above is not None:
        rows.append(("online above it", f"{100 * above:.2f} %"))
    return framed("all arrivals known", rows)


def _cost(optimum: OfflineOptimum) -> str:
    return hundredths(optimum.bound_server_s) if optimum.bound_server_s else NOTHING
