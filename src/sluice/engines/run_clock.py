"""The clock of one live run: seconds since its start, over all its lives, never backwards."""

from __future__ import annotations

import time
from collections.abc import Callable


class RunClock:
    """Seconds since the start of the run. An engine is handed the same clock as its driver.

    monotonic: where seconds come from; tests hand in their own.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self.continue_from(0.0)

    def continue_from(self, at_s: float) -> None:
        """It is `at_s` now: 0 at the start; after a pause the last instant of the journal, and the
        pause itself where attempts went on.
        """
        self._zero_s = self._monotonic() - at_s

    def now_s(self) -> float:
        """The instant, in seconds since the start of the run."""
        return self._monotonic() - self._zero_s
