"""The VMs of each job of a run on VM pools, and the least deadlines of late and refused ones.

The figures are those that the task policy `vm-pools` adds to the document of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sluice.reporting.formatting import NOTHING, count, counted, duration_tight, hundredths
from sluice.reporting.table_style import left_out, name_cell, plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from sluice.reporting.run.result import RunResult

_ROWS_MAX = 50


def vm_pools_table(result: RunResult) -> Table | None:
    """One row for each job that had VMs or was refused; None for a run without VM pools."""
    found: Any = result.extra.get("vm_pools")
    if found is None or not (found["jobs"] or found["refused"]):
        return None
    rows = {**found["refused"], **found["jobs"]}
    shown = list(rows.items())[:_ROWS_MAX]
    has_offers = any(row["least_deadline_at_s"] is not None for row in rows.values())
    table = plain_table(left_out(len(rows) - len(shown)))
    if not table.caption:
        table.caption = _caption(found)
    table.add_column("job", no_wrap=True)
    table.add_column("VM type", no_wrap=True)
    heads = ("VMs", "from", "planned to", "held to", "unit-s")
    for name in (*heads, *(["least deadline"] if has_offers else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for job_id, row in shown:
        cells = _cells(row)
        if has_offers:
            cells.append(duration_tight(row["least_deadline_at_s"]))
        table.add_row(name_cell(job_id), *cells)
    return table


def _cells(row: Mapping[str, Any]) -> list[str]:
    if "vms" not in row:
        return ["refused", *[NOTHING] * 5]
    times = (row["started_at_s"], row["planned_until_s"], row["finished_at_s"])
    return [
        row["vm_type"], count(row["vms"]), *map(duration_tight, times), hundredths(row["unit_s"]),
    ]  # fmt: skip


def _caption(found: Mapping[str, Any]) -> str:
    checks = found["reconfigurations"]
    text = f"{hundredths(found['unit_s'])} unit-seconds of VMs held"
    done = sum(one["done"] for one in checks)
    return f"{text}; pools changed at {done} of {counted(len(checks), 'check')}" if checks else text
