"""`serve` runs a service, `serve tokens` says who may use it, and `page` shows it.

`serve` stays in the foreground until it is stopped, `page` of recorded runs and `mcp` until their
users end them. All other commands talk to a service that runs, or read its folder, and end at once.
A token is printed once, by the command that made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from sluice.api.options.fields import option, switch
from sluice.api.options.live import ServeOptions
from sluice.api.options.parts import PartOptions
from sluice.api.options.scheduling import Seeded
from sluice.cli import completion
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import CommandGroup, app
from sluice.cli.failures import DONE, NO, OUTSIDE_FAILED
from sluice.cli.flattened import flattened
from sluice.cli.parts import with_parts
from sluice.model.errors import EngineUnavailable, InvalidInput

group = typer.Typer(cls=CommandGroup, rich_markup_mode="rich")
app.add_typer(group, name="serve")

Config = Annotated[
    str | None,
    given.option(
        "File with cluster, prices, queues and policies, without jobs; default: this machine.",
        "--config",
        metavar="FILE",
    ),
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ServedAt:
    """Where a service answers, and what it does at its start and its end."""

    listen: str | None = option(
        "Where the page and the REST interface are: HOST:PORT, unix, or none"
        " (default: this machine, port 8642 or a free one).",
        metavar="WHERE",
    )
    tls_cert: str | None = option("Certificate, for an address that others reach.", metavar="FILE")
    tls_key: str | None = option("Its key.", metavar="FILE")
    behind_proxy: str | None = option(
        "Name at which a proxy with TLS passes requests on, such as sluice.example.org.",
        metavar="NAME",
    )
    open_page: bool = switch("Open the page in a browser.", flag="--open")
    leave_driver: bool = switch("At the end, let jobs go on until the next start.")


@group.callback(invoke_without_command=True)
@flattened
def serve(
    context: typer.Context,
    *,
    config: Config = None,
    options: ServeOptions,
    place: ServedAt,
    seeded: Seeded,
    parts: PartOptions,
) -> int:
    """Run a service that takes jobs while others run, until Ctrl-C or `sluice serve stop`.

    Running users' commands is not a sandbox: who may submit may do what you may.

    Example: sluice serve --config serve.yaml
    """
    if context.invoked_subcommand:
        return DONE
    from sluice.api import service as api

    options = with_parts(options, parts)
    made = api.service_config(config, options, seeded.seed)
    tls_cert, tls_key = place.tls_cert, place.tls_key
    if (tls_cert is None) != (tls_key is None):
        raise InvalidInput("one of certificate and key is missing", where="--tls-cert",
                           hint="give both --tls-cert and --tls-key")  # fmt: skip
    api.serve(
        made,
        partial(_say_ready, opens=place.open_page),
        listen=place.listen,
        tls=(tls_cert, tls_key) if tls_cert and tls_key else None,
        behind_proxy=place.behind_proxy,
        leaves_driver=place.leave_driver,
    )
    return DONE


def _say_ready(status: Mapping[str, Any], *, opens: bool) -> None:
    nodes, page = status["nodes_up"], status["page"]
    talk(
        f"Serving ({status['segment']}, {nodes} node{'s' * (nodes != 1)} up)."
        " Submit jobs from another terminal: sluice submit FILE"
    )
    if status["changed"]:
        talk(f"It goes on with what the file has changed: {'; '.join(status['changed'])}")
    if page:
        talk(f"Page: {page} (for one minute; again: sluice page)")
    if not status["has_web"]:
        talk('Without a page and a REST interface: pip install "sluice[service]"')
    if page and opens:
        from sluice.bootstrap.service.web import open_browser

        open_browser(page)


@group.command()
def check(*, config: Config = None, as_json: given.AsJson = False) -> int:
    """Check the file of a service: its policies, queues and nodes.

    Example: sluice serve check --config serve.yaml
    """
    from sluice.api import service as api
    from sluice.reporting.formatting import counted

    made = api.service_config(config, ServeOptions())
    nodes = len(made.cluster.nodes)
    slots = sum(one.map_slots + one.reduce_slots + one.containers for one in made.cluster.nodes)
    facts = {
        "nodes": nodes,
        "slots": slots,
        "tasks": made.options.tasks,
        "release": made.options.release,
        "admission": made.options.admission,
        "steering": None if made.steering is None else made.steering.document(),
    }
    if as_json:
        print_document(facts)
    else:
        print_views(
            f"The file can be served: {counted(nodes, 'node')} with {counted(slots, 'slot')}, tasks"
            f" {facts['tasks']}, release {facts['release']}, admission {facts['admission']}."
        )
        if made.steering is not None:
            print_views(made.steering.sentence)
    return DONE


@group.command()
def status(*, as_json: given.AsJson = False) -> int:
    """Say whether a service runs, and how busy it is.

    Exit code 3 if its journal is damaged.

    Example: sluice serve status
    """
    from sluice.api import service as api
    from sluice.reporting.formatting import count, counted
    from sluice.reporting.service.tables import condition_sentence, steering_lines

    found = api.service_status()
    code = OUTSIDE_FAILED if found["fault"] else DONE
    if as_json:
        print_document(found)
        return code
    driver = found["driver"]
    print_views(
        f"The service runs (driver {driver['pid']}, {driver['segment']}):"
        f" {counted(driver['nodes_up'], 'node')} up, {counted(driver['jobs_running'], 'job')}"
        f" running, {count(driver['jobs_waiting'])} waiting,"
        f" {counted(driver['tasks_running'], 'task')} running."
    )
    for condition in driver["conditions"]:
        talk(condition_sentence(condition))
    for line in steering_lines(found["steering"]) if found["steering"] else ():
        talk(line)
    if found["fault"]:
        talk(
            f"Nothing answers questions about its jobs: {found['fault']}"
            " Check the whole journal: sluice serve verify"
        )
    return code


tokens_group = typer.Typer(cls=CommandGroup, rich_markup_mode="rich")
group.add_typer(tokens_group, name="tokens", help="Make, list and revoke tokens.")


@tokens_group.command("create")
def create_token(
    name: Annotated[str, given.argument("Whose token it is: a user or a program.", metavar="NAME")],
    *,
    tenant: Annotated[str, given.option("Whose jobs it submits and sees.", metavar="NAME")],
    role: Annotated[
        str,
        given.option(
            "What it may do; each role may what those before it may.",
            completes=completion.one_of("viewer", "submitter", "operator", "admin"),
            metavar="ROLE",
        ),
    ],
    as_json: given.AsJson = False,
) -> int:
    """Make a token for the REST interface, and print it this once.

    Example: sluice serve tokens create anna --tenant etl --role submitter
    """
    from sluice.api import service_web as web

    token = web.create_token(name, tenant=tenant, role=role)
    if as_json:
        print_document({"name": name, "tenant": tenant, "role": role, "token": token})
    else:
        typer.echo(token)
        talk(f"It is the token of {name} ({tenant}, {role}), and cannot be shown again.")
    return DONE


@tokens_group.command("list")
def list_tokens(*, as_json: given.AsJson = False) -> int:
    """List the tokens, without their secrets.

    Example: sluice serve tokens list
    """
    from sluice.api import service_web as web
    from sluice.reporting.service.tables import tokens_table

    found = web.tokens()
    if as_json:
        print_document({"tokens": found})
        return DONE
    tokens = f"{len(found)} token{'s' * (len(found) != 1)}"
    print_views(f"The service has {tokens}.", *([tokens_table(found)] if found else []))
    return DONE


@tokens_group.command("revoke")
def revoke_token(
    name: Annotated[str, given.argument("The name that it was made with.", metavar="NAME")],
) -> int:
    """Make a token worth nothing.

    Example: sluice serve tokens revoke anna
    """
    from sluice.api import service_web as web

    web.revoke_token(name)
    talk(f"The token of {name} is worth nothing any more.")
    return DONE


@group.command()
def stop() -> int:
    """End the service in order; its open jobs go on at the next start.

    Example: sluice serve stop
    """
    from sluice.api import service as api

    asked = api.stop_service()
    talk("The service has ended." if asked else "No service runs.")
    return DONE if asked else NO


@group.command()
def verify(*, as_json: given.AsJson = False) -> int:
    """Replay the journal of the service, and compare every decision with the one on record.

    Example: sluice serve verify
    """
    from sluice.api import service as api
    from sluice.reporting.formatting import counted
    from sluice.reporting.service.tables import kept_lines

    found = api.verify_service()
    if as_json:
        print_document(found)
        return DONE
    rows, jobs = (
        counted(sum(each[what] for each in found["segments"]), what[:-1])
        for what in ("rows", "jobs")
    )
    segments = counted(len(found["segments"]), "segment")
    print_views(
        f"The journal is whole: {rows} in {segments}, {jobs}; every decision is the same again.",
        *kept_lines(found),
    )
    return DONE


@app.command()
def page(
    run: Annotated[
        str | None,
        given.argument(
            "Recorded run to show (default: the service, or the newest runs).",
            metavar="[RUN]",
            completes=completion.run_ids,
        ),
    ] = None,
    *,
    no_open: Annotated[bool, given.option("Only print the address.", "--no-open")] = False,
) -> int:
    """Open the page of the service in a browser; without one, a page of recorded runs.

    The address logs in once, within a minute. Recorded runs can be looked at until Ctrl-C.

    Example: sluice page
    """
    from sluice.api import service_web as web
    from sluice.bootstrap.service.web import open_browser

    if run is None:
        with suppress(EngineUnavailable):
            link = web.page_link()
            if link is None:
                raise InvalidInput("the service has no page", where="sluice page",
                                   hint="start it with --listen HOST:PORT")  # fmt: skip
            typer.echo(link)
            if not no_open:
                open_browser(link)
            return DONE
    return web.show_recorded(run, opens=not no_open)


@app.command()
def mcp() -> int:
    """Give tools to an agent, by the Model Context Protocol over stdin and stdout.

    They read queues, plans and profiles; to submit or kill a job, the agent must ask twice.

    Example: sluice mcp
    """
    from sluice.api import service_web as web

    return web.serve_agents()
