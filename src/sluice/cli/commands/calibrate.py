"""`calibrate` and `profile-run`: check predictions, and measure for better ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from sluice.api.options.fields import keywords
from sluice.api.options.history import Levelled, Stored
from sluice.api.options.parsers import whole
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.flattened import flattened

if TYPE_CHECKING:
    from sluice.reporting.calibration.result import CalibrationReport


@app.command()
@flattened
def calibrate(
    name: given.ProfileOrAll = None,
    *,
    newest: Annotated[
        int | None,
        given.count(
            "Read only the newest N runs of each profile (default: 5,000 of all, at most 500 of"
            " each).",
            "--newest",
            low=1,
        ),
    ] = None,
    leave_out: Annotated[
        str,
        given.choice(
            "Left out of each prediction: the run, its whole setting, or nothing.",
            "run|setting|nothing",
            metavar="WHAT",
        ),
    ] = "run",
    levelled: Levelled,
    stored: Stored,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Compare predictions with actual run times: error, bias, coverage of the intervals.

    Each run is predicted from the other runs of its profile.

    Example: sluice calibrate wordcount --plot calibration.html
    """
    from sluice.api import calibrate as api
    from sluice.cli.progress import steps

    files = Files.checked("-", plot=plot)
    with steps("calibrating") as shown:
        report = api.calibrate(
            name,
            newest=newest,
            leave_out=leave_out,
            **keywords(levelled, stored),
            on_progress=shown.on_progress,
            on_fraction=shown.on_fraction,
        )
    files.draw(report.plot)
    if as_json:
        print_document(report.document())
    else:
        _print_report(report, is_one=name is not None)
    return DONE


def _print_report(report: CalibrationReport, *, is_one: bool) -> None:
    from sluice.reporting.calibration.tables import profile_views, views

    if not report.calibration.profiles:
        talk("The profile store is empty: run a workload, or import a log.")
        return
    print_views(*(profile_views(report) if is_one else views(report)))


@app.command("profile-run")
@flattened
def profile_run(
    file: given.File,
    *,
    slots: Annotated[
        str | None,
        given.option(
            "Slot counts (default: 1, 2, 4, .. up to twice the processors).", metavar="A,B,..."
        ),
    ] = None,
    repeats: Annotated[int, given.count("Runs at each count.", "--repeats", low=1)] = 1,
    io_bytes_per_s: Annotated[
        float | None,
        given.option(
            "Disk throughput; needed to estimate each task's disk demand.",
            "--io-bytes-per-s",
            metavar="BYTES",
        ),
    ] = None,
    stored: Stored,
    as_json: given.AsJson = False,
) -> int:
    """Run each job alone at several slot counts, report the best, and store the measurements.

    The jobs run in a sandbox: their outputs are not written, and the sandbox is removed.

    Example: sluice profile-run wordcount.yaml --slots 1,2,4
    """
    from sluice.api import profile_run as api
    from sluice.cli.live import live_watcher
    from sluice.reporting.profile_run.tables import views

    counts = None if slots is None else _counts(slots)
    with live_watcher() as watcher:
        report = api.profile_run(
            file,
            slots=counts,
            repeats=repeats,
            io_bytes_per_s=io_bytes_per_s,
            **keywords(stored),
            watcher=watcher,
        )
    if as_json:
        print_document(report.document())
    else:
        print_views(*views(report))
    return DONE if report.is_whole else NO


def _counts(text: str) -> list[int]:
    read = whole("--slots", low=1, high=1000)
    return [read(part.strip()) for part in text.split(",")]
