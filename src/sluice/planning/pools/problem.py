"""The jobs of a pool problem, and the clusters that each can run on, cheapest first.

Times are planning times: the prediction plus its error margin, rounded up to whole ticks. Costs
stay exact. Source: Cura, spec section 4 (1), (2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Prediction, VmRequest
from sluice.model.vm_pools import UNKNOWN_S, VmPools, VmType
from sluice.planning.pools.free_vms import latest_start_s
from sluice.planning.pools.packing import servers_needed

_TIES = 1e-12  # relative; costs nearer than this are equal, their difference is rounding
_TICKS = 1e-9  # relative; a length this little above a whole number of ticks is that number


class Option(NamedTuple):
    """One cluster that a job can get.

    level: rank of the cost among the job's options; equal costs have one level.
    length_s: planned time in whole ticks.  run_s: planning time, exact (t_run).
    predicted_s: without the error margin (t_pred).
    """

    level: int
    cost_server_s: float
    pool: int
    vms: int
    length_s: float
    run_s: float
    predicted_s: float


@dataclass(frozen=True, kw_only=True)
class PoolJob:
    """A job with its options, cheapest first. order: its place in the input, which breaks ties.

    arrives_at_s: the first tick at or after its submission.  start_by_s: its latest start, in
    addition to what its deadline allows.  names_cluster: the customer chose its one option.
    after: orders of the jobs that must have ended before it arrives.  start_within_s: the longest
    wait from its arrival or from the end of the last of those to its start, where the instant is
    not known yet; only an optimum has such jobs.
    """

    job_id: str
    order: int
    submitted_at_s: float
    arrives_at_s: float
    deadline_at_s: float
    options: tuple[Option, ...]
    customer: str = ""
    start_by_s: float = math.inf
    names_cluster: bool = False
    after: tuple[int, ...] = ()
    start_within_s: float = math.inf

    def arriving(self, at_s: float) -> PoolJob:
        """The job when the last one that it runs after has ended: it is submitted then."""
        moved_s = max(0.0, at_s - self.arrives_at_s)
        return replace(
            self,
            submitted_at_s=max(self.submitted_at_s, at_s),
            arrives_at_s=self.arrives_at_s + moved_s,
            start_by_s=self.start_by_s + moved_s,
        )

    def saved(self) -> dict[str, Any]:
        """Its fields as JSON values, None for an instant that never comes."""
        return {
            "arrives_at_s": self.arrives_at_s,
            "deadline_at_s": _finite(self.deadline_at_s),
            "job_id": self.job_id,
            "names_cluster": self.names_cluster,
            "options": [list(one) for one in self.options],
            "order": self.order,
            "start_by_s": _finite(self.start_by_s),
            "submitted_at_s": self.submitted_at_s,
        }

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> PoolJob:
        """The job of which `saved` gave the fields."""
        fields = dict(saved)
        fields["options"] = tuple(Option(*one) for one in saved["options"])
        for name in ("deadline_at_s", "start_by_s"):
            fields[name] = math.inf if saved[name] is None else saved[name]
        return cls(**fields)

    @cached_property
    def shortest_s(self) -> float:
        """Planned time of the fastest option; infinite without options."""
        return min((one.length_s for one in self.options), default=math.inf)

    @cached_property
    def latest_starts_s(self) -> tuple[float, ...]:
        """The last start of each option."""
        return tuple(
            min(latest_start_s(self.deadline_at_s, one.length_s), self.start_by_s)
            for one in self.options
        )

    @cached_property
    def first_of_level(self) -> tuple[int, ...]:
        """The place of the first option of each level of cost."""
        return tuple(
            place
            for place, one in enumerate(self.options)
            if not place or one.level != self.options[place - 1].level
        )

    @cached_property
    def latest_start_s(self) -> float:
        """The last start from which the fastest option meets the deadline."""
        return min(latest_start_s(self.deadline_at_s, self.shortest_s), self.start_by_s)

    def best_alone(self, boot_s: float = 0.0, sizes: Sequence[int] | None = None) -> Option | None:
        """The cheapest option that meets the deadline if it starts at once, or after booting.

        sizes: of the pools that it must fit into, all idle; None for pools of any size.
        Ties: shorter, then fewer VMs, then type order. Source: spec section 4, "optimal".
        """
        room_s = self.deadline_at_s - self.arrives_at_s - boot_s
        room_s += _TICKS * max(1.0, abs(self.deadline_at_s))
        fits = [
            one
            for one in self.options
            if one.length_s <= room_s and (sizes is None or one.vms <= sizes[one.pool])
        ]
        return min(fits, key=lambda one: (one.level, one.length_s, one.vms, one.pool), default=None)


ActualTime = Callable[[PoolJob, Option], float]  # seconds that a job really runs


def _finite(at_s: float) -> float | None:
    return at_s if at_s < math.inf else None


@dataclass(frozen=True, kw_only=True)
class PoolProblem:
    """Servers, pools and jobs. tick_s: length of a tick; 0 for exact times."""

    pools: VmPools
    server_units: float
    types: tuple[VmType, ...]
    jobs: tuple[PoolJob, ...]
    tick_s: float = 1.0

    def run_length_s(self, option: Option) -> float:
        """How long a job runs if its prediction is right, in whole ticks."""
        return max(ticks_up(option.predicted_s, self.tick_s), self.tick_s)

    def actual_length_s(
        self, job: PoolJob, option: Option, actual_s: ActualTime | None
    ) -> tuple[float, float]:
        """How long a job really runs: exact, and in whole ticks. actual_s: None as predicted."""
        exact_s = option.predicted_s if actual_s is None else actual_s(job, option)
        return exact_s, max(ticks_up(exact_s, self.tick_s), self.tick_s)

    @cached_property
    def servers(self) -> int:
        """Servers of the pools: those that were given, or as many as first fit takes."""
        if self.pools.servers is not None:
            return self.pools.servers
        return servers_needed(self.sizes, self.units, self.server_units)

    @cached_property
    def has_bounded_waits(self) -> bool:
        """Whether a job must start within a given time after others."""
        return any(job.start_within_s < math.inf for job in self.jobs)

    @cached_property
    def in_order(self) -> tuple[PoolJob, ...]:
        """The jobs, each behind those that it runs after."""
        jobs = {job.order: job for job in self.jobs}
        before = {order: jobs.keys() & set(job.after) for order, job in jobs.items()}
        return tuple(jobs[order] for order in TopologicalSorter(before).static_order())

    @property
    def units(self) -> tuple[float, ...]:
        """Resource units of one VM of each type."""
        return tuple(one.units for one in self.types)

    @property
    def sizes(self) -> tuple[int, ...]:
        """VMs of each pool."""
        return tuple(one.vms for one in self.types)


def ticks_up(length_s: float, tick_s: float) -> float:
    """The length in whole ticks, rounded up.

    >>> ticks_up(131.57, 1.0), ticks_up(250.0, 1.0), ticks_up(131.57, 0.0)
    (132.0, 250.0, 131.57)
    """
    if not tick_s:
        return length_s
    ticks = length_s / tick_s
    return math.ceil(ticks - _TICKS * max(1.0, ticks)) * tick_s


def options_of(
    predictions: Iterable[Prediction],
    types: Sequence[VmType],
    server_units: float,
    *,
    error: float = 0.0,
    tick_s: float = 1.0,
) -> tuple[Option, ...]:
    """The options by cost, then VMs, then type. Predictions for other VM types are left out.

    error: margin of the predictions that have none of their own.
    """
    pools = {one.type_id: pool for pool, one in enumerate(types)}
    made = []
    for one in predictions:
        pool = pools.get(one.vm_type)
        if pool is None:
            continue
        run_s = one.time_s * (1 + (error if one.error is None else one.error))
        cost = run_s * one.vms * types[pool].units / server_units
        made.append(
            Option(0, cost, pool, one.vms, max(ticks_up(run_s, tick_s), tick_s), run_s, one.time_s)
        )
    made.sort(key=lambda one: (one.cost_server_s, one.vms, one.pool))
    level, ranked = 0, []
    for place, option in enumerate(made):
        if place and option.cost_server_s > made[place - 1].cost_server_s * (1 + _TIES):
            level += 1
        ranked.append(option._replace(level=level))
    return tuple(ranked)


def problem_of(
    jobs: Sequence[Job], pools: VmPools, *, tick_s: float = 1.0, source: str = "workload"
) -> PoolProblem:
    """The problem of these jobs. Raises InvalidInput that names job and field."""
    if not 0 <= tick_s < math.inf:
        raise InvalidInput(
            f"{tick_s} is not a tick", where="--tick", hint="give seconds, 0 or more"
        )
    if pools.server_units is None:
        raise InvalidInput(
            "server_units is missing", where=source, hint="give the resource units of one server"
        )
    if not pools.vm_types:
        raise InvalidInput(
            "vm_types is missing",
            where=source,
            hint="give types as in {id: VM-1, units: 2, vms: 40}",
        )
    _check_packing(pools, pools.server_units, source)
    orders = {job.job_id: order for order, job in enumerate(jobs)}
    return PoolProblem(
        pools=pools,
        server_units=pools.server_units,
        types=pools.vm_types,
        jobs=tuple(
            replace(
                _pool_job(job, order, pools, pools.server_units, tick_s, source),
                after=tuple(orders[one] for one in job.after),
            )
            for order, job in enumerate(jobs)
        ),
        tick_s=tick_s,
    )


def start_by_s(request: VmRequest | None, arrives_at_s: float) -> float:
    """The latest start of a job that names its cluster; infinite without a limit."""
    if request is None or request.start_within_s is None:
        return math.inf
    return arrives_at_s + request.start_within_s


def _check_packing(pools: VmPools, server_units: float, source: str) -> None:
    needed = servers_needed(
        [one.vms for one in pools.vm_types], [one.units for one in pools.vm_types], server_units
    )
    if pools.servers is not None and needed > pools.servers:
        raise InvalidInput(
            f"servers is {pools.servers}, and the pools of vm_types take {needed}",
            where=source,
            hint="give more servers, or fewer vms",
        )


def _pool_job(
    job: Job, order: int, pools: VmPools, server_units: float, tick_s: float, source: str
) -> PoolJob:
    where = f"{source}, job {job.job_id!r}"
    deadline_at_s, request = job.deadline_at_s, job.vm_request
    if deadline_at_s is None:
        if request is None:
            raise InvalidInput(
                "deadline_at_s is missing", where=where, hint="give deadline_at_s or deadline_s"
            )
        deadline_at_s = math.inf
    if not job.predictions:
        raise InvalidInput(
            "predictions is missing", where=where, hint='give them as in {VM-1: {"10": 250}}'
        )
    known = {one.type_id for one in pools.vm_types}
    for one in job.predictions:
        if one.vm_type not in known:
            raise InvalidInput(
                f"predictions names the unknown type {one.vm_type!r}",
                where=where,
                hint=f"name one of vm_types: {', '.join(sorted(known))}",
            )
        if one.time_s >= UNKNOWN_S:
            raise InvalidInput(
                "limit_s is missing, and nothing else says how long it runs",
                where=where,
                hint="give limit_s, the seconds that it runs at most",
            )
    arrives_at_s = ticks_up(job.submitted_at_s, tick_s)
    return PoolJob(
        job_id=str(job.job_id),
        order=order,
        submitted_at_s=job.submitted_at_s,
        arrives_at_s=arrives_at_s,
        deadline_at_s=deadline_at_s,
        options=options_of(
            job.predictions, pools.vm_types, server_units,
            error=pools.prediction_error, tick_s=tick_s,
        ),
        customer=job.customer or "",
        start_by_s=start_by_s(request, arrives_at_s),
        names_cluster=request is not None,
    )  # fmt: skip
