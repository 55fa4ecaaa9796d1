"""Nodes die and come back, attempts fail: what is lost is made again, and only what is needed."""

import statistics
from types import SimpleNamespace

import pytest
from tests.runs import even_nodes, map_reduce, simulate
from tests.simulation.worlds import World, outcomes

from sluice.core.events import NodeJoined, NodeLost, TaskFailed, TaskFinished
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.transitions import JobState
from sluice.model.attempts import AttemptKey
from sluice.model.errors import Infeasible
from sluice.policies.orders.fifo import Fifo
from sluice.simulation import loss_limit
from sluice.simulation.agenda import Agenda
from sluice.simulation.faults import NodeFaults
from sluice.simulation.settings import SimulationSettings

# --- what a lost node takes with it ---------------------------------------------------------------


def test_what_ran_on_a_lost_node_runs_again_elsewhere():
    world = World(even_nodes(2, 1, 0), [map_reduce("j", 2, 10.0)])
    world.lose("n1", 4.0)
    state = world.run()

    assert [("j/0/1/1", "lost", 4.0), ("j/0/0/1", "done", 10.0), ("j/0/1/2", "done", 20.0)] == (
        outcomes(state)
    )
    assert "n0" == state.closed[-1].launch.node_id


def test_alike_tasks_lost_together_run_again_one_and_all():
    """One launch of three counted tasks is lost: three tasks wait again."""
    world = World(even_nodes(2, 3, 0), [map_reduce("j", 6, 10.0)])
    world.lose("n1", 4.0)
    state = world.run()

    assert 20.0 == state.jobs["j"].finished_at_s
    assert 3 == sum(a.launch.tasks for a in state.closed if a.state.value == "lost")
    assert 6 == sum(a.launch.tasks for a in state.closed if a.state.value == "done")


def lost_output(at_s, maps=2, reduces=1):
    """Maps of 4 s on both nodes, then a reduce of 10 s on n0; n1 dies."""
    world = World(even_nodes(2, 1, 1), [map_reduce("j", maps, 4.0, reduces, 10.0)])
    world.lose("n1", at_s)
    return outcomes(world.run())


def test_a_done_map_whose_output_is_lost_runs_again_while_reduces_need_it():
    """The running reduce has all that it needs; it may yet fail, and then would not."""
    assert lost_output(6.0) == [
        ("j/0/0/1", "done", 4.0),
        ("j/0/1/1", "done", 4.0),
        ("j/0/1/2", "done", 10.0),
        ("j/1/0/1", "done", 14.0),
    ]


def test_an_output_that_nobody_needs_any_more_may_be_lost():
    assert [("j/0/0/1", "done", 4.0), ("j/0/1/1", "done", 4.0), ("j/1/0/1", "done", 14.0)] == (
        lost_output(14.0)
    )
    map_only = [("j/0/0/1", "done", 4.0), ("j/0/1/1", "done", 4.0), ("j/0/2/1", "done", 8.0)]
    assert map_only == lost_output(5.0, maps=3, reduces=0)


def test_a_reduce_that_had_not_begun_waits_for_the_map_to_be_made_again():
    """The node dies as the last map ends on the other: at 8 the first map must be made again."""
    world = World(even_nodes(2, 1, 1), [map_reduce("j", 2, (8.0, 4.0), 1, 1.0)])
    world.lose("n1", 8.0)
    state = world.run()

    assert ("j/0/1/2", "done", 12.0) == outcomes(state)[2]
    assert [12.0, 12.0] == [state.closed[-1].started_at_s, state.closed[-1].shuffled_at_s]


def test_an_early_reduce_stays_and_waits_while_maps_are_made_again():
    """Slow-start let it in at 4; n1 takes map 1 (done) and map 3 (running) with it at 6."""
    world = World(even_nodes(2, 1, 1), [map_reduce("j", 4, 4.0, 1, 1.0)], slowstart=0.5)
    world.lose("n1", 6.0)
    state = world.run()
    reduce = state.closed[-1]

    assert [8.0, 12.0, 16.0] == [a.finished_at_s for a in state.closed[-4:-1]]
    assert (4.0, 16.0, 17.0) == (
        reduce.started_at_s, reduce.shuffled_at_s, reduce.finished_at_s
    )  # fmt: skip
    assert 1 == reduce.key.attempt


def test_an_early_reduce_that_is_lost_waiting_starts_anew_elsewhere():
    """Its first try must not begin to work when the maps are done: it is gone."""
    world = World(even_nodes(2, 1, 1), [map_reduce("j", 4, 4.0, 2, 1.0)], slowstart=0.5)
    world.lose("n1", 6.0)
    reduces = [row for row in outcomes(world.run()) if row[0].startswith("j/1")]

    assert [("j/1/1/1", "lost", 6.0), ("j/1/0/1", "done", 17.0), ("j/1/1/2", "done", 18.0)] == (
        reduces
    )


def test_a_node_that_is_back_is_empty_and_works():
    world = World(even_nodes(1, 2, 0), [map_reduce("j", 2, 10.0)])
    world.lose("n0", 4.0, back_at_s=7.0)
    state = world.run()

    assert 17.0 == state.jobs["j"].finished_at_s


# --- noticing -------------------------------------------------------------------------------------


def test_by_heartbeat_a_loss_is_known_only_when_it_is_noticed():
    """n1 dies at 4; until 9 its task counts as running, and nobody makes it again."""
    world = World(even_nodes(2, 1, 0), [map_reduce("j", 2, 10.0)], heartbeat_s=1.0)
    world.lose("n1", 4.0, noticed_at_s=9.0)
    state = world.run()

    assert [("j/0/1/1", "lost", 9.0), ("j/0/0/1", "done", 10.0), ("j/0/1/2", "done", 20.0)] == (
        outcomes(state)
    )


def test_an_end_that_was_not_shown_in_time_is_lost_with_the_node():
    """The map on n1 ended at 3.5 and would have been shown at 5; its node died at 4."""
    world = World(even_nodes(2, 1, 0), [map_reduce("j", 2, (9.0, 2.0))], heartbeat_s=3.0)
    world.lose("n1", 4.0, noticed_at_s=7.0)
    rows = outcomes(world.run())

    assert ("j/0/1/1", "lost", 7.0) == rows[0]
    assert ("j/0/1/2", "done", 11.0) == rows[-1]


def test_a_node_that_is_back_before_it_was_missed_shows_of_its_loss():
    """Else what ran there would count as running for ever."""
    lost, joined = noticed(mtbf_s=100.0, repair_s=5.0, timeout_s=600.0)

    assert lost == joined


def test_a_node_is_missed_after_its_time_out_and_at_once_without_heartbeats():
    lost, joined = noticed(mtbf_s=100.0, repair_s=1000.0, timeout_s=20.0)
    died, _ = noticed(mtbf_s=100.0, repair_s=1000.0, timeout_s=20.0, heartbeat_s=0.0)

    late = [said - dead for said, dead in zip(lost, died, strict=True)]
    assert late == pytest.approx(
        [min(20.0, back - dead) for back, dead in zip(joined, died, strict=True)]
    )
    assert 20.0 == pytest.approx(max(late))


# --- when nodes fail ------------------------------------------------------------------------------


class Watch:
    """A world that only writes down what is shown to it; over after so many repairs."""

    def __init__(self, repairs):
        self.repairs = repairs
        self.died, self.lost, self.joined = [], [], []

    @property
    def is_over(self):
        return len(self.joined) >= self.repairs

    def node_dies(self, node_id, now_s):
        self.died.append((now_s, node_id))

    def report_node(self, event):
        (self.lost if isinstance(event, NodeLost) else self.joined).append(event.at_s)


def watched(nodes=1, repairs=2000, seed=0, **settings):
    agenda, watch = Agenda(), Watch(repairs)
    NodeFaults(watch, even_nodes(nodes, 1, 1), agenda, SimulationSettings(**settings), seed)
    while len(agenda):
        at_s, step = agenda.next_at_s, agenda.pop()
        assert callable(step)
        step(at_s)
    return watch


def noticed(*, mtbf_s, repair_s, timeout_s, heartbeat_s=3.0):
    watch = watched(
        repairs=50, node_mtbf_s=mtbf_s, node_repair_s=repair_s, node_timeout_s=timeout_s,
        heartbeat_s=heartbeat_s,
    )  # fmt: skip
    return watch.lost, watch.joined


# --- too many losses ------------------------------------------------------------------------------


@pytest.fixture
def few_losses(monkeypatch):
    """A limit that a test reaches in seconds."""
    monkeypatch.setattr(loss_limit, "LOSSES_MAX", 20)


@pytest.mark.usefixtures("few_losses")
def test_a_task_that_outlives_every_node_ends_the_simulation():
    with pytest.raises(Infeasible, match="was lost 21 times") as caught:
        simulate(even_nodes(2, 2, 1), [map_reduce("j", 4, 600.0)], node_mtbf_s=5.0)

    for said in ("'j'", "phase map", "every 5 s", "takes 600 s", "shorter tasks."):
        assert said in str(caught.value)


@pytest.mark.usefixtures("few_losses")
def test_a_finished_output_that_is_always_lost_ends_the_simulation():
    """The maps are short and are done each time; the reduce needs all of their outputs at once."""
    jobs = [map_reduce("j", 400, 4.0, 1, 1.0)]
    with pytest.raises(Infeasible, match="phase map was lost"):
        simulate(even_nodes(4, 1, 1), jobs, node_mtbf_s=20.0)


@pytest.mark.usefixtures("few_losses")
def test_nodes_that_fail_before_any_work_starts_end_the_simulation():
    """Every node fails long before its first heartbeat."""
    with pytest.raises(Infeasible, match="no task started or ended"):
        simulate(
            even_nodes(2, 1, 1), [map_reduce("j", 1, 1.0)],
            node_mtbf_s=0.001, heartbeat_s=3.0,
        )  # fmt: skip


@pytest.mark.parametrize("losses_max", [50, 1_000_000])
def test_a_run_within_the_limit_does_not_depend_on_it(losses_max, monkeypatch):
    settings = {"node_mtbf_s": 20.0, "node_repair_s": 2.0, "heartbeat_s": 1.0}
    jobs = [map_reduce("j", 20, 5.0, 2, 5.0)]
    usual = outcomes(simulate(even_nodes(3, 2, 1), jobs, **settings))
    monkeypatch.setattr(loss_limit, "LOSSES_MAX", losses_max)

    assert usual == outcomes(simulate(even_nodes(3, 2, 1), jobs, **settings))


@pytest.mark.parametrize(("repair_s", "mean_s"), [(30.0, 30.0), (None, 10.0)])
def test_times_between_failures_and_of_repairs_have_their_means(repair_s, mean_s):
    """A tenth of the time between failures, where no repair time is given."""
    watch = watched(node_mtbf_s=100.0, node_repair_s=repair_s)
    up_s = [dead - back for (dead, _), back in zip(watch.died[1:], watch.joined, strict=False)]
    down_s = [back - dead for (dead, _), back in zip(watch.died, watch.joined, strict=True)]

    assert statistics.fmean(up_s) == pytest.approx(100.0, rel=4 / 2000**0.5)
    assert statistics.fmean(down_s) == pytest.approx(mean_s, rel=4 / 2000**0.5)


def test_each_node_fails_by_itself():
    """One node more changes nothing for the others."""
    few = watched(2, 40, node_mtbf_s=100.0).died
    more = [each for each in watched(3, 90, node_mtbf_s=100.0).died if each[1] != "n2"]

    assert few[:30] == more[:30]
    assert {"n0", "n1"} == {node_id for _, node_id in few}
    assert len(few) == len({at_s for at_s, _ in few}), "nor do they fail together"


def test_nodes_do_not_fail_unless_asked_nor_after_the_end():
    assert [] == watched().died
    assert [] == watched(node_mtbf_s=float("inf")).died
    assert [] == watched(repairs=0, node_mtbf_s=1.0).died


@pytest.mark.interpreted  # it looks at the events
def test_a_run_among_faults_ends_with_its_work_done():
    world = World(even_nodes(3, 2, 1), [map_reduce("j", 30, 5.0, 4, 5.0)], node_mtbf_s=25.0)
    state = world.run()

    assert JobState.DONE is state.jobs["j"].state
    assert len(world.heard(NodeLost)) > 3
    assert not len(world.simulation._agenda)
    assert len(world.heard(NodeJoined)) == 3 + len(world.heard(NodeLost))


# --- kills ----------------------------------------------------------------------------------------


class Killing(Fifo):
    """FIFO that ends one attempt at one instant."""

    def __init__(self, key, at_s):
        self.key, self.at_s = key, at_s

    def kills(self, state, now_s):
        if now_s >= self.at_s and self.key in state.running:
            self.at_s = float("inf")
            yield self.key, Reason(ReasonCode.TWIN_FINISHED)


def test_a_killed_attempt_ends_at_once_and_its_task_runs_again():
    """At heartbeat 0; what it would have ended with does not count later."""
    tasks = Killing(AttemptKey("j", 0, 0, 1), 4.0)
    jobs = [map_reduce("j", 2, (10.0, 4.0))]
    state = World(even_nodes(1, 2, 0), jobs, tasks).run()

    assert [("j/0/1/1", "done", 4.0), ("j/0/0/1", "killed", 4.0), ("j/0/0/2", "done", 14.0)] == (
        outcomes(state)
    )
    assert {} == state.ignored


@pytest.mark.interpreted
def test_by_heartbeat_a_kill_is_shown_by_its_node():
    """n0 asks at 4 for the end of the map on n1, which shows of it at 6."""
    tasks = Killing(AttemptKey("j", 0, 1, 1), 4.0)
    jobs = [map_reduce("j", 2, (1.5, 10.0))]
    world = World(even_nodes(2, 1, 0), jobs, tasks, heartbeat_s=4.0)
    state = world.run()
    (killed,) = world.heard(TaskFailed)

    assert (4.0, 6.0) == (killed.finished_at_s, killed.at_s)
    assert ("j/0/1/2", "done", 16.0) == outcomes(state)[-1]


@pytest.mark.interpreted
def test_a_kill_does_not_undo_an_end_that_is_only_untold():
    """The map on n1 ended at 3; at 4 n0 asks for its end, and at 6 n1 shows that it was done."""
    tasks = Killing(AttemptKey("j", 0, 1, 1), 4.0)
    jobs = [map_reduce("j", 2, (1.5, 1.0))]
    world = World(even_nodes(2, 1, 0), jobs, tasks, heartbeat_s=4.0)

    assert [("j/0/0/1", "done", 1.5), ("j/0/1/1", "done", 3.0)] == outcomes(world.run())
    assert [4.0, 6.0] == [end.at_s for end in world.heard(TaskFinished)]
    assert tasks.at_s == float("inf"), "it was asked for"


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("heartbeat_s", [0.0, 3.0])
def test_a_task_that_fails_four_times_fails_its_job(heartbeat_s):
    jobs = [map_reduce("j", 1, 10.0, 1, 1.0)]
    state = simulate(even_nodes(1, 1, 1), jobs, task_failure=1.0, heartbeat_s=heartbeat_s)
    job = state.jobs["j"]

    assert JobState.FAILED is job.state
    assert "map task 0 failed 4 times, last: failed by chance" == job.reason
    assert [f"j/0/0/{n}" for n in (1, 2, 3, 4)] == [row[0] for row in outcomes(state)]
    assert {"failed"} == {row[1] for row in outcomes(state)}


def test_what_else_ran_of_a_failed_job_is_killed_and_others_go_on():
    """The other maps of the job hold slots that the next job waits for."""
    jobs = [map_reduce("bad", 8, 10.0), map_reduce("next", 4, 1.0)]
    world = World(even_nodes(1, 8, 0), jobs, task_failure=0.9, seed=1)
    state = world.run()
    bad = state.jobs["bad"]

    assert JobState.FAILED is bad.state
    killed = [a for a in state.closed if a.state.value == "killed"]
    assert killed
    assert {bad.finished_at_s} == {a.finished_at_s for a in killed if a.phase.job is bad}


def test_losses_do_not_count_as_failures():
    """Ten losses of one task are its nodes' fault, and the job's patience is four."""
    world = World(even_nodes(1, 1, 0), [map_reduce("j", 1, 5.0)])
    for number in range(10):
        world.lose("n0", 2.0 * number + 1, back_at_s=2.0 * number + 2)
    state = world.run()

    assert [*["lost"] * 10, "done"] == [outcome for _, outcome, _ in outcomes(state)]
    assert JobState.DONE is state.jobs["j"].state


class Relentless(Fifo):
    """FIFO that ends whatever runs, once a second, six times."""

    def kills(self, state, now_s):
        for key in list(state.running):
            if key.attempt <= 6 and now_s >= key.attempt:
                yield key, Reason(ReasonCode.TWIN_FINISHED)


@pytest.mark.parametrize("heartbeat_s", [0.0, 0.5])
def test_kills_do_not_count_as_failures(heartbeat_s):
    """An attempt that was ended on request is not a failure of its task."""
    jobs = [map_reduce("j", 1, 50.0), map_reduce("k", 80, 0.5)]
    state = World(even_nodes(1, 2, 0), jobs, Relentless(), heartbeat_s=heartbeat_s).run()
    tries = [a.state.value for a in state.closed if a.key.job_id == "j"]

    assert [*["killed"] * 6, "done"] == tries
    assert {JobState.DONE} == {job.state for job in state.jobs.values()}


@pytest.mark.no_invariants
def test_failures_come_as_often_as_the_setting_says():
    """5,000 first attempts, a fifth of which fail: 1,000, four standard deviations at most off."""
    jobs = [map_reduce(f"j{number}", 50, 1.0) for number in range(100)]
    state = simulate(even_nodes(1, 50, 0), jobs, task_failure=0.2)
    first = [a for a in state.closed if a.key.attempt == 1 and a.state.value != "killed"]
    failed = sum(a.state.value == "failed" for a in first)

    assert abs(failed - 0.2 * len(first)) < 4 * (len(first) * 0.2 * 0.8) ** 0.5
    assert len(first) > 4000


@pytest.mark.interpreted
def test_the_more_nodes_there_are_the_more_may_fail_before_any_work_starts(monkeypatch):
    """Of three nodes, three times the limit: the first failure is no repetition."""
    monkeypatch.setattr(loss_limit, "LOSSES_MAX", 4)
    limit = loss_limit.LossLimit(SimulationSettings(node_mtbf_s=5.0), nodes=3)
    state = SimpleNamespace(closed=[], running={}, active={"j": None})
    for _ in range(1 + 4 * 3):
        limit.node_died(state, ())
    with pytest.raises(Infeasible, match="while 13 nodes failed"):
        limit.node_died(state, ())
