"""The policies that leave things as they are."""

from tests.runs import map_reduce, scheduler_of

from sluice.core.events import JobSubmitted, Tick
from sluice.core.transitions import JobState


def test_every_job_is_taken_and_released_as_it_arrives():
    scheduler = scheduler_of()
    scheduler.handle(JobSubmitted(1.0, map_reduce("a", 1)))
    scheduler.handle(JobSubmitted(2.0, map_reduce("b", 1)))
    jobs = scheduler.state.jobs.values()

    assert [(JobState.QUEUED, 1.0), (JobState.QUEUED, 2.0)] == [
        (job.state, job.released_at_s) for job in jobs
    ]
    assert [] == scheduler.handle(Tick(3.0))  # no machine is rented
