"""Questions to a web server, with bounded answers."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any

from sluice.ingest.logs.report import Unreadable
from sluice.model.errors import InvalidInput

ANSWER_BYTES_MAX = 1 << 28
TIMEOUT_S = 30.0
KERBEROS = "it asks for Kerberos, with which Sluice cannot log in"
KERBEROS_HINT = "give the address of a proxy that logs in for you"
_CHUNK_BYTES = 1 << 20
_NOT_LOGGED_IN = 401
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"})


def is_web_address(text: str) -> bool:
    """Whether it names a server instead of a file.

    >>> is_web_address("http://history:19888"), is_web_address("logs/http")
    (True, False)
    """
    return text.startswith(("http://", "https://"))


def asks_for_kerberos(error: urllib.error.HTTPError) -> bool:
    """Whether a server refuses who does not log in with Kerberos (SPNEGO)."""
    asked = error.headers.get_all("WWW-Authenticate") or []
    return error.code == _NOT_LOGGED_IN and any(
        one.lower().startswith("negotiate") for one in asked
    )


def why_silent(error: OSError | HTTPException) -> str:
    """Why a server does not answer, and what to do where its certificate is not trusted."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, HTTPException):
        return f"what it says is not HTTP ({type(reason).__name__}); is it its web address?"
    if isinstance(reason, ssl.SSLError) and reason.reason in _NO_TLS:
        return "it does not answer with TLS; is its address one with http:// instead?"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({reason.verify_message}); if it is that of your"
            " site's own authority, name a file with the authority's certificate in SSL_CERT_FILE"
        )
    return str(reason)


class WebServer:
    """base: its address without a path."""

    def __init__(self, base: str) -> None:
        parts = urllib.parse.urlsplit(base)
        if not parts.hostname or parts.query or parts.fragment:
            raise InvalidInput(
                "it is not the address of a server",
                where=base,
                hint="give http://HOST:PORT of a history server",
            )
        self.base = base.rstrip("/")
        # A proxy of the environment is for the world outside.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def json(self, path: str) -> Mapping[str, Any]:
        """The JSON object at a path. Raises Unreadable without one, InvalidInput without answer."""
        found = self.json_value(path)
        if not isinstance(found, dict):
            raise Unreadable(f"{path} is no object")
        return found

    def json_value(self, path: str) -> Any:  # noqa: ANN401  # JSON
        """Do what `json` does, for any JSON value."""
        text = bytearray()
        for chunk in self._chunks(path):
            text += chunk
            if len(text) > ANSWER_BYTES_MAX:
                raise Unreadable(f"{path} has more than {ANSWER_BYTES_MAX} bytes")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"{path} is no JSON: {error}") from error

    def download(self, path: str, to: Path) -> None:
        """Write what is at a path to a file. Raises as `json`."""
        with to.open("wb") as file:
            for chunk in self._chunks(path):
                file.write(chunk)

    def _chunks(self, path: str) -> Iterator[bytes]:
        """Yield the bytes at a path, in pieces. Raises as `json`, also in the middle."""
        request = urllib.request.Request(  # noqa: S310  # the scheme was checked
            self.base + path, headers={"Accept": "application/json, */*;q=0.5"}
        )
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                while chunk := answer.read(_CHUNK_BYTES):
                    yield chunk
        except urllib.error.HTTPError as error:
            error.close()
            if asks_for_kerberos(error):
                raise InvalidInput(KERBEROS, where=self.base, hint=KERBEROS_HINT) from error
            raise Unreadable(f"{path}: {error.code} {error.reason}") from error
        except (OSError, HTTPException) as error:
            raise InvalidInput(
                f"it does not answer: {why_silent(error)}",
                where=self.base,
                hint="check the address",
            ) from error
