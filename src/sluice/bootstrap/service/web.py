"""The web process of a service, seen from this machine: over its private socket, as its owner."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import webbrowser
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from sluice.bootstrap.service.futures import instant
from sluice.bootstrap.service.messages import no_service
from sluice.model.errors import InvalidInput
from sluice.store.service.places import ServicePlace, short_path

ASK_S = 10.0
_OK = 300  # statuses below are good
_REFUSED = {404, 422}  # what the caller can fix


def has_web() -> bool:
    """Whether the extra is installed that the web process needs."""
    return find_spec("fastapi") is not None and find_spec("uvicorn") is not None


def about_web(place: ServicePlace) -> dict[str, Any]:
    """Its release, process and limits. Raises EngineUnavailable where none answers."""
    return ask_web(place, "GET", "/v1/about")


def url_of(place: ServicePlace) -> str | None:
    """Where browsers find it; None for a service that listens on its private socket alone."""
    url: str | None = _noted(place).get("url")
    return url


def port_of(place: ServicePlace) -> int | None:
    """The port that it chose when it last listened; None where it was given one, or never did."""
    port = _noted(place).get("port")
    return port if isinstance(port, int) and 0 < port < 1 << 16 else None


def _noted(place: ServicePlace) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((place.folder / "web.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def login_url(place: ServicePlace) -> str | None:
    """An address that logs a browser in, once and within a minute; None as for `url_of`.

    Raises EngineUnavailable where no service answers.
    """
    code = ask_web(place, "POST", "/v1/login-links")["code"]
    url = url_of(place)
    # A fragment stays in the browser: it is in no log of a server.
    return None if url is None else f"{url}/login#{code}"


def open_browser(link: str) -> None:
    """Open it, where there is a screen: a text browser would take the terminal."""
    has_screen = {"BROWSER", "DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ)
    if has_screen or sys.platform == "darwin":
        webbrowser.open(link)


def ask_web(
    place: ServicePlace, method: str, path: str, body: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The answer as JSON.

    Raises EngineUnavailable where none answers, or with a problem; InvalidInput for a job that is
    not there, or a body that is refused.
    """
    connection = _UnixConnection(place)
    content = None if body is None else json.dumps(body)
    try:
        connection.request(method, path, content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        found: dict[str, Any] = json.loads(response.read() or b"{}")
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise no_service() from error
    finally:
        connection.close()
    if response.status in _REFUSED:
        raise InvalidInput(found["what"], where=found["where"] or path, hint=found["hint"])
    if response.status >= _OK:
        raise no_service(f" ({found.get('what', response.status)})")
    return found


def token_row(row: dict[str, Any]) -> dict[str, Any]:
    """A token as it is listed."""
    used_at_s = row["used_at_s"]
    return {
        "name": row["name"],
        "tenant": row["tenant"],
        "role": row["role"],
        "made_at": instant(row["made_at_s"]),
        "used_at": None if used_at_s is None else instant(used_at_s),
    }


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, place: ServicePlace) -> None:
        super().__init__("sluice", timeout=ASK_S)
        self._path = place.web_socket

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ASK_S)
        with short_path(self._path) as name:
            self.sock.connect(name)
