"""Whether a Ray cluster asks who comes: one that does not runs code for anybody who reaches it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_TOKENS = frozenset({"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"})
_MODE = "RAY_AUTH_MODE"
_DISABLED = "disabled"
_CURRENT = Path("/tmp/ray/ray_current_cluster")  # noqa: S108  # where `ray start` notes the address


def authentication_mode(environment: Mapping[str, str]) -> str:
    """Ray's mode: as it is set, or by whether there is a token."""
    has_token = bool(_TOKENS & environment.keys())
    return environment.get(_MODE) or ("token" if has_token else _DISABLED)


def open_cluster_warning(
    address: str, environment: Mapping[str, str], current: Path = _CURRENT
) -> str | None:
    """A sentence about a cluster that others can reach and that does not ask them for a token.

    address: HOST:PORT, or another text for the cluster that Ray finds itself.
    """
    if authentication_mode(environment) != _DISABLED:
        return None
    found = address
    if ":" not in address:
        found = environment.get("RAY_ADDRESS", "")
        with suppress(OSError):
            found = found or current.read_text("utf-8").strip()
    host = found.rpartition("://")[2].rpartition(":")[0].strip("[]")
    if not host or _is_loopback(host):
        return None
    return (
        f"the Ray cluster at {host} asks for no token: all who reach it can run code as its"
        " user; start it with RAY_AUTH_MODE=token (docs/cluster.md)"
    )


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
