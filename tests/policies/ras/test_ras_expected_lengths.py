"""Expected lengths of a job's maps: what they have shown, else what the profile says."""

from dataclasses import replace

import pytest
from tests.runs import map_reduce, scheduler_of

from sluice.core.events import JobSubmitted
from sluice.policies.orders.fifo import Fifo
from sluice.policies.ras.job_needs import JobOutlook, expected_map_s


def entry(*, has_profile):
    job = map_reduce("a", 6, 4.0, 2, 3.0)
    if not has_profile:
        job = replace(job, phases=tuple(replace(phase, lengths=None) for phase in job.phases))
    scheduler = scheduler_of(Fifo())
    scheduler.handle(JobSubmitted(0.0, job))
    return scheduler.state.jobs["a"]


@pytest.mark.parametrize(
    ("shown_s", "has_profile", "expected_s"),
    [(7.0, True, 7.0), (7.0, False, 7.0), (None, True, 4.0), (None, False, None)],
)
def test_maps_that_are_done_say_more_than_the_profile(shown_s, has_profile, expected_s):
    view = JobOutlook(maps_left=6, reduces_left=2, mean_map_s=shown_s, reduce_s=3.0)

    assert expected_map_s(entry(has_profile=has_profile), view) == expected_s
