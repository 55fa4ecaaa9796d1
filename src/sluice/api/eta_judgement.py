"""How far `eta` can be trusted: a log is replayed, and asked at random instants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

from sluice.api.eta import REPLICATIONS, REPLICATIONS_MAX
from sluice.api.simulate import simulate
from sluice.bootstrap.queues.judgement import EndedJob, judged_etas
from sluice.estimate.uncertainty import LEVEL, check_level
from sluice.ingest.logs.formats import read_log
from sluice.ingest.logs.report import LogRead
from sluice.model.arguments import checked_arguments
from sluice.model.cluster import SLOTS_MAX, Cluster, Node
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.ids import NodeId
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.reporting.eta.result import EtaJudgement

INSTANTS = 80
_INSTANTS_MAX = 10_000


@checked_arguments
def judge_eta(
    log: str | Path,
    *,
    slots: int | None = None,
    backfills: bool = True,
    level: float = LEVEL,
    replications: int = REPLICATIONS,
    instants: int = INSTANTS,
    seed: int = 0,
) -> EtaJudgement:
    """How often the intervals of `eta` hold in a log of rigid jobs, and how far off its ends are.

    The log is replayed under EASY backfilling, or in turn without `backfills`. At random instants
    at which jobs wait, each of them is asked about with the jobs that had ended by then as history.
    slots: of the cluster; by default those of the log.
    level, replications: as for `eta`.  instants: that are asked about.
    Raises InvalidInput if jobs of the log do not start as a whole, or if none ever waits.
    """
    for name, value, least, most in (
        ("replications", replications, 1, REPLICATIONS_MAX),
        ("instants", instants, 1, _INSTANTS_MAX),
        ("slots", SLOTS_MAX if slots is None else slots, 1, SLOTS_MAX),
    ):
        if not least <= value <= most:
            raise wrong_value(name, value, name, f"give {least} to {most}")
    check_level(level)
    found = read_log(log)
    workload, most = _on_slots(found, slots)
    jobs = _replayed(found, workload, "easy" if backfills else "fcfs")
    judged, asked = judged_etas(
        jobs, most, backfills=backfills, level=level, replications=replications,
        instants=instants, seed=seed,
    ) if jobs else ([], 0)  # fmt: skip
    if not judged:
        raise InvalidInput(
            f"no job waits at any instant that was tried, on {most} slots", where=str(log),
            hint="give a log of a busier cluster, or fewer slots",
        )  # fmt: skip
    return EtaJudgement(
        log=str(log),
        slots=most,
        level=level,
        jobs=len(judged),
        instants=asked,
        held=fmean(one.is_held for one in judged),
        error=median(one.error for one in judged),
        limit_error=median(one.limit_error for one in judged),
    )


def _on_slots(log: LogRead, slots: int | None) -> tuple[Workload, int]:
    """The jobs of a log on one node with all slots, and how many these are. Raises InvalidInput."""
    workload = log.workload
    if workload is None or not workload.jobs or not all(job.gang for job in workload.jobs):
        raise InvalidInput(
            f"jobs of {log.format} do not start as a whole", where=log.path,
            hint="give a log of rigid jobs, such as the output of `sacct`, or SWF",
        )  # fmt: skip
    of_log = None if workload.cluster is None else workload.cluster.slots(SlotKind.CONTAINER)
    most = slots or of_log
    if not most:
        raise InvalidInput("the slots of the cluster are missing", where=log.path, hint="give them")
    node = Node(node_id=NodeId("all"), containers=most)
    fitting = tuple(
        job for job in workload.jobs if sum(phase.tasks for phase in job.phases) <= most
    )
    return replace(workload, jobs=fitting, cluster=Cluster(nodes=(node,), is_totals=True)), most


def _replayed(log: LogRead, workload: Workload, tasks: str) -> list[EndedJob]:
    """The jobs with their instants under a policy. A user is who past runs are shared with."""
    runs = {run.run_id.partition("/")[2].partition("@")[0]: run for run in log.runs}
    jobs = []
    for job, row in zip(workload.jobs, simulate(workload, tasks=tasks).jobs, strict=True):
        run = runs.get(str(job.job_id).partition("@")[0])
        if run is None or row.started_at_s is None or row.finished_at_s is None:
            continue
        jobs.append(
            EndedJob(
                job_id=str(job.job_id),
                name=str(run.name or run.profile),
                user=str(job.customer or run.queue or ""),
                slots=max(phase.tasks for phase in job.phases),
                limit_s=job.limit_s,
                submitted_at_s=job.submitted_at_s,
                started_at_s=row.started_at_s,
                ended_at_s=row.finished_at_s,
            )
        )
    return jobs
