"""A workload: everything one file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sluice.model.classes import CapacityPrices, JobClass
from sluice.model.cluster import Cluster, Pool
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.model.limits import PlanLimits
from sluice.model.machines import VmShape
from sluice.model.prices import Prices

JOBS_MAX = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Cluster, pools, jobs and settings, as one immutable value.

    cluster: None where the file leaves it out and the verb needs none.
    pools: the named ones, in file order; a job in no named pool has a pool of its own.
    prices, limits, vm: what planning works with; None where the file does not tell.
    classes, capacity_prices: what capacity planning works with.
    settings: `settings:` of the file, dotted keys, values as read (bool, int, float, str, list).
    folder: the folder that relative paths start from.
    notes: of one made from logs, what they do not tell and what was chosen instead.
    """

    cluster: Cluster | None
    jobs: tuple[Job, ...]
    pools: tuple[Pool, ...] = ()
    prices: Prices | None = None
    limits: PlanLimits | None = None
    vm: VmShape | None = None
    classes: tuple[JobClass, ...] = ()
    capacity_prices: CapacityPrices | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    source: str = "workload"
    folder: str = "."
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for job in self.jobs:
            if job.job_id in seen:
                raise InvalidInput(
                    f"job id {job.job_id!r} stands twice", where="jobs", hint="name each job once"
                )
            seen.add(job.job_id)

    @property
    def is_from_logs(self) -> bool:
        """Whether it was made from logs, so that there is no file to mend."""
        return bool(self.notes)

    def required_cluster(self) -> Cluster:
        """The cluster; raises InvalidInput naming the field where there is none."""
        if self.cluster is None:
            hint = "add `cluster: {map_slots: ..., reduce_slots: ...}`"
            if self.is_from_logs:
                hint = "give map_slots and reduce_slots by --from-log-set"
            raise InvalidInput("cluster is missing", where=self.source, hint=hint)
        return self.cluster
