"""The record of a run goes to another process and reads there as it does here."""

import pickle

import pytest

import sluice
from sluice.core.record import plain_record

WORKLOAD = """
version: 1
cluster: {nodes: 3, node: {map_slots: 4, reduce_slots: 2}}
jobs:
  - {id: a, maps: {tasks: 30, avg_s: 10}, reduces: {tasks: 6, avg_s: 20}}
  - {id: b, maps: {tasks: 30, avg_s: 10}, reduces: {tasks: 6, avg_s: 20}, submitted_at_s: 7}
"""
FAULTS = {
    "node_mtbf_s": 200.0, "node_repair_s": 20.0, "task_failure": 0.2, "p_slow": 0.2,
    "slowstart": 0.1,
}  # fmt: skip
NAMES = (
    "key", "launch", "slots", "state", "started_at_s", "finished_at_s", "width", "usage", "outputs",
    "detail", "kill_reason", "is_moot", "is_undone", "undone_why", "reserved",
)  # fmt: skip


def facts(entries, log):
    return (
        [
            (entry.job, entry.state, entry.reason, entry.finished_at_s, entry.pool.pool,
             entry.released_at_s, entry.decisions, [phase.done for phase in entry.phases])
            for entry in entries
        ],
        [[getattr(one, name) for name in NAMES] for one in log],
        log.digest(is_totals=False), log.ended, log.busy_s, log.last_end_s,
    )  # fmt: skip


@pytest.mark.parametrize("settings", [{}, FAULTS])
@pytest.mark.parametrize("tasks", ["fifo", "dynamicmr"])
def test_a_record_is_the_same_after_its_journey(tasks, settings):
    run = sluice.simulate(sluice.parse_workload(WORKLOAD), tasks=tasks, settings=settings)
    sent = pickle.dumps(plain_record.packed(run.entries, run.attempts))
    found, log = plain_record.unpacked(pickle.loads(sent))  # noqa: S301  # our own bytes

    assert facts(run.entries, run.attempts) == facts(found, log)
    assert all(one.phase is found[0].phases[0] for one in log if one.key[:2] == ("a", 0))
