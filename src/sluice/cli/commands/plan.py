"""`plan`: plans for a budget and a deadline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.api.options.fields import count, keywords, option
from sluice.api.options.parsers import whole
from sluice.api.options.planning import PlanModel, PlanSearched
from sluice.api.options.scheduling import Seeded
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.cli.given_workload import Logs, given_workload, talk_of_replays
from sluice.cli.hints import pasted
from sluice.cli.tables import Tables
from sluice.model.errors import InvalidInput

if TYPE_CHECKING:
    from sluice.reporting.plan.result import PlanResult

_CHOICE = "Use a plan"
_PLANS_MAX = 10**9
_ALL, _NONE = "all", "none"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class UseOfPlan:
    """Which plans are listed, and which one is written."""

    plans: str = option(
        "With --json: how many plans list their per-job allocation.", _ALL, metavar="all|none|N"
    )
    choose: int | None = count(
        "Write the workload with the allocation of plan N; 1 is the fastest.",
        low=1, high=_PLANS_MAX, panel=_CHOICE,
    )  # fmt: skip
    out: str | None = option(
        "Output file (default: FILE-plan-N next to FILE).", metavar="OUT", panel=_CHOICE
    )
    export: str | None = option(
        "Write plan N as fair-scheduler.xml or capacity-scheduler.xml for Hadoop, or its buffers as"
        " mapred-options.txt.",
        metavar="OUT", panel=_CHOICE,
    )  # fmt: skip


@app.command()
@flattened
def plan(
    file: given.FileOrLog = None,
    *,
    logs: Logs,
    searched: PlanSearched,
    use: UseOfPlan,
    model: PlanModel,
    seeded: Seeded,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
    tables: Tables,
) -> int:
    """List the plans that no other plan beats in both time and cost, under a budget and a deadline.

    --choose writes a workload file that uses one of them.

    Example: sluice plan jobs.yaml --tune tasks --plot plans.html
    """
    listed = _plans_listed(use.plans)
    workload = given_workload("plan", file, logs, tables)
    choose = use.choose
    out = _out(workload.file, choose, use.out)
    files = Files.checked(workload.kept, plot=plot, export=use.export, out=out)
    _check_export(use.export, choose)
    from sluice.api import plan as api
    from sluice.cli.progress import steps

    with steps("planning"):
        result = api.plan(workload.source, **keywords(searched, model, seeded), on_message=talk)
    document = result.document(listed) if as_json else None
    if choose is not None and len(result):
        _write_chosen(result, choose, files, workload.arguments)
    elif choose is not None:
        talk("No file is written: there is no plan to choose.")
    files.draw(result.plot)
    for warning in result.warnings:
        talk(f"warning: {warning}")
    if document is not None:
        print_document(workload.noted(document))
    else:
        _print_plans(result, choose)
        talk_of_replays(result.replays)
        workload.talk()
    return NO if result.is_no else DONE


def _plans_listed(plans: str) -> int | None:
    """How many plans list their jobs; None for all."""
    if plans == _ALL:
        return None
    return 0 if plans == _NONE else whole("--plans", high=_PLANS_MAX)(plans)


def _out(file: str, choose: int | None, out: str | None) -> str | None:
    """The output file of --choose. Raises InvalidInput if it cannot be derived."""
    if choose is None:
        if out is not None:
            raise InvalidInput(
                "it has no effect without --choose", where="--out", hint="choose the plan to write"
            )
        return None
    if out is None and file == "-":
        raise InvalidInput(
            "it is required when the workload comes from stdin or logs",
            where="--out",
            hint="name a file",
        )
    if out is not None:
        return out
    path = Path(file)
    return str(path.with_name(f"{path.stem}-plan-{choose}{path.suffix}"))


def _check_export(export: str | None, choose: int | None) -> None:
    if export is None:
        return
    if choose is None:
        raise InvalidInput(
            "it has no effect without --choose", where="--export", hint="choose the plan to write"
        )
    _kind(export)


def _kind(export: str) -> str:
    """The use of a file, by its name: for a scheduler, or for the options of MapReduce."""
    name = Path(export).name.lower()
    kinds = [kind for kind in ("fair", "capacity", "mapred") if kind in name]
    if len(kinds) != 1:
        raise InvalidInput(
            f"{export} names neither a scheduler nor MapReduce",
            where="--export",
            hint="name it fair-scheduler.xml, capacity-scheduler.xml or mapred-options.txt",
        )
    return kinds[0]


def _write_chosen(result: PlanResult, number: int, files: Files, source: str) -> None:
    """Write the chosen plan as a workload and, if requested, for Hadoop."""
    from sluice.ingest.reading import source_folder
    from sluice.reporting.exports.workload_text import moved, workload_text

    assert files.out is not None, "it has a default"
    export = None if files.export is None else _exported(result, number, files.export)
    document = moved(
        result.chosen_document(number), folder=result.workload.folder, to=source_folder(files.out)
    )
    comment = f"{result.title(number)}\nMade by: sluice plan {source} --choose {number}"
    files.save_out(workload_text(document, name=files.out, comment=comment))
    if export is not None:
        files.save_export(export)
    talk(f"Next: sluice simulate {pasted(files.out)} --tasks fair")


def _exported(result: PlanResult, number: int, export: str) -> str:
    texts = {
        "fair": result.fair_scheduler,
        "capacity": result.capacity_scheduler,
        "mapred": result.mapreduce_options,
    }
    return texts[_kind(export)](number)


def _print_plans(result: PlanResult, choose: int | None) -> None:
    from sluice.reporting.plan.tables import (
        allocation_table,
        plan_panel,
        plan_sentence,
        plans_table,
    )
    from sluice.reporting.table_style import plain_text

    print_views(plain_text(plan_sentence(result)))
    if len(result):
        print_views(plans_table(result), allocation_table(result, choose or result.knee or 1))
    print_views(plan_panel(result))
