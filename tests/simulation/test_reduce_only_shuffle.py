"""A given shuffle lengthens every reduce, also where no map of the job writes what it reads."""

import pytest
from tests.runs import simulate

from sluice.ingest.workload import parse_workload

WORKLOAD = """
version: 1
cluster: {nodes: 1, node: {map_slots: 1, reduce_slots: 1, cpu: 100, io: 100, memory: 100}}
jobs:
  - id: a
    reduces: {tasks: 2, avg_s: 5}
    shuffle: {avg_s: 3}
    map_output: {bytes: 1.0e+9, records: 1}
    demand: {reduce: {cpu: 50}, shuffle: {io: 10}}
"""


@pytest.mark.parametrize("contention", ["none", "shared"])
def test_a_job_that_only_reduces_fetches_all_the_same(contention):
    workload = parse_workload(WORKLOAD)

    state = simulate(workload.required_cluster(), workload.jobs, contention=contention, peak=1.0)

    rows = [(a.started_at_s, a.shuffled_at_s, a.finished_at_s) for a in state.closed]
    assert [(0, 3, 8), (8, 11, 16)] == rows
