"""The figures of a run: one immutable value behind the document, the tables and the charts.

Figures that need a pass over all attempts (the digest, the utilisation) are computed once, at their
first use.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.core.record import plain_record
from sluice.core.record.attempt_log import AttemptLog
from sluice.core.record.early_starts import works_from_s
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState, JobState
from sluice.estimate.phase_measure import PhaseMeasure, TaskMeasure, phase_measure, relative_error
from sluice.model.cluster import Cluster
from sluice.model.ids import JobId
from sluice.model.job import Job, Phase
from sluice.reporting.documents import document_of
from sluice.reporting.run import trace
from sluice.reporting.run.failures import failures_of
from sluice.reporting.run.outcomes import (
    AttemptTotals,
    JobOutcome,
    JobReplay,
    TimeForecast,
    replay_document,
    total_s,
    utilisation,
)
from sluice.reporting.run.rented import rented_s
from sluice.reporting.run.slowdowns import slowdown_figures


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunFigures:
    """The result of a simulation or of a live run, in numbers.

    jobs: in the order of their submission.  attempts: ended ones, in the order of their end; read
    like a sequence, each is made when it is read.
    events: how many the core handled.  ignored: those that changed nothing, by reason.
    extra: further fields of the document (rounds, probes, predictions).
    replays: by job, for a workload made from logs, recorded times; None for any other workload.
    """

    cluster: Cluster
    jobs: tuple[JobOutcome, ...]
    attempts: AttemptLog
    entries: tuple[JobEntry, ...]
    seed: int
    events: int
    ignored: Mapping[str, int]
    extra: Mapping[str, object] = field(default_factory=dict)
    replays: Mapping[JobId, JobReplay] | None = None

    @classmethod
    def of(
        cls,
        state: ClusterState,
        cluster: Cluster,
        *,
        seed: int,
        events: int,
        extra: Mapping[str, object] | None = None,
        uncommitted: Mapping[JobId, str] | None = None,
    ) -> Self:
        """The result of a finished run, whose state does not change any more.

        uncommitted: done jobs whose output could not be committed, and why.
        """
        entries = tuple(state.jobs.values())
        failures, uncommitted = failures_of(state), uncommitted or {}
        return cls(
            cluster=cluster,
            jobs=tuple(
                JobOutcome.of(
                    entry,
                    state.now_s,
                    failure=failures.get(entry.job_id),
                    uncommitted=uncommitted.get(entry.job_id),
                )
                for entry in entries
            ),
            attempts=state.closed,
            entries=entries,
            seed=seed,
            events=events,
            ignored=dict(sorted(state.ignored.items())),
            extra=dict(extra or {}),
        )

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """For pickle and copy: the entries and the log are compiled, and go as plain values."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        del given["entries"], given["attempts"]
        return _unpacked, (type(self), given, plain_record.packed(self.entries, self.attempts))

    def forecasted(self, forecasts: Mapping[JobId, TimeForecast]) -> Self:
        """The result, with a forecast of each of these jobs."""
        if not forecasts:
            return self
        jobs = tuple(job.forecasted(forecasts.get(job.job_id)) for job in self.jobs)
        return replace(self, jobs=jobs)

    # --- numbers ----------------------------------------------------------------------------

    @cached_property
    def started_at_s(self) -> float:
        """The first submission, from which the makespan counts; 0 without jobs."""
        return min((job.submitted_at_s for job in self.jobs), default=0.0)

    @cached_property
    def finished_at_s(self) -> float | None:
        """The last finish; None if no job has ended."""
        ends = [job.finished_at_s for job in self.jobs if job.ran_to_an_end]
        return max((end for end in ends if end is not None), default=None)

    @property
    def makespan_s(self) -> float | None:
        """Last finish minus first submission; None if no job has ended."""
        return None if self.finished_at_s is None else self.finished_at_s - self.started_at_s

    @cached_property
    def total_completion_s(self) -> float:
        """Sum of the instants at which jobs ended, without refused jobs."""
        return total_s(job.finished_at_s for job in self.jobs if job.ran_to_an_end)

    @cached_property
    def total_response_s(self) -> float:
        """Sum of the times from submission to end, without refused jobs."""
        return total_s(job.response_s for job in self.jobs if job.ran_to_an_end)

    @cached_property
    def mean_response_s(self) -> float | None:
        """Mean time from submission to end; None if no job has ended."""
        ended = sum(job.ran_to_an_end for job in self.jobs)
        return self.total_response_s / ended if ended else None

    @cached_property
    def bounded_slowdown(self) -> Mapping[str, float | None]:
        """Mean, p50 and p95 of (wait + run) / max(run, 10 s), at least 1, of jobs that are done."""
        done = [job for job in self.jobs if job.state == JobState.DONE.value]
        return slowdown_figures(
            (job.waited_s, job.ran_s)
            for job in done
            if job.waited_s is not None and job.ran_s is not None
        )

    @cached_property
    def deadlines_met(self) -> int:
        """Jobs that had a deadline and met it."""
        return sum(job.deadline_met is True for job in self.jobs)

    @cached_property
    def deadlines(self) -> int:
        """Jobs that had a deadline."""
        return sum(job.deadline_at_s is not None for job in self.jobs)

    @cached_property
    def work(self) -> AttemptTotals:
        """Attempts by outcome and busy slot-seconds up to the last finish."""
        until_s = math.inf if self.finished_at_s is None else self.finished_at_s
        return AttemptTotals.of(self.attempts, until_s)

    @cached_property
    def utilisation(self) -> Mapping[str, float | None]:
        """Busy slot-seconds as a share of slots times makespan, by kind of slot."""
        further_s = rented_s(self.extra, self.finished_at_s or 0.0)
        return utilisation(self.work, self.cluster, self.makespan_s, further_s)

    # --- trace and documents ------------------------------------------------------------------

    def trace(self) -> Iterator[str]:
        """The lines of the trace, one for each attempt of each task."""
        return trace.lines(self.attempts, is_totals=self.cluster.is_totals)

    @cached_property
    def digest(self) -> str:
        """A digest that identifies the run: equal traces have equal digests."""
        return trace.digest(self.attempts, is_totals=self.cluster.is_totals)

    @cached_property
    def states(self) -> Mapping[str, int]:
        """Number of jobs by state."""
        states: dict[str, int] = {}
        for job in self.jobs:
            states[job.state] = states.get(job.state, 0) + 1
        return states

    def document(self) -> dict[str, object]:
        """The one JSON document of `simulate` and `run`; absent values are None."""
        document: dict[str, object] = {
            **document_of(self, "makespan_s total_completion_s total_response_s mean_response_s"),
            **document_of(self, "bounded_slowdown events digest seed"),
            "jobs": {
                job.job_id: job.document() | replay_document(self.replays, job.job_id)
                for job in self.jobs
            },
            **document_of(self, "utilisation work.attempts states ignored"),
        }
        return document | {name: _finite(value) for name, value in self.extra.items()}

    def measured(self, predicted: Predicted | None = None) -> dict[str, dict[str, object]]:
        """By job, the measured lengths of each phase next to the predicted ones."""
        return measured_profiles(self.entries, self.attempts, predicted)


def _unpacked(
    kind: type[RunFigures], given: dict[str, Any], record: plain_record.PlainRecord
) -> RunFigures:
    entries, attempts = plain_record.unpacked(record)
    return kind(entries=entries, attempts=attempts, **given)


def _finite(value: object) -> object:
    """The value, with None for numbers that JSON cannot express."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _finite(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(held) for held in value]
    return value


# --- measurements ---------------------------------------------------------------------------------


Predicted = Mapping[JobId, Job]


def measured_profiles(
    jobs: Iterable[JobEntry], attempts: Iterable[Attempt], predicted: Predicted | None = None
) -> dict[str, dict[str, object]]:
    """By job: `{"phases": [...]}`, a row for each phase with a task that ended well.

    `node_types` counts them by the type of their node, where nodes have types.
    predicted: jobs whose predicted lengths are not those of the workload.
    Only attempts that ended well are measured; `failed` counts those that failed. The columns
    `predicted_*` are None without a prediction. `error` is the error of `predicted_avg_s`, as a
    share of `avg_s`.
    """
    by_phase: dict[PhaseEntry, list[Attempt]] = {}
    for attempt in attempts:
        by_phase.setdefault(attempt.phase, []).append(attempt)
    return {
        job.job_id: {
            "phases": [
                row
                for phase in job.phases
                if (row := _row(phase, by_phase.get(phase, []), expected)) is not None
            ]
        }
        for job in jobs
        for expected in [(predicted or {}).get(job.job_id, job.job)]
    }


def _since_s(attempt: Attempt) -> float:
    """When the measured length of an attempt began; a real one may have waited for its input."""
    return attempt.started_at_s if attempt.usage is None else works_from_s(attempt)


def _row(phase: PhaseEntry, attempts: list[Attempt], expected: Job) -> dict[str, object] | None:
    measure = phase_measure(
        TaskMeasure(a.finished_at_s - _since_s(a), a.usage, a.launch.tasks)
        for a in attempts
        if a.state is AttemptState.DONE
    )
    if measure is None:
        return None
    failed = sum(a.launch.tasks for a in attempts if a.state is AttemptState.FAILED)
    row: dict[str, object] = {"name": phase.name, **asdict(measure), "failed": failed}
    types = Counter(a.node.node.vm_type for a in attempts if a.state is AttemptState.DONE)
    if any(types):
        row["node_types"] = dict(sorted(types.items()))
    return row | _shuffle(phase, measure) | _prediction(expected.phases[phase.index], measure)


def _shuffle(phase: PhaseEntry, measure: PhaseMeasure) -> dict[str, object]:
    """Bytes that the phase fetched from earlier phases, and wrote for later ones."""
    written = measure.output_bytes if phase.needed_by else 0
    is_known = measure.shuffle_bytes is not None
    return {
        "shuffle_read_bytes": measure.shuffle_bytes,
        "shuffle_write_bytes": written if is_known else None,
    }


def _prediction(phase: Phase, measure: PhaseMeasure) -> dict[str, object]:
    """The predicted length of a task: its fetch and its work together."""
    average_s = longest_s = None
    if phase.lengths is not None:
        parts = [part for part in (phase.fetch, phase.lengths) if part is not None]
        average_s = sum(part.avg_s(phase.tasks) for part in parts)
        longest_s = sum(part.max_s(phase.tasks) for part in parts)
    return {
        "predicted_avg_s": average_s,
        "predicted_max_s": longest_s,
        "error": relative_error(average_s, measure.avg_s),
    }
