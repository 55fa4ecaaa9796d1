"""All that is known of the lengths of jobs that have some: from their files and from past runs.

Lengths of a file are a user's guess, or were measured once. As soon as a job of the profile has
ended, its tasks count: by how many times they were longer is kept for each phase. The order in
which a policy runs jobs follows the file all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from sluice.bootstrap.history.profiles import usual_runs_of
from sluice.estimate.forecast import RUNS_JUDGED
from sluice.estimate.length_spread import SIGMA_ASSUMED, LengthSpread, length_spread
from sluice.estimate.level_changes import current_runs
from sluice.estimate.past_phases import LENGTH_S_MIN, with_lengths_from_runs
from sluice.estimate.prediction import comparable
from sluice.estimate.run_setting import timed_runs
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.history import PastRun
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The runs of a profile that count, the newest first, and how far all of them differ."""

    usual: tuple[PastRun, ...]
    spread: LengthSpread


NO_PAST = Past(usual=(), spread=LengthSpread(SIGMA_ASSUMED))
_OF_FILE = Known(spread=LengthSpread(SIGMA_ASSUMED))


def known_lengths(jobs: Iterable[Job]) -> dict[JobId, Known]:
    """The knowledge about each job. A store that cannot be read adds nothing."""
    wanted = list(jobs)
    try:
        from sluice.store.profiles import Profiles

        with Profiles.open() as profiles:
            # Many jobs of a workload may share a profile, and judging 50 runs takes 0.2 s.
            past = cache(lambda name: past_of(profiles.newest(name, RUNS_JUDGED)))
            return {job.job_id: known_of(job, past(profile_name(job))) for job in wanted}
    except SluiceError:
        return {job.job_id: known_of(job, NO_PAST) for job in wanted}


def past_of(runs: Sequence[PastRun]) -> Past:
    """The past of a profile. runs: the newest first."""
    usual = tuple(run for run in usual_runs_of(runs) if run.phases)
    current, _ = current_runs({"": runs[::-1]})
    return Past(usual=usual, spread=length_spread(comparable(timed_runs(current[""]))))


def known_of(job: Job, past: Past) -> Known:
    """The knowledge about one job. past: of its profile."""
    if any(phase.lengths is None for phase in job.phases):
        return Known(spread=None)
    if not past.usual:
        return _OF_FILE
    unknown = [replace(phase, lengths=None) for phase in job.phases]
    try:
        measured = with_lengths_from_runs(unknown, past.usual)
    except InvalidInput:
        return _OF_FILE  # a profile of other phases says nothing of these
    spread = replace(past.spread, phase_factors=tuple(map(_factor, job.phases, measured)))
    return Known(spread=spread, runs=len(past.usual))


def _factor(given: Phase, measured: Phase) -> float:
    """How many times longer the tasks of a phase were than its lengths."""
    assert given.lengths is not None, "a job without lengths has no spread"
    assert measured.lengths is not None, "they are those of runs"
    given_s = given.lengths.avg_s(given.tasks)
    if given.fetch is not None:
        given_s += given.fetch.avg_s(given.tasks)
    return measured.lengths.avg_s(given.tasks) / max(LENGTH_S_MIN, given_s)
