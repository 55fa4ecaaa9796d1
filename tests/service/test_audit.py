"""The record of who did what ends at 400 days, in a web process that runs on as in a new one."""

import asyncio
import time

import pytest
from tests import skips
from tests.service.clients import Client
from tests.service.services import PATIENCE_S, serving

from sluice.store.service.access import AccessStore
from sluice.store.service.places import ServicePlace

skips.required("fastapi")
DAY_S = 86400.0


def note(store, days):
    """A line of the record that is as old as this."""
    store.note({"at_s": time.time() - days * DAY_S, "tenant": "etl", "who": "anna", "via": "token",
                "action": f"{days} days ago", "result": 201, "request_id": "r"})  # fmt: skip


def actions(rows):
    return {row["action"] for row in rows}


@pytest.mark.slow
def test_a_web_process_drops_old_lines_when_it_starts(tmp_path):
    store = AccessStore(ServicePlace(tmp_path / "home"))
    for days in (399, 401):
        note(store, days)
    store.close()

    with serving(tmp_path, "--config", "serve.yaml") as service:
        owner, end_s = Client(service, is_owner=True), time.monotonic() + PATIENCE_S
        while "401 days ago" in actions(owner.get("/v1/audit").json["items"]):
            assert time.monotonic() < end_s
            time.sleep(0.1)
        assert "399 days ago" in actions(owner.get("/v1/audit").json["items"])


def test_a_web_process_that_runs_on_drops_old_lines_again(tmp_path, monkeypatch):
    from sluice.service import principals  # needs the extra

    monkeypatch.setattr(principals, "DROP_EVERY_S", 0.01)
    access = principals.Access(ServicePlace(tmp_path))

    async def dropped_twice():
        dropping = asyncio.create_task(access.drop_old_lines())
        for days in (401, 402):
            await access.do(note, access.store, days)
            await access.do(note, access.store, 399)
            async with asyncio.timeout(PATIENCE_S):
                while len(await access.do(access.store.audit, None, 9)) > days - 400:  # noqa: ASYNC110  # lines have no event
                    await asyncio.sleep(0.01)
        dropping.cancel()
        return actions(await access.do(access.store.audit, None, 9))

    assert asyncio.run(dropped_twice()) == {"399 days ago"}
    access.close()
