"""The cluster, and how far promises can be trusted."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from sluice.bootstrap.service.conditions import NO_DRIVER
from sluice.model.errors import EngineUnavailable
from sluice.service.answers import Cordoned, Fairness, Nodes, Promise, Queue, Queues, State, listed
from sluice.service.context import Given
from sluice.service.principals import Operator, Viewer
from sluice.service.problem import Problem, documented
from sluice.service.requests import Instant, NodePatch, PromiseFilter

router = APIRouter(prefix="/v1", tags=["cluster"])


class NamedPromise(Promise):
    """A promise with its job, and the state of that. made_at: null where none was made."""

    job_id: str  # also where nothing was promised
    name: str
    state: State
    made_at: str | None = None


class PromisePage(BaseModel):
    """A part of the promises, the newest first. next: the cursor of the next part."""

    items: list[NamedPromise]
    next: str | None
    total: int
    total_is_exact: bool


@router.get("/queues", response_model=None, responses={200: {"model": Queues}, **documented()})
async def queues(who: Viewer, given: Given) -> JSONResponse:
    """Queues of the file or with open jobs, the slots, when the work is done, what keeps it back.

    The journal says all of it but the last, so that it is answered while the driver is away, too.
    """
    found = await given.backend.ask("queues", tenant=who.sees_only)
    try:
        conditions = (await given.backend.ask_driver({"do": "status"})).get("conditions", [])
    except EngineUnavailable:
        conditions = [NO_DRIVER]
    return JSONResponse({**found, "conditions": conditions})


@router.get(
    "/queues/{queue}", response_model=None, responses={200: {"model": Queue}, **documented()}
)
async def one_queue(
    who: Viewer, given: Given, queue: Annotated[str, Path(max_length=200)]
) -> JSONResponse:
    """One queue."""
    found = await given.backend.ask("queues", tenant=who.sees_only)
    for row in found["queues"]:
        if row["queue"] == queue:
            return JSONResponse(row)
    raise Problem(404, "there is no such queue", where="queue",
                  hint="GET /v1/queues lists them")  # fmt: skip


@router.get("/nodes", response_model=None, responses={200: {"model": Nodes}, **documented()})
async def nodes(who: Viewer, given: Given) -> JSONResponse:
    """Nodes, and which jobs run on each."""
    return JSONResponse(await given.backend.ask("nodes", tenant=who.sees_only))


@router.patch(
    "/nodes/{node_id}", response_model=None, responses={200: {"model": Cordoned}, **documented(403)}
)
async def cordon_node(
    who: Operator, given: Given, node_id: Annotated[str, Path(max_length=200)], body: NodePatch
) -> JSONResponse:
    """Give a node no more work, or give it work again. What runs on it goes on."""
    found = await given.backend.ask("nodes", tenant=None)
    if node_id not in {row["node_id"] for row in found["nodes"]}:
        raise Problem(404, "there is no such node", where=node_id, hint="GET /v1/nodes lists them")
    message = {
        "do": "cordon",
        "node_id": node_id,
        "cordoned": body.cordoned,
        "reason": body.reason,
        "by": who.user,
    }
    return JSONResponse(await given.backend.ask_driver(message))


@router.get("/fairness", response_model=None, responses={200: {"model": Fairness}, **documented()})
async def fairness(
    who: Viewer,
    given: Given,
    start: Annotated[Instant | None, Query(alias="from")] = None,
    to: Annotated[Instant | None, Query()] = None,
    period_s: Annotated[float | None, Query(ge=1, le=1e9)] = None,
) -> JSONResponse:
    """Who was entitled to what, used, lent, borrowed and is owed, in container-hours.

    By default the last 13 weeks by day. Holders of shares whose jobs are all other tenants' are one
    row.
    """
    found = await given.backend.ask(
        "fairness",
        start=None if start is None else start.isoformat(),
        end=None if to is None else to.isoformat(),
        period_s=period_s,
        tenant=who.sees_only,
    )
    return JSONResponse(found)


@router.get(
    "/promises", response_model=None, responses={200: {"model": PromisePage}, **documented()}
)
async def promises(
    who: Viewer, given: Given, only: Annotated[PromiseFilter, Query()]
) -> JSONResponse:
    """Promises with their outcome, the newest first."""
    whole = only.of(who.sees_only)
    found = await given.backend.ask(
        "promises",
        tenant=who.sees_only,
        kept=only.kept,
        profile=only.profile,
        after=given.place(only.cursor, whole),
        limit=only.limit,
    )
    following = given.cursor(found["next"], whole) if found["next"] else None
    exact = found["total_is_exact"]
    return JSONResponse(listed(found["promises"], found["total"], following, is_exact=exact))


@router.get("/calibration", response_model=None, responses={200: {}, **documented()})
async def calibration(
    who: Viewer, given: Given, by: Literal["profile", "queue", "tenant"] = "profile"
) -> JSONResponse:
    """How many promises were kept, against the level that each claimed."""
    return JSONResponse(await given.backend.ask("calibration", by=by, tenant=who.sees_only))
