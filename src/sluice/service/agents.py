"""The door for agents: what is asked at `/mcp` goes to tools that are loaded at the first question.

Loading them takes as long as everything else of this process. Source: service spec, section 9.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from importlib.util import find_spec

from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from sluice.service.context import Context
from sluice.service.problem import Problem, answered
from sluice.store.service.access import Principal

PATH = "/mcp"
_TOOLS = "sluice.service.mcp.over_http"


class WithAgents:
    """An ASGI app around that of the service. An agent comes with a token, and may what it may."""

    def __init__(self, app: FastAPI, context: Context) -> None:
        self._app, self._context = app, context
        self._tools: ASGIApp | None = None
        self._loading = asyncio.Lock()
        self._serving: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        try:
            who = await self._principal(Request(scope))
        except Problem as problem:
            await answered(problem, scope["state"]["request_id"])(scope, receive, send)
            return
        scope["state"]["principal"] = who
        await (await self._loaded())(scope, receive, send)

    async def _principal(self, request: Request) -> Principal:
        """Who asks. Raises Problem."""
        if find_spec("mcp") is None:
            raise Problem(404, "tools for agents need more packages", where=PATH,
                          hint="run: pip install 'sluice[mcp]'")  # fmt: skip
        who = await self._context.access.principal(request)
        await self._context.tenants.check_rate(who)
        if who.via != "token":
            raise Problem(401, "an agent comes with a token", where="Authorization")
        return Principal(tenant=who.tenant, user=who.user, role=who.role, via="mcp")

    async def _loaded(self) -> ASGIApp:
        async with self._loading:
            if self._tools is None:
                module = await asyncio.to_thread(import_module, _TOOLS)
                served = module.Served(self._app, self._context, PATH)
                self._serving = asyncio.create_task(served.serve())
                await served.is_ready.wait()
                self._tools = served.app
        return self._tools
