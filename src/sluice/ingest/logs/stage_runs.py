"""Runs of named stages, read task by task: what several formats make of their records.

A record says that a task of a stage ran from an instant to another. Where the format has the graph,
it says the parents of a stage, too; where it has none, a stage comes after those that had ended
when it began, which a replay finds out by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Final

from sluice.ingest.logs.names import printable
from sluice.model.history import PastPhase, PastRun, PastTask

RUNS_MAX: Final = 100_000
NAME_MAX: Final = 200


@dataclass(slots=True)
class Stage:
    """times: of its tasks, (start, end) in seconds of the epoch.  parents: by name.

    tasks: how many these were, where one pair of instants is of all of them; 0 where it is not.
    """

    times: list[tuple[float, float]] = field(default_factory=list)
    parents: tuple[str, ...] = ()
    failed: int = 0
    tasks: int = 0

    @property
    def began_s(self) -> float:
        return min(start_s for start_s, _ in self.times)


@dataclass(slots=True)
class StageRun:
    """One run while its records are read. stages: by name; those without a task are left out.

    is_failed: it has no phases then, for nothing of it ended well.  is_partial: it is left out.
    """

    run_id: str
    profile: str
    queue: str = ""
    submitted_at_s: float = math.inf
    ended_at_s: float = -math.inf
    is_failed: bool = False
    is_partial: bool = False
    stages: dict[str, Stage] = field(default_factory=dict)

    def lasted(self, start_s: float, end_s: float) -> None:
        """Extend the run to an interval, in seconds of the epoch."""
        self.submitted_at_s = min(self.submitted_at_s, start_s)
        self.ended_at_s = max(self.ended_at_s, end_s)

    def stage(self, name: str) -> Stage:
        """The stage of that name, made at its first record."""
        return self.stages.setdefault(name, Stage())

    @property
    def has_run(self) -> bool:
        """Whether the run failed, or has a stage that ran."""
        return not self.is_partial and (self.is_failed or any(self._ran()))

    def _ran(self) -> list[str]:
        return [name for name, stage in self.stages.items() if stage.times]

    def past_run(
        self, source: str, notes: tuple[str, ...], slots: Mapping[str, int] | None = None
    ) -> PastRun:
        """The run, its stages in an order in which each comes behind its parents."""
        is_known = self.submitted_at_s < math.inf
        began_s = self.submitted_at_s if is_known else 0.0
        names = [] if self.is_failed else _in_order({one: self.stages[one] for one in self._ran()})
        place = {name: at for at, name in enumerate(names)}
        return PastRun(
            run_id=printable(self.run_id),
            profile=printable(self.profile),
            source=source,
            phases=tuple(_phase(name, self.stages[name], began_s, place) for name in names),
            succeeded=not self.is_failed,
            submitted_at_s=began_s if is_known else None,
            elapsed_s=self.ended_at_s - began_s if is_known else None,
            queue=printable(self.queue) if self.queue else None,
            slots=dict(slots or {}),
            notes=notes,
        )


def _in_order(stages: Mapping[str, Stage]) -> list[str]:
    """By start, but behind their parents. What waits for itself in a circle comes last."""
    parents = {
        name: {one for one in stage.parents if one in stages and one != name}
        for name, stage in stages.items()
    }
    children: dict[str, list[str]] = {name: [] for name in stages}
    for name, before in parents.items():
        for one in sorted(before):
            children[one].append(name)
    began_s = {name: stage.began_s for name, stage in stages.items()}
    waits = {name: len(before) for name, before in parents.items()}
    ready = [(began_s[name], name) for name, count in waits.items() if not count]
    heapify(ready)
    found: list[str] = []
    while ready:
        _, name = heappop(ready)
        found.append(name)
        for child in children[name]:
            waits[child] -= 1
            if not waits[child]:
                heappush(ready, (began_s[child], child))
    circular = [name for name, count in waits.items() if count]
    return found + sorted(circular, key=lambda name: (began_s[name], name))


def _phase(name: str, stage: Stage, began_s: float, place: Mapping[str, int]) -> PastPhase:
    lengths_s = [end_s - start_s for start_s, end_s in stage.times]
    single = [] if stage.tasks else sorted(stage.times)
    parents = {place[one] for one in stage.parents if one in place}
    return PastPhase(
        name=printable(name),
        kind="map",
        tasks=stage.tasks or len(stage.times),
        failed=stage.failed,
        avg_s=min(math.fsum(lengths_s) / len(lengths_s), max(lengths_s)),
        max_s=max(lengths_s),
        timeline=tuple(
            PastTask(started_at_s=start_s - began_s, finished_at_s=end_s - began_s)
            for start_s, end_s in single
        ),
        after=tuple(sorted(one for one in parents if one < place[name])),
    )
