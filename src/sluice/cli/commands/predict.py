"""`predict`: how long jobs will take, and how sure that is."""

from __future__ import annotations

from typing import Annotated

from sluice.api.options.fields import keywords
from sluice.api.options.predictions import PredictOptions
from sluice.cli import completion
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.flattened import flattened


@app.command()
@flattened
def predict(
    subject: Annotated[
        str | None,
        given.argument(
            "Stored profile, or workload file with jobs that name profiles (default: all).",
            metavar="NAME|FILE",
            completes=completion.profiles_and_files,
        ),
    ] = None,
    *,
    options: PredictOptions,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Predict how long jobs will take: time, interval, cost, and other numbers of machines.

    Example: sluice predict etl --slots 32

    Example: sluice predict --from-log history/ --vms 4 --vm-type medium-4

    Example: sluice predict etl --vms 8 --vm-type small-2 --interruptions 0.05
    """
    from sluice.api import predict as api
    from sluice.cli.progress import steps
    from sluice.reporting.prediction.tables import views

    files = Files.checked("-" if subject is None else subject, plot=plot)
    with steps("predicting"):
        report = api.predict(subject, **keywords(options))
    files.draw(report.plot)
    if as_json:
        print_document(report.document())
    elif report.jobs:
        print_views(*views(report))
    else:
        talk("The profile store is empty: run a workload, or import a log.")
    return DONE
