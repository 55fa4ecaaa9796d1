"""The web process of a service: `python -m sluice.service`. It may be killed at any time.

It decides nothing about jobs: requests go to the driver or the follower by their sockets, or, for a
page of recorded runs, to their folder. It listens on a private socket, and on an address unless
that is switched off. A connection whose headers do not come is closed after a while.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import secrets
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from sluice.bootstrap.service.listening import (
    PORT,
    Address,
    address_of,
    bound_tcp,
    bound_unix,
    names_of,
)
from sluice.bootstrap.service.web import open_browser, port_of, url_of
from sluice.model.errors import EngineUnavailable, SluiceError
from sluice.service.agents import WithAgents
from sluice.service.app import made_app
from sluice.service.backend import Backend
from sluice.service.calculations import Calculations
from sluice.service.context import Context
from sluice.service.events import Events
from sluice.service.guards import Guard
from sluice.service.metrics import Metrics
from sluice.service.principals import Access
from sluice.service.problem import Problem, answered
from sluice.service.quotes import Quotes
from sluice.service.recorded_backend import RecordedBackend
from sluice.service.tenants import Tenants
from sluice.store.service.places import ServicePlace

HEADERS_S_MAX = 10.0
_HEADERS_BYTES_MAX = 64 << 10  # beyond it the connection is closed; below, a problem is answered
_UNREAD_BYTES_MAX = 16 << 10  # of an answer, for each connection
_STOP_S = 2


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Two servers share the process, which takes its signals itself."""
        yield


class _Protocol(H11Protocol):
    """Closes a connection whose headers do not come, those of its first request or of a later one.

    What a client does not read is kept in small parts, and then waited for.
    """

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  # as in asyncio
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_UNREAD_BYTES_MAX)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Take what has come. The first part of headers begins the time for all of them."""
        super().data_received(data)
        if not self._is_idle():
            self._end_patience()
        elif self._patience is None:
            self._await_headers()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP as the routes refuse: with a problem. Close the connection."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:  # else an answer is on its way
            problem = Problem(400, msg, hint="send HTTP/1.1")
            answer = answered(problem, secrets.token_hex(8))
            headers = [*answer.raw_headers, (b"connection", b"close")]
            lines = [b"HTTP/1.1 400 Bad Request", *(b": ".join(each) for each in headers)]
            self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        cycle: Any = self.cycle
        if cycle is not None:
            cycle.disconnected = True  # what its route answers has no reader
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._end_patience()
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle  # None until the headers of the first one have come
        return cycle is None or cycle.response_complete

    def _await_headers(self) -> None:
        self._patience = asyncio.get_running_loop().call_later(HEADERS_S_MAX, self._close_if_silent)

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _close_if_silent(self) -> None:
        self._patience = None
        if self._is_idle() and not self.transport.is_closing():
            self.transport.close()


class _Web:
    """The listeners of one web process. listen: None for the default address, or any free one."""

    def __init__(self, place: ServicePlace, options: argparse.Namespace) -> None:
        self._place, self._options = place, options
        self._backend = RecordedBackend(place, options.run) if options.recorded else Backend(place)
        self._access = Access(place)
        self._metrics = Metrics()
        self._audits: set[asyncio.Task[None]] = set()
        context = Context(
            backend=self._backend,
            access=self._access,
            events=Events(self._backend, self._metrics, self._access.is_allowed),
            metrics=self._metrics,
            calculations=Calculations(),
            quotes=Quotes(),
            tenants=Tenants(self._access),
            shared_user=options.shared_user,
        )
        self._app = WithAgents(made_app(context), context)

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        found = self._tcp()
        servers = []
        if found is not None:
            bound, address = found
            port = bound.getsockname()[1]
            self._note_address(address, port)
            if self._options.recorded:
                link = f"{url_of(self._place)}/login#{self._access.new_link()}"
                sys.stdout.write(f"{link}\n")
                sys.stdout.flush()
                if self._options.open:
                    open_browser(link)
            servers.append((self._server(names_of(address, port), is_owner=False), bound))
        if not self._options.recorded:
            # Last: who finds it can ask for everything.
            private = bound_unix(self._place.web_socket)
            servers.append((self._server(None, is_owner=True), private))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _end, [server for server, _ in servers])
        dropping = asyncio.create_task(self._access.drop_old_lines())
        await asyncio.gather(*(server.serve(sockets=[bound]) for server, bound in servers))
        dropping.cancel()
        self._access.close()

    def _tcp(self) -> tuple[socket.socket, Address] | None:
        """The socket for browsers, and its address; None where only the private one is asked for.

        A port that was ours to choose stays: pages are open on it when this process starts again.
        """
        given = self._options.listen
        address = Address("127.0.0.1", PORT) if given is None else address_of(given)
        if address is None:
            (self._place.folder / "web.json").unlink(missing_ok=True)
            return None
        ports = [address.port]
        if self._may_choose_port(address):
            ports = [*filter(None, [port_of(self._place)]), *ports, 0]
        for port in ports[:-1]:
            with contextlib.suppress(EngineUnavailable):
                return bound_tcp(replace(address, port=port)), address
        return bound_tcp(replace(address, port=ports[-1])), address

    def _note_address(self, address: Address, port: int) -> None:
        scheme = "https" if self._options.tls_cert else "http"
        url = f"{scheme}://{address.host}:{port}"
        if self._options.behind_proxy:
            url = f"https://{self._options.behind_proxy}"
        kept = {"port": port} if self._may_choose_port(address) else {}
        (self._place.folder / "web.json").write_text(json.dumps({"url": url, **kept}), "utf-8")

    def _may_choose_port(self, address: Address) -> bool:
        return self._options.listen is None or address.port == 0

    def _server(self, hosts: frozenset[str] | None, *, is_owner: bool) -> _Server:
        guard = Guard(
            self._app, self._metrics, self._access.is_allowed, hosts, is_owner,
            self._options.behind_proxy, self._audit,
        )  # fmt: skip
        has_tls = self._options.tls_cert and not is_owner
        return _Server(
            uvicorn.Config(
                guard,
                http=_Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=_HEADERS_BYTES_MAX,
                timeout_graceful_shutdown=_STOP_S,
                ssl_certfile=self._options.tls_cert if has_tls else None,
                ssl_keyfile=self._options.tls_key if has_tls else None,
            )
        )

    def _audit(self, scope: Scope, status: int) -> None:
        """Note what changes something, and what was refused. Never a body or a secret."""
        is_read = scope["method"] in {"GET", "HEAD", "OPTIONS"}
        if is_read and status not in {401, 403}:
            return
        who = scope["state"].get("principal")
        entry = {
            "tenant": who.tenant if who else "",
            "who": who.user if who else "",
            "via": who.via if who else "",
            "action": scope["state"].get("action", f"{scope['method']} {scope['path'][:200]}"),
            "result": status,
            "request_id": scope["state"]["request_id"],
        }
        task = asyncio.get_running_loop().create_task(
            self._access.do(self._access.store.note, entry)
        )
        self._audits.add(task)
        task.add_done_callback(self._audits.discard)


@contextlib.contextmanager
def _place(options: argparse.Namespace) -> Iterator[ServicePlace]:
    """The place of the service; for recorded runs one that is gone afterwards."""
    if not options.recorded:
        yield ServicePlace()
        return
    with tempfile.TemporaryDirectory(prefix="sluice-page-") as folder:
        yield ServicePlace(Path(folder))


def _end(servers: list[_Server]) -> None:
    for server in servers:
        server.should_exit = True


def main() -> int:
    """Serve the newest segment over HTTP. Returns the exit status of the process."""
    parser = argparse.ArgumentParser(prog="python -m sluice.service")
    parser.add_argument("--listen")
    parser.add_argument("--tls-cert")
    parser.add_argument("--tls-key")
    parser.add_argument("--behind-proxy", type=str.lower)
    parser.add_argument("--shared-user", action="store_true")
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--run")
    parser.add_argument("--open", action="store_true")
    options = parser.parse_args()
    try:
        with _place(options) as place:
            asyncio.run(_Web(place, options).run())
    except SluiceError as error:
        sys.stderr.write(f"{'' if options.recorded else 'error: '}{error}\n")
        return 3 if isinstance(error, EngineUnavailable) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
