"""A service on a full disk pauses: it launches nothing, keeps reports in memory, and goes on later.

What runs meanwhile goes on. Nothing that was not journaled counts, so nothing is decided either.
Source: service spec, section 4.1.
"""

from __future__ import annotations

from sluice.core.events import Event
from sluice.engines.base import Engine
from sluice.engines.intake import Intake
from sluice.engines.progress import Watcher
from sluice.engines.run_clock import RunClock
from sluice.store.database import StoreFull

RETRY_S = 5.0
REPORTS_MAX = 50_000


class Pause:
    """A pause in one life of a driver. intake: refuses what users ask for meanwhile."""

    def __init__(self, engine: Engine, intake: Intake, clock: RunClock, watcher: Watcher) -> None:
        self._engine = engine
        self._intake = intake
        self._clock = clock
        self._watcher = watcher
        self._reports: list[Event] = []
        self._is_on = False

    def __call__(self, error: StoreFull) -> None:
        """Wait until the write is to be tried again. Raises the error for too many reports."""
        if not self._is_on:
            self._is_on = True
            self._intake.pause(str(error))
            self._watcher.on_message(f"paused, and tries again every {RETRY_S:.0f} s: {error}")
        until_s = self._clock.now_s() + RETRY_S
        while (left_s := until_s - self._clock.now_s()) > 0:
            self._reports += self._engine.events(left_s)
            if len(self._reports) > REPORTS_MAX:
                raise error

    def reports(self) -> list[Event]:
        """Return the reports of the engine during a pause that is over now."""
        if not self._is_on:
            return []
        self._is_on = False
        self._intake.resume()
        self._watcher.on_message("there is room on the disk again: goes on")
        reports, self._reports = self._reports, []
        return reports
