"""The whole file."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from sluice.ingest.file_schema.clusters import ClusterShape, PoolShape, QueueShape
from sluice.ingest.file_schema.fields import Version
from sluice.ingest.file_schema.jobs import JobShape
from sluice.ingest.file_schema.planning import PlanningShape
from sluice.ingest.file_schema.scheduler import SchedulerShape
from sluice.model.workload import JOBS_MAX


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
