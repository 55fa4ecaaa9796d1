"""Where the service listens: its private socket, and an address for browsers and programs."""

from __future__ import annotations

import ipaddress
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.store.service.places import short_path

PORT = 8642  # of the default, if it is free
UNIX_ONLY = "unix"
NO_WEB = "none"
_BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class Address:
    """Where TCP is taken. port 0: any that is free."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        with suppress(ValueError):
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        return False


def address_of(listen: str | None) -> Address | None:
    """The address of `--listen`; None for the private socket alone. Raises InvalidInput."""
    if listen is None or listen == UNIX_ONLY:
        return None
    host, separator, port = listen.rpartition(":")
    if not (separator and host and port.isdecimal() and int(port) < 1 << 16):
        raise InvalidInput(f"{listen[:60]!r} is no address", where="--listen",
                           hint="give HOST:PORT, or unix")  # fmt: skip
    return Address(host, int(port))


def bound_unix(path: Path) -> socket.socket:
    """The private socket, listening: only its owner can open it."""
    path.unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX)
    mask = os.umask(0o177)
    try:
        with short_path(path) as name:
            bound.bind(name)
    finally:
        os.umask(mask)
    bound.listen(_BACKLOG)
    return bound


def bound_tcp(address: Address) -> socket.socket:
    """A socket of this address. Raises EngineUnavailable if it cannot be had."""
    host = address.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio lets small parts go at once, which saves 40 ms an answer.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, address.port))
    except OSError as error:
        bound.close()
        raise EngineUnavailable(
            f"{address.host}:{address.port} cannot be listened on ({error.strerror or error})."
            " Choose another: --listen HOST:PORT"
        ) from error
    bound.listen(_BACKLOG)
    return bound


def names_of(address: Address, port: int) -> frozenset[str]:
    """Return what clients may write into `Host`."""
    names = {address.host.lower()}
    if address.is_loopback:
        names |= {"localhost", "127.0.0.1", "[::1]"}
    elif address.host in {"0.0.0.0", "[::]", "::"}:  # noqa: S104  # compared, not bound
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    with_port = {f"{name}:{port}" for name in names}
    return frozenset(with_port | (names if port in {80, 443} else set()))
