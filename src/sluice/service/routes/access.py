"""Sessions of browsers, and for admins tokens and the record of who did what."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response

from sluice.bootstrap.service.futures import instant
from sluice.bootstrap.service.web import token_row
from sluice.service.answers import NewToken, Who, listed
from sluice.service.context import Given
from sluice.service.principals import (
    COOKIE,
    LINK_COOKIE,
    ONCE_PREFIX,
    SECURE_COOKIE,
    SECURE_LINK_COOKIE,
    Access,
    Admin,
    Viewer,
)
from sluice.service.problem import OPEN, Problem, answered_as, documented
from sluice.service.requests import Cursor, Key, Limit, SessionRequest, TokenRequest
from sluice.store.service.access import SESSION_S, Principal
from sluice.store.service.links import LINK_PREFIX

router = APIRouter(prefix="/v1", tags=["access"])

_UNKNOWN = "the token is unknown or was revoked"


@router.post(
    "/session", status_code=204, response_model=None, responses=documented(), openapi_extra=OPEN
)
async def log_in(given: Given, request: Request, body: SessionRequest) -> Response:
    """Open a session for a browser: the cookie goes with each request of the page."""
    access = given.access
    is_link = body.token.startswith(LINK_PREFIX)
    who = await _proved_by(access, body.token)
    request.state.principal = who  # the record names it
    token = None if body.token.startswith(ONCE_PREFIX) else body.token
    secret = token if is_link else await access.do(access.store.open_session, token)
    if secret is None:  # revoked since
        raise Problem(401, _UNKNOWN, where="token")
    is_secure = request.url.scheme == "https"
    response = Response(status_code=204)
    names = (LINK_COOKIE, SECURE_LINK_COOKIE) if is_link else (COOKIE, SECURE_COOKIE)
    response.set_cookie(
        names[is_secure],
        secret,
        max_age=int(SESSION_S),
        path="/",
        secure=is_secure,
        httponly=True,
        samesite="strict",
    )
    return response


async def _proved_by(access: Access, secret: str) -> Principal:
    """Who logs in. Raises Problem 401."""
    if secret.startswith(ONCE_PREFIX):
        if not access.use_link(secret):
            raise Problem(401, "the login link was used, or is older than a minute", where="token",
                          hint="get another one: sluice page")  # fmt: skip
        return access.owner
    found = await access.of_token(secret)
    if found is not None:
        return found
    if secret.startswith(LINK_PREFIX):
        raise Problem(401, "the link has ended", where="token",
                      hint="ask who sent it for a new one")  # fmt: skip
    raise Problem(401, _UNKNOWN, where="token")


@router.delete(
    "/session", status_code=204, response_model=None, responses=documented(), openapi_extra=OPEN
)
async def log_out(given: Given, request: Request) -> Response:
    """End the session of this browser."""
    with suppress(Problem):
        request.state.principal = await given.access.principal(request)  # the record names it
    response = Response(status_code=204)
    for name in (COOKIE, SECURE_COOKIE, LINK_COOKIE, SECURE_LINK_COOKIE):
        secret = request.cookies.get(name)
        if secret:
            await given.access.do(given.access.store.close_session, secret)
            response.delete_cookie(name, path="/", secure=name.startswith("__Host-"))
    return response


@router.get("/whoami", response_model=None, responses={200: {"model": Who}, **documented()})
async def whoami(who: Viewer, given: Given) -> JSONResponse:
    """Who asks, what it may do and use, and what its tenant uses now."""
    return JSONResponse(
        {
            "tenant": who.tenant,
            "user": who.user,
            "role": who.role.value,
            "via": who.via,
            "shared_user": given.shared_user,
            "recorded": given.backend.is_recorded,
            "quotas": {} if who.only_job else (await given.tenants.of(who.tenant)).model_dump(),
            "used": {} if who.only_job else await given.backend.ask("used", tenant=who.tenant),
        }
    )


@router.post("/login-links", status_code=201, response_model=None,
             responses={201: {}, **documented(403)})  # fmt: skip
async def login_link(who: Admin, given: Given) -> JSONResponse:
    """A code that opens one session of the service's own account within a minute."""
    if who.via != "socket":
        raise Problem(403, "only the account of the service may ask for it, on its own socket")
    return JSONResponse({"code": given.access.new_link()}, status_code=201)


@router.get("/tokens", response_model=None, responses={200: {}, **documented()})
async def tokens(_who: Admin, given: Given) -> JSONResponse:
    """All tokens, without their secrets."""
    found = await given.access.do(given.access.store.tokens)
    return JSONResponse(listed([token_row(row) for row in found], len(found)))


@router.post("/tokens", status_code=201, response_model=None,
             responses={201: {"model": NewToken}, **documented(409)})  # fmt: skip
async def new_token(
    _who: Admin, given: Given, body: TokenRequest, _key: Key = None
) -> JSONResponse:
    """A new token; its secret is shown this once. A name is taken once, so a repetition fails."""
    with answered_as(409, "NAME"):
        token = await given.access.do(given.access.store.create, body.name, body.tenant, body.role)
    return JSONResponse({**body.model_dump(), "token": token}, status_code=201)


@router.delete("/tokens/{name}", status_code=204, response_model=None, responses=documented())
async def revoke(_who: Admin, given: Given, name: Annotated[str, Path(max_length=64)]) -> Response:
    """The token is worth nothing from now on; its sessions and streams end within a second."""
    with answered_as(404, "NAME"):
        await given.access.do(given.access.store.revoke, name)
    return Response(status_code=204)


@router.get("/audit", response_model=None, responses={200: {}, **documented()})
async def audit(
    _who: Admin, given: Given, limit: Limit = 100, cursor: Cursor = None
) -> JSONResponse:
    """Who did what, the newest first; refusals too."""
    place = given.place(cursor, "audit")
    before = None if place is None else int(place)
    found = await given.access.do(given.access.store.audit, before, limit)
    items = [{**row, "at": instant(row.pop("at_s"))} for row in found]
    following = given.cursor(str(items[-1]["seq"]), "audit") if len(items) == limit else None
    return JSONResponse(listed(items, None, following))
