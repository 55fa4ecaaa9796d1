"""The settings that a node server needs, as its starter writes them."""

from __future__ import annotations

import json
import math
import socket
import ssl
from dataclasses import dataclass, field, fields

from sluice.engines.tls_files import TlsFiles
from sluice.model.errors import InvalidInput

PORT_MAX = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The settings of one node server. Lengths are in seconds; `node_server` says what they do.

    scratch: a folder for this server alone.  scratch_is_temporary: whether the server removes it
    where its starter is gone, and so cannot.  ends_with_agent: whether the server ends when its
    driver ends the agent, because no other driver can come.  listen_fd: a socket that listens;
    without it the server listens at `host` and `port`, where 0 is any free port.  data_host: where
    its data server listens, at a free port.  certificate, key: PEM files; with them the server
    takes TLS connections only.  authority, server_name: as of `TlsFiles`, for what attempts fetch
    from others.
    """

    token: str = field(repr=False)
    node_id: str = ""
    scratch: str = ""
    scratch_is_temporary: bool = False
    ends_with_agent: bool = False
    listen_fd: int | None = None
    host: str = "127.0.0.1"
    port: int = 0
    data_host: str = "127.0.0.1"
    certificate: str | None = None
    key: str | None = None
    authority: str | None = None
    server_name: str | None = None
    driver_lease_s: float = 30.0
    closed_lease_s: float = 5.0
    reattach_s: float = 0.0
    first_contact_s: float = 60.0

    def listener(self) -> socket.socket:
        """The socket on which it listens. Raises OSError."""
        if self.listen_fd is not None:
            return socket.socket(fileno=self.listen_fd)
        return socket.create_server((self.host, self.port))

    @property
    def tls(self) -> TlsFiles | None:
        """The files for TLS; None without certificate."""
        if self.certificate is None:
            return None
        return TlsFiles(
            certificate=self.certificate,
            key=self.key or "",
            authority=self.authority or "",
            name=self.server_name or "",
        )

    def tls_context(self) -> ssl.SSLContext | None:
        """For its side of a connection; None without certificate. Raises InvalidInput."""
        return None if self.tls is None else self.tls.server_context()


def read_settings(line: bytes) -> ServerSettings:
    """The settings in a JSON object, with at least token, node_id and scratch.

    Raises InvalidInput.
    """
    try:
        settings = ServerSettings(**json.loads(line))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"its settings cannot be read: {error}",
            hint="give one JSON object in the first line of standard input, with at least token,"
            " node_id and scratch",
        ) from error
    for one in fields(settings):
        problem = _problem(one.name, getattr(settings, one.name))
        if problem:
            raise InvalidInput(problem, where=f"its setting {one.name!r}")
    return settings


def _problem(name: str, value: object) -> str:
    """Return what is wrong with a setting; "" if nothing is."""
    if name in {"token", "node_id", "scratch", "host", "data_host"}:
        is_good, wanted = isinstance(value, str) and value != "", "a text that is not empty"
    elif name in {"certificate", "key", "authority", "server_name"}:
        is_good, wanted = value is None or isinstance(value, str), "a text, such as a path"
    elif name == "listen_fd":
        is_good, wanted = value is None or isinstance(value, int), "a file descriptor"
    elif name in {"scratch_is_temporary", "ends_with_agent"}:
        is_good, wanted = isinstance(value, bool), "true or false"
    elif name == "port":
        is_good = isinstance(value, int) and 0 <= value <= PORT_MAX
        wanted = f"a whole number from 0 to {PORT_MAX}"
    else:
        is_good = isinstance(value, int | float) and 0 <= value < math.inf
        wanted = "a number of seconds"
    return "" if is_good else f"it is {value!r}, and must be {wanted}"
