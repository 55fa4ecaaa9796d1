"""`predict`: how long jobs will take, and how sure that is."""

from __future__ import annotations

from typing import Annotated

from sluice.cli import completion, history_options
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files

_COUNT_MAX = 10**6
_BYTES_MAX = 10**18


@app.command()
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
    from_log: history_options.RunsFromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    slots: Annotated[
        int | None,
        given.count(
            "Slots of each stage (default: those of FILE's cluster, or of the newest run).",
            "--slots",
            low=1,
            high=_COUNT_MAX,
            panel=history_options.MACHINES,
        ),
    ] = None,
    vms: Annotated[
        int | None,
        given.count(
            "Number of VMs, instead of slots.",
            "--vms",
            low=1,
            high=_COUNT_MAX,
            panel=history_options.MACHINES,
        ),
    ] = None,
    vm_type: history_options.VmType = None,
    prices: history_options.Prices = None,
    rent: history_options.RentTerm = "on-demand",
    interruptions: history_options.Interruptions = 0.0,
    boot: history_options.Boot = 120.0,
    input_bytes: Annotated[
        int | None,
        given.count(
            "Input size (default: that of the newest run).",
            "--input-bytes",
            high=_BYTES_MAX,
            metavar="B",
        ),
    ] = None,
    level: history_options.Level = 0.9,
    store: history_options.Store = None,
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
        report = api.predict(
            subject,
            from_log=from_log or (),
            slots=slots,
            vms=vms,
            vm_type=vm_type,
            prices=prices,
            rent=rent,
            interruptions=interruptions,
            boot_s=boot,
            input_bytes=input_bytes,
            level=level,
            store=store,
            format=from_log_format or "auto",
            settings=from_log_set or (),
        )
    files.draw(report.plot)
    if as_json:
        print_document(report.document())
    elif report.jobs:
        print_views(*views(report))
    else:
        talk("The profile store is empty: run a workload, or import a log.")
    return DONE
