"""The simulations of a comparison: the same in any number of processes, and jobs alone."""

import json
from pathlib import Path

import pytest
from tests.runs import map_reduce, totals

import sluice
from sluice.bootstrap.simulations.processes import SimulationProcess
from sluice.core.protocols import Assignment, TaskPolicy
from sluice.core.reasons import Reason, ReasonCode
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.policies.ltyarn.policy import LtYarn
from sluice.policies.orders.fair import Fair
from sluice.policies.orders.fifo import Fifo
from sluice.policies.queue_tree.policy import CapacityQueues
from sluice.policies.ras.policy import Ras
from sluice.policies.rooms.yarn_like import YarnLike

HOUSE = Path(__file__).resolve().parents[3]
TWO_POOLS = str(HOUSE / "examples" / "two_pools.yaml")
RESOURCES = str(HOUSE / "examples" / "resources.yaml")
OWN = f"{HOUSE}/docs/example_policy/shortest_remaining.py:ShortestRemaining"


def compared(processes, schedulers=("fifo", "fair", OWN), **more):
    said = []
    found = sluice.compare(
        TWO_POOLS, list(schedulers), seeds=2, settings=["jitter=0.2"], processes=processes,
        on_progress=lambda *what: said.append(what), **more,
    )  # fmt: skip
    return json.dumps(found.document()), sorted(said)


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing():
    alone = compared(1, ledger=True)

    assert alone == compared(2, ledger=True)
    assert 6 == len(alone[1])


@pytest.mark.slow
def test_a_refusal_in_another_process_is_the_same_refusal():
    def refused(processes):
        with pytest.raises(InvalidInput) as caught:
            sluice.compare(workload, ["fifo", "fair"], seeds=2, processes=processes)
        return str(caught.value)

    workload = Workload(cluster=totals(4, 0), jobs=(map_reduce("a", 1, 5.0, reduces=2),))

    assert "reduce" in refused(2)
    assert refused(1) == refused(2)


class OneByOne(TaskPolicy):
    """A class that no other process could find by name."""

    def assign(self, node, state, now_s):
        for kind in SlotKind:
            while node.free[kind] and (phases := state.backlogs[kind].phases()):
                phase = min(phases, key=lambda one: one.line_key)
                yield Assignment(phase, kind, Reason(ReasonCode.FIRST_IN_LINE), 1)


def test_a_class_runs_in_this_process():
    assert compared(2, [OneByOne]) == compared(1, [OneByOne])


def test_a_process_that_cannot_work_gives_no_result_and_can_be_ended():
    child = SimulationProcess(b"not what it expects")
    try:
        assert child.result_of(("fifo", 0, {})) is None
    finally:
        child.end()
    assert child._child.returncode is not None


def test_processes_below_1_are_refused():
    with pytest.raises(InvalidInput, match="processes is 0"):
        sluice.compare(TWO_POOLS, ["fifo"], processes=0)


def test_a_job_alone_is_not_slowed_down_whatever_is_drawn():
    """Its tasks are those of the compared run, so the time alone is the same to the bit."""
    jobs = (map_reduce("a", 7, 30.0, reduces=2, reduce_s=9.0, at_s=0.1),)
    workload = Workload(cluster=totals(3, 1), jobs=jobs)
    rows = sluice.compare(
        workload, ["fifo", "fair"], seeds=3, settings=["jitter=0.5", "p_slow=0.3"], processes=1
    ).document()["rows"]

    assert {1.0} == {row["slowdown_max"][name] for row in rows for name in ("p50", "p95", "p99")}


def test_slowdowns_divide_by_the_time_alone():
    """Two jobs of two 30 s maps on two slots: alone 30 s each; the second responds in 60 s."""
    jobs = tuple(map_reduce(name, 2, 30.0, pool=name) for name in "ab")
    found = sluice.compare(Workload(cluster=totals(2, 0), jobs=jobs), ["fifo"], seeds=1)
    row = found.document()["rows"][0]

    assert {"p50": 1.5, "p95": 1.95, "p99": 1.99} == pytest.approx(row["slowdown"])
    assert {"p50": 15.0, "p95": 28.5, "p99": 29.7} == pytest.approx(row["wait_s"])
    assert [1.0, 2.0] == [row["pools"][name]["slowdown"]["p50"] for name in "ab"]
    assert pytest.approx(9 / (2 * 5)) == row["jain"]
    assert "difference" not in row


def test_the_start_of_a_driver_is_not_a_wait():
    source = sluice.parse_workload("""
    version: 1
    cluster: {containers: 2}
    jobs: [{id: a, driver_s: 20, phases: [{name: s, tasks: 2, avg_s: 10}]}]
    """)
    row = sluice.compare(source, ["fifo"], seeds=1).document()["rows"][0]

    assert (0.0, 30.0) == (row["wait_s"]["p99"], row["makespan_s"])


class _Noted(Fifo):
    """First in, first out, with a list of its own that a copy must have too."""

    name = "noted"

    def __init__(self):
        super().__init__()
        self.asked = []

    def fill(self, offer):
        self.asked.append(offer)
        super().fill(offer)


def test_an_object_has_its_own_state_in_each_run_and_stays_fresh():
    given = _Noted()

    found = sluice.compare(TWO_POOLS, [given], seeds=1).document()

    assert figures(found) == figures(sluice.compare(TWO_POOLS, ["fifo"], seeds=1).document())
    assert given.asked == []


@pytest.mark.parametrize("policy", [Fifo, Fair, YarnLike, LtYarn, CapacityQueues, Ras])
def test_an_object_of_a_policy_is_compared_like_its_name(policy):
    where = RESOURCES if policy is Ras else TWO_POOLS
    by_name = sluice.compare(where, [policy.name], seeds=1).document()
    by_object = sluice.compare(where, [policy()], seeds=1).document()

    assert figures(by_object) == figures(by_name)


def figures(document):
    return [{**row, "scheduler": None} for row in document["rows"]]
