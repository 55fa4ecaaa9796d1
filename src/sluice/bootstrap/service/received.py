"""A submission whose jobs can be run, between its reception and the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.engines.mapreduce.layout import PreparedJob
from sluice.model.job import Job


@dataclass(frozen=True, kw_only=True)
class Received:
    """Jobs that can be run. names: the id of each in the user's file.

    key, digest: as in `SubmittedWorkload`.  user, labels, held_by: as in `SubmittedJob`.
    notes: what has no effect.  quota: what the tenant may have; see `quotas`.
    """

    prepared: tuple[PreparedJob, ...]
    names: tuple[str, ...]
    tenant: str
    user: str
    labels: Mapping[str, str]
    held_by: str
    key: str | None
    digest: str
    notes: tuple[str, ...]
    quota: Mapping[str, float]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs with their phases; their instants count from the submission."""
        return tuple(each.job for each in self.prepared)
