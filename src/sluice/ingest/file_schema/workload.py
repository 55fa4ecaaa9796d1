"""The whole file."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from sluice.ingest.file_schema.clusters import ClusterShape, PoolShape, QueueShape
from sluice.ingest.file_schema.fields import Shape, Version
from sluice.ingest.file_schema.jobs import JobShape
from sluice.ingest.file_schema.planning import PlanningShape
from sluice.model.workload import JOBS_MAX

_PART = "a name, as `sluice simulate --help` lists them"


class SchedulerShape(Shape):
    """The scheduler of a workload: a preset, and parts that differ from it."""

    preset: str | None = Field(None, description="a preset by name, or a file that holds one")
    tasks: str | None = Field(None, description="a task policy: a name, or FILE.py:Class")
    release: str | None = Field(None, description="a release policy: a name, or FILE.py:Class")
    admission: str | None = Field(None, description="an admission policy: a name, or FILE.py:Class")
    order: str | None = Field(None, description=_PART)
    goals: str | None = Field(None, description=_PART)
    slots: str | None = Field(None, description=_PART)
    copies: str | None = Field(None, description=_PART)
    data: str | None = Field(None, description=_PART)
    machines: str | None = Field(None, description=_PART)
    settings: dict[str, Any] | None = Field(
        None, description="a mapping of settings, as in {goals.guard: 0.4}"
    )


class WorkloadShape(PlanningShape):
    """A workload file: cluster, pools, jobs, settings, and what planning needs."""

    model_config = ConfigDict(title="Sluice workload file")

    version: Version = Field(
        description="1, the version of this format: start the file with `version: 1`"
    )
    cluster: ClusterShape | None = Field(
        None, description="a mapping as in {map_slots: 57, reduce_slots: 19}"
    )
    pools: list[PoolShape] | None = Field(None, description="a list of pools")
    queues: list[QueueShape] | None = Field(None, description="a list of queues")
    jobs: list[JobShape] | None = Field(
        None, max_length=JOBS_MAX, description=f"a list of at most {JOBS_MAX} jobs"
    )
    scheduler: SchedulerShape | None = Field(
        None, description="a mapping as in {order: ltrf, slots: lent}"
    )
    settings: dict[str, Any] | None = Field(
        None, description="a mapping of settings, as in {heartbeat_s: 3}"
    )
