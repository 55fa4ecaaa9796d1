"""Jobs of a log in the Standard Workload Format, as simulators of parallel job scheduling read it.

They differ from `sluice.ingest.logs.swf` in what counts as a job and in its processors, so that
each evaluation has its own rule here. The log of KTH comes with Sluice.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from sluice.ingest.logs.reading import log_lines
from sluice.ingest.logs.report import Report
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

KTH_PROCESSORS = 100
_COLUMNS_READ = (0, 1, 3, 4, 7, 8)
_UNKNOWN_RUN_S = 10


class RigidJob(NamedTuple):
    """A job of a log. limit_s: the run time that its user asked for; below 0 for unknown."""

    job: int
    submitted_at_s: int
    run_s: int
    processors: int
    limit_s: int


class _Line(NamedTuple):
    """The columns that are read; -1 for unknown."""

    job: int
    submitted_at_s: int
    run_s: int
    allocated: int
    requested: int
    limit_s: int


def kth_sp2() -> tuple[RigidJob, ...]:
    """The 28,481 jobs of KTH-SP2 that Gaussier et al. simulate, with the processors asked for.

    Jobs that ran for 0 s, or that are larger than the machine, are left out. A job ends at its
    limit.
    """
    packed = files("sluice.reproductions.backfill").joinpath("kth_sp2.swf.xz").read_bytes()
    lines = enumerate(lzma.decompress(packed).splitlines(), start=1)
    return tuple(
        RigidJob(one.job, one.submitted_at_s, min(one.run_s, one.limit_s), processors, one.limit_s)
        for one in _lines(lines)
        for processors in (one.requested if one.requested > 0 else one.allocated,)
        if one.run_s > 0 and one.limit_s > 0 and 0 < processors <= KTH_PROCESSORS
    )


def widest_jobs(path: Path) -> tuple[RigidJob, ...]:
    """The jobs of a log by number, as Zhang et al. read it: the larger count of processors counts.

    Jobs that ran for 0 s are left out. An unknown limit is the run time, as the log has it; an
    unknown run time is 10 s. Raises InvalidInput.
    """
    found = [
        RigidJob(
            one.job,
            one.submitted_at_s,
            one.run_s if one.run_s > 0 else _UNKNOWN_RUN_S,
            max(one.allocated, one.requested),
            one.run_s if one.limit_s < 0 else one.limit_s,
        )
        for one in _lines(log_lines(path, Report()))
        if one.run_s
    ]
    return tuple(sorted(found))


def _lines(numbered: Iterable[tuple[int, bytes]]) -> Iterator[_Line]:
    """The lines of a log that are jobs. Raises InvalidInput for one that is not."""
    for number, line in numbered:
        cells = line.split()
        if not cells or cells[0].startswith(b";"):
            continue
        try:
            yield _Line(*(int(cells[column]) for column in _COLUMNS_READ))
        except (ValueError, IndexError) as error:
            raise InvalidInput(
                "not a job of the Standard Workload Format",
                where=f"--log, line {number}",
                hint="give a log with 18 numbers on each line",
            ) from error


def workload(jobs: Iterable[RigidJob], processors: int) -> Workload:
    """The jobs on a machine: each is a phase of equal tasks that start together."""
    machine = Node(node_id=NodeId("machine"), map_slots=processors)
    return Workload(
        cluster=Cluster(nodes=(machine,), is_totals=True),
        jobs=tuple(_job(one) for one in jobs),
        source="sluice reproduce backfill",
    )


def _job(one: RigidJob) -> Job:
    phase = Phase(
        name="job",
        kind=SlotKind.MAP,
        tasks=one.processors,
        lengths=ConstantLengths(one.run_s, one.run_s),
    )
    return Job(
        job_id=JobId(str(one.job)),
        pool=PoolId("all"),
        phases=(phase,),
        submitted_at_s=one.submitted_at_s,
        gang=one.processors,
        limit_s=one.limit_s if one.limit_s > 0 else None,
    )
