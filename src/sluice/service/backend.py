"""How the web process asks the driver and the follower, without waiting in a thread."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sluice.bootstrap.service.messages import LINE_BYTES_MAX, decoded, no_service, raise_fault
from sluice.model.errors import EngineUnavailable
from sluice.service.problem import Problem
from sluice.store.service.places import ServicePlace, short_path

ASK_S_MAX = 90.0
QUOTES_MAX = 32  # submissions and quotes at a time; each may wait for a forecast
Answer = dict[str, Any]


class Backend:
    """The processes of one service."""

    is_recorded = False  # whether runs of the past are shown, and nothing can be changed

    def __init__(self, place: ServicePlace) -> None:
        self.place = place
        self._quoting = 0

    async def ask_driver(self, message: Mapping[str, Any]) -> Answer:
        """Raises the error that the driver found, or EngineUnavailable."""
        return await _asked(self.place.driver_socket, message)

    async def ask_steering(self) -> Answer | None:
        """How a cluster of others is changed; None where it is not, or not at present."""
        with suppress(EngineUnavailable):
            return await _asked(self.place.steering_socket, {"do": "status"})
        return None

    async def ask_in_turn(self, message: Mapping[str, Any]) -> Answer:
        """Do what `ask_driver` does, for what may wait for a forecast.

        Raises Problem 503 for too many.
        """
        if self._quoting >= QUOTES_MAX:
            raise Problem(503, f"{QUOTES_MAX} submissions wait already", hint="ask again",
                          retry_after_s=1)  # fmt: skip
        self._quoting += 1
        try:
            return await self.ask_driver(message)
        finally:
            self._quoting -= 1

    async def ask(self, question: str, **given: object) -> Answer:
        """The follower's answer to a question by name. Raises as `ask_driver`."""
        try:
            return await _asked(self.place.follower_socket, {"do": question, **given})
        except EngineUnavailable:
            raise_fault(self.place)
            raise


async def _asked(path: Path, message: Mapping[str, Any]) -> Answer:
    try:
        async with asyncio.timeout(ASK_S_MAX):
            with short_path(path) as name:
                reader, writer = await asyncio.open_unix_connection(name, limit=LINE_BYTES_MAX)
            try:
                writer.write(json.dumps(message).encode() + b"\n")
                await writer.drain()
                line = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError) as error:
        raise no_service() from error
    return decoded(line)
