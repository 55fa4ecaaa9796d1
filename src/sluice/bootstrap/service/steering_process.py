"""The process that steers a cluster: `python -m sluice.bootstrap.service.steering_process`.

At each interval it asks the policies for their decisions, and makes them. It may be killed at any
time; the next one compares with the cluster. `serve status` and operators ask it by its socket.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

from sluice.bootstrap.service.config import segment_config
from sluice.bootstrap.service.futures import instant
from sluice.bootstrap.service.messages import Message, MessageServer, say
from sluice.bootstrap.steering.rounds import SteeringRounds
from sluice.engines.yarn.rest import ResourceManagerRest
from sluice.model.errors import EngineUnavailable, InvalidInput, SluiceError
from sluice.store.database import StoreUnavailable, store_errors
from sluice.store.rows import header_and_end
from sluice.store.run_lock import RunLock
from sluice.store.service.places import ServicePlace

_LOOK_S = 0.1


class SteeringProcess:
    """The rounds of one service, and what is asked about them."""

    def __init__(self, place: ServicePlace) -> None:
        """Raises EngineUnavailable where another one steers; InvalidInput."""
        segment = place.segments()[-1]
        options = segment_config(segment, header_and_end(segment)[0]).steering
        if options is None:
            raise InvalidInput("it steers no cluster", where="service", hint="start the service")
        self._options = options
        self._stops: list[int] = []
        place.make_steering()
        self._lock = RunLock(place.steering)
        self._rounds = SteeringRounds(
            ResourceManagerRest(options.address, options.user),
            place.steering,
            applies=options.apply,
            rate=options.rate,
            stops=lambda: bool(self._stops),
        )
        self._as_of: str | None = None
        self._server = MessageServer(place.steering_socket, self._answer)

    def run(self) -> None:
        """Steer until SIGTERM."""
        signal.signal(signal.SIGTERM, lambda number, _: self._stops.append(number))
        self._server.start()
        while not self._stops:
            again_s = time.monotonic() + self._options.every_s
            self._rounds.go_round(self._options.policies)
            self._as_of = instant(time.time())
            while not self._stops and time.monotonic() < again_s:
                time.sleep(_LOOK_S)
        if self._options.undo_at_stop:
            self._rounds.take_back("the service stops")
        self._lock.release()

    def _answer(self, _: Message) -> Message:
        """Say how it steers, and what it has decided last, the newest first."""
        undo, newest = self._rounds.undo, list(self._rounds.record.newest)
        found: dict[str, Any] = {
            "pid": os.getpid(),
            "options": self._options.document(),
            "as_of": self._as_of,
            "problems": dict(self._rounds.problems),
            "undo": str(undo.path) if undo.path.exists() else None,
            "decisions": newest[::-1],
        }
        return found


def main() -> int:
    """Steer as the newest segment has it. Returns the exit status of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    place = ServicePlace()
    try:
        process = SteeringProcess(place)
        with store_errors(place.steering):
            process.run()
    except SluiceError as error:
        say(f"error: {error}")
        return 3 if isinstance(error, EngineUnavailable | StoreUnavailable) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
