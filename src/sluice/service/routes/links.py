"""Links to one job, for people without a token."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from sluice.bootstrap.service.futures import instant
from sluice.bootstrap.service.web import url_of
from sluice.service.context import Context, Given
from sluice.service.principals import Submitter
from sluice.service.problem import Problem, answered_as, documented
from sluice.service.requests import Key, LinkRequest
from sluice.service.routes.jobs import JobId, of_job
from sluice.store.service.access import Role, check_name
from sluice.store.service.links import Link

router = APIRouter(prefix="/v1", tags=["access"])


class JobLink(BaseModel):
    """A link to one job. url: null where no browser can reach the service.  token: it alone."""

    url: str | None
    token: str
    ends_at: str


@router.post(
    "/jobs/{job_id}/links",
    status_code=201,
    response_model=None,
    responses={201: {"model": JobLink}, **documented()},
)
async def share(
    who: Submitter, given: Given, job_id: JobId, body: LinkRequest, _key: Key = None
) -> JSONResponse:
    """A link that shows this job and its logs, and nothing else, until it ends."""
    found = await of_job(given, who, "job", job_id)
    ends_at_s = int(time.time()) + body.valid_s
    link = Link(job_id=job_id, tenant=found["tenant"], maker=who.user, ends_at_s=ends_at_s)
    token = await given.access.do(given.access.store.links.made, link)
    base = url_of(given.backend.place)
    url = None if base is None else f"{base}/shared#{token}"  # a fragment is in no log of a server
    answer = {"url": url, "token": token, "ends_at": instant(ends_at_s)}
    return JSONResponse(answer, status_code=201)


@router.delete("/links", status_code=204, response_model=None, responses=documented(403))
async def end_links(
    who: Submitter,
    given: Given,
    tenant: Annotated[str | None, Query(max_length=64, description="by default the own")] = None,
) -> Response:
    """All links to jobs of a tenant are worth nothing from now on; admins may name any tenant.

    A link to a job is one of the job's tenant, also where an admin has made it.
    """
    chosen = who.tenant if tenant is None else tenant
    if chosen != who.tenant and not who.role.includes(Role.ADMIN):
        raise Problem(403, "only admins end links to jobs of another tenant", where="tenant",
                      hint="leave it out")  # fmt: skip
    if tenant is not None:
        with answered_as(422, "NAME", "tenant"):
            check_name(tenant, "NAME")
    if chosen != who.tenant and not await _has_been_seen(given, chosen):
        # A name with a typo would leave all links as they are, although the answer said otherwise.
        raise Problem(404, f"there is no tenant {chosen!r}", where="tenant",
                      hint="GET /v1/tokens lists those of tokens")  # fmt: skip
    await given.access.do(given.access.store.links.end, chosen, who.user)
    return Response(status_code=204)


async def _has_been_seen(given: Context, tenant: str) -> bool:
    """Whether a tenant has a token, or a job, which is what links show."""
    tokens = await given.access.do(given.access.store.tokens)
    if tenant in {one["tenant"] for one in tokens}:
        return True
    return bool((await given.backend.ask("jobs", tenant=tenant, limit=1))["total"])
