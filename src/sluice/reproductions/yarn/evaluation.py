"""Our model of YARN against Hadoop's own schedulers, on the same traces.

The traces ran in Hadoop's Scheduler Load Simulator 3.3.5, which feeds the code of CapacityScheduler
and FairScheduler with simulated nodes and masters in real time. Source: YARN spec, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluice.api.simulate import Scheduling, simulated
from sluice.model.ids import JobId
from sluice.policies.yarn.policy import YarnTasks
from sluice.reproductions.runner import Cell, Evaluation, Experiment, Maker, OnProgress
from sluice.reproductions.yarn.recorded import (
    NODES,
    PLAIN,
    PREEMPTION,
    SCHEDULERS,
    RecordedTrace,
    Span,
    mean_makespan_s,
    mean_spans,
    recorded_traces,
)

MAKESPAN_WITHIN = 5.0  # percent
JOB_WITHIN = 15.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """One trace under one scheduler: spans by run of Hadoop, and by seed of our model.

    queues: of the jobs.
    """

    hadoop: Sequence[Mapping[JobId, Span]]
    seeds: Sequence[Mapping[JobId, Span]]
    queues: Mapping[JobId, str]

    @property
    def ours(self) -> Mapping[JobId, Span]:
        """The mean of our seeds."""
        return mean_spans(self.seeds)

    @property
    def makespan_off(self) -> float:
        """Percent by which our mean makespan exceeds that of Hadoop's runs."""
        return _off(mean_makespan_s(self.seeds), mean_makespan_s(self.hadoop))

    @property
    def queues_off(self) -> Mapping[str, float]:
        """Percent by which the mean response times of queues exceed those with Hadoop."""
        ours, expected = self.ours, mean_spans(self.hadoop)
        totals: dict[str, tuple[float, float]] = {}
        for job_id, queue in self.queues.items():
            mine, theirs = totals.get(queue, (0.0, 0.0))
            times = ours[job_id].response_s, expected[job_id].response_s
            totals[queue] = mine + times[0], theirs + times[1]
        return {queue: _off(*both) for queue, both in totals.items()}

    @property
    def jobs_off(self) -> Mapping[JobId, float]:
        """Percent by which our response times exceed the mean of Hadoop's runs."""
        expected = mean_spans(self.hadoop)
        return {
            job_id: _off(span.response_s, expected[job_id].response_s)
            for job_id, span in self.ours.items()
        }

    @property
    def repeats_off(self) -> Sequence[float]:
        """Percent by which response times of Hadoop's later runs exceed those of its first one."""
        first, *later = self.hadoop
        return [
            _off(run[job_id].response_s, span.response_s)
            for run in later
            for job_id, span in first.items()
        ]

    @property
    def likely(self) -> int:
        """Jobs whose response time is as near to that of one of our seeds as it must be."""
        expected = mean_spans(self.hadoop)
        return sum(
            min(abs(_off(one[job_id].response_s, span.response_s)) for one in self.seeds)
            <= JOB_WITHIN
            for job_id, span in expected.items()
        )


def compared(trace: RecordedTrace, scheduler: str, seeds: int) -> Comparison:
    """A trace under "capacity" or "fair", with the seeds 0 .. seeds - 1 of the heartbeats."""
    runs = [modelled(trace, scheduler, seed) for seed in range(seeds)]
    queues = {job.job_id: str(job.pool) for job in trace.workload().jobs}
    return Comparison(trace.spans(scheduler), runs, queues)


def modelled(trace: RecordedTrace, scheduler: str, seed: int) -> Mapping[JobId, Span]:
    """Return the spans of the jobs of a trace in our model."""
    workload = trace.workload()
    tasks = YarnTasks(YarnTasks.Settings(heartbeat_seed=seed), tree=trace.tree(scheduler))
    simulated(workload, Scheduling(tasks=tasks))
    return {
        job.job_id: Span(job.submitted_at_s, tasks.ended_at_s[job.job_id])
        for job in workload.jobs
    }  # fmt: skip


def _off(ours: float, theirs: float) -> float:
    return 100 * (ours / theirs - 1)


def _maker(name: str, title: str, schedulers: Sequence[str], kind: str = PLAIN) -> Maker:
    def make(seeds: int, on_progress: OnProgress) -> Experiment:
        rows: list[Mapping[str, Cell]] = []
        found: list[Comparison] = []
        for trace in recorded_traces(kind):
            for scheduler in schedulers:
                on_progress(f"{scheduler}: {trace.name}")
                one = compared(trace, scheduler, seeds)
                found.append(one)
                by = f", {scheduler}" if len(schedulers) > 1 else ""
                rows.append({"trace": f"{trace.name}{by}", **_row(one)})
        return Experiment(
            name=name,
            title=f"{title} and our model of it",
            setup=(
                "Each trace: Hadoop's Scheduler Load Simulator 3.3.5 in real time, and our model"
                f" with {seeds} seeds of the nodes' heartbeats. Response times are until the master"
                " has unregistered, in seconds."
            ),
            rows=tuple(rows),
            why=_why(found),
        )

    make.__doc__ = f"{title} on recorded traces, and our model of it."
    return make


def _row(one: Comparison) -> Mapping[str, Cell]:
    jobs = list(one.jobs_off.values())
    worst: float = max(jobs, key=abs)
    worst_queue: float = max(one.queues_off.values(), key=abs)
    repeats = one.repeats_off
    return {
        "jobs": len(jobs),
        "makespan, Hadoop": round(mean_makespan_s(one.hadoop), 1),
        "makespan, ours": round(mean_makespan_s(one.seeds), 1),
        "off, %": round(one.makespan_off, 1),
        "jobs within 15 %": sum(abs(each) <= JOB_WITHIN for each in jobs),
        "mean job off, %": round(_mean_size(jobs), 1),
        "Hadoop's repeat, %": round(_mean_size(repeats), 1) if repeats else None,
        "worst job off, %": round(worst, 1),
        "worst queue off, %": round(worst_queue, 1),
        "within 15 % of a seed": one.likely,
    }


def _mean_size(off: Sequence[float]) -> float:
    return math.fsum(map(abs, off)) / len(off)


def _why(found: Sequence[Comparison]) -> str:
    jobs = [abs(each) for one in found for each in one.jobs_off.values()]
    near = sum(each <= JOB_WITHIN for each in jobs)
    makespans = sum(abs(one.makespan_off) <= MAKESPAN_WITHIN for one in found)
    likely = sum(one.likely for one in found)
    why = (
        f"{makespans} of {len(found)} makespans are within {MAKESPAN_WITHIN:g} %, and {near} of"
        f" {len(jobs)} jobs within {JOB_WITHIN:g} % of the mean of our seeds, {likely} within that"
        " of one of the seeds. Heartbeats have no fixed instants, so that one run of Hadoop is one"
        " of several that may be, as one seed of ours is"
    )
    again = [one for one in found if one.repeats_off]
    if not again:
        return f"{why}."
    repeats = [each for one in again for each in one.repeats_off]
    ours = [each for one in again for each in one.jobs_off.values()]
    return (
        f"{why}: on the {len(again)} traces that it ran"
        f" twice, a job of the second run is {_mean_size(repeats):.1f} % off the first one in the"
        f" mean, and one of ours {_mean_size(ours):.1f} % off the mean of both."
    )


EVALUATION = Evaluation(
    name="yarn",
    title="YARN's own schedulers as the referee of our model",
    timed={
        "capacity": (_maker("capacity", "CapacityScheduler", ("capacity",)), 0.2),
        "fair": (_maker("fair", "FairScheduler", ("fair",)), 0.2),
        "preemption": (_maker("preemption", "YARN's preemption", SCHEDULERS, PREEMPTION), 0.1),
        "nodes": (_maker("nodes", "YARN's wait for a node", SCHEDULERS, NODES), 0.1),
    },
    left_out={
        "racks": "The simulator's nodes are in one rack, so that no container waits for another."
    },
    seeds=5,
)
