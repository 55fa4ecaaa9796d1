"""The VMs that were rented while a run went on, and its bill."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sluice.core.state import ClusterState
from sluice.core.transitions import JobState
from sluice.model.prices import Prices
from sluice.reporting.formatting import count, counted, duration_tight, money
from sluice.reporting.table_style import Table, left_out, name_cell, plain_table

_ROWS_MAX = 50


def machines_document(
    state: ClusterState, prices: Prices, reserved_usd: float
) -> dict[str, object]:
    """Each change to the machines, each lease with its rent, and the bill of the run.

    prices: of a rented VM.  reserved_usd: of a node of the file, for an hour. The penalties are
    those of jobs that were refused, failed or ended after their deadline.
    """
    jobs = state.jobs.values()
    until_s = max((job.finished_at_s for job in jobs if job.has_ended), default=state.now_s)
    from_s = min((job.submitted_at_s for job in jobs), default=0.0)
    leases = _leases(state, until_s, prices)
    fixed = len(state.nodes) - len({lease["node"] for lease in leases})
    reserved = Prices(vm_hour_usd=reserved_usd, billing_s=prices.billing_s)
    fixed_usd = fixed * reserved.rent_usd(max(0.0, until_s - from_s))
    rented_usd = math.fsum(float(lease["rent_usd"]) for lease in leases)
    missed = [
        job.job.penalty_usd or 0.0
        for job in jobs
        if job.job.deadline_at_s is not None
        and (job.state is not JobState.DONE or job.finished_at_s > job.job.deadline_at_s)
    ]
    penalties_usd = math.fsum(missed)
    return {
        "changes": [
            {
                "at_s": one.at_s, "change": one.what, "node": one.node_id or None,
                "vms": one.nodes, "reason": one.reason.text(),
            }
            for one in state.machines.changes
        ],
        "leases": leases,
        "vms_fixed": fixed,
        "fixed_usd": fixed_usd,
        "rented_usd": rented_usd,
        "penalties_usd": penalties_usd,
        "bill_usd": fixed_usd + rented_usd + penalties_usd,
    }  # fmt: skip


def _leases(state: ClusterState, until_s: float, prices: Prices) -> list[dict[str, Any]]:
    """A row for each rented VM that joined. until_s: the end of the run, for those still held."""
    rows: list[dict[str, Any]] = []
    of_node: dict[
        str, dict[str, Any]
    ] = {}  # the last one: a name may be that of another node later
    for one in state.machines.changes:
        if one.what == "joined":
            row = of_node[one.node_id] = {
                "node": one.node_id, "from_s": one.at_s, "until_s": max(one.at_s, until_s),
                "reason": one.reason.text(),
            }  # fmt: skip
            rows.append(row)
        elif one.what == "returned":
            of_node[one.node_id]["until_s"] = one.at_s
    for row in rows:
        row["rent_usd"] = prices.rent_usd(row["until_s"] - row["from_s"])
    return rows


def rented_s(extra: Mapping[str, Any], end_s: float) -> float:
    """Seconds of all rented VMs together up to `end_s`. extra: fields of the run's document."""
    found = extra.get("machines")
    if found is None:
        return 0.0
    return math.fsum(
        max(0.0, min(lease["until_s"], end_s) - lease["from_s"]) for lease in found["leases"]
    )


def bill_text(extra: Mapping[str, Any]) -> str | None:
    """The bill in a line; None where no VMs could be rented."""
    found = extra.get("machines")
    if found is None:
        return None
    fixed = f"{money(found['fixed_usd'])} for {counted(found['vms_fixed'], 'VM')}"
    rented = f"{money(found['rented_usd'])} for {count(len(found['leases']))} rented"
    return (
        f"{money(found['bill_usd'])}: {fixed}, {rented}, penalties {money(found['penalties_usd'])}"
    )


def rented_table(extra: Mapping[str, Any]) -> Table | None:
    """A row for each rented VM; None for a run without any."""
    found = extra.get("machines")
    if found is None or not found["leases"]:
        return None
    leases = found["leases"]
    table = plain_table(
        left_out(max(0, len(leases) - _ROWS_MAX)),
        names=("rented VM",),
        numbers=("from", "until", "rent"),
    )
    table.add_column("why")
    for lease in leases[:_ROWS_MAX]:
        times = (duration_tight(lease["from_s"]), duration_tight(lease["until_s"]))
        table.add_row(name_cell(lease["node"]), *times, money(lease["rent_usd"]), lease["reason"])
    return table
