"""The tools at `/mcp`: streamable HTTP without sessions, behind the tokens of the REST interface.

Source: service spec, section 9.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from mcp.server.mcpserver import Context as Call
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from starlette.types import ASGIApp

from sluice.model.errors import SluiceError
from sluice.service.context import Context
from sluice.service.mcp.answers import Answer, untrusted
from sluice.service.mcp.asking import Interface
from sluice.service.mcp.confirmations import Confirmations
from sluice.service.mcp.server import ToolServer
from sluice.store.service.access import Principal

LIST_MAX = 100
POLL_S = 0.1
Workload = dict[str, Any]  # a workload file as an object


class Tools:
    """The tools of one web process. Their docstrings are what an agent reads."""

    def __init__(self, app: FastAPI, context: Context) -> None:
        self._app = app
        self._context = context
        self._confirmations = Confirmations()

    @property
    def reads(self) -> tuple[Callable[..., Any], ...]:
        """The tools that change nothing."""
        return (
            self.queue, self.why, self.story, self.predict, self.quote, self.size, self.plan,
            self.fairness, self.calibration, self.profiles,
        )  # fmt: skip

    @property
    def changes(self) -> tuple[Callable[..., Any], ...]:
        """The tools that change something. Each is called twice; see `Confirmations`."""
        return (self.submit, self.kill, self.choose_plan)

    async def queue(self, call: Call, state: str | None = None, limit: int = 20) -> Answer:
        """Jobs that run and wait, when they end, and how busy the cluster is. state: only these."""
        asks = self._as(call)
        jobs = await asks.get("/v1/jobs", state=state, limit=max(1, min(limit, LIST_MAX)))
        return untrusted({"service": await asks.get("/v1/queues"), "jobs": jobs["items"],
                          "total": jobs["total"]})  # fmt: skip

    async def why(self, call: Call, job_id: str) -> Answer:
        """Why a job waits, and what is ahead of it."""
        return untrusted(await self._as(call).get(f"/v1/jobs/{job_id}/why"))

    async def story(self, call: Call, job_id: str) -> Answer:
        """Return what happened to a job, in order of time."""
        return untrusted(await self._as(call).get(f"/v1/jobs/{job_id}/story"))

    async def predict(self, call: Call, jobs: list[dict[str, Any]]) -> Answer:
        """When these jobs would end and what they would cost, if they were submitted now."""
        return untrusted((await self._as(call).post("/v1/quotes", {"jobs": jobs}))["promise"])

    async def quote(
        self, call: Call, jobs: list[dict[str, Any]], deadline_at: str | None = None
    ) -> Answer:
        """Return what would be promised to these jobs, and what would help; nothing is submitted.

        deadline_at: RFC 3339, such as 2026-12-01T06:00:00Z.
        """
        goal = {} if deadline_at is None else {"goal": {"deadline_at": deadline_at}}
        return untrusted(await self._as(call).post("/v1/quotes", {"jobs": jobs, **goal}))

    async def size(self, call: Call, workload: Workload, deadline_s: float | None = None) -> Answer:
        """How many machines the jobs of a workload need to be done in time."""
        body = {"workload": workload, "deadline_s": deadline_s}
        return untrusted((await self._made(call, "/v1/capacity", body))["result"])

    async def plan(
        self,
        call: Call,
        workload: Workload | None = None,
        profiles: list[str] | None = None,
        budget_usd: float | None = None,
        deadline_s: float | None = None,
    ) -> Answer:
        """Plans of time against cost for a workload, or for jobs of these profiles.

        The answer has the `answer_id` that `choose_plan` takes.
        """
        given = {"workload": workload, "profiles": profiles, "budget_usd": budget_usd,
                 "deadline_s": deadline_s}  # fmt: skip
        body = {name: value for name, value in given.items() if value is not None}
        found = await self._made(call, "/v1/plans", body)
        return untrusted({"answer_id": found["answer_id"], **found["result"]})

    async def fairness(self, call: Call, period_s: float | None = None) -> Answer:
        """Who was entitled to what, used, lent and borrowed, and is owed what."""
        return untrusted(await self._as(call).get("/v1/fairness", period_s=period_s))

    async def calibration(self, call: Call, by: str = "profile") -> Answer:
        """How many promises were kept. by: profile, queue or tenant."""
        return untrusted(await self._as(call).get("/v1/calibration", by=by))

    async def profiles(self, call: Call, limit: int = 5) -> Answer:
        """Return what past runs measured; for operators. limit: the most runs of each profile."""
        newest = max(1, min(limit, LIST_MAX))
        return untrusted(await self._as(call).get("/v1/profiles", newest=newest))

    async def submit(
        self, call: Call, job: dict[str, Any], queue: str | None = None,
        deadline_at: str | None = None, confirm: str | None = None,
    ) -> Answer:  # fmt: skip
        """Submit a job: `{"template": NAME, "arguments": {..}}`, or one of a workload file where
        the tenant allows it.

        Without `confirm` it says what would be promised, and gives the word for `confirm`.
        """
        who = await self._may_change(call)
        tenant = await self._context.tenants.of(who.tenant)
        if "template" not in job and not tenant.mcp_any_command:
            raise ToolError("Agents of this tenant submit jobs of templates alone.")
        given = {"job": job, "queue": queue, "deadline_at": deadline_at}
        body = {name: value for name, value in given.items() if value is not None}
        what = {"do": "submit", "who": who.user, **body}
        asks = self._as(call)
        if confirm is None:
            goal = {} if deadline_at is None else {"goal": {"deadline_at": deadline_at}}
            quoted = await asks.post("/v1/quotes", {"jobs": [job], **goal})
            return self._asked("The job would be submitted and run.", what, quoted)
        self._confirmations.use(confirm, what)
        return untrusted(await asks.post("/v1/jobs", body, key=f"mcp-{confirm}"))

    async def kill(self, call: Call, job_id: str, confirm: str | None = None) -> Answer:
        """End a job; its output is not written. confirm: as for `submit`."""
        who, asks = await self._may_change(call), self._as(call)
        what = {"do": "kill", "who": who.user, "job_id": job_id}
        if confirm is None:
            return self._asked("The job would end.", what, await asks.get(f"/v1/jobs/{job_id}"))
        self._confirmations.use(confirm, what)
        return untrusted(await asks.ask("DELETE", f"/v1/jobs/{job_id}"))

    async def choose_plan(
        self, call: Call, answer_id: str, plan: int, confirm: str | None = None
    ) -> Answer:
        """Submit the jobs of a plan that `plan` has listed. confirm: as for `submit`."""
        who, asks = await self._may_change(call), self._as(call)
        if not (await self._context.tenants.of(who.tenant)).mcp_any_command:
            raise ToolError("Agents of this tenant submit jobs of templates alone.")
        what = {"do": "choose", "who": who.user, "answer_id": answer_id, "plan": plan}
        if confirm is None:
            found = await asks.get(f"/v1/answers/{answer_id}")
            plans = (found["result"] or {}).get("plans", [])
            chosen = [one for one in plans if one["number"] == plan]
            return self._asked("The jobs of the plan would be submitted and run.", what, chosen)
        self._confirmations.use(confirm, what)
        path = f"/v1/plans/{answer_id}/choice"
        return untrusted(await asks.post(path, {"plan": plan}, key=f"mcp-{confirm}"))

    # --- parts --------------------------------------------------------------------------------

    def _as(self, call: Call) -> Interface:
        return Interface(self._app, call.headers or {})

    async def _may_change(self, call: Call) -> Principal:
        """Who calls. Raises ToolError where agents of the tenant may change nothing."""
        who: Principal = _state_of(call).principal
        if not (await self._context.tenants.of(who.tenant)).mcp_may_submit:
            raise ToolError(
                f"Agents of the tenant {who.tenant} may change nothing. Hint: an admin sets"
                f" mcp_may_submit at /v1/tenants/{who.tenant}."
            )
        return who

    async def _made(self, call: Call, path: str, body: object) -> dict[str, Any]:
        asks = self._as(call)
        found: dict[str, Any] = await asks.post(path, body)
        while found["state"] == "running":
            await asyncio.sleep(POLL_S)
            found = await asks.get(f"/v1/answers/{found['answer_id']}")
        if found["state"] != "done":
            raise ToolError(str(found["problem"] or found["state"]))
        return found

    def _asked(self, summary: str, what: dict[str, Any], document: object) -> Answer:
        word = self._confirmations.new(what)
        return {"summary": summary, "confirm": word, **untrusted(document)}


class Served:
    """The tools as an ASGI app. is_ready: set when it may be asked."""

    def __init__(self, app: FastAPI, context: Context, path: str) -> None:
        server = ToolServer()
        tools = Tools(app, context)
        for is_read, all_of_them in ((True, tools.reads), (False, tools.changes)):
            annotations = ToolAnnotations(read_only_hint=is_read, destructive_hint=not is_read)
            for tool in all_of_them:
                server.tool(annotations=annotations)(_noted(tool))
        # The guard of the process has checked names and origins, by what it listens on.
        settings = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self.app: ASGIApp = server.streamable_http_app(
            streamable_http_path=path, stateless_http=True, json_response=True,
            transport_security=settings,
        )  # fmt: skip
        self.is_ready = asyncio.Event()
        self._manager = server.session_manager

    async def serve(self) -> None:
        """Until it is cancelled."""
        async with self._manager.run():
            self.is_ready.set()
            await asyncio.Event().wait()


def _state_of(call: Call) -> Any:  # noqa: ANN401  # whatever was noted on the request
    """The state of the request that a call came with."""
    request = call.request_context.request
    assert request is not None, "over HTTP there is one"
    return request.state


def _noted(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool, with its name in the record of who did what; errors become one sentence."""

    @functools.wraps(tool)
    async def called(call: Call, **given: Any) -> Answer:  # noqa: ANN401  # those of the tool
        _state_of(call).action = f"mcp {tool.__name__}"
        try:
            answer: Answer = await tool(call, **given)
        except SluiceError as error:
            raise ToolError(str(error)) from error
        return answer

    return called
