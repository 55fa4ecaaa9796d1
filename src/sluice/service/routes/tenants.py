"""For admins: what each tenant may use, and the templates of jobs; users read the templates."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse, Response

from sluice.bootstrap.service.futures import instant
from sluice.service.answers import Written, WrittenPage, listed
from sluice.service.context import Context, Given
from sluice.service.principals import Admin, Viewer
from sluice.service.problem import Problem, answered_as, documented
from sluice.service.requests import Version, version_of
from sluice.service.templates import KIND as TEMPLATES
from sluice.service.templates import Template, check_template
from sluice.service.tenants import KIND as TENANTS
from sluice.service.tenants import Tenant
from sluice.store.service.access import Principal, check_name
from sluice.store.service.documents import VERSION, Document

router = APIRouter(prefix="/v1", tags=["access"])

NamePath = Annotated[str, Path(max_length=64, alias="name")]
_WRITTEN: dict[int | str, dict[str, Any]] = {200: {"model": Written}, **documented(403, 412)}


@router.get("/tenants", response_model=None,
            responses={200: {"model": WrittenPage}, **documented(403)})  # fmt: skip
async def tenants(_who: Admin, given: Given) -> JSONResponse:
    """The tenants that an admin has set limits for; others have none."""
    return JSONResponse(await _listed(given, TENANTS))


@router.put("/tenants/{name}", response_model=None, responses=_WRITTEN)
async def set_tenant(
    who: Admin, given: Given, name: NamePath, body: Tenant, version: Version = None
) -> JSONResponse:
    """Set the limits of a tenant; all that is left out is without a limit."""
    found = await _write(given, who, TENANTS, name, body.model_dump(), version)
    given.tenants.forget()
    return found


@router.delete("/tenants/{name}", status_code=204, response_model=None,
               responses=documented(403))  # fmt: skip
async def free_tenant(who: Admin, given: Given, name: NamePath) -> Response:
    """The tenant has no limits any more."""
    await _remove(given, who, TENANTS, name)
    given.tenants.forget()
    return Response(status_code=204)


@router.get("/templates", response_model=None,
            responses={200: {"model": WrittenPage}, **documented()})  # fmt: skip
async def templates(_who: Viewer, given: Given) -> JSONResponse:
    """The jobs that can be submitted by name and arguments."""
    return JSONResponse(await _listed(given, TEMPLATES))


@router.put("/templates/{name}", response_model=None, responses=_WRITTEN)
async def set_template(
    who: Admin, given: Given, name: NamePath, body: Template, version: Version = None
) -> JSONResponse:
    """Write a template, or a new version of it."""
    check_template(body)
    return await _write(given, who, TEMPLATES, name, body.model_dump(exclude_none=True), version)


@router.delete("/templates/{name}", status_code=204, response_model=None,
               responses=documented(403))  # fmt: skip
async def drop_template(who: Admin, given: Given, name: NamePath) -> Response:
    """It can be submitted no more; jobs of it go on."""
    await _remove(given, who, TEMPLATES, name)
    return Response(status_code=204)


# --- parts --------------------------------------------------------------------------------------


async def _listed(given: Context, kind: str) -> dict[str, Any]:
    found = await given.access.do(given.access.store.documents.newest, kind)
    return listed([row_of(one) for one in found], len(found))


async def _write(
    given: Context, who: Principal, kind: str, name: str, content: dict[str, Any],
    version: str | None,
) -> JSONResponse:  # fmt: skip
    with answered_as(422, "NAME"):
        check_name(name, "NAME")
    documents, number = given.access.store.documents, version_of(version)
    with answered_as(412, VERSION):
        made = await given.access.do(documents.write, kind, name, content, who.user, number)
    return JSONResponse(row_of(made), headers={"ETag": f'"{made.version}"'})


async def _remove(given: Context, who: Principal, kind: str, name: str) -> None:
    documents = given.access.store.documents
    if await given.access.do(documents.find, kind, name) is None:
        raise Problem(404, f"there is no {kind} {name!r:.60}", where="name",
                      hint=f"GET /v1/{kind}s lists them")  # fmt: skip
    await given.access.do(documents.write, kind, name, None, who.user)


def row_of(document: Document) -> dict[str, Any]:
    """A document as the interface shows it."""
    return {
        "name": document.name,
        "version": document.version,
        "author": document.author,
        "made_at": instant(document.made_at_s),
        **document.content,
    }
