"""`capacity`: which jobs to admit and how many VMs to rent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.given_workload import given_workload

if TYPE_CHECKING:
    from sluice.reporting.capacity.result import CapacityResult, UnreachableResult


@app.command()
def capacity(
    file: given.FileOrLog = None,
    *,
    from_log: given.FromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    integer: Annotated[
        bool, given.option("Plan whole jobs, VMs and containers.", "--integer")
    ] = False,
    bound: Annotated[
        str, given.choice("Job-length estimate; up is the safe upper bound.", "low|avg|up")
    ] = "up",
    curve: Annotated[
        bool, given.option("Also print the least cost for each number of reserved VMs.", "--curve")
    ] = False,
    export: Annotated[
        str | None,
        given.option(
            "Write the queues as Hadoop's capacity-scheduler.xml.", metavar="OUT.xml", panel="Files"
        ),
    ] = None,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Compute how many jobs of each class to admit, and how many VMs to rent, at the least cost.

    Example: sluice capacity classes.yaml --integer --plot cost.html
    """
    from sluice.api import capacity as api
    from sluice.cli.progress import steps
    from sluice.reporting.capacity.result import UnreachableResult

    workload = given_workload("capacity", file, from_log, from_log_format, from_log_set)
    files = Files.checked(workload.kept, plot=plot, export=export)
    with steps("planning"):
        result = api.capacity(workload.source, bound=bound, integer=integer)
    if isinstance(result, UnreachableResult):
        return _print_no(result, as_json=as_json)
    if export is not None:
        files.save_export(result.capacity_scheduler())
    files.draw(result.plot)
    for warning in result.warnings:
        talk(f"warning: {warning}")
    if as_json:
        print_document(workload.noted(result.document()))
    else:
        _print_plan(result, has_curve=curve)
        workload.talk()
    return DONE


def _print_no(result: UnreachableResult, *, as_json: bool) -> int:
    """Print the deadlines that no capacity can meet, and the least possible ones."""
    for warning in result.warnings:
        talk(f"warning: {warning}")
    if as_json:
        print_document(result.document())
        return NO
    from sluice.reporting.capacity.tables import unreachable_table

    talk("No capacity meets these deadlines: part of each job cannot be parallelised.")
    print_views(unreachable_table(result.answer))
    return NO


def _print_plan(result: CapacityResult, *, has_curve: bool) -> None:
    from sluice.reporting.capacity.tables import (
        capacity_panel,
        classes_table,
        curve_table,
        worth_table,
    )
    from sluice.reporting.prediction.tables import views as forecasts

    print_views(classes_table(result.plan), worth_table(result.plan))
    if has_curve:
        print_views(curve_table(result))
    if result.forecasts.jobs:
        print_views(*forecasts(result.forecasts))
    print_views(capacity_panel(result))
