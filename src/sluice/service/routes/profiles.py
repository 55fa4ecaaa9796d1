"""What past runs measured."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse

from sluice.api.profiles import profiles as stored_profiles
from sluice.service.principals import Operator
from sluice.service.problem import answered_as, documented

router = APIRouter(prefix="/v1", tags=["profiles"])


# Profiles bear the names of jobs, and do not know a tenant: only who sees all jobs may see them.
@router.get("/profiles", response_model=None, responses={200: {}, **documented()})
async def profiles(_who: Operator) -> JSONResponse:
    """All profiles, as `sluice profiles --json` lists them."""
    found = await asyncio.to_thread(stored_profiles)
    return JSONResponse(found.document())


@router.get("/profiles/{name}", response_model=None, responses={200: {}, **documented()})
async def one_profile(_who: Operator, name: Annotated[str, Path(max_length=200)]) -> JSONResponse:
    """One profile with its runs."""
    with answered_as(404, "NAME"):
        found = await asyncio.to_thread(stored_profiles, name)
    return JSONResponse(found.document())
