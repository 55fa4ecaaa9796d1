"""A workload: the content of one workload file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sluice.model.classes import CapacityPrices, JobClass
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.limits import PlanLimits
from sluice.model.machines import VmShape
from sluice.model.members import Member
from sluice.model.prices import Prices
from sluice.model.queues import Pool, Queue
from sluice.model.slot_kind import SlotKind
from sluice.model.vm_pools import VmPools

JOBS_MAX = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedJob:
    """How a job ran according to its log.

    recorded_s: from submission to its end; None if the log does not hold it.
    slots: what it had, by kind; empty if the log does not list its tasks.
    outside_s: time in which none of its tasks ran: waiting, start-up, the driver's work.
    profile: the name of the job or application, which is that of its class in `classes`.
    """

    recorded_s: float | None
    slots: Mapping[SlotKind, int] = field(default_factory=dict)
    outside_s: float = 0.0
    profile: str = ""


_SOURCE_SHOWN = 80  # characters of a name


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Workload:
    """Cluster, pools, jobs and settings, as one immutable value.

    cluster: None if the file has none; some commands do not need it.
    pools: the named pools, in file order; a job without a named pool has a pool of its own.
    prices, limits, vm: input of `plan`; None if the file has none.
    classes, capacity_prices: input of `capacity`.  vm_pools: input of `pools`.
    capacity, capacities, members: input of `share`; None and empty if the file has none.
    scheduler: `scheduler:` of the file: names of policies and parts, and `settings`.
    settings: `settings:` of the file, dotted keys, values as read (bool, int, float, str, list).
    folder: base folder of relative paths.
    recorded: by job, how it ran, for a workload made from logs.
    notes: for a workload made from logs, what the logs lack and which values are used instead.
    """

    cluster: Cluster | None
    jobs: tuple[Job, ...]
    pools: tuple[Pool, ...] = ()
    prices: Prices | None = None
    limits: PlanLimits | None = None
    vm: VmShape | None = None
    classes: tuple[JobClass, ...] = ()
    capacity_prices: CapacityPrices | None = None
    vm_pools: VmPools | None = None
    capacity: float | None = None
    capacities: Mapping[str, float] = field(default_factory=dict)
    members: tuple[Member, ...] = ()
    scheduler: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    source: str = "workload"
    folder: str = "."
    recorded: Mapping[JobId, RecordedJob] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """At a glance: where it comes from, and how much there is."""
        nodes = 0 if self.cluster is None else len(self.cluster.nodes)
        tasks = sum(job.tasks for job in self.jobs)
        source = (
            self.source if len(self.source) <= _SOURCE_SHOWN else f"…{self.source[-_SOURCE_SHOWN:]}"
        )
        counts = ((len(self.jobs), "job"), (tasks, "task"), (nodes, "node"))
        said = ", ".join(f"{number} {noun}{'' if number == 1 else 's'}" for number, noun in counts)
        return f"<Workload {source!r}: {said}>"

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for job in self.jobs:
            if job.job_id in seen:
                raise InvalidInput(
                    f"job id {job.job_id!r} is used twice",
                    where="jobs",
                    hint="give each job its own id",
                )
            seen.add(job.job_id)
        self._name_resources_alike()

    def _name_resources_alike(self) -> None:
        """Give all demands and capacities the other resources of each other, so that they add."""
        nodes = () if self.cluster is None else self.cluster.nodes
        # Most tasks ask for what others ask for: a demand is looked at once.
        demands = {phase.demand for job in self.jobs for phase in job.phases}
        found = {name for node in nodes for name in node.capacity.other_names}
        found.update(name for demand in demands for name in demand.other_names)
        names = tuple(sorted(found))
        if not names:
            return
        if self.cluster is not None:
            object.__setattr__(self, "cluster", self.cluster.with_names(names))
        changed = {one: alike for one in demands if (alike := one.with_names(names)) != one}
        if changed:  # else 100,000 jobs would be copied for nothing
            object.__setattr__(self, "jobs", tuple(job.with_demands(changed) for job in self.jobs))

    @property
    def queues(self) -> tuple[Queue, ...]:
        """The queues of the tree for long-term sharing, in file order."""
        return tuple(pool.queue for pool in self.pools if pool.queue is not None)

    @property
    def is_from_logs(self) -> bool:
        """Whether it was made from logs, so that there is no workload file to fix."""
        return bool(self.notes)

    @property
    def has_demands(self) -> bool:
        """Whether a task demands resources."""
        return any(not phase.demand.work.is_zero for job in self.jobs for phase in job.phases)

    def required_cluster(self) -> Cluster:
        """Return the cluster. Raises InvalidInput if there is none."""
        if self.cluster is None:
            hint = "add `cluster: {map_slots: ..., reduce_slots: ...}`"
            if self.is_from_logs:
                hint = "give map_slots and reduce_slots by --from-log-set"
            raise InvalidInput("cluster is missing", where=self.source, hint=hint)
        return self.cluster
