"""The checks of every request before the app sees it: names, origins, sizes, and patience.

Source: service spec, sections 11 and 12.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluice.service.events import STREAM
from sluice.service.metrics import Metrics
from sluice.service.principals import (
    COOKIE,
    IS_OWNER,
    LINK_COOKIE,
    SECURE_COOKIE,
    SECURE_LINK_COOKIE,
    Proof,
)
from sluice.service.problem import Problem, answered

BODY_BYTES_MAX = 1 << 20
STRANGER_BYTES_MAX = 64 << 10  # of the body of one who shows no proof
HEADER_BYTES_MAX = 16 << 10
BODY_S_MAX = 10.0  # and a second more for each KiB
_BYTES_S_MIN = 1024
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_WITH_DATA = ("/v1/", "/metrics", "/mcp")
_YAML_PATH = "/v1/workloads"
_LOG_PATH = "/v1/imports"
_LOG_BYTES_MAX = 64 << 20
_LOGS_AT_ONCE = 2  # each may hold that much memory
_TYPES = frozenset({"application/json"})
_TYPES_OF = {
    _YAML_PATH: _TYPES | {"application/yaml", "text/yaml"},
    _LOG_PATH: frozenset({"application/octet-stream"}),
}
_COOKIES = frozenset({COOKIE, SECURE_COOKIE, LINK_COOKIE, SECURE_LINK_COOKIE})
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none';"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True)
class Guard:
    """An ASGI app around another. hosts: the names that clients may use; None: any.

    proxied: a name at which a proxy with TLS passes requests on.
    is_known: whether a proof is one, asked before a long body is received.
    logs: those that are received now; see `_whole_body`.
    on_done: called with the scope and the status of each request that has ended.
    """

    app: ASGIApp
    metrics: Metrics
    is_known: Callable[[Proof], Awaitable[bool]]
    hosts: Collection[str] | None = None
    is_owner: bool = False
    proxied: str | None = None
    on_done: Callable[[Scope, int], None] = field(default=lambda _scope, _status: None)
    logs: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_LOGS_AT_ONCE))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        scope[IS_OWNER] = self.is_owner
        scope.setdefault("state", {})["request_id"] = request_id = secrets.token_hex(8)
        began_s, status = time.monotonic(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_headers_of(scope, request_id)]
            await send(message)

        try:
            headers = _lower(scope["headers"])
            self._check(scope, headers)
            body = await self._whole_body(scope, headers, receive)
        except Problem as problem:
            await answered(problem, request_id)(scope, receive, noted)
        else:
            await self.app(scope, _replayed(body, receive), noted)
            stream = scope["state"].pop(STREAM, None)
            if stream is not None:
                await stream(receive, send)
        finally:
            self.metrics.request(scope, status, time.monotonic() - began_s)
            self.on_done(scope, status)

    async def _whole_body(self, scope: Scope, headers: dict[str, str], receive: Receive) -> bytes:
        """The body: as long as it says, or is allowed to be. Raises Problem."""
        bytes_max = await self._bytes_max(scope, headers)
        if bytes_max < _LOG_BYTES_MAX:
            return await _body(scope, headers, receive, bytes_max)
        if self.logs.locked():
            raise Problem(429, "other logs are being received", where="body",
                          hint="send it later", retry_after_s=5)  # fmt: skip
        async with self.logs:
            return await _body(scope, headers, receive, bytes_max)

    async def _bytes_max(self, scope: Scope, headers: dict[str, str]) -> int:
        """The most that is received: little of a stranger, who could fill the memory."""
        length = headers.get("content-length", "0" if "transfer-encoding" not in headers else "")
        if length.isdecimal() and int(length) <= STRANGER_BYTES_MAX:
            return STRANGER_BYTES_MAX
        is_owner = "yes" if self.is_owner else ""
        proof = headers.get("authorization", ""), headers.get("cookie", ""), is_owner
        if not await self.is_known(proof):
            return STRANGER_BYTES_MAX
        return _LOG_BYTES_MAX if scope["path"] == _LOG_PATH else BODY_BYTES_MAX

    def _check(self, scope: Scope, headers: dict[str, str]) -> None:
        """Raise Problem for a request that is too large, or that a foreign page makes."""
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if size + len(scope["raw_path"]) + len(scope["query_string"]) > HEADER_BYTES_MAX:
            raise Problem(431, f"the headers are longer than {HEADER_BYTES_MAX} bytes",
                          hint="send fewer")  # fmt: skip
        host = headers.get("host", "").lower()
        if host == self.proxied:
            scope["scheme"] = "https"
        elif self.hosts is not None and host not in self.hosts:
            raise Problem(403, "the service is not known by this name", where="Host",
                          hint=f"use {', '.join(sorted(self.hosts))}")  # fmt: skip
        if scope["path"].startswith(_WITH_DATA):
            _check_origin(headers, f"{scope['scheme']}://{host}")


def _check_origin(headers: dict[str, str], own: str) -> None:
    """Raise Problem for what a page of another origin sends, and for cookies without a proof."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    names = {part.partition("=")[0].strip() for part in headers.get("cookie", "").split(";")}
    has_session = bool(names & _COOKIES)
    is_foreign = origin not in {None, own} or site not in {None, "same-origin", "none"}
    if is_foreign or (has_session and origin is None and site is None):
        raise Problem(403, "another page has sent this", where="Origin",
                      hint="use the page of the service, or a token without a cookie")  # fmt: skip


def _lower(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


async def _body(scope: Scope, headers: dict[str, str], receive: Receive, bytes_max: int) -> bytes:
    """The whole body. Raises Problem for one that is too long, too slow, or of another type."""
    parts, size, began_s = [], 0, time.monotonic()
    more = "content-length" in headers or "transfer-encoding" in headers
    while more:
        left_s = BODY_S_MAX + size / _BYTES_S_MIN - (time.monotonic() - began_s)
        try:
            message = await asyncio.wait_for(receive(), max(0.01, left_s))
        except TimeoutError:
            raise Problem(408, "the body comes too slowly", hint="send it faster") from None
        if message["type"] == "http.disconnect":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > bytes_max:
            raise Problem(413, f"the body is longer than {bytes_max} bytes", where="body",
                          hint="split it", headers={"Connection": "close"})  # fmt: skip
        more = message.get("more_body", False)
    body = b"".join(parts)
    if body and scope["method"] in _WITH_BODY:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        types = _TYPES_OF.get(scope["path"], _TYPES)
        if kind not in types:
            raise Problem(415, f"the body is {kind[:60] or 'of no type'}", where="Content-Type",
                          hint=f"send {' or '.join(sorted(types))}")  # fmt: skip
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body, and then waits for the end of the connection."""
    is_given = False

    async def given() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return given


def _headers_of(scope: Scope, request_id: str) -> list[tuple[bytes, bytes]]:
    found: dict[str, Any] = {**_HEADERS, "x-request-id": request_id}
    if scope["path"].startswith(_WITH_DATA):
        found["cache-control"] = "no-store"
    return [(name.encode(), value.encode()) for name, value in found.items()]
