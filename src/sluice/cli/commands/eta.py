"""`eta` and `quote`: when jobs of a live queue start and end, and one job more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

from sluice.api.options.fields import keywords
from sluice.api.options.predictions import LISTS, EtaOptions, QuoteOptions
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.flattened import flattened
from sluice.model.errors import InvalidInput

if TYPE_CHECKING:
    from rich.table import Table

_WORKLOADS = (".yaml", ".yml")


@app.command()
@flattened
def eta(
    *,
    judge: Annotated[
        str | None,
        given.option(
            "Replay this log of rigid jobs, and say how often the intervals hold in it.",
            "--judge",
            metavar="LOG",
        ),
    ] = None,
    options: EtaOptions,
    as_json: given.AsJson = False,
) -> int:
    """Say when each job of a live queue starts and ends, from runs of the past.

    Without --queue: what the service that runs here expects of its jobs.

    Example: sluice eta --queue squeue.txt --history sacct.txt
    """
    if judge is not None:
        return _judge(judge, options, as_json=as_json)
    from sluice.api import eta as api
    from sluice.cli.progress import steps
    from sluice.reporting.eta.tables import eta_sentence, eta_table

    with steps("simulating futures"):
        report = api.eta(**keywords(options))
    if as_json:
        print_document(report.document())
        return DONE
    tables = [eta_table(report)] if report.waiting else []
    return _print(eta_sentence(report), tables, report.notes)


def _judge(log: str, options: EtaOptions, *, as_json: bool) -> int:
    from sluice.api.eta import REPLICATIONS
    from sluice.api.eta_judgement import judge_eta
    from sluice.cli.progress import steps

    asked = {"--queue": options.queue, "--history": options.history, "--nodes": options.nodes}
    _refuse(asked, "it has no effect with --judge")
    with steps("replaying the log"):
        found = judge_eta(
            log,
            slots=options.slots,
            backfills=options.backfills is not False,
            level=options.level,
            replications=options.replications or REPLICATIONS,
            seed=options.seed,
        )
    if as_json:
        print_document(found.document())
        return DONE
    return _print(found.sentence(), (), ())


@app.command()
@flattened
def quote(
    file: Annotated[str, given.argument("Workload file with one job.", metavar="FILE")],
    *,
    queue: Annotated[str, given.option(f"List of the queue: {LISTS}.", "--queue", metavar="FILE")],
    options: QuoteOptions,
    as_json: given.AsJson = False,
) -> int:
    """Say what one job more may expect of a live queue: start, end, cost, and what would help.

    A queue that is a workload file of VM pools (.yaml) answers with the price of each deadline.

    Example: sluice quote job.yaml --queue squeue.txt --history sacct.txt
    """
    from sluice.ingest.logs.formats import lists_queue

    if queue.endswith(_WORKLOADS) and not lists_queue(queue):
        given_more = {
            "--history": options.history, "--slots": options.slots, "--nodes": options.nodes,
            "--backfill": options.backfills, "--level": options.level != QuoteOptions.level,
            "--seed": options.seed,
        }  # fmt: skip
        return _quote_pools(file, queue, given_more, as_json=as_json)
    from sluice.api import quote as api
    from sluice.cli.progress import steps
    from sluice.reporting.eta.tables import offers_table, quote_sentence

    with steps("simulating futures"):
        found = api.quote(file, queue, **keywords(options))
    if as_json:
        print_document(found.document())
        return DONE
    tables = [offers_table(found)] if found.offers else []
    return _print(quote_sentence(found), tables, found.notes)


def _quote_pools(file: str, pools: str, more: Mapping[str, object], *, as_json: bool) -> int:
    from sluice.api.pools import pools_quote
    from sluice.cli.commands.pools import print_deadline_prices

    _refuse(more, "it has no effect for a file of VM pools")
    return print_deadline_prices(pools_quote(file, pools), as_json=as_json)


def _refuse(options: Mapping[str, object], why: str) -> None:
    for name, value in options.items():
        if value:
            raise InvalidInput(why, where=name, hint="leave it out")


def _print(sentence: str, tables: Iterable[Table], notes: Iterable[str]) -> int:
    """Print the answer and its tables on stdout, and the notes on stderr."""
    print_views(sentence, *tables)
    for note in notes:
        talk(f"note: {note}")
    return DONE
