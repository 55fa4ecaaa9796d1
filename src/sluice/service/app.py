"""The app: its routes, its errors, and what it shares with them."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi

from sluice.service.context import Context
from sluice.service.page.shell import page_routes
from sluice.service.problem import ProblemBody, check_query, handle_problems
from sluice.service.routes import (
    about,
    access,
    cluster,
    configs,
    job_records,
    jobs,
    links,
    observed,
    plans,
    profiles,
    tenants,
    timeline,
)


def made_app(context: Context) -> FastAPI:
    """The app of one web process."""
    app = FastAPI(
        title="Sluice",
        version="v1",
        openapi_url="/v1/openapi.json",
        docs_url=None,  # they fetch scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.context, app.state.access = context, context.access
    for routes in (
        about, access, tenants, jobs, links, job_records, cluster, observed, timeline, plans,
        configs, profiles,
    ):  # fmt: skip
        app.include_router(routes.router, dependencies=[Depends(check_query)])
    app.include_router(page_routes())
    handle_problems(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # as FastAPI's documents say
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The document, with the body of every error."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, routes=app.routes,
            description="Submit jobs, and ask when they end, why they wait, and what runs.",
        )  # fmt: skip
        parts = found.setdefault("components", {})
        parts.setdefault("schemas", {})["ProblemBody"] = ProblemBody.model_json_schema()
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
        app.openapi_schema = found
    return app.openapi_schema
