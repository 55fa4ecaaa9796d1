"""Asks the REST interface from within: a tool over HTTP may do what its token may, and no more.

So each rule about tenants, roles, quotas and templates holds for agents, and is written once.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from mcp.server.mcpserver.exceptions import ToolError
from starlette.types import ASGIApp, Message

_CLIENT_ERROR = 400


class Interface:
    """The app, asked with the token of one request. headers: those of that request."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app = app
        self._authorization = headers.get("authorization", "")

    async def get(self, path: str, **query: object) -> Any:  # noqa: ANN401  # JSON
        """The answer. Raises ToolError with what, where and the hint of a refusal."""
        given = {name: value for name, value in query.items() if value is not None}
        return await self.ask("GET", path, query=urlencode(given, doseq=True))

    async def post(self, path: str, body: object, key: str | None = None) -> Any:  # noqa: ANN401  # JSON
        """See `get`. key: that makes a repetition harmless."""
        return await self.ask("POST", path, body=body, key=key)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: object = None,
        key: str | None = None,
    ) -> Any:  # noqa: ANN401  # JSON
        """Any request. Raises ToolError."""
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"authorization": self._authorization, "content-type": "application/json"}
        if key is not None:
            headers["idempotency-key"] = key
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
            "method": method, "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": query.encode(), "server": ("sluice", 80), "client": None,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "state": {"request_id": secrets.token_hex(8)},
        }  # fmt: skip
        status, said = 500, b""

        async def receive() -> Message:  # as ASGI wants it
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Message) -> None:  # as ASGI wants it
            nonlocal status, said
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                said += message.get("body", b"")

        await self._app(scope, receive, send)
        answer = json.loads(said) if said else None
        if status >= _CLIENT_ERROR:
            raise ToolError(_sentence(answer or {}))
        return answer


def _sentence(problem: Mapping[str, Any]) -> str:
    where, hint = problem.get("where"), problem.get("hint")
    what = problem.get("what", "the service has failed")
    return f"{f'{where}: ' if where else ''}{what}.{f' Hint: {hint}.' if hint else ''}"
