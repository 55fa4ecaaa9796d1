"""Measured phases of a run next to their predictions, as rows like those of a profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from sluice.core.entries import Attempt, JobEntry, PhaseEntry
from sluice.core.record.early_starts import works_from_s
from sluice.core.transitions import AttemptState
from sluice.estimate.phase_measure import PhaseMeasure, TaskMeasure, phase_measure, relative_error
from sluice.model.ids import JobId
from sluice.model.job import Job, Phase

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
