"""Where the journal of a cluster that goes on is cut: a new segment begins with an opening.

A journal that grows for months cannot be replayed from its start. After so many rows or so long,
and when the driver is stopped in order, a segment begins that holds what all rows before had led
to; a driver that starts then reads this segment only. Source: service spec, section 4.1.

The cut falls between two turns of the driver: there the journal, the scheduler and what users were
answered say the same. It waits while the output of a job that is over is not in its place yet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sluice.core.record.opening import opening_of
from sluice.engines.driver_state import DriverState
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.store.database import StoreUnavailable
from sluice.store.journal import Journal
from sluice.store.rows import RunHeader

SEGMENT_ROWS = 500_000
SEGMENT_S = 86400.0
_AGAIN_S = 60.0  # after a disk did not take a segment


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLimits:
    """How long a segment grows: in rows, and in seconds of the cluster's clock."""

    rows: int = SEGMENT_ROWS
    age_s: float = SEGMENT_S


class SegmentSource(Protocol):
    """Where segments come from."""

    def saved(self, unsettled: Collection[JobId]) -> Mapping[str, Any]:
        """The facts to know of users and their jobs when the segment is read, as plain JSON.

        unsettled: jobs that have come, and whose output is neither committed nor removed.
        """

    def next(self) -> tuple[Path, RunHeader]:
        """The folder of a new segment, without a journal, and its header. Raises
        StoreUnavailable.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOpening:
    """The state that the segments before had led to.

    scheduler: as `opening_of` makes it.  driver: of `DriverState`.  users: of the `SegmentSource`.
    """

    scheduler: str
    driver: Mapping[str, Any]
    users: Mapping[str, Any]

    def line(self) -> str:
        """The JSON line for the journal."""
        return json.dumps({"scheduler": self.scheduler, "driver": self.driver, "users": self.users})

    @classmethod
    def of(cls, line: str) -> SegmentOpening:
        """From the text of its row."""
        return cls(**json.loads(line))


class SegmentCutter:
    """Cuts the journal of one life of a driver. source: None for a run, which is one segment."""

    def __init__(
        self,
        journal: Journal,
        driver_state: DriverState,
        source: SegmentSource | None,
        limits: SegmentLimits,
        on_message: Callable[[str], None],
    ) -> None:
        self._journal = journal
        self._driver_state = driver_state
        self._source = source
        self._limits = limits
        self._on_message = on_message
        self._is_amid = True  # until the first turn is over
        self._again_s = 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Inside, what the journal has and what the driver knows may differ."""
        self._is_amid = True
        yield
        self._is_amid = False  # not after an interruption

    def cut_when_due(self, now_s: float) -> None:
        """Begin a new segment if this one is long or old enough."""
        since_s = now_s - self._driver_state.opened_at_s
        is_due = self._journal.rows >= self._limits.rows or since_s >= self._limits.age_s
        if is_due and now_s >= self._again_s:
            self.cut()

    def cut(self) -> None:
        """Begin a new segment, if anything has happened in this one and nothing is half done."""
        source, state = self._source, self._driver_state
        if source is None or self._is_amid or state.ended() or not state.events_since_opening:
            return
        with self.turn():
            try:
                opening = SegmentOpening(
                    scheduler=opening_of(state.scheduler),
                    driver=state.saved(),
                    users=source.saved(state.unsettled.keys()),
                )
                self._journal.go_on_in(*source.next(), opening.line())
            except InvalidInput as error:
                self._on_message(f"the journal stays one segment: {error}")
                self._source = None
            except StoreUnavailable as error:
                self._on_message(f"no new segment of the journal yet: {error}")
                self._again_s = state.state.now_s + _AGAIN_S
            else:
                state.opened()
