"""`eta`: when the jobs of a live queue start and end."""

from __future__ import annotations

from typing import Annotated

from sluice.cli import history_options
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE

_SLOTS_MAX = 10**7
_REPLICATIONS_MAX = 10_000


@app.command()
def eta(
    *,
    queue: Annotated[
        str,
        given.option(
            "List of the queue: squeue, Workloads of Kueue, or applications of YARN.",
            "--queue",
            metavar="FILE",
        ),
    ],
    history: Annotated[
        list[str] | None,
        given.option(
            "Log of jobs that ended, in any format of import; may be given again.",
            "--history",
            metavar="FILE",
        ),
    ] = None,
    slots: Annotated[
        int | None,
        given.count(
            "Slots of the cluster (default: the most that were in use).",
            "--slots",
            low=1,
            high=_SLOTS_MAX,
        ),
    ] = None,
    backfill: Annotated[
        bool | None,
        given.option(
            "Whether jobs start out of turn (default: as the scheduler of the list does).",
            "--backfill/--no-backfill",
        ),
    ] = None,
    level: history_options.Level = 0.9,
    replications: Annotated[
        int | None,
        given.count(
            "Futures that are simulated (default: 100, fewer for more than 1,000 jobs).",
            "--replications",
            low=1,
            high=_REPLICATIONS_MAX,
        ),
    ] = None,
    seed: given.Seed = 0,
    as_json: given.AsJson = False,
) -> int:
    """Say when each job of a live queue starts and ends, from runs of the past.

    Example: sluice eta --queue squeue.txt --history sacct.txt
    """
    from sluice.api import eta as api
    from sluice.cli.progress import steps
    from sluice.reporting.eta.tables import eta_sentence, eta_table

    with steps("simulating futures"):
        report = api.eta(
            queue,
            history=history or (),
            slots=slots,
            backfills=backfill,
            level=level,
            replications=replications,
            seed=seed,
        )
    if as_json:
        print_document(report.document())
        return DONE
    print_views(eta_sentence(report))
    if report.waiting:
        print_views(eta_table(report))
    for note in report.notes:
        talk(f"note: {note}")
    return DONE
