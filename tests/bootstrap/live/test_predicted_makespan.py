"""A live run foretold: its tasks in the simulator, with the time that passes between them."""

import pytest

from sluice.bootstrap.live.predicted_makespan import predicted_makespan_s_of
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.estimate.gaps import Gaps
from sluice.ingest.workload import parse_workload

FILE = """
version: 1
cluster: {map_slots: 2, reduce_slots: 1}
jobs: [{id: a, maps: {tasks: 3, avg_s: 10}, reduces: {tasks: 2, avg_s: 4}}]
"""


@pytest.mark.parametrize(
    ("gaps", "makespan_s"),
    [
        (Gaps(), 28.0),
        (Gaps(start_s=1.0), 29.0),
        (Gaps(between_s=0.5), 30.0),
        (Gaps(start_s=1.0, between_s=0.5), 31.0),
    ],
)
def test_start_up_counts_once_and_a_gap_before_each_task(gaps, makespan_s):
    """Three maps of 10 s on two slots, then two reduces of 4 s on one: four waves, 20 + 8 s."""
    workload = parse_workload(FILE)
    settings = resolved_settings({})

    assert makespan_s == predicted_makespan_s_of(
        workload.jobs,
        gaps,
        scheduler=scheduler_for(settings=settings, tasks="fifo"),
        cluster=workload.required_cluster(),
        settings=settings,
        seed=0,
    )
