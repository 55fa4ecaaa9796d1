"""Recorded runs in place of a service, for the page and the routes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from sluice.bootstrap.service.recorded import RecordedRuns
from sluice.model.errors import InvalidInput
from sluice.service.backend import Answer, Backend
from sluice.store.service.places import ServicePlace


class RecordedBackend(Backend):
    """Everything can be looked at, and nothing changed."""

    is_recorded = True

    def __init__(self, place: ServicePlace, run_id: str | None) -> None:
        super().__init__(place)
        self._runs = RecordedRuns(run_id)
        self._turn = asyncio.Lock()

    async def ask_driver(self, message: Mapping[str, Any]) -> Answer:
        if message["do"] == "status":
            return await self.ask("status")
        raise InvalidInput(
            "this page shows recorded runs, and takes no jobs",
            where="service",
            hint="start a service: sluice serve --config FILE",
        )

    async def ask(self, question: str, **given: object) -> Answer:
        async with self._turn:
            return await asyncio.to_thread(self._runs.answer, question, given)
