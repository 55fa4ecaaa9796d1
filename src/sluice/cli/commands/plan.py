"""`plan`: plans for a budget and a deadline."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sluice.cli import history_options
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.given_workload import given_workload, talk_of_replays
from sluice.cli.tables import takes_tables
from sluice.model.errors import InvalidInput

if TYPE_CHECKING:
    from sluice.reporting.plan.result import PlanResult

_CHOICE, _MACHINES, _MODEL, _FILES = "Use a plan", history_options.MACHINES, "Model", "Files"
_PLANS_MAX = 10**9
_ALL, _NONE = "all", "none"


@app.command()
@takes_tables
def plan(
    file: given.FileOrLog = None,
    *,
    from_log: given.FromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    search: Annotated[
        str,
        given.choice(
            "Search method: exact, or the paper's greedy slots, slots-printed or vms.",
            "exact|slots|slots-printed|vms",
            metavar="NAME",
        ),
    ] = "exact",
    tune: Annotated[
        str | None,
        given.option(
            "Also choose: tasks (or tasks-hill), buffers (or buffers-random, -rrs).", metavar="A,B"
        ),
    ] = None,
    waves: Annotated[
        bool, given.option("With limits.vms_max: allow jobs to run one after another.", "--waves")
    ] = False,
    meet_deadlines: Annotated[
        bool,
        given.option("Leave out plans in which a job misses its own deadline.", "--meet-deadlines"),
    ] = False,
    plans: Annotated[
        str,
        given.option(
            "With --json: how many plans list their per-job allocation.", metavar="all|none|N"
        ),
    ] = _ALL,
    choose: Annotated[
        int | None,
        given.count(
            "Write the workload with the allocation of plan N; 1 is the fastest.",
            "--choose",
            low=1,
            high=_PLANS_MAX,
            panel=_CHOICE,
        ),
    ] = None,
    out: Annotated[
        str | None,
        given.option(
            "Output file (default: FILE-plan-N next to FILE).", metavar="OUT", panel=_CHOICE
        ),
    ] = None,
    export: Annotated[
        str | None,
        given.option(
            "Write plan N as fair-scheduler.xml or capacity-scheduler.xml for Hadoop.",
            metavar="OUT.xml",
            panel=_CHOICE,
        ),
    ] = None,
    prices: history_options.Prices = None,
    rent: Annotated[
        str,
        given.option("Rental terms: reserved, on-demand, spot.", metavar="A,B", panel=_MACHINES),
    ] = "on-demand",
    single_wave: Annotated[
        str,
        given.choice(
            "Time model for a phase with no more tasks than slots.", "estimated|exact", panel=_MODEL
        ),
    ] = "estimated",
    io_model: Annotated[
        str,
        given.choice(
            "I/O model of spilling; merge also counts the merging of spills.",
            "paper|merge",
            panel=_MODEL,
        ),
    ] = "paper",
    seed: given.Seed = 0,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """List the plans that no other plan beats in both time and cost, under a budget and a deadline.

    --choose writes a workload file that uses one of them.

    Example: sluice plan jobs.yaml --tune tasks --plot plans.html
    """
    listed = _plans_listed(plans)
    workload = given_workload("plan", file, from_log, from_log_format, from_log_set)
    out = _out(workload.file, choose, out)
    files = Files.checked(workload.kept, plot=plot, export=export, out=out)
    _check_export(export, choose)
    from sluice.api import plan as api
    from sluice.cli.progress import steps

    with steps("planning"):
        result = api.plan(
            workload.source,
            search=search,
            tune=_words(tune or ""),
            waves=waves,
            meet_deadlines=meet_deadlines,
            prices=prices,
            rents=_words(rent),
            single_wave=single_wave,
            io_model=io_model,
            seed=seed,
            on_message=talk,
        )
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


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _plans_listed(plans: str) -> int | None:
    """How many plans list their jobs; None for all."""
    if plans == _ALL:
        return None
    return 0 if plans == _NONE else given.whole("--plans", high=_PLANS_MAX)(plans)


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
    """The scheduler that a file is for, by its name."""
    name = Path(export).name.lower()
    kinds = [kind for kind in ("fair", "capacity") if kind in name]
    if len(kinds) != 1:
        raise InvalidInput(
            f"{export} does not name a scheduler",
            where="--export",
            hint="name it fair-scheduler.xml or capacity-scheduler.xml",
        )
    return kinds[0]


def _write_chosen(result: PlanResult, number: int, files: Files, source: str) -> None:
    """Write the chosen plan as a workload and, if requested, for Hadoop."""
    from sluice.ingest.reading import source_folder
    from sluice.reporting.exports.workload_text import moved, workload_text

    assert files.out is not None, "it has a default"
    document = moved(
        result.chosen_document(number), folder=result.workload.folder, to=source_folder(files.out)
    )
    comment = f"{result.title(number)}\nMade by: sluice plan {source} --choose {number}"
    files.save_out(workload_text(document, name=files.out, comment=comment))
    if files.export is not None:
        is_fair = _kind(files.export) == "fair"
        files.save_export(
            result.fair_scheduler(number) if is_fair else result.capacity_scheduler(number)
        )
    talk(f"Next: sluice simulate {shlex.quote(files.out)} --tasks fair")


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
