"""Settings of real runs. Source: engines spec, section 8 (limits of real attempts)."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.core.settings import TimeoutSettings
from sluice.model.settings import number, whole


@dataclass(frozen=True, kw_only=True)
class TaskLimitSettings(TimeoutSettings):
    """Limits of each attempt; one that exceeds a limit is ended and has failed."""

    task_wall_s: float | None = number(
        None, "seconds after which a real attempt is ended", above=0.0
    )
    task_output_bytes_max: int | None = whole(
        None, "bytes that a real attempt may write", low=1, high=2.0**60
    )
    task_memory_bytes_max: int | None = whole(
        None, "bytes of memory that a real attempt may use", low=1, high=2.0**60
    )
