"""The jobs of the cluster that are released and have not ended."""

import pytest

from sluice.core.indexes.released_jobs import QueuedJob, ReleasedJobs
from sluice.core.transitions import JOB_TRANSITIONS, JobInput, JobState


def job(name, state=JobState.QUEUED):
    made = QueuedJob(name)
    made.state = state
    return made


@pytest.mark.parametrize("was", JobInput)
@pytest.mark.parametrize("state", JobState)
def test_a_job_moves_as_the_table_says(state, was):
    one = job("a", state)
    after = JOB_TRANSITIONS[was].get(state)
    if after is None:
        with pytest.raises(KeyError):
            one.move(was)
    else:
        one.move(was)
        assert one.state is after


def test_they_read_like_a_dictionary_in_the_order_of_release():
    jobs: ReleasedJobs[QueuedJob] = ReleasedJobs()
    a, b, c = job("a"), job("b"), job("c")
    for one in (a, b, c):
        jobs.add(one)
    b.state = JobState.FAILED
    jobs.leave()

    assert (list(jobs), jobs.values(), len(jobs)) == (["a", "c"], [a, c], 2)
    assert (jobs["c"], jobs.get("b"), jobs.items()) == (c, None, [("a", a), ("c", c)])
    assert "a" in jobs
    assert "b" not in jobs
    with pytest.raises(KeyError):
        jobs["b"]


def test_the_first_is_the_oldest_that_has_not_ended():
    jobs: ReleasedJobs[QueuedJob] = ReleasedJobs()
    many = [job(str(number)) for number in range(300)]
    for one in many:
        jobs.add(one)
    for number in (*range(1, 299), 0):  # the list is cleared of waste meanwhile
        assert jobs.first() is many[0]
        many[number].state = JobState.DONE
        jobs.leave()

    assert (jobs.first(), len(jobs)) == (many[299], 1)


@pytest.mark.interpreted
@pytest.mark.parametrize(("ended", "kept"), [(64, 64), (65, 0)])
def test_few_jobs_that_have_ended_are_kept(ended, kept):
    """They are let go many at a time, so that each costs little."""
    jobs: ReleasedJobs[QueuedJob] = ReleasedJobs()
    many = [job(str(number)) for number in range(ended)]
    for one in many:
        jobs.add(one)
    for one in many:
        one.state = JobState.DONE
        jobs.leave()

    assert len(jobs._line) == kept
    assert not jobs.values()
