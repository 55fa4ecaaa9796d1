"""Configurations of queues: versions that admins draft, and what each would have done last week.

A draft is the file of a scheduler, as `sluice whatif` reads it: capacity-scheduler.xml,
fair-scheduler.xml, or YAML of YuniKorn or Kueue. Source: service spec, section 6, `/v1/configs`.
"""

from __future__ import annotations

import asyncio
import difflib
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from sluice.ingest.scheduler_configs.reading import queue_tree_of
from sluice.service.answers import Activated, SlowAnswer, Written, WrittenPage, listed
from sluice.service.context import Context, Given
from sluice.service.principals import Admin, Operator
from sluice.service.problem import Problem, answered_as, documented
from sluice.service.requests import ConfigRequest, Key, ReplayRequest, Version, version_of
from sluice.service.routes.tenants import row_of
from sluice.store.service.access import check_name
from sluice.store.service.documents import VERSION, Document

router = APIRouter(prefix="/v1", tags=["configs"])


class QueueFile(BaseModel):
    """The text of a file. null: the service has no queues."""

    text: str | None


class ServiceFile(BaseModel):
    """The text of a service file."""

    text: str


CONFIG = "config"
SEEDS = 5  # simulations of each side; the first is the history itself
ConfigName = Annotated[str, Path(max_length=64)]


@router.get("/configs", response_model=None,
            responses={200: {"model": WrittenPage}, **documented(403)})  # fmt: skip
async def configs(_who: Operator, given: Given) -> JSONResponse:
    """The newest version of each configuration."""
    found = await given.access.do(given.access.store.documents.newest, CONFIG)
    return JSONResponse(listed([row_of(one) for one in found], len(found)))


@router.post("/configs", status_code=201, response_model=None,
             responses={201: {"model": Written}, **documented(403, 412)})  # fmt: skip
async def write_config(
    who: Admin, given: Given, body: ConfigRequest, version: Version = None, _key: Key = None
) -> JSONResponse:
    """Write a configuration, or a new version of it. `unknown_keys` are not simulated."""
    with answered_as(422, "NAME", "name"):
        check_name(body.name, "NAME")
    tree = await asyncio.to_thread(queue_tree_of, body.text.encode(), "text")
    content = {
        "text": body.text,
        "about": body.about,
        "unknown_keys": list(tree.unknown_keys),
        "notes": list(tree.notes),
        "queues": [queue.path for queue in tree.queues],
    }
    documents, number = given.access.store.documents, version_of(version)
    with answered_as(412, VERSION):
        made = await given.access.do(documents.write, CONFIG, body.name, content, who.user, number)
    row = {**row_of(made), "diff": await _diff(given, made)}
    return JSONResponse(row, status_code=201, headers={"ETag": f'"{made.version}"'})


@router.get("/configs/{name}", response_model=None,
            responses={200: {"model": Written}, **documented(403)})  # fmt: skip
async def config(_who: Operator, given: Given, name: ConfigName) -> JSONResponse:
    """A configuration, what its newest version changed, and all versions with their authors."""
    found = await _found(given, name)
    versions = await given.access.do(given.access.store.documents.versions, CONFIG, name)
    row = {
        **row_of(found),
        "diff": await _diff(given, found),
        "versions": [
            {key: value for key, value in row_of(one).items() if key in _OF_A_VERSION}
            for one in versions
        ],
    }
    return JSONResponse(row, headers={"ETag": f'"{found.version}"'})


@router.get("/queue-file", response_model=None,
            responses={200: {"model": QueueFile}, **documented(403)})  # fmt: skip
async def queue_file(_who: Operator, given: Given) -> JSONResponse:
    """The present queues of the service as a capacity-scheduler.xml, to begin a draft with."""
    return JSONResponse(await given.backend.ask("queue_file"))


@router.get("/configs/{name}/service-file", response_model=None,
            responses={200: {"model": ServiceFile}, **documented(403)})  # fmt: skip
async def service_file(_who: Operator, given: Given, name: ConfigName) -> JSONResponse:
    """The file of the service with the queues of a configuration, in YAML."""
    found = await _found(given, name)
    return JSONResponse(
        await given.backend.ask("service_file", text=found.content["text"], name=name)
    )


@router.post("/configs/{name}/replays", status_code=202, response_model=None,
             responses={202: {"model": SlowAnswer}, **documented(403)})  # fmt: skip
async def replay_history(
    who: Admin, given: Given, name: ConfigName, body: ReplayRequest, _key: Key = None
) -> JSONResponse:
    """Return what jobs of a span would have waited under this configuration, as `sluice whatif`.

    Compared with `against`, another configuration, or with the present queues of the service.
    """
    new = await _found(given, name)
    history = await given.backend.ask(
        "history", start=body.start.isoformat(), end=body.to.isoformat()
    )
    old = history["queues_xml"]
    if body.against is not None:
        old = (await _found(given, body.against)).content["text"]
    files = {"new": new.content["text"], "old": old}
    words = ["whatif", "--file", "history.json", "--config", "new", "--seeds", str(SEEDS)]
    if old is not None:
        words += ["--against", "old"]
    for pool, queue in body.map.items():
        words += ["--map", f"{pool}={queue}"]
    made = given.calculations.start(who, words, history["workload"], files=files)
    where = f"/v1/answers/{made.answer_id}"
    return JSONResponse(made.document(), status_code=202, headers={"Location": where})


@router.post("/configs/{name}/activation", response_model=None,
             responses={200: {"model": Activated}, **documented(403, 409, 412)})  # fmt: skip
async def activate(
    who: Admin, given: Given, name: ConfigName, version: Version = None, _key: Key = None
) -> JSONResponse:
    """Put a configuration into effect: from now on its weights and limits hold.

    `If-Match`: the version that is meant; another one is refused. Queues keep their parents, their
    orders, and what they have used. It outlives a restart, until the file of the service changes.
    """
    found, number = await _found(given, name), version_of(version)
    if number is not None and number != found.version:
        raise Problem(412, f"the newest version is {found.version}", where="If-Match",
                      hint=f"look at it again: GET /v1/configs/{name}")  # fmt: skip
    message = {
        "do": "activate",
        "text": found.content["text"],
        "config": name,
        "version": found.version,
        "by": who.user,
    }
    with answered_as(409, "queues"):
        answer = await given.backend.ask_driver(message)
    return JSONResponse({"name": name, "version": found.version, **answer})


# --- parts --------------------------------------------------------------------------------------

_OF_A_VERSION = frozenset({"version", "author", "made_at", "about"})


async def _found(given: Context, name: str) -> Document:
    found: Document | None = await given.access.do(given.access.store.documents.find, CONFIG, name)
    if found is None:
        raise Problem(404, f"there is no configuration {name!r:.60}", where="name",
                      hint="GET /v1/configs lists them")  # fmt: skip
    return found


async def _diff(given: Context, made: Document) -> str:
    """Return what a version changes in the one before; "" for the first."""
    documents = given.access.store.documents
    before = await given.access.do(documents.find, CONFIG, made.name, made.version - 1)
    if before is None:
        return ""
    old, new = (one.content["text"].splitlines() for one in (before, made))
    from_file, to_file = (f"{made.name} {one.version}" for one in (before, made))
    return "\n".join(difflib.unified_diff(old, new, from_file, to_file, lineterm=""))
