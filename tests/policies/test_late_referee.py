"""Who LATE finds slow and copies, against a plain recomputation from the state, in random storms.

The tests were seen to fail with: an ended attempt among the running ones; the oldest one skipped;
a percentile without those that run; phases asked in the order of their change; a phase of another
pool left alone.
"""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.one_run import EVENTFUL
from tests.policies.registered import task_policy
from tests.runs import even_nodes, map_reduce, scheduler_of
from tests.strategies import clusters, job_lists

from sluice.core.transitions import AttemptState
from sluice.policies.copies.late import Late
from sluice.policies.copies.limits import AGE_S_MAX, CopyLimits
from sluice.policies.copies.node_scores import percentile
from sluice.policies.copies.progress_rate import left_s, rate_at
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

pytestmark = pytest.mark.no_invariants

POLICIES = ("fair, copies", "dynamicmr, pi, all parts", "dynamicmr, pd, all parts")
SLOW = {"p_slow": 0.3, "slow_factor": (3.0, 9.0), "jitter": 0.4}
WORLDS = (
    SLOW,
    SLOW | {"heartbeat_s": 3.0},
    SLOW | {"heartbeat_s": 3.0, "p_hang": 0.1, "task_timeout_s": 30.0, "task_failure": 0.1},
    EVENTFUL | SLOW | {"heartbeat_s": 3.0},
)
CAN_BE_COPIED = {AttemptState.LAUNCHED, AttemptState.RUNNING}


class Referee:
    """Answers in place of LATE, after having worked out each answer from the state."""

    def __init__(self):
        self.order = {}  # of the phases of this heartbeat, by kind
        self.slow = self.copies = 0
        self.found_slow, self.found, self.begins = CopyLimits.slow_of, Late._copy, Late.begin

    def begin(self, late, now_s):
        self.order.clear()
        self.begins(late, now_s)

    def slow_of(self, limits, phase, now_s):
        found = self.found_slow(limits, phase, now_s)
        assert found == self.plainly_slow(limits, phase, now_s)
        self.slow += len(found)
        return found

    def copy(self, late, node, kind, pool):
        expected = self.plain_copy(late, node, kind, pool)
        pick = self.found(late, node, kind, pool)
        assert expected is (pick and pick.copy_of)
        self.copies += pick is not None
        return pick

    def plain_copy(self, late, node, kind, pool):
        limits, now_s = late._limits, late._now_s
        if not limits.allows_more or limits.is_slow(node):
            return None
        if kind not in self.order:
            places = {
                phase: (late._place(phase), phase.index) for phase in late._candidates.of(kind)
            }
            self.order[kind] = sorted(places, key=places.get)
        for phase in self.order[kind]:
            if pool in {None, phase.job.pool} and late._gate.allows(phase.job, kind):
                slow = [a for a in self.plainly_slow(limits, phase, now_s) if a.node is not node]
                if slow:
                    return min(
                        slow,
                        key=lambda a: (
                            -left_s(a, rate_at(a, now_s), now_s), a.started_at_s, a.task, a.number,
                        ),
                    )  # fmt: skip
        return None

    def plainly_slow(self, limits, phase, now_s):
        if any(one.is_undone for one in limits._state.closed if one.phase is phase):
            return self.found_slow(limits, phase, now_s)  # it was done: its rates begin again
        return plainly_slow(limits, phase, now_s)


def plainly_slow(limits, phase, now_s):
    """The slow attempts of a phase that may be copied, in the order of their launch."""
    running = [one for one in limits._state.running.values() if one.phase is phase]
    done = [
        one.finished_at_s - one.started_at_s
        for one in limits._state.closed
        if one.phase is phase and one.state is AttemptState.DONE
    ]
    if limits.settings.min_age_s is not None:
        age_s = limits.settings.min_age_s
    else:
        age_s = min(AGE_S_MAX, max(1.0, 3 * sum(done) / len(done))) if done else AGE_S_MAX
    rates = [rate_at(one, now_s) for one in running] + [1 / max(s, 1e-9) for s in done]
    bound = percentile(sorted(rates), limits.settings.slow_task) * (1 - 1e-9)
    old = []
    for one in running:
        if one.started_at_s > now_s - age_s:
            break
        if one.tasks == 1 and one.state in CAN_BE_COPIED and one.task not in phase.copies:
            old.append(one)
    return [one for one in old if rate_at(one, now_s) < bound]


def method(answer):
    def answers(*given):
        return answer(*given)

    return answers


def refereed(cluster, jobs, name, world, seed):
    """The referee of a run."""
    referee = Referee()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Late, "begin", method(referee.begin))
        patch.setattr(Late, "_copy", method(referee.copy))
        patch.setattr(CopyLimits, "slow_of", method(referee.slow_of))
        by_heartbeat = world.get("heartbeat_s", 0.0) > 0
        scheduler = scheduler_of(task_policy(name), by_heartbeat=by_heartbeat)
        given_settings = SimulationSettings(**world)
        Simulation(scheduler, cluster, jobs, settings=given_settings, seed=seed).run()
    return referee


@pytest.mark.interpreted
@settings(max_examples=40, deadline=None)
@given(
    clusters(nodes_max=4, kinds_min=2, racks_max=2), job_lists(), st.sampled_from(POLICIES),
    st.sampled_from(WORLDS), st.integers(0, 99),
)  # fmt: skip
def test_what_is_slow_and_what_is_copied_is_what_a_plain_walk_finds(
    cluster, jobs, name, world, seed
):
    referee = refereed(cluster, jobs, name, world, seed)
    event(f"{name}: {'copies' if referee.copies else 'slow' if referee.slow else 'none'}")


@pytest.mark.interpreted
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("heartbeat_s", [0.0, 3.0])
def test_it_is_so_where_many_are_slow_at_once(name, heartbeat_s):
    """Several jobs with more than one slow task, and more ended attempts than running ones."""
    jobs = [map_reduce(job, 40, 8.0, 6, 8.0, pool=job) for job in ("a", "b", "c")]
    world = SLOW | {"heartbeat_s": heartbeat_s, "p_hang": 0.05, "task_timeout_s": 40.0}
    referee = refereed(even_nodes(4, 3, 2), jobs, name, world, 7)

    assert referee.slow > referee.copies > 5
