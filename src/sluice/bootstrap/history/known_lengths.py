"""All that is known of the lengths of jobs that have some: from their files and from past runs.

Lengths of a file are a user's guess, or were measured once. As soon as a job of the profile has
ended, its tasks count: by how many times they were longer is kept for each phase. The order in
which a policy runs jobs follows the file all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sluice.bootstrap.history.profile_past import NO_PAST, Past, past_of
from sluice.estimate.length_spread import SIGMA_ASSUMED, LengthSpread
from sluice.estimate.past_phases import LENGTH_S_MIN, with_lengths_from_runs
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.ids import JobId
from sluice.model.job import Job, Phase
from sluice.reporting.history.past_runs import profile_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that is known of the length of a job.

    spread: how far its runs differ; None where no length is known.
    runs: past runs behind it; without any it rests on the lengths that the job has.
    """

    spread: LengthSpread | None
    runs: int = 0


_OF_FILE = Known(spread=LengthSpread(SIGMA_ASSUMED))


def known_lengths(jobs: Iterable[Job]) -> dict[JobId, Known]:
    """The knowledge about each job. A store that cannot be read adds nothing."""
    wanted = list(jobs)
    try:
        from sluice.store.profiles import Profiles

        with Profiles.open() as profiles:
            return {
                job.job_id: known_of(job, past_of(profile_name(job), profiles)) for job in wanted
            }
    except SluiceError:
        return {job.job_id: known_of(job, NO_PAST) for job in wanted}


def known_of(job: Job, past: Past) -> Known:
    """The knowledge about one job. past: of its profile."""
    if any(phase.lengths is None for phase in job.phases):
        return Known(spread=None)
    usual = [run for run in past.usual if run.phases]
    if not usual:
        return _OF_FILE
    unknown = [replace(phase, lengths=None) for phase in job.phases]
    try:
        measured = with_lengths_from_runs(unknown, usual)
    except InvalidInput:
        return _OF_FILE  # a profile of other phases says nothing of these
    spread = replace(past.spread, phase_factors=tuple(map(_factor, job.phases, measured)))
    return Known(spread=spread, runs=len(usual))


def _factor(given: Phase, measured: Phase) -> float:
    """How many times longer the tasks of a phase were than its lengths."""
    assert given.lengths is not None, "a job without lengths has no spread"
    assert measured.lengths is not None, "they are those of runs"
    given_s = given.lengths.avg_s(given.tasks)
    if given.fetch is not None:
        given_s += given.fetch.avg_s(given.tasks)
    return measured.lengths.avg_s(given.tasks) / max(LENGTH_S_MIN, given_s)
