"""The commands that ask a service: `submit`, `jobs`, `kill`, `link`, `queue`, `cordon`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from sluice.api.options.fields import count, keywords, option, switch
from sluice.api.options.live import CordonOptions, KillOptions, LinkOptions
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.flattened import flattened
from sluice.model.errors import InvalidInput

_LIMIT_MAX = 1000

JobId = Annotated[
    str, given.argument("Id that the service gave, such as job-000042.", metavar="JOB")
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SubmitOptions:
    """Options of `submit`."""

    deadline: str | None = option(
        "Deadline of each job: 90, 5m or 1h30m after the submission, H:MM, or a date and time.",
        metavar="WHEN",
    )
    quote: bool = switch("Only say what would be promised; submit nothing.")
    wait: bool = switch("Wait until the jobs have ended.")
    idempotency_key: str | None = option(
        "Makes a repetition harmless: the same key and file give the first answer again.",
        metavar="KEY",
    )
    tenant: str | None = option("Whose jobs they are (default: the account).")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JobsOptions:
    """Options of `jobs`: which are listed."""

    states: Sequence[str] = option(
        "Only jobs of this state; may be given again.", (), name="state", metavar="STATE"
    )
    queue: str | None = option("Only jobs of this queue.", metavar="NAME")
    name: str | None = option("Only jobs of this name.", metavar="NAME")
    limit: int = count("The most jobs that are listed.", 100, low=1, high=_LIMIT_MAX)


@app.command()
@flattened
def submit(
    file: Annotated[str, given.argument("Workload file with the jobs.", metavar="FILE")],
    *,
    options: SubmitOptions,
    as_json: given.AsJson = False,
) -> int:
    """Submit jobs to the service, and say when they will end.

    Exit code 1 if a job is refused, or with --wait did not end well.

    Example: sluice submit job.yaml --deadline 17:00
    """
    from sluice.api import service as api

    found = api.submit(
        file, key=options.idempotency_key, deadline=options.deadline, tenant=options.tenant,
        quotes=options.quote,
    )  # fmt: skip
    promises = found["jobs"]
    for note in found.get("notes", ()):
        talk(f"note: {note}")
    is_refused = any(each["decision"] == "refused" for each in promises)
    if options.wait and not options.quote:
        if not as_json:
            _show_promises(promises)
        return _wait(promises, as_json=as_json)
    if as_json:
        print_document(promises[0] if len(promises) == 1 else found)
    else:
        _show_promises(promises)
    return NO if is_refused else DONE


def _show_promises(promises: Iterable[Mapping[str, Any]]) -> None:
    from sluice.reporting.service.tables import offers_table, promise_sentence

    for each in promises:
        print_views(promise_sentence(each))
        if each.get("counter_offers"):
            print_views(offers_table(each))


def _wait(promises: Iterable[Mapping[str, Any]], *, as_json: bool) -> int:
    from sluice.api import service as api
    from sluice.reporting.service.tables import clock

    ended = api.wait([each["job_id"] for each in promises])["jobs"]
    if as_json:
        print_document({"jobs": ended})
    else:
        for row in ended:
            why = f": {row['detail']}" if row["detail"] else ""
            at = clock(row["ends_at"]["expected"])
            place = f" Its output is in {row['output']}." if row["state"] == "done" else ""
            print_views(f"{row['job_id']} ({row['name']}) {row['state']} at {at}{why}.{place}")
    return DONE if all(row["state"] == "done" for row in ended) else NO


@app.command()
@flattened
def jobs(*, options: JobsOptions, as_json: given.AsJson = False) -> int:
    """List the jobs of the service: state, place in line, and when they end.

    Example: sluice jobs --state waiting
    """
    from sluice.api import service as api
    from sluice.reporting.service.tables import (
        jobs_sentence,
        jobs_table,
        kept_lines,
        observed_sentence,
        observed_table,
    )

    found = api.jobs(**keywords(options))
    if as_json:
        print_document(found)
        return DONE
    only = (*options.states, options.queue, options.name)
    print_views(jobs_sentence(found, only), *([jobs_table(found)] if found["jobs"] else []))
    if lines := kept_lines(found):
        print_views(*lines)
    observed = found.get("observed")
    if observed is not None:
        rows = [observed_table(observed)] if observed["jobs"] else []
        print_views(observed_sentence(observed), *rows)
    return DONE


@app.command()
@flattened
def kill(job: JobId, *, options: KillOptions, as_json: given.AsJson = False) -> int:
    """End a job of the service.

    Example: sluice kill job-000042
    """
    from sluice.api import service as api

    found = api.kill(job, **keywords(options))
    if as_json:
        print_document(found)
    elif found["was_over"]:
        print_views(f"{job} had ended already: {found['state']}.")
    else:
        print_views(f"{job} is killed.")
    return DONE


@app.command()
@flattened
def link(
    job: Annotated[
        str | None, given.argument("Job to show, such as job-000042.", metavar="JOB")
    ] = None,
    *,
    options: LinkOptions,
    end_all: Annotated[
        bool, given.option("End all links to jobs of this account, and make none.", "--end-all")
    ] = False,
    tenant: Annotated[
        str | None,
        given.option("With --end-all: end the links to jobs of this tenant.", metavar="NAME"),
    ] = None,
    as_json: given.AsJson = False,
) -> int:
    """Make a link that shows one job of the service to people without a token.

    Who has the link sees the job and its logs, and nothing else. Send it like a password.

    Example: sluice link job-000042 --for 12h
    """
    from sluice.api import service_web as web

    if (job is None) != end_all:
        raise InvalidInput("give a job, or --end-all", where="JOB", hint="`sluice jobs` lists jobs")
    if tenant is not None and not end_all:
        raise InvalidInput("nothing is ended", where="--tenant", hint="add --end-all")
    if job is None:
        web.end_links(tenant)
        talk(f"All links{f' of {tenant}' if tenant else ''} are worth nothing any more.")
        return DONE
    made = web.link(job, **keywords(options))
    if as_json:
        print_document(made)
    else:
        typer.echo(made["url"])  # never broken into lines
        talk(f"It shows {job} until {made['ends_at']}.")
    return DONE


@app.command()
def queue(*, as_json: given.AsJson = False) -> int:
    """Show the queues of the service, how busy it is, and when the present work is done.

    Example: sluice queue
    """
    from sluice.api import service as api
    from sluice.reporting.service.tables import condition_sentence, queue_sentence, queue_table

    found = api.queues()
    if as_json:
        print_document(found)
        return DONE
    for condition in found["conditions"]:
        talk(condition_sentence(condition))
    print_views(queue_sentence(found), *([queue_table(found)] if found["queues"] else []))
    return DONE


@app.command()
@flattened
def cordon(
    node: Annotated[str, given.argument("Node of the service.", metavar="NODE")],
    *,
    options: CordonOptions,
    as_json: given.AsJson = False,
) -> int:
    """Give a node of the service no more work; what runs on it goes on.

    Example: sluice cordon node-2 --reason "new disk"
    """
    from sluice.api import service as api

    found = api.cordon(node, **keywords(options))
    if as_json:
        print_document(found)
    else:
        print_views(f"{node} gets {'work again' if options.is_undone else 'no more work'}.")
    return DONE
