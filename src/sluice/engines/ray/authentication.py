"""Whether a Ray cluster asks who comes: one that does not runs code for anybody who reaches it."""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_TOKENS = frozenset({"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"})
_MODE = "RAY_AUTH_MODE"
_DISABLED = "disabled"
_TOKEN_FILE = Path(".ray", "auth_token")  # in the home folder, where Ray looks for it
_CURRENT = Path("ray", "ray_current_cluster")  # where `ray start` notes the address
_LISTENERS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENING = "0A"


def authentication_mode(environment: Mapping[str, str]) -> str:
    """Ray's mode: as it is set, or by whether there is a token, also in the home folder."""
    home = environment.get("HOME")
    has_file = home is not None and (Path(home) / _TOKEN_FILE).is_file()
    has_token = has_file or bool(_TOKENS & environment.keys())
    return environment.get(_MODE) or ("token" if has_token else _DISABLED)


def open_cluster_warning(address: str, environment: Mapping[str, str]) -> str | None:
    """A sentence about a cluster that others can reach and that does not ask them for a token.

    address: HOST:PORT, or another text for the cluster that Ray finds itself.
    """
    if authentication_mode(environment) != _DISABLED:
        return None
    found = address
    if ":" not in address:
        folder = environment.get("RAY_TMPDIR") or environment.get("TMPDIR") or "/tmp"  # noqa: S108  # as Ray does
        found = environment.get("RAY_ADDRESS", "")
        with suppress(OSError):
            found = found or (Path(folder) / _CURRENT).read_text("utf-8").strip()
    host, _, port = found.rpartition("://")[2].rpartition(":")
    host = host.strip("[]")
    if _is_loopback(host) and _listens_beyond(port):
        host = socket.gethostname()
    if not host or _is_loopback(host):
        return None
    return (
        f"the Ray cluster at {host} asks for no token: all who reach it can run code as its"
        " user; start it with RAY_AUTH_MODE=token (docs/cluster.md)"
    )


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return _is_own(ipaddress.ip_address(host))
    return host == "localhost"


def _is_own(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback if mapped is None else mapped.is_loopback


def _listens_beyond(port: str) -> bool:
    """Whether this machine listens at a port for others, too, as `ray start` always does."""
    for listeners in _LISTENERS:
        with suppress(OSError):  # another system than Linux
            for line in listeners.read_text("ascii").splitlines()[1:]:
                _, local, _, state = line.split(maxsplit=4)[:4]
                host, _, at = local.partition(":")
                if state == _LISTENING and str(int(at, 16)) == port and not _is_own(_address(host)):
                    return True
    return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address as the kernel writes it: words of 32 bits, each in the order of the machine."""
    words = (int(host[at : at + 8], 16) for at in range(0, len(host), 8))
    return ipaddress.ip_address(b"".join(word.to_bytes(4, sys.byteorder) for word in words))
