"""How much of a live run is done, and how long the rest will take.

The work of a phase is its predicted slot-seconds, if the lengths of all phases are known from past
runs. Otherwise it is the input bytes of its job, because each phase passes over the data once. A
job that has no known input counts as its tasks, one byte each.

The time left comes from the prediction at first, and from the measured rate as work gets done: the
estimate is the mean of both, weighted by the share that is done. Early rates are poor, because
nodes start and the first tasks report nothing yet; late predictions are poor, because the machine
may be slower than before. The rate counts from the first report, so that a resumed run does not
take for its own what was done before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sluice.engines.progress import JobProgress, Progress, Watcher
from sluice.model.ids import JobId
from sluice.model.job import Job

_MEASURED_MIN = 0.01  # share done since the first report, from which on a rate is measured

PhaseWork = tuple[float, ...]


def works_of(jobs: Iterable[Job], input_bytes: Mapping[JobId, int]) -> dict[JobId, PhaseWork]:
    """The work of each phase, by job: slot-seconds for all jobs, or bytes for all jobs."""
    jobs = list(jobs)
    timed: dict[JobId, PhaseWork] = {}
    for job in jobs:
        lengths = [(phase.lengths, phase.tasks) for phase in job.phases]
        timed[job.job_id] = tuple(
            known.avg_s(tasks) * tasks for known, tasks in lengths if known is not None
        )
    if all(len(timed[job.job_id]) == len(job.phases) for job in jobs):
        return timed
    return {
        job.job_id: tuple(float(input_bytes.get(job.job_id) or phase.tasks) for phase in job.phases)
        for job in jobs
    }


class EstimatingWatcher:
    """Passes progress on with the share that is done and the time left.

    works: the work of each phase, by job.  predicted_s: makespan of the run; None if unknown.
    """

    def __init__(
        self, inner: Watcher, works: Mapping[JobId, PhaseWork], predicted_s: float | None
    ) -> None:
        self._inner = inner
        self._works = works
        self._predicted_s = predicted_s
        self._total = sum(map(sum, works.values()))
        self._first: tuple[float, float] | None = None  # instant and share of the first report

    def on_progress(self, progress: Progress) -> None:
        jobs = tuple(
            replace(job, fraction=_ratio(self._done(job), sum(self._works.get(job.job_id, ()))))
            for job in progress.jobs
        )
        done = sum(self._done(job) for job in progress.jobs)
        done += sum(sum(self._works.get(job_id, ())) for job_id in progress.ended)
        fraction = _ratio(done, self._total)
        self._inner.on_progress(
            replace(
                progress, jobs=jobs, fraction=fraction, left_s=self._left_s(progress.at_s, fraction)
            )
        )

    def on_message(self, message: str) -> None:
        self._inner.on_message(message)

    def _done(self, job: JobProgress) -> float:
        works = self._works.get(job.job_id, ())
        return sum(
            work * _ratio(phase.done, phase.tasks)
            for work, phase in zip(works, job.phases, strict=False)
        )

    def _left_s(self, at_s: float, fraction: float) -> float | None:
        if self._first is None:
            self._first = at_s, fraction
        first_at_s, first = self._first
        predicted_s = None
        if self._predicted_s is not None:
            predicted_s = max(0.0, self._predicted_s - at_s)
        if fraction - first < _MEASURED_MIN or at_s <= first_at_s:
            return predicted_s
        measured_s = (at_s - first_at_s) / (fraction - first) * (1 - fraction)
        if predicted_s is None:
            return measured_s
        return fraction * measured_s + (1 - fraction) * predicted_s


def _ratio(part: float, whole: float) -> float:
    return min(1.0, part / whole) if whole > 0 else 0.0
