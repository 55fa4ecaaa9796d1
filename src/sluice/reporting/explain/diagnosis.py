"""The answer to "why did it take that long": a run's anatomy, its replays, and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sluice.core.explain.why import Why
from sluice.estimate.run_anatomy import RunAnatomy
from sluice.reporting.charts.chart import Chart
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.explain.chart import diagnosis_chart
from sluice.reporting.explain.map_spills import MapSpills
from sluice.reporting.formatting import duration, share

ADVICE_MAX = 5
_STAGES_SHOWN = 3
_FIELDS = """
    run_id profile source succeeded notes slots anatomy.recorded_s replayed_s replay_error
    anatomy.waited_s anatomy.driver_s anatomy.startup_s anatomy.ending_s anatomy.idle_share
    failed_attempts gc_s spilled_bytes spilled_records map_spills remote_tasks deadline_s late_s
    anatomy.critical_path anatomy.skew what_if advice
"""  # of a diagnosis, in the order of its document


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """A replay with a multiple of the slots. s: its time.

    efficiency: speed-up over the run's own slots, by the factor: 1 is as good as it gets for a
    factor above 1.
    """

    slots_factor: float
    slots: int
    s: float
    efficiency: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A change, the seconds that it saves in a replay of the run, and how that was computed."""

    what: str
    saves_s: float
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """The job in a replay of its whole log in the queues of a configuration.

    ended: how it ended there.  waited: why it waited, or tasks of it; None if nothing did.
    """

    config: str
    ended: Why
    waited: Why | None

    def document(self) -> dict[str, Any]:
        """Part of the JSON document."""
        return document_of(self, "config ended.waited_s waited_for=waited")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Diagnosis(NotebookView):
    """Where the time of a run went, and what would make it shorter.

    replayed_s: what a simulation of the run with its own slots takes.
    failed_attempts: attempts of tasks that failed; their time is not part of any stage.
    gc_s: time that tasks collected garbage.  spilled_bytes: written for lack of memory.
    spilled_records: written by MapReduce, which writes each record once in a map and once in a
    reduce if memory suffices.  map_spills: those of the maps, with their prediction.
    remote_tasks: that ran on another node than their input.
    Each is None if the log does not hold it.
    deadline_s: after submission; None if the job had none, or if its source does not record it.
    succeeded: whether it ended well.  notes: what its log lacks.
    queued: the job in other queues; None if that was not asked for.
    """

    run_id: str
    profile: str
    source: str
    slots: int
    failed_attempts: int
    anatomy: RunAnatomy
    replayed_s: float
    what_if: tuple[WhatIf, ...]
    advice: tuple[Advice, ...]
    deadline_s: float | None = None
    gc_s: float | None = None
    spilled_bytes: int | None = None
    spilled_records: int | None = None
    map_spills: MapSpills | None = None
    remote_tasks: int | None = None
    succeeded: bool = True
    notes: tuple[str, ...] = ()
    queued: QueuedJob | None = None

    @property
    def late_s(self) -> float | None:
        """Seconds by which the run missed its deadline, 0 if it met it; None without one."""
        if self.deadline_s is None:
            return None
        return max(0.0, self.anatomy.recorded_s - self.deadline_s)

    @property
    def replay_error(self) -> float:
        """The replayed time over the recorded one, less 1."""
        recorded_s = self.anatomy.recorded_s
        return self.replayed_s / recorded_s - 1 if recorded_s else 0.0

    @property
    def driver_share(self) -> float:
        """The share of the recorded time in which no task ran."""
        recorded_s = self.anatomy.recorded_s
        return self.anatomy.driver_s / recorded_s if recorded_s else 0.0

    def in_short(self) -> Iterator[str]:
        """Three sentences: where the time went, on which stages, and what would help most."""
        anatomy = self.anatomy
        waited = f"waited {duration(anatomy.waited_s)}, " if anatomy.waited_s else ""
        driver = f"no task ran for {duration(anatomy.driver_s)}, " if anatomy.driver_s else ""
        yield (
            f"took {duration(anatomy.recorded_s)}: {waited}{driver}"
            f"slots idle {share(anatomy.idle_share)}"
        )
        steps = sorted(anatomy.critical_path, key=lambda step: -step.s)[:_STAGES_SHOWN]
        path = ", ".join(f"{step.stage} {duration(step.s)}" for step in steps)
        uneven = ""
        for skew in anatomy.skew[:1]:
            uneven = f"; the longest task of {skew.stage} takes {skew.ratio:.1f} times the median"
        yield f"critical path: {path}{uneven}"
        if not self.advice:
            yield "no single change would save time"
        for best in self.advice[:1]:
            yield f"what would save most: {best.what} ({duration(best.saves_s)})"

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        queued = {} if self.queued is None else {"queues": self.queued.document()}
        return document_of(self, _FIELDS) | queued

    def plot(self) -> Chart:
        """Where the time went, other numbers of slots, and what changes would save."""
        return diagnosis_chart(self.document())
