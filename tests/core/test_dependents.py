"""Jobs that wait for other jobs, as both drivers ask about them."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.runs import map_reduce

from sluice.core.dependents import Dependents
from sluice.core.transitions import JobState


class CountedJob:
    """A job that counts how often it is asked what it runs after."""

    asked = 0

    def __init__(self, job_id, after=()):
        self.job_id, self._after = job_id, after

    @property
    def after(self):
        CountedJob.asked += 1
        return self._after


def dependents(*jobs: Any) -> Dependents:
    return Dependents(jobs)


def ended(job_id: str, state: JobState = JobState.DONE) -> Any:
    """The entry of a job that has ended."""
    return SimpleNamespace(job_id=job_id, state=state)


def names(jobs):
    return [job.job_id for job in jobs]


@pytest.mark.parametrize("last", [(), ("j0",)])
def test_each_job_is_asked_a_fixed_number_of_times(last):
    CountedJob.asked = 0
    jobs = [CountedJob(f"j{number}") for number in range(1000)]

    assert len(dependents(*jobs, CountedJob("last", last))) == len(last)
    assert CountedJob.asked <= 2 * 1001


def test_a_job_is_ready_once_when_the_last_before_it_is_done():
    jobs: list[Any] = [
        CountedJob("a"), CountedJob("b"), CountedJob("c", ("a", "b", "unknown"))
    ]  # fmt: skip
    waiting = dependents(*jobs)

    assert jobs[2] in waiting
    assert jobs[0] not in waiting
    assert names(waiting.ready([ended("a")])) == []
    assert names(waiting.ready([ended("b")])) == ["c"]
    assert names(waiting.ready([ended("a"), ended("b")])) == []
    assert not waiting


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (JobState.FAILED, "failed"),
        (JobState.KILLED, "was killed"),
        (JobState.REFUSED, "was refused"),
    ],
)
def test_a_job_is_stranded_once_and_then_never_ready(state, said):
    waiting = dependents(CountedJob("a"), CountedJob("b"), CountedJob("c", ("a", "b")))

    ((job, why),) = waiting.stranded([ended("a", state)])
    assert (job.job_id, why) == ("c", f"it runs after a, which {said}")
    assert waiting.stranded([ended("b", state)]) == []
    assert waiting.ready([ended("b")]) == []


def test_names_that_are_no_jobs_of_the_workload_count_as_done():
    alone = map_reduce("a", 1)

    assert not Dependents([alone])
    assert not dependents(CountedJob("b", ("elsewhere",)))
