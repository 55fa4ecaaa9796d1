"""Two budgets for the same three jobs: planned, run for real, and held against the plan.

`python -m examples.plan_and_run` measures word count, inverted index and sort over the sources of
Python's standard library once, lists the plans worth choosing, and really runs two of them: the
cheapest and the fastest within the budgets. A VM is a virtual node of this machine here. Offline;
writes to build/plan only.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, RenderableType
from rich.table import Table

import sluice
from sluice.cli.demonstration.volumes import VOLUME_BYTES, write_volumes
from sluice.model.prices import Prices
from sluice.reporting.exports.workload_text import workload_text
from sluice.reporting.formatting import duration, money
from sluice.reporting.plan.result import PlanResult
from sluice.reporting.plan.tables import plan_panel, plans_table
from sluice.reporting.run.result import RunResult

EXAMPLES = Path(__file__).resolve().parent
WIDTH = 80

console = Console(width=WIDTH, highlight=False, markup=False, emoji=False)

# A cent a VM-minute, by the second. Six VMs at most: three jobs at once on one machine.
WORKLOAD = """\
version: 1
cluster:
  {nodes: 2, node: {map_slots: 1, reduce_slots: 1}, map_slots_per_vm: 1, reduce_slots_per_vm: 1}
prices: {vm_hour_usd: 0.60, billing_s: 1}
limits: {vms_max: 6}
jobs:
  - id: inverted-index
    reduces: {tasks: 2}
    run: {input: [text/*.txt], output: out/inverted-index, python: jobs/inverted_index.py}
  - id: word-count
    reduces: {tasks: 2}
    run: {input: [text/*.txt], output: out/word-count, python: jobs/word_count.py}
  - id: sort
    reduces: {tasks: 1}
    run: {input: [text/*.txt], output: out/sort, mapper: expand, reducer: uniq -c, env: {LC_ALL: C}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A plan that ran. Costs in dollars, by the prices of the workload; measured ones include all
    of a job's time, from its first task to its last.
    """

    number: int
    vms: int
    predicted_s: float
    measured_s: float
    predicted_usd: float
    measured_usd: float


def plan_and_run(
    folder: Path, *, volume_bytes: int = VOLUME_BYTES, library: Path | None = None
) -> list[Outcome]:
    """The whole example. folder: it is removed first, and made again."""
    file = lay_out(folder, volume_bytes=volume_bytes, library=library)
    os.environ["SLUICE_HOME"] = str(folder / "state")
    say("Measured once, on two virtual nodes:")
    run(file, "measured")
    plans = sluice.plan(file)
    show(plans_table(plans))
    outcomes = [
        carried_out(file, plans, number) for number in sorted({1, len(plans)}, reverse=True)
    ]
    show(outcome_table(outcomes))
    say(
        "A plan believes that every VM is a machine of its own. These are virtual nodes that share"
        " this machine's processors, so plans with many of them promise too much."
    )
    say("\nWhat the runs have taught:")
    show(plan_panel(sluice.plan(file)))
    return outcomes


def lay_out(folder: Path, *, volume_bytes: int, library: Path | None) -> Path:
    """The text, the code of the jobs, and the workload; returns its file."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "text").mkdir(parents=True)
    write_volumes(folder / "text", volume_bytes=volume_bytes, library=library)
    code = folder / "jobs"
    shutil.copytree(EXAMPLES / "jobs", code, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "jobs.yaml"
    file.write_text(WORKLOAD)
    return file


def carried_out(file: Path, plans: PlanResult, number: int) -> Outcome:
    """Write the workload with a plan in it, run it, and see what came of it."""
    chosen = file.with_name(f"jobs-plan-{number}.yaml")
    document = plans.chosen_document(number)
    chosen.write_text(workload_text(document, name=chosen.name, comment=plans.title(number)))
    say(f"Running {plans.title(number)}")
    result = run(chosen, f"plan-{number}")
    plan = plans.plan(number)
    return Outcome(
        number=number,
        vms=plan.vms,
        predicted_s=plan.makespan_s,
        measured_s=result.makespan_s or 0.0,
        predicted_usd=plan.budget_usd,
        measured_usd=cost_usd(plans, number, result),
    )


def run(file: Path, name: str) -> RunResult:
    """Run a workload under `fair`, so that pools hold; put its output aside."""
    result = sluice.run(file, tasks="fair")
    failed = [f"{job.job_id}: {job.reason}" for job in result.jobs if job.state != "done"]
    if failed:
        sys.exit("\n".join(failed))
    (file.parent / "out").rename(file.parent / name)
    return result


def cost_usd(plans: PlanResult, number: int, result: RunResult) -> float:
    """Rent of each job's VMs for as long as it really took. Source: pareto (12), (14)."""
    prices: Prices = plans.problem.prices
    took_s = {
        job.job_id: (job.finished_at_s or 0.0) - (job.started_at_s or 0.0) for job in result.jobs
    }
    return sum(
        entry.vms * prices.rent_usd(took_s[job.job_id])
        for job, entry in zip(plans.problem.jobs, plans.plan(number).entries, strict=True)
    )


def outcome_table(outcomes: list[Outcome]) -> Table:
    """Predicted and measured, a row a plan."""
    from rich import box

    table = Table(box=box.SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for name in ("plan", "VMs", "predicted", "measured", "predicted cost", "measured cost"):
        table.add_column(name, justify="right")
    for one in outcomes:
        table.add_row(
            str(one.number), str(one.vms), duration(one.predicted_s), duration(one.measured_s),
            money(one.predicted_usd), money(one.measured_usd),
        )  # fmt: skip
    return table


def say(text: str) -> None:
    """A sentence."""
    console.print(text)


def show(view: RenderableType) -> None:
    """A table."""
    console.print(view)


if __name__ == "__main__":
    try:
        plan_and_run(EXAMPLES.parent / "build" / "plan")
    except sluice.SluiceError as error:
        sys.exit(f"It stopped: {error}")
