"""Tables of capacity plans. Rich is imported when a table is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sluice.planning.capacity.plan import CapacityPlan, ClassPlan, UnreachableDeadlines
from sluice.reporting.capacity.result import CapacityResult
from sluice.reporting.formatting import (
    NOTHING,
    count,
    duration,
    duration_tight,
    hundredths,
    money,
    share,
)
from sluice.reporting.picking import picked_evenly
from sluice.reporting.table_style import framed, left_out, name_cell, plain_table, plain_text

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

CLASSES_MAX = 50


def classes_table(plan: CapacityPlan) -> Table:
    """One row for each class: jobs, VMs, containers and its value."""
    shown = plan.classes[:CLASSES_MAX]
    held = _held(plan)
    table = plain_table(
        left_out(len(plan.classes) - len(shown)),
        names=("class",),
        numbers=("jobs", "refused", "VMs each", "VMs", "share", *held, "time"),
    )
    for one in shown:
        table.add_row(name_cell(one.class_id), *_cells(one, held))
    return table


def _held(plan: CapacityPlan) -> list[str]:
    """Columns of containers: typed ones, unless all classes share theirs over their phases."""
    shared = [one.containers is not None for one in plan.classes]
    typed = [] if all(shared) else ["maps", "reduces"]
    return [*typed, "containers"] if any(shared) else typed


def _cells(one: ClassPlan, held: Sequence[str]) -> list[Text]:
    containers = {
        "maps": one.map_containers,
        "reduces": one.reduce_containers,
        "containers": one.containers,
    }
    return [
        plain_text(hundredths(one.jobs)),
        plain_text(hundredths(one.rejected), "red" if one.rejected else "dim"),
        plain_text(hundredths(one.vms_per_job)),
        plain_text(hundredths(one.vms)),
        plain_text(share(one.share)),
        *(plain_text(hundredths(containers[name])) for name in held),
        plain_text(duration_tight(one.time_s)),
    ]


def worth_table(plan: CapacityPlan) -> Table:
    """One row for each class: the penalty and the deadline at which a job pays for its VMs."""
    shown = plan.classes[:CLASSES_MAX]
    table = plain_table(
        "break-even: accept a job if its penalty is higher, or its deadline longer",
        names=("class",),
        numbers=("reserved", "deadline", "on demand", "deadline"),
    )
    for one in shown:
        even = one.break_even
        table.add_row(
            name_cell(one.class_id),
            money(even.reserved_usd),
            duration(even.reserved_deadline_s),
            money(even.on_demand_usd),
            duration(even.on_demand_deadline_s),
        )
    return table


def capacity_panel(result: CapacityResult) -> Panel:
    """A summary of the plan: VMs, costs, and how many VMs to reserve."""
    plan, contract = result.plan, result.contract()
    costs = f"rent {money(plan.rent_usd)}, refusals {money(plan.penalties_usd)}"
    rows = [
        (
            "VMs",
            f"{hundredths(plan.reserved_vms)} reserved, {hundredths(plan.on_demand_vms)} on demand",
        ),
        ("cost", f"{money(plan.cost_usd)}: {costs}"),
        ("next VM", _next_vm(plan)),
        ("reservation", _reservation(plan, contract)),
        ("certainty", _certainty(plan)),
    ]
    return framed("capacity", rows)


def _next_vm(plan: CapacityPlan) -> str:
    saving = plan.next_vm_usd - plan.rent.reserved_usd
    if saving <= 0:
        return f"would avoid no more than its price, {money(plan.rent.reserved_usd)}"
    return f"would avoid {money(plan.next_vm_usd)} of cost: net {money(saving)} if reserved"


def _reservation(plan: CapacityPlan, contract: Mapping[str, float]) -> str:
    useful = hundredths(contract["useful_vms"])
    if contract["saved_usd"] <= 0:
        return f"{useful} VMs are useful, and {hundredths(plan.rent.reserved_vms)} are reserved"
    return f"Best: reserve {useful} VMs (saves {money(contract['saved_usd'])})"


def _certainty(plan: CapacityPlan) -> str:
    if plan.is_proven:
        return "proven optimal" + (", in whole jobs and VMs" if plan.is_whole else "")
    gap = max(0.0, plan.gap_usd)
    part = f" ({gap / plan.cost_usd:.2%} of the cost)" if plan.cost_usd else ""
    return f"at most {money(gap)}{part} above any other whole plan"


def curve_table(result: CapacityResult) -> Table:
    """Corners of the cost by reserved VMs, picked evenly if there are too many."""
    corners = result.curve_document()
    shown = [corners[place] for place in picked_evenly(len(corners), CLASSES_MAX)]
    hidden = len(corners) - len(shown)
    table = plain_table(
        f"{count(hidden)} corners in between are not shown" if hidden else "",
        numbers=("reserved VMs", "least cost", "the next VM saves"),
    )
    for row in shown:
        saving = row["next_vm_usd"] - result.plan.rent.reserved_usd
        table.add_row(
            hundredths(row["reserved_vms"]),
            money(row["cost_usd"]),
            money(saving) if saving > 0 else NOTHING,
        )
    return table


def unreachable_table(answer: UnreachableDeadlines) -> Table:
    """Classes that cannot meet their deadline, and what a deadline must exceed."""
    table = plain_table("", names=("class",), numbers=("deadline must exceed",))
    for class_id, least_s in list(answer.least_deadline_s.items())[:CLASSES_MAX]:
        table.add_row(name_cell(class_id), plain_text(f"{least_s:g} s", "red"))
    return table
