"""`capacity`: which jobs to admit and how many VMs to rent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.api.options.fields import keywords, option, switch
from sluice.api.options.planning import CapacityOptions
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.cli.given_workload import Logs, given_workload
from sluice.cli.outputs import FILES

if TYPE_CHECKING:
    from sluice.reporting.capacity.result import CapacityResult, UnreachableResult


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CapacityViews:
    """The other output, printed or written."""

    curve: bool = switch("Also print the least cost for each number of reserved VMs.")
    export: str | None = option(
        "Write the queues as Hadoop's capacity-scheduler.xml.", metavar="OUT.xml", panel=FILES
    )


@app.command()
@flattened
def capacity(
    file: given.FileOrLog = None,
    *,
    logs: Logs,
    options: CapacityOptions,
    views: CapacityViews,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Compute how many jobs of each class to admit, and how many VMs to rent, at the least cost.

    Example: sluice capacity classes.yaml --integer --plot cost.html
    """
    from sluice.api import capacity as api
    from sluice.cli.progress import steps
    from sluice.reporting.capacity.result import UnreachableResult

    workload = given_workload("capacity", file, logs)
    files = Files.checked(workload.kept, plot=plot, export=views.export)
    with steps("planning"):
        result = api.capacity(workload.source, **keywords(options))
    if isinstance(result, UnreachableResult):
        return _print_no(result, as_json=as_json)
    if views.export is not None:
        files.save_export(result.capacity_scheduler())
    files.draw(result.plot)
    for warning in result.warnings:
        talk(f"warning: {warning}")
    if as_json:
        print_document(workload.noted(result.document()))
    else:
        _print_plan(result, has_curve=views.curve)
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
        capacity_sentence,
        classes_table,
        curve_table,
        worth_table,
    )
    from sluice.reporting.prediction.tables import views as forecasts
    from sluice.reporting.table_style import plain_text

    print_views(plain_text(capacity_sentence(result.plan)))
    print_views(classes_table(result.plan), worth_table(result.plan))
    if has_curve:
        print_views(curve_table(result))
    if result.forecasts.jobs:
        print_views(*forecasts(result.forecasts))
    print_views(capacity_panel(result))
