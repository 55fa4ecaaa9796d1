"""Names of attempts and their measured use."""

from __future__ import annotations

from typing import NamedTuple

from sluice.model.ids import JobId


class AttemptKey(NamedTuple):
    """Names one try of one task; `phase` is its position in the job, `attempt` counts from 1.

    A message about several alike tasks names the first of them and says how many.
    """

    job_id: JobId
    phase: int
    task: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.job_id}/{self.phase}/{self.task}/{self.attempt}"


class Usage(NamedTuple):
    """Measured use of one attempt: seconds, bytes, records. Profiles are computed from it.

    fetched: bytes that it moved over the network, by the node, or "driver", at the other end.
    spills, spilled_bytes, merge_passes: of map output with a buffer: how often it was full, the
    bytes that were written and read again until they were one file, and merges of each byte.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    rss_bytes_max: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    shuffle_bytes: int = 0
    input_records: int = 0
    output_records: int = 0
    fetched: tuple[tuple[str, int], ...] = ()
    spills: int = 0
    spilled_bytes: int = 0
    merge_passes: int = 0
