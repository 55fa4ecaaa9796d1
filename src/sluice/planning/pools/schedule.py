"""The outcome of each job of a pool problem, and the metrics of the whole."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sluice.model.vm_pools import PoolChange
from sluice.planning.pools.packing import servers_needed
from sluice.planning.pools.problem import Option, PoolJob, PoolProblem
from sluice.planning.pools.server_power import PowerUse


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOutcome:
    """One job. option, started_at_s, finished_at_s: None if it never ran.

    cost_server_s: server-seconds that it used.  why: reason if it never ran or is late.
    least_deadline_at_s: for a job that never ran, the deadline that would have been accepted.
    overrun: it ran longer than planned.
    """

    job: PoolJob
    option: Option | None = None
    started_at_s: float | None = None
    finished_at_s: float | None = None
    cost_server_s: float = 0.0
    why: str | None = None
    least_deadline_at_s: float | None = None
    is_refused: bool = False
    overrun: bool = False

    @property
    def met(self) -> bool:
        """Whether it ended by its deadline."""
        ended = self.finished_at_s
        late = 1e-9 * max(1.0, abs(self.job.deadline_at_s))
        return ended is not None and ended <= self.job.deadline_at_s + late

    @property
    def response_s(self) -> float | None:
        """End minus submission."""
        return None if self.finished_at_s is None else self.finished_at_s - self.job.submitted_at_s


@dataclass(frozen=True, kw_only=True)
class PoolSchedule:
    """The outcome of a policy. servers: that it needs (peak for per-job and dedicated).

    windows: (pool, from, to, deciding job) of the reservation windows, for charts.
    power: what shutting down servers has saved; None if they stay on.
    """

    policy: str
    problem: PoolProblem
    outcomes: tuple[PoolOutcome, ...]
    servers: int
    changes: tuple[PoolChange, ...] = ()
    windows: tuple[tuple[int, float, float, str], ...] = ()
    power: PowerUse | None = None

    @cached_property
    def by_id(self) -> Mapping[str, PoolOutcome]:
        """Outcomes by job id."""
        return {one.job.job_id: one for one in self.outcomes}

    @property
    def total_cost_server_s(self) -> float:
        """Server-seconds of all jobs that ran."""
        return math.fsum(one.cost_server_s for one in self.outcomes)

    @property
    def missed(self) -> tuple[str, ...]:
        """Ids of jobs that never ran or ended late."""
        return tuple(one.job.job_id for one in self.outcomes if not one.met)

    @property
    def mean_response_s(self) -> float | None:
        """Mean over the jobs that ran."""
        responses = [one.response_s for one in self.outcomes if one.response_s is not None]
        return math.fsum(responses) / len(responses) if responses else None

    @property
    def horizon_s(self) -> float:
        """The time from the first submission to the last end."""
        ends = [one.finished_at_s for one in self.outcomes if one.finished_at_s is not None]
        if not ends:
            return 0.0
        return max(ends) - min(one.job.submitted_at_s for one in self.outcomes)

    @property
    def cost_per_job_server_s(self) -> float | None:
        """Servers times horizon over jobs."""
        return self.servers * self.horizon_s / len(self.outcomes) if self.outcomes else None

    @property
    def effective_utilisation(self) -> float | None:
        """Useful unit-seconds, without booting, over those of all servers."""
        whole = self.servers * self.horizon_s
        useful = math.fsum(
            one.option.predicted_s * one.option.vms * self.problem.units[one.option.pool]
            for one in self.outcomes
            if one.option is not None
        )
        return useful / (whole * self.problem.server_units) if whole else None

    def peak_vms(self) -> list[int]:
        """The most VMs of each type that were used at once."""
        return [max(counts, default=0) for counts in zip(*usage(self), strict=True)] or [
            0 for _ in self.problem.types
        ]


def why_never(before: str) -> str:
    """Why a job has not run that runs after this one."""
    return f"job {before!r}, which it runs after, has not run"


def usage(schedule: PoolSchedule) -> list[list[int]]:
    """VMs in use by pool, after each change, in order of time."""
    return [counts for _, counts in used_over_time(schedule.outcomes, len(schedule.problem.types))]


def used_over_time(
    outcomes: Iterable[PoolOutcome], pools: int, *, before_s: float = 0.0
) -> list[tuple[float, list[int]]]:
    """(instant, VMs in use by pool) at each change.

    before_s: VMs are held that long before a start.
    """
    changes: list[tuple[float, int, int]] = []
    for one in outcomes:
        if one.option is None or one.started_at_s is None or one.finished_at_s is None:
            continue
        changes.append((one.started_at_s - before_s, one.option.vms, one.option.pool))
        changes.append((one.finished_at_s, -one.option.vms, one.option.pool))
    changes.sort()
    counts = [0] * pools
    made: list[tuple[float, list[int]]] = []
    for place, (at_s, vms, pool) in enumerate(changes):
        counts[pool] += vms
        if place + 1 == len(changes) or changes[place + 1][0] != at_s:
            made.append((at_s, list(counts)))
    return made


def peak_servers(
    outcomes: Iterable[PoolOutcome], problem: PoolProblem, *, before_s: float = 0.0
) -> int:
    """The most servers that the VMs in use need at any instant, packed first fit."""
    seen = {
        tuple(counts)
        for _, counts in used_over_time(outcomes, len(problem.types), before_s=before_s)
    }
    return max(
        (servers_needed(counts, problem.units, problem.server_units) for counts in seen), default=0
    )
