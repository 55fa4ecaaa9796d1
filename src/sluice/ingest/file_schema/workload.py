"""The whole file."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from sluice.ingest.file_schema.clusters import ClusterShape, PoolShape, QueueShape
from sluice.ingest.file_schema.fields import Shape, Version, key, required
from sluice.ingest.file_schema.jobs import JobShape
from sluice.ingest.file_schema.planning import PlanningShape
from sluice.model.workload import JOBS_MAX

_PART = "a name, as `sluice simulate --help` lists them"


class SchedulerShape(Shape):
    """The scheduler of a workload: a preset, and parts that differ from it."""

    preset: str | None = key("a preset by name, or a file that holds one")
    tasks: str | None = key("a task policy: a name, or FILE.py:Class")
    release: str | None = key("a release policy: a name, or FILE.py:Class")
    admission: str | None = key("an admission policy: a name, or FILE.py:Class")
    order: str | None = key(_PART)
    goals: str | None = key(_PART)
    slots: str | None = key(_PART)
    copies: str | None = key(_PART)
    data: str | None = key(_PART)
    machines: str | None = key(_PART)
    settings: dict[str, Any] | None = key("a mapping of settings, as in {goals.guard: 0.4}")


class WorkloadShape(PlanningShape):
    """A workload file: cluster, pools, jobs, settings, and what planning needs."""

    model_config = ConfigDict(title="Sluice workload file")

    version: Version = required("1, the version of this format: start the file with `version: 1`")
    cluster: ClusterShape | None = key("a mapping as in {map_slots: 57, reduce_slots: 19}")
    pools: list[PoolShape] | None = key("a list of pools")
    queues: list[QueueShape] | None = key("a list of queues")
    jobs: list[JobShape] | None = key(f"a list of at most {JOBS_MAX} jobs", max_length=JOBS_MAX)
    scheduler: SchedulerShape | None = key("a mapping as in {order: ltrf, slots: lent}")
    settings: dict[str, Any] | None = key("a mapping of settings, as in {heartbeat_s: 3}")
