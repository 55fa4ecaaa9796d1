"""What was run before: runs of jobs, their phases, and what the tasks of a phase took.

Every log format becomes these values, and so do Sluice's own runs; profiles, predictions and
replays are made of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from sluice.model.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTask:
    """One attempt that ended well. Instants in seconds since the run was submitted.

    fetched_at_s: when a task that shuffles had all its input; None where nobody wrote it down.
    """

    started_at_s: float
    finished_at_s: float
    fetched_at_s: float | None = None
    node: str | None = None
    input_bytes: int = 0

    @property
    def length_s(self) -> float:
        """Launch to finish."""
        return self.finished_at_s - self.started_at_s


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPhase:
    """Tasks between two barriers: a map or reduce phase, or a stage.

    kind: "map" for tasks that read input, "reduce" for those that read a shuffle.
    tasks: attempts that ended well; failed: those that did not (killed ones are not counted).
    avg_s, max_s: launch to finish of the former. Bytes and records are sums over them.
    timeline: the tasks one by one where the log tells them, in order of task number; else empty.
    after: positions of the phases whose output this one reads.
    """

    name: str
    kind: str
    tasks: int
    avg_s: float
    max_s: float
    failed: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    shuffle_read_bytes: int = 0
    shuffle_write_bytes: int = 0
    input_records: int = 0
    output_records: int = 0
    cpu_s: float | None = None
    rss_bytes_max: int | None = None
    timeline: tuple[PastTask, ...] = ()
    after: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        where = f"phase {self.name!r}"
        if self.tasks < 1:
            raise InvalidInput(f"tasks is {self.tasks}", where=where, hint="leave out the phase")
        if not 0 <= self.avg_s <= self.max_s < math.inf:
            raise InvalidInput(
                f"avg_s is {self.avg_s} and max_s is {self.max_s}",
                where=where,
                hint="give finite seconds with avg_s at most max_s",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One job that ran, as a log tells it.

    run_id: unique within its source, such as `job_1329348432655_0001`.
    profile: the name under which runs of one job are gathered: the job's or application's.
    source: the format that it was read from: jhist, rumen, sls, spark, swim, swf, batsim, sluice.
    submitted_at_s: seconds of the epoch the log uses; None where it tells none.
    slots: how many tasks could run side by side, by kind of phase, where that is known.
    machine_type: what it ran on, where known.  configuration: settings that bear on its speed.
    notes: what the log did not hold, and what was chosen instead, a sentence each.
    """

    run_id: str
    profile: str
    source: str
    phases: tuple[PastPhase, ...]
    succeeded: bool = True
    submitted_at_s: float | None = None
    elapsed_s: float | None = None
    queue: str | None = None
    machine_type: str | None = None
    slots: Mapping[str, int] = field(default_factory=dict)
    configuration: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def input_bytes(self) -> int:
        """What its phases read that no phase of it wrote."""
        return sum(phase.input_bytes for phase in self.phases)
