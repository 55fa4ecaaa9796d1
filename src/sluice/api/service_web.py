"""The page of a service and of recorded runs, tools for agents, and who may use them: tokens."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NoReturn
from urllib.parse import quote

from sluice.api.options.calls import called_with
from sluice.api.options.live import LinkOptions
from sluice.api.options.parsers import in_seconds, number
from sluice.bootstrap.service.listening import NO_WEB, address_of
from sluice.bootstrap.service.web import ask_web, has_web, login_url, token_row
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.store.service.access import AccessStore
from sluice.store.service.places import ServicePlace

Answer = dict[str, Any]


def web_arguments(
    listen: str | None, tls: tuple[str, str] | None, behind_proxy: str | None, *, shares_user: bool
) -> list[str] | None:
    """The arguments of the web process; None for none. Raises InvalidInput."""
    if listen == NO_WEB or (listen is None and not has_web()):
        return None
    check_web()
    address = address_of(listen)
    if address is not None and not address.is_loopback and tls is None:
        raise InvalidInput(
            f"others can reach {address.host}, and would send their tokens in the clear",
            where="--listen",
            hint="give --tls-cert and --tls-key, or an address of this machine and"
            " --behind-proxy NAME",
        )
    arguments = [] if listen is None else ["--listen", listen]
    if tls is not None:
        arguments += ["--tls-cert", tls[0], "--tls-key", tls[1]]
    if behind_proxy is not None:
        arguments += ["--behind-proxy", behind_proxy]
    return [*arguments, "--shared-user"] if shares_user else arguments


def page_link_or_none() -> str | None:
    """Do what `page_link` does; None where no service answers."""
    try:
        return login_url(ServicePlace())
    except EngineUnavailable:
        return None


def page_link() -> str | None:
    """An address that logs a browser in, once and within a minute.

    None for a service without one. Raises EngineUnavailable where no service answers.
    """
    return login_url(ServicePlace())


@dataclass(frozen=True)
class LinkCall(LinkOptions):
    """Arguments of `link`."""

    job_id: str


@called_with(LinkCall)
def link(given: LinkCall) -> Answer:
    """A link that shows one job to who has it, without a token: `url`, `token` and `ends_at`.

    valid_for: how long, such as "7d", or seconds.
    Raises InvalidInput for another job or length, or if the service has no page, and
    EngineUnavailable where no service answers.
    """
    place = ServicePlace()
    seconds = number("--for", above=0, what="a length of time", hint="give one such as 12h or 7d")
    valid_s = math.ceil(seconds(in_seconds(given.valid_for)))
    path = f"/v1/jobs/{quote(given.job_id, safe='')}/links"
    made = ask_web(place, "POST", path, {"valid_s": valid_s})
    if made["url"] is None:
        raise InvalidInput("the service has no page", where="sluice link",
                           hint="start it with --listen HOST:PORT")  # fmt: skip
    return made


def end_links(tenant: str | None = None) -> None:
    """All links to jobs of a tenant are worth nothing from now on.

    tenant: None for the jobs of this account. Raises EngineUnavailable and InvalidInput.
    """
    query = "" if tenant is None else f"?tenant={quote(tenant, safe='')}"
    ask_web(ServicePlace(), "DELETE", f"/v1/links{query}")


def show_recorded(run_id: str | None, *, opens: bool) -> NoReturn:
    """Become the process that shows recorded runs as a page, until Ctrl-C.

    run_id: the only run; None for the newest ones.  opens: whether to open a browser.
    Raises InvalidInput without the packages that it needs.
    """
    check_web()
    arguments = ["--recorded", *(["--run", run_id] if run_id else []), *["--open"] * opens]
    become("sluice.service", arguments)


def serve_agents() -> NoReturn:
    """Become the process that gives tools to an agent, over stdin and stdout.

    Raises InvalidInput without the packages that it needs.
    """
    if find_spec("mcp") is None:
        raise InvalidInput("tools for agents need more packages", where="sluice mcp",
                           hint="run: pip install 'sluice[mcp]'")  # fmt: skip
    become("sluice.service.mcp", [])


def become(module: str, arguments: Sequence[str]) -> NoReturn:
    """Go on as `python -m MODULE`, with the same places to import from."""
    path = os.pathsep.join(folder or "." for folder in sys.path)
    command = [sys.executable, "-P", "-m", module, *arguments]
    sys.stdout.flush()
    os.execve(sys.executable, command, os.environ | {"PYTHONPATH": path})  # noqa: S606  # ourselves


def check_web() -> None:
    """Raise InvalidInput without the packages of the page and the REST interface."""
    if not has_web():
        raise InvalidInput("the page and the REST interface need more packages", where="sluice",
                           hint="run: pip install 'sluice[service]'")  # fmt: skip


# --- tokens -------------------------------------------------------------------------------------


def create_token(name: str, *, tenant: str, role: str) -> str:
    """A token for the REST interface, which nothing can show again. Raises InvalidInput."""
    with _access() as store:
        return store.create(name, tenant, role)


def tokens() -> list[Answer]:
    """The tokens that were not revoked, without their secrets."""
    with _access() as store:
        return [token_row(row) for row in store.tokens()]


def revoke_token(name: str) -> None:
    """The token is worth nothing from now on. Raises InvalidInput if there is none."""
    with _access() as store:
        store.revoke(name)


@contextmanager
def _access() -> Iterator[AccessStore]:
    store = AccessStore(ServicePlace())
    try:
        yield store
    finally:
        store.close()
