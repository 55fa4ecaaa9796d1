"""The form of every refusal: `application/problem+json` with what, where and a hint (RFC 9457).

Source: service spec, section 6.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from sluice.model.errors import EngineUnavailable, Infeasible, InvalidInput, SluiceError
from sluice.store.database import StoreFull, StoreUnavailable

PROBLEM_JSON = "application/problem+json"
RETRY_S = 1
FULL_S = 5  # of a full disk
_KEY_WHERE = "--idempotency-key"
OPEN: dict[str, Any] = {"security": []}  # as `openapi_extra` of a route that needs no token
_HINTS = {
    400: "send JSON, in UTF-8",
    401: "send `Authorization: Bearer TOKEN`; an admin makes one: sluice serve tokens create",
    403: "ask an admin for a token of another role",
    404: "GET /v1/openapi.json lists the paths",
    405: "the header `Allow` names the methods",
    500: "the log of the service has the request id",
}


class ProblemBody(BaseModel):
    """The body of every answer that is an error."""

    type: str
    title: str
    status: int
    what: str
    where: str
    hint: str
    request_id: str
    retry_after_s: Annotated[int | None, Field(description="seconds; of 429, 503 and 507")] = None


class Problem(Exception):
    """An answer that is an error. headers: that it has besides its own."""

    def __init__(
        self,
        status: int,
        what: str,
        *,
        where: str = "",
        hint: str = "",
        retry_after_s: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(what)
        self.status = status
        self.what, self.where = what, where
        self.hint = hint or _HINTS.get(status, "")
        self.retry_after_s = retry_after_s
        self.headers = dict(headers or {})


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How the routes' statuses are documented; those that every route may answer with included."""
    content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
    common = (400, 401, 403, 404, 405, 413, 415, 422, 429, 431, 503, 507)
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in sorted({*common, *statuses})
    }


def answered(problem: Problem, request_id: str) -> JSONResponse:
    """The problem as an answer."""
    body = ProblemBody(
        type="about:blank",
        title=HTTPStatus(problem.status).phrase,
        status=problem.status,
        what=problem.what,
        where=problem.where,
        hint=problem.hint,
        request_id=request_id,
        retry_after_s=problem.retry_after_s,
    )
    headers = dict(problem.headers)
    if problem.retry_after_s is not None:
        headers["Retry-After"] = str(problem.retry_after_s)
    return JSONResponse(
        body.model_dump(exclude_none=True),
        status_code=problem.status,
        headers=headers,
        media_type=PROBLEM_JSON,
    )


@contextmanager
def answered_as(status: int, where: str, shown: str = "") -> Iterator[None]:
    """Answer with this status what the store says of the thing that a request names.

    shown: how the request names it; by default as the store does, in small letters.
    """
    try:
        yield
    except InvalidInput as error:
        if error.where != where:
            raise
        raise Problem(status, error.what, where=shown or where.lower(), hint=error.hint) from None


def problem_of(error: SluiceError) -> Problem:
    """The problem that an error of the service is."""
    if isinstance(error, InvalidInput):
        is_conflict = error.where == _KEY_WHERE
        where = "Idempotency-Key" if is_conflict else error.where
        return Problem(409 if is_conflict else 422, error.what, where=where, hint=error.hint)
    if isinstance(error, StoreFull):
        return Problem(507, str(error), hint="ask again with more room", retry_after_s=FULL_S)
    if isinstance(error, EngineUnavailable | StoreUnavailable):
        return Problem(503, str(error), hint="ask again", retry_after_s=RETRY_S)
    status = 422 if isinstance(error, Infeasible) else 503
    return Problem(status, str(error), hint="`sluice serve verify` says more")


def handle_problems(app: FastAPI) -> None:
    """Let every error of the app be answered by a problem."""

    async def of_problem(request: Request, error: Exception) -> JSONResponse:
        problem, request_id = _problem(request, error), request.state.request_id
        if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            said = "".join(traceback.format_exception(error))
            sys.stderr.write(f"request {request_id} has failed\n{said}")
            sys.stderr.flush()
        return answered(problem, request_id)

    for kind in (Problem, SluiceError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, of_problem)


def _problem(request: Request, error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case SluiceError():
            return problem_of(error)
        case RequestValidationError():
            return _invalid(error)
        case HTTPException(status_code=405):
            allowed = ", ".join(sorted(_methods(request)))
            return Problem(405, "the path has no such method", headers={"Allow": allowed})
        case HTTPException():
            is_missing = error.status_code == HTTPStatus.NOT_FOUND
            what = "there is nothing at this path" if is_missing else error.detail
            return Problem(error.status_code, what, where=request.url.path)
    return Problem(500, "the service has failed at this request")


async def check_query(request: Request) -> None:
    """Raise Problem for a field of the query that the route does not have."""
    fields = get_flat_params(request.scope["route"].dependant)
    elsewhere = params.Path | params.Header | params.Cookie  # fields of a model are no params.Query
    known = {one.alias for one in fields if not isinstance(one.field_info, elsewhere)}
    for name in request.query_params:
        if name not in known:
            hint = f"it has {', '.join(sorted(known))}" if known else "leave it out"
            raise Problem(422, "the path has no such query field", where=f"query.{name:.60}",
                          hint=hint)  # fmt: skip


def _methods(request: Request) -> set[str]:
    """The methods of the path. Starlette names those of the first route that has it."""
    found: set[str] = set()
    for path, methods in request.app.openapi()["paths"].items():
        if compile_path(path)[0].match(request.url.path):
            found |= {method.upper() for method in methods}
    return found or {"GET"}  # of the page


def _invalid(error: RequestValidationError) -> Problem:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Problem(400, "the body is not JSON", where="body")
    where = ".".join(str(part) for part in first["loc"])
    said = first["msg"].removeprefix("Value error, ")  # of our own checks
    return Problem(422, f"{said[:1].lower()}{said[1:]}", where=where,
                   hint="GET /v1/openapi.json shows what is taken")  # fmt: skip
