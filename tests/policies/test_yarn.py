"""YARN with its heartbeats and masters, on cases that can be worked out by hand."""

import math
import random
from types import SimpleNamespace
from unittest.mock import Mock, call

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sluice
from sluice.api.simulate import Scheduling, simulated
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.core.commands import Wake
from sluice.core.events import JobSubmitted, NodeJoined, NodeLost, Tick
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.queue_tree import AmountKind, ConfiguredQueue, QueueAmount, QueueTree, YarnRules
from sluice.model.queues import Pool
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.policies.yarn.capacity_preemption import CapacityPreemption, filled
from sluice.policies.yarn.policy import YarnTasks
from sluice.policies.yarn.queues import Application, CapacityRules
from sluice.policies.yarn.schedulers import preemption_of

SEEDS = pytest.mark.parametrize("seed", range(4))


def job(name, *phases, queue="a", at_s=0.0, user="u"):
    """A job whose phases have these lengths of tasks."""
    return Job(
        job_id=JobId(name),
        pool=PoolId(queue),
        customer=user,
        submitted_at_s=at_s,
        phases=tuple(
            Phase(
                name=f"phase-{index}", kind=SlotKind.CONTAINER, tasks=len(lengths),
                lengths=ListedLengths(tuple(lengths)), after=(index - 1,) if index else (),
            )
            for index, lengths in enumerate(phases)
        ),
    )  # fmt: skip


def queue(name, percent, **keys):
    return ConfiguredQueue(
        path=f"root.{name}",
        capacity=QueueAmount(keys.pop("kind", AmountKind.PERCENT), percent),
        **keys,
    )


def run(
    jobs, *queues, nodes=1, containers=2, seed=0, is_fair=False, after_s=None, yarn=None, **given
):
    """The policy after the run, and its attempts by job, in their order of start."""
    tree = QueueTree(
        queues=queues or (queue("a", 100.0),),
        idle_count=not is_fair,
        preempts_after_s=after_s,
        yarn=yarn,
    )
    tasks = YarnTasks(YarnTasks.Settings(heartbeat_seed=seed, **given), tree=tree)
    cluster = Cluster(
        nodes=tuple(Node(node_id=NodeId(f"n{one}"), containers=containers) for one in range(nodes))
    )
    scheduler, _ = simulated(Workload(cluster=cluster, jobs=tuple(jobs)), Scheduling(tasks=tasks))
    spans: dict[str, list[Span]] = {str(one.job_id): [] for one in jobs}
    for attempt in scheduler.state.closed:
        span = Span((attempt.started_at_s, attempt.finished_at_s))
        span.node_id = attempt.node.node_id
        spans[str(attempt.phase.job.job_id)].append(span)
    return tasks, {name: sorted(found) for name, found in spans.items()}


def nodes_of_masters(tasks):
    """The node of the container of each master that has had one, by job."""
    masters = tasks._masters.items()
    return {name: one.host.entry.node_id for name, one in masters if one.host is not None}


class Span(tuple[float, float]):  # noqa: SLOT001  # one attribute more
    """Start and end. node_id: where."""

    node_id = ""


def test_jobs_may_be_further_apart_than_a_cluster_that_is_stuck_is_quiet():
    _, spans = run([job("first", [1.0]), job("later", [1.0], at_s=5000.0)])

    first, later = spans["first"][0][0], spans["later"][0][0] - 5000.0
    assert first == pytest.approx(later)


def test_a_cluster_whose_nodes_come_back_is_not_stuck():
    """Nothing moved while they were away."""
    scheduler = scheduler_for(settings=resolved_settings({}), tasks="yarn", is_live=True)
    node = Node(node_id=NodeId("n0"), containers=2)
    events = [
        NodeJoined(0.0, node), Tick(0.0), NodeLost(1.0, node.node_id, "gone"),
        JobSubmitted(2.0, job("j", [1.0])), Tick(2.0), Tick(900.0), NodeJoined(1000.0, node),
        Tick(1000.0),
    ]  # fmt: skip
    wakes = [one for event in events for one in scheduler.handle(event) if isinstance(one, Wake)]

    assert 1000.0 < wakes[-1].at_s <= 1001.0


def test_a_master_begins_again_although_its_node_is_back_at_once():
    """Between two decisions the node was lost and joined: what it held is gone all the same."""
    scheduler = scheduler_for(settings=resolved_settings({}), tasks="yarn", is_live=True)
    node, tasks = Node(node_id=NodeId("n0"), containers=2), scheduler.policies.tasks
    for event in (NodeJoined(0.0, node), JobSubmitted(0.0, job("j", [1.0])), Tick(0.0), Tick(2.0)):
        scheduler.handle(event)
    assert nodes_of_masters(tasks) == {"j": "n0"}

    for later in (NodeLost(2.1, node.node_id, "gone"), NodeJoined(2.1, node), Tick(2.1)):
        scheduler.handle(later)
    assert nodes_of_masters(tasks) == {}


@SEEDS
def test_one_task_waits_for_each_call_of_its_master(seed):
    """The master has its container before 1 s, and asks then. The container is granted before
    2 s, arrives with the answer at 2 s, and is used at 3 s. The end at 13 s is reported before
    14 s, arrives at 14 s, and is acted on at 15 s.
    """
    tasks, spans = run([job("one", [10.0])], seed=seed)
    assert spans["one"] == [(3.0, 13.0)]
    assert tasks.ended_at_s == {"one": 15.0}


@SEEDS
def test_a_master_calls_as_often_as_the_setting_says(seed):
    """It asks at 3 s, has the container with the answer at 6 s and uses it at 9 s. The end at
    19 s is reported before 20 s, arrives at 21 s, and is acted on at 24 s.
    """
    tasks, spans = run([job("one", [10.0])], seed=seed, master_s=3.0)
    assert spans["one"] == [(9.0, 19.0)]
    assert tasks.ended_at_s == {"one": 24.0}


@SEEDS
def test_a_later_phase_is_asked_for_when_the_master_knows_that_the_first_is_done(seed):
    tasks, spans = run([job("one", [10.0], [5.0])], seed=seed)
    assert spans["one"] == [(3.0, 13.0), (17.0, 22.0)]
    assert tasks.ended_at_s == {"one": 24.0}


@SEEDS
def test_a_node_gets_one_container_at_each_heartbeat_from_the_capacity_scheduler(seed):
    _, spans = run([job("one", [10.0] * 4)], containers=5, seed=seed)
    assert [start for start, _ in spans["one"]] == [3.0, 4.0, 5.0, 6.0]


@SEEDS
def test_a_node_gets_half_of_its_room_and_one_more_from_the_fair_scheduler(seed):
    fair = queue("a", 1.0, kind=AmountKind.WEIGHT, masters_of_guarantee=True)
    _, spans = run([job("one", [10.0] * 4)], fair, containers=5, seed=seed, is_fair=True)
    first, *_, last = [start for start, _ in spans["one"]]
    assert [start for start, _ in spans["one"]] == [first, first, first, first + 1]
    assert last == first + 1


@pytest.mark.parametrize("seed", [1, 3, 8])
def test_the_fair_scheduler_sees_a_job_only_after_its_first_update(seed):
    """The only node reports before it, and again a second later; then the job has its master."""
    draws = random.Random(seed)
    assert draws.random() * 1.0 < draws.random() * 0.5, "the first heartbeat and update"
    weighted = queue("a", 1.0, kind=AmountKind.WEIGHT, masters_of_guarantee=True)
    _, fair = run([job("one", [10.0])], weighted, seed=seed, is_fair=True)
    _, capacity = run([job("one", [10.0])], seed=seed)

    assert fair["one"][0][0] >= capacity["one"][0][0] + 1


@pytest.mark.parametrize("is_fair", [False, True])
@pytest.mark.parametrize("most", [1, 2, 3, 4, math.inf])
def test_a_node_gets_as_many_containers_at_a_heartbeat_as_the_files_say(most, is_fair):
    fair = queue("a", 1.0, kind=AmountKind.WEIGHT, masters_of_guarantee=True)
    rules = YarnRules(containers_max=most, offswitch_max=math.inf)
    queues = (fair,) if is_fair else ()
    _, spans = run([job("one", [9.0] * 6)], *queues, containers=7, is_fair=is_fair, yarn=rules)
    starts = [start for start, _ in spans["one"]]
    assert [starts.count(at) for at in sorted(set(starts))] == {
        1: [1] * 6, 2: [2, 2, 2], 3: [3, 3], 4: [4, 2], math.inf: [6]
    }[most]  # fmt: skip


def test_the_limit_for_containers_that_are_not_near_is_one_of_its_own():
    rules = YarnRules(offswitch_max=2)
    _, spans = run([job("one", [9.0] * 6)], containers=7, yarn=rules)
    starts = [start for start, _ in spans["one"]]
    assert [starts.count(at) for at in sorted(set(starts))] == [2, 2, 2]


@SEEDS
def test_a_second_application_waits_until_the_first_has_given_back_its_master(seed):
    """Of four containers masters may have a quarter, that is one."""
    two = [job("one", [10.0]), job("two", [10.0])]
    limited = queue("a", 100.0, masters_share=0.25, user_limit_factor=10.0)
    tasks, _ = run(two, limited, containers=4, seed=seed)
    free, _ = run(two, containers=4, seed=seed)

    assert tasks.ended_at_s["one"] == 15.0
    assert tasks.ended_at_s["two"] >= 15.0 + 13.0
    assert free.ended_at_s["two"] <= 17.0


@SEEDS
def test_a_master_takes_a_container_that_no_task_gets(seed):
    """Of two containers the master holds one, so that the two tasks run one after the other."""
    tasks, spans = run(
        [job("one", [10.0, 10.0])], queue("a", 100.0, masters_share=0.5), containers=2, seed=seed
    )
    (_, end), (start, _) = spans["one"]
    assert start >= end
    assert tasks.ended_at_s["one"] >= 26.0


@SEEDS
def test_a_user_gets_no_more_than_the_factor_allows_and_one(seed):
    """A quarter of eight containers, times one: a user with two may have a third."""
    limited = (queue("a", 25.0, user_limit_factor=1.0), queue("b", 75.0))
    _, spans = run([job("one", [10.0] * 6)], *limited, containers=8, seed=seed)
    assert most_at_once(spans["one"]) == 3 - 1  # its master is the third


def test_a_user_may_have_one_container_more_than_a_full_queue_has():
    """The queue holds six containers, more than its four, and each user may have all of it."""
    rules = CapacityRules(
        QueueTree(queues=(queue("a", 50.0, user_limit_percent=100.0), queue("b", 50.0)))
    )
    rules.resize(8)
    leaf = rules.queues["root.a"]
    apps = [Application(index, leaf, f"u{index}", has_master=True) for index in range(2)]
    for app, held in zip(apps, (6, 0), strict=True):
        rules.submit(app)
        app.pending = 9
        leaf.count(app, held)

    assert [app.number for app in rules.in_turn(leaf)] == [0, 1]


@pytest.mark.parametrize(
    ("larger", "containers", "used", "below"),
    [(60.0, 21, 12, 8), (70.0, 14, 7, 3), (90.0, 24, 9, 1)],
)
def test_of_two_queues_with_equal_use_for_their_guarantee_the_larger_comes_first(
    larger, containers, used, below
):
    """12 of 12.6 containers and 8 of 8.4, as Hadoop's queues had them in trace-6."""
    rules = CapacityRules(QueueTree(queues=(queue("a", 100 - larger), queue("b", larger))))
    rules.resize(containers)
    for index, (name, held) in enumerate({"a": below, "b": used}.items()):
        leaf = rules.queues[f"root.{name}"]
        app = Application(index, leaf, f"user of {name}", has_master=True)
        rules.submit(app)
        app.pending = 9
        leaf.count(app, held)
    assert [app.queue.queue.name for app in rules.grants(1, 3)] == ["b"]


def most_at_once(spans):
    return max((sum(start <= at < end for start, end in spans) for at, _ in spans), default=0)


# --- masters of another size, preemption, lost nodes, and what never ends ---


@SEEDS
def test_a_master_of_three_containers_leaves_one_of_four_to_its_tasks(seed):
    tasks, spans = run([job("one", [10.0] * 3)], containers=4, seed=seed, master_containers=3)
    assert most_at_once(spans["one"]) == 1
    assert tasks.ended_at_s["one"] >= 33.0


@SEEDS
def test_a_master_that_fits_no_free_room_reserves_a_node(seed):
    """Six tasks of the first job leave one container of eight; the second needs two on one node,
    and has them as soon as a task on either node has ended, before the first job has its ninth.
    """
    two = [job("one", [10.0] * 40), job("two", [5.0], at_s=8.0, queue="b")]
    queues = (queue("a", 50.0, user_limit_factor=10.0), queue("b", 50.0, user_limit_factor=10.0))
    tasks, spans = run(two, *queues, nodes=2, containers=4, seed=seed, master_containers=2)

    assert tasks.ended_at_s["two"] < 40.0 < tasks.ended_at_s["one"]
    assert len(spans["one"]) == 40


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("facts", "is_reserved", "grants"),
    [
        ({"free": 1}, True, 0),
        ({"free": 2}, False, 1),
        ({"has_master": True}, False, 0),  # which it has on another node
        ({"pending": ()}, False, 0),
        ({"is_in_queue": False}, False, 0),  # it has ended
    ],
)
def test_a_reserved_node_waits_for_room_while_the_master_is_wanted(facts, is_reserved, grants):
    """The master takes two containers."""
    now = {"free": 9, "has_master": False, "pending": ("master",), "is_in_queue": True, **facts}
    app = Mock(wants=2, has_master=now["has_master"], pending=now["pending"])
    app.queue.apps = {app} if now["is_in_queue"] else set()
    host, policy = Mock(free=now["free"], reserved=app), Mock()
    YarnTasks._grant_reserved(policy, host, app, 3.0)

    assert host.reserved is (app if is_reserved else None)
    assert policy._grant.mock_calls == [call(host, app, 3.0)] * grants


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("free", "most", "far_max", "is_near", "granted"),
    [
        (10, None, None, True, 3),  # 4 + 4 + 4 containers are no fewer than are free
        (8, None, None, True, 2),
        (0, None, None, True, 0),
        (99, 2, None, True, 2),
        (99, None, 3, False, 3),
        (99, None, None, False, 1),  # one by default
        (99, None, None, True, 5),  # no other one asks
    ],
)
def test_a_heartbeat_grants_up_to_its_limits(free, most, far_max, is_near, granted):
    """Each of five applications wants four containers."""
    rules = Mock(said=Mock(containers_max=most, offswitch_max=far_max))
    rules.choose.side_effect = [*(Mock(wants=4) for _ in range(5)), None]
    rules.placement.is_near = is_near

    assert len(list(CapacityRules.grants(rules, free, 9))) == granted


@pytest.mark.interpreted
@pytest.mark.parametrize(("now_s", "due_s"), [(0.0, 3.0), (2.9, 3.0), (3.0, 6.0), (7.0, 9.0)])
def test_rounds_of_preemption_are_at_multiples_of_their_interval(now_s, due_s):
    """While a queue is above its guarantee and another one waits."""
    leaf = Mock(used=3, guarantee=2.0)
    rounds = Mock(_running={leaf: {}}, _due_s=math.inf, _every_s=3.0)
    rounds._rules.is_waiting = True
    assert CapacityPreemption.wake_at_s(rounds, now_s) == due_s
    assert CapacityPreemption.wake_at_s(rounds, now_s + 1) == due_s, "one wake-up for each"
    leaf.used = 2
    assert CapacityPreemption.wake_at_s(rounds, now_s) is None
    assert rounds._due_s == math.inf


def test_a_master_larger_than_any_node_is_refused():
    with pytest.raises(InvalidInput, match="a master takes 3 containers, and the largest node has"):
        run([job("one", [1.0])], nodes=9, containers=2, master_containers=3)


def test_masters_that_leave_nothing_for_tasks_are_reported_and_not_waited_for():
    """Two containers, two applications, and no limit of masters: YARN would hang as well."""
    with pytest.raises(InvalidInput, match=r"masters hold 2 of\s+2 containers"):
        run([job("one", [1.0]), job("two", [1.0])], nodes=2, containers=1)


@SEEDS
def test_a_queue_below_its_guarantee_takes_containers_of_tasks_back(seed):
    """Without preemption the second queue waits until the long tasks of the first have ended."""
    two = [job("one", [100.0] * 7), job("two", [5.0] * 2, at_s=20.0, queue="b")]
    queues = (queue("a", 50.0, user_limit_factor=10.0), queue("b", 50.0, user_limit_factor=10.0))
    patient, _ = run(two, *queues, containers=8, seed=seed)
    tasks, spans = run(two, *queues, containers=8, seed=seed, after_s=15.0)

    assert patient.ended_at_s["two"] > 100.0
    assert 35.0 < tasks.ended_at_s["two"] < 65.0
    killed = [span for span in spans["one"] if span[1] - span[0] < 100.0]
    assert 1 <= len(killed) <= 4  # the guarantee of the second queue
    assert len(spans["one"]) == 7 + len(killed)


SIXTY_FORTY = (queue("a", 60.0, user_limit_factor=10.0), queue("b", 40.0, user_limit_factor=10.0))


def killed_of(spans, length):
    return [span for span in spans if span[1] - span[0] < length]


@SEEDS
def test_a_part_of_a_container_above_the_guarantee_costs_a_whole_one(seed):
    """9.6 containers are the first queue's: with ten it loses one, and with nine it gets a tenth
    again when a task of the other queue ends, for both are then equally far from their guarantee.
    """
    two = [job("one", [100.0] * 15), job("two", [9.0] * 30, at_s=20.0, queue="b")]
    _, spans = run(two, *SIXTY_FORTY, nodes=4, containers=4, seed=seed, after_s=4.0)
    assert len(killed_of(spans["one"], 100.0)) >= 8  # six and a part are the second queue's


@SEEDS
def test_the_last_application_loses_its_tasks_first(seed):
    """Although the tasks of the first one are younger, which are those of its second phase."""
    jobs = [
        job("one", [6.0], [100.0] * 8), job("last", [100.0] * 5, at_s=0.5),
        job("two", [9.0] * 2, at_s=20.0, queue="b"),
    ]  # fmt: skip
    _, spans = run(jobs, *SIXTY_FORTY, nodes=5, containers=3, seed=seed, after_s=4.0)
    assert killed_of(spans["last"], 100.0)
    assert len(killed_of(spans["one"], 100.0)) == 1  # that of its first phase


@pytest.mark.parametrize(
    ("rules", "most"),
    [
        (YarnRules(round_s=100.0, round_share=0.1), 1),
        (YarnRules(round_s=100.0, round_share=0.05), 0),  # less than one container
        (YarnRules(round_s=100.0, natural_share=0.4), 3),
        (YarnRules(round_s=100.0, ignored_share=0.7), 0),
        (YarnRules(round_s=100.0), 7),
    ],
)
def test_a_round_takes_no_more_than_the_file_says(rules, most):
    """The first queue has all 16 containers and may keep 9.6; the only round is at 100 s."""
    tree = QueueTree(queues=SIXTY_FORTY, preempts_after_s=100.0, yarn=rules)
    scheduler = CapacityRules(tree)
    scheduler.resize(16)
    full, late = (scheduler.queues[f"root.{name}"] for name in "ab")
    apps = [Application(number, one, "u") for number, one in enumerate((full, late))]
    for app in apps:
        scheduler.submit(app)
    preemption = preemption_of(scheduler, {}, 1.0)
    full.count(apps[0], 16)
    apps[0].has_master = apps[1].has_master = True
    apps[1].pending = 9
    for number in range(15):
        preemption.began(SimpleNamespace(key=number, phase=SimpleNamespace(index=0)), apps[0])
    preemption.wake_at_s(50.0)
    assert len(list(preemption.kills(100.0, []))) == most


def test_the_least_served_gets_what_is_left_first():
    spans = [(6.0, 6.0, 12.0), (4.0, 1.0, 3.0), (2.0, 0.0, 9.0)]
    assert filled(7.0, spans) == [6.0, 1.0, 0.0]
    assert filled(9.0, spans) == [6.0, 2.0, 1.0]
    assert filled(13.0, spans) == pytest.approx([7.5, 3.0, 2.5])
    assert filled(99.0, spans) == [12.0, 3.0, 9.0]


@SEEDS
def test_a_queue_that_is_not_preemptible_keeps_its_tasks(seed):
    two = [job("one", [100.0] * 7), job("two", [5.0], at_s=20.0, queue="b")]
    kept = queue("a", 50.0, user_limit_factor=10.0, is_preemptible=False)
    _, spans = run(two, kept, queue("b", 50.0), containers=8, seed=seed, after_s=15.0)
    assert len(spans["one"]) == 7


@pytest.mark.parametrize("seed", range(6))
def test_jobs_end_although_nodes_with_their_masters_are_lost(seed):
    """Nodes crash every few minutes and come back; tasks and masters begin again elsewhere."""
    workload = sluice.parse_workload("""
        version: 1
        cluster: {nodes: 3, node: {containers: 4}}
        jobs:
          - {id: one, maps: {tasks: 30, avg_s: 20}, reduces: {tasks: 4, avg_s: 30}}
          - {id: two, maps: {tasks: 20, avg_s: 15}, reduces: {tasks: 2, avg_s: 30}}
    """)
    found = sluice.simulate(
        workload, tasks="yarn", seed=seed,
        settings={"node_mtbf_s": 200.0, "node_repair_s": 60.0, "task_failure": 0.02},
    )  # fmt: skip
    assert {one.state for one in found.jobs} == {"done"}


def test_pools_of_a_workload_are_queues_of_the_fair_scheduler():
    """A pool with three times the weight gets three times the containers while both wait."""
    workload = sluice.parse_workload("""
        version: 1
        cluster: {nodes: 4, node: {containers: 4}}
        pools: [{id: small, weight: 1}, {id: large, weight: 3}]
        jobs:
          - {id: one, pool: small, maps: {tasks: 60, avg_s: 20}}
          - {id: two, pool: large, maps: {tasks: 60, avg_s: 20}}
    """)
    found = sluice.simulate(workload, tasks="yarn")
    one_s, two_s = (job.finished_at_s or 0.0 for job in found.jobs)
    assert 0 < two_s < 0.75 * one_s


def test_pools_are_named_as_the_workload_names_them():
    """A path inside has numbers, which no user has seen."""
    workload = sluice.parse_workload("""
        version: 1
        cluster: {nodes: 2, node: {containers: 1}}
        pools: [{id: etl}, {id: night.ly}]
        jobs:
          - {id: one, pool: night.ly, maps: {tasks: 1, avg_s: 20}}
          - {id: two, pool: etl, maps: {tasks: 1, avg_s: 20}}
    """)
    with pytest.raises(InvalidInput) as caught:
        sluice.simulate(workload, tasks="yarn")
    assert caught.value.where == "queue root.night.ly"


def test_reasons_name_a_pool_as_the_workload_does():
    pool = Pool(pool_id=PoolId("etl"))
    tasks = YarnTasks(YarnTasks.Settings())
    cluster = Cluster(nodes=(Node(node_id=NodeId("n"), containers=4),))
    one = job("one", [5.0] * 2, queue="etl")
    workload = Workload(cluster=cluster, pools=(pool,), jobs=(one,))
    scheduler, _ = simulated(workload, Scheduling(tasks=tasks))
    reasons = [tasks._reason(attempt.phase) for attempt in scheduler.state.closed]
    assert reasons
    assert {dict(reason.numbers)["queue"] for reason in reasons} == {"root.etl"}


JOBS = st.lists(
    st.tuples(
        st.lists(st.floats(0.5, 20), min_size=1, max_size=6),
        st.lists(st.floats(0.5, 20), min_size=0, max_size=3),
        st.floats(0, 30),
        st.sampled_from("ab"),
        st.sampled_from("uv"),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=40)
@given(JOBS, st.booleans(), st.integers(1, 3), st.integers(2, 4), st.integers(0, 9))
def test_all_applications_end_and_no_container_is_used_twice(jobs, is_fair, nodes, size, seed):
    made = [
        job(f"j{index}", *(one for one in (maps, reduces) if one), queue=name, at_s=at_s, user=user)
        for index, (maps, reduces, at_s, name, user) in enumerate(jobs)
    ]
    kind = AmountKind.WEIGHT if is_fair else AmountKind.PERCENT
    share = {
        "kind": kind, "masters_share": 1.0 if is_fair else 0.5, "masters_of_guarantee": is_fair,
    }  # fmt: skip
    queues = [queue("a", 50.0, **share), queue("b", 50.0, **share)]
    if nodes * size < 2 * len(jobs) + 2:
        nodes = len(jobs) + 1  # masters alone cannot fill it
    tasks, spans = run(
        made, *queues, nodes=nodes, containers=size, seed=seed, is_fair=is_fair
    )  # fmt: skip
    assert set(tasks.ended_at_s) == {one.job_id for one in made}
    for name, found in spans.items():
        ended_at_s = tasks.ended_at_s[JobId(name)]
        assert math.isfinite(ended_at_s)
        assert ended_at_s >= max(end for _, end in found)
        master = Span((min(start for start, _ in found) - 1, ended_at_s))
        master.node_id = nodes_of_masters(tasks)[name]
        found.append(master)
    for number in range(nodes):
        there = [one for found in spans.values() for one in found if one.node_id == f"n{number}"]
        assert most_at_once(there) <= size
