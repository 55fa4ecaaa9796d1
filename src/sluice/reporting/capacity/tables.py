"""Tables of capacity plans. Rich is imported when a table is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sluice.planning.capacity.plan import CapacityPlan, ClassPlan, UnreachableDeadlines
from sluice.reporting.capacity.result import CapacityResult
from sluice.reporting.columns import Column, column_table
from sluice.reporting.formatting import (
    NOTHING,
    count,
    counted,
    duration,
    duration_tight,
    hundredths,
    money,
    share,
)
from sluice.reporting.picking import picked_evenly
from sluice.reporting.table_style import Panel, Table, framed

CLASSES_MAX = 50


def _classes(plan: CapacityPlan) -> Sequence[Column[ClassPlan]]:
    """The columns of a class. Typed containers, unless all classes share theirs over phases."""
    has_shared = any(one.containers is not None for one in plan.classes)
    has_typed = any(one.containers is None for one in plan.classes)
    return (
        Column("jobs", "jobs", hundredths),
        Column(
            "rejected", "refused", hundredths, style=lambda one: "red" if one.rejected else "dim"
        ),
        Column("vms_per_job", "VMs each", hundredths),
        Column("vms", "VMs", hundredths),
        Column("share", "share", share),
        Column("map_containers", "maps", hundredths, is_shown=lambda _: has_typed),
        Column("reduce_containers", "reduces", hundredths, is_shown=lambda _: has_typed),
        Column("containers", "containers", hundredths, is_shown=lambda _: has_shared),
        Column("time_s", "time", duration_tight),
    )


def classes_table(plan: CapacityPlan) -> Table:
    """One row for each class: jobs, VMs, containers and its value."""
    classes = {one.class_id: one for one in plan.classes}
    return column_table(_classes(plan), classes, key="class", rows_max=CLASSES_MAX)


_WORTH: Sequence[Column[ClassPlan]] = (
    Column("break_even.reserved_usd", "reserved", money),
    Column("break_even.reserved_deadline_s", "deadline", duration),
    Column("break_even.on_demand_usd", "on demand", money),
    Column("break_even.on_demand_deadline_s", "deadline", duration),
)


def worth_table(plan: CapacityPlan) -> Table:
    """One row for each class: the penalty and the deadline at which a job pays for its VMs."""
    return column_table(
        _WORTH,
        {one.class_id: one for one in plan.classes[:CLASSES_MAX]},
        "break-even: accept a job if its penalty is higher, or its deadline longer",
        key="class",
    )


def capacity_sentence(plan: CapacityPlan) -> str:
    """The answer in one sentence: how many jobs, on how many VMs, for how much."""
    jobs = sum(one.jobs for one in plan.classes)
    asked = jobs + sum(one.rejected for one in plan.classes)
    rented = [
        f"{hundredths(vms)} {kind}"
        for vms, kind in ((plan.reserved_vms, "reserved"), (plan.on_demand_vms, "on-demand"))
        if vms
    ]
    refusals = f", refusals {money(plan.penalties_usd)}" if plan.penalties_usd else ""
    return (
        f"Accept {hundredths(jobs)} of {hundredths(asked)} jobs on"
        f" {' and '.join(rented) or 'no'} VMs: rent {money(plan.rent_usd)}{refusals}."
    )


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
    # Only whole VMs can be rented; the part of a VM more saves nothing and costs cents.
    whole = counted(math.ceil(round(contract["useful_vms"], 6)), "VM")
    return f"Best: reserve {whole} (saves {money(contract['saved_usd'])})"


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
    price_usd = result.plan.rent.reserved_usd
    columns: Sequence[Column[Mapping[str, float]]] = (
        Column("", "reserved VMs", hundredths, lambda row: row["reserved_vms"]),
        Column("", "least cost", money, lambda row: row["cost_usd"]),
        Column(
            "", "the next VM saves", lambda usd: money(usd) if usd > 0 else NOTHING,
            lambda row: row["next_vm_usd"] - price_usd,
        ),
    )  # fmt: skip
    caption = f"{count(hidden)} corners in between are not shown" if hidden else ""
    return column_table(columns, shown, caption)


_UNREACHABLE: Sequence[Column[float]] = (
    Column(
        "", "deadline must exceed", of=lambda least_s: f"{least_s:g} s", style=lambda _: "red"
    ),
)  # fmt: skip


def unreachable_table(answer: UnreachableDeadlines) -> Table:
    """Classes that cannot meet their deadline, and what a deadline must exceed."""
    shown = dict(list(answer.least_deadline_s.items())[:CLASSES_MAX])
    return column_table(_UNREACHABLE, shown, key="class")
