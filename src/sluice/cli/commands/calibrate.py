"""`calibrate` and `profile-run`: check predictions, and measure for better ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluice.api.options.fields import keywords
from sluice.api.options.history import CalibrateOptions, ProfileRunOptions
from sluice.cli import options as given
from sluice.cli.answers import print_answer, print_document, print_views, talk
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
    options: CalibrateOptions,
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
            name, **keywords(options), on_progress=shown.on_progress, on_fraction=shown.on_fraction
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
    file: given.File, *, options: ProfileRunOptions, as_json: given.AsJson = False
) -> int:
    """Run each job alone at several slot counts, report the best, and store the measurements.

    The jobs run in a sandbox: their outputs are not written, and the sandbox is removed.

    Example: sluice profile-run wordcount.yaml --slots 1,2,4
    """
    from sluice.api import profile_run as api
    from sluice.cli.live import live_watcher
    from sluice.reporting.profile_run.tables import views

    with live_watcher() as watcher:
        report = api.profile_run(file, **keywords(options), watcher=watcher)
    print_answer(report.document, lambda: views(report), as_json=as_json)
    return DONE if report.is_whole else NO
