"""Jobs that are over leave the state, and nothing else changes: no decision, no account."""

import gc

import pytest
from tests.core.test_attempt_log import facts
from tests.effort import IS_THOROUGH, of_today
from tests.open_cluster import POOLS, OpenCluster
from tests.policies.registered import NAMES, VARIANTS
from tests.runs import even_nodes, scheduler_of

from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.core import events as ev
from sluice.core.entries import JobEntry
from sluice.core.garbage_collector import short_collections
from sluice.core.indexes.group_sizes import GroupSizes
from sluice.model.ids import JobId
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.policies import BUILT_IN
from sluice.policies.composition import AXES

OTHERS = [name.split(".", 1) for name in BUILT_IN if name.startswith(("admission.", "release."))]
IN_CONTAINERS = {"containers", "resources", "rigid", "easy", "conservative"}
PARTS = [
    f"{axis}={name}"
    for axis in ("order", "slots", "goals", "copies", "data")
    for name in AXES[axis]
]


def live(tasks="fair", **more):
    """A scheduler as a service has it."""
    given_settings = VARIANTS.get(tasks, ())
    found = resolved_settings({}, [one for one in given_settings if "heartbeat" not in one])
    return scheduler_for(
        settings=found, tasks=tasks.partition(",")[0], pools=POOLS, is_live=True, **more
    )


def same_with_and_without(make, seed, jobs=40 if IS_THOROUGH else 20, **how):
    """Two schedulers of the same events, of which the second one forgets."""
    world = OpenCluster([make(), make()], seed, **how)
    world.submit(jobs)
    world.run()
    kept, forgetting = (one.state for one in world.schedulers)
    assert world.forgotten > jobs / 2
    assert len(forgetting.jobs) < len(kept.jobs)
    assert forgetting.closed.ended == kept.closed.ended
    assert forgetting.closed.busy_s == kept.closed.busy_s
    return world


@pytest.mark.parametrize("tasks", NAMES)
def test_a_task_policy_decides_the_same_when_jobs_are_forgotten(tasks):
    for seed in of_today(range(4), 1):
        same_with_and_without(lambda: live(tasks), seed)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("part", PARTS)
def test_each_order_and_room_decides_the_same(part):
    axis, _, name = part.partition("=")
    in_containers = axis == "slots" and name in IN_CONTAINERS
    rest = {"order": "slots=typed", "slots": "order=fair", "data": "order=fair+slots=lent"}.get(
        axis, "order=fair+slots=typed"
    )
    same_with_and_without(lambda: live(f"{part}+{rest}"), seed=0, are_typed=not in_containers)


@pytest.mark.parametrize(("kind", "name"), OTHERS)
def test_admission_and_release_decide_the_same(kind, name):
    tasks = "vm-pools" if name == "vm-pools" else "fair"
    same_with_and_without(lambda: live(tasks, **{kind: name}), seed=0)


def alive(kind):
    """How many objects of a class there are."""
    gc.collect()
    return sum(type(one) is kind for one in gc.get_objects())


# They keep the waits of at most 1,000 jobs, whatever becomes of these.
WITH_WAITS = {"fair, waits", "dynamicmr, pi, all parts"}
JOBS = 150  # with about 6,000 attempts
FORGETFUL = [name for name in NAMES if name not in WITH_WAITS]


@pytest.mark.in_turn(3)
@pytest.mark.slow
@pytest.mark.no_invariants  # they would count thousands of attempts again and again
@pytest.mark.parametrize("tasks", FORGETFUL)
def test_what_is_forgotten_is_gone(tasks):
    """Few of all jobs are left: those whose attempts no sweep has met yet, and what a heap drops
    when it comes up.
    """
    before = alive(JobEntry)
    world = OpenCluster([live(tasks)], seed=1, faults=0.0, maps=80)
    for _ in range(2):
        world.submit(JOBS)
        world.run()
        assert not world.state.jobs
        assert alive(JobEntry) - before <= 1.5 * JOBS
    assert world.attempts > 2 * 5000


# Few jobs at a time, because their masters hold containers as well.
OF_YARN = {"are_typed": False, "every_s": 60.0, "faults": 0.0}


@pytest.mark.parametrize("settings", [(), ("yarn.node_locality_threshold=0.5",)])
def test_yarn_decides_the_same_when_jobs_are_forgotten(settings):
    found = resolved_settings({}, settings)
    same_with_and_without(
        lambda: scheduler_for(settings=found, tasks="yarn", pools=POOLS, is_live=True),
        seed=1,
        jobs=25,
        **OF_YARN,
    )


@pytest.mark.no_invariants  # as above
def test_yarn_keeps_no_masters_of_jobs_that_are_forgotten():
    before = alive(JobEntry)
    world = OpenCluster([live("yarn")], seed=1, maps=8, **OF_YARN)
    for _ in range(3):
        world.submit(100)
        world.run()
        world.state.closed.sweep()
        assert not world.state.jobs
        assert alive(JobEntry) - before <= 2


@pytest.mark.no_invariants  # as above
@pytest.mark.parametrize("around", ["", "+goals=first+copies=late"])
def test_an_order_keeps_no_jobs_that_are_forgotten_whatever_is_around_it(around):
    """Heaps of turns keep some until they come up."""
    before = alive(JobEntry)
    tasks = f"order=ltrf+slots=containers{around}"
    world = OpenCluster([live(tasks)], seed=1, maps=8, are_typed=False, faults=0.0)
    for _ in range(3):
        world.submit(100)
        world.run()
        world.state.closed.sweep()
    assert not world.state.jobs
    assert alive(JobEntry) - before <= 150


@pytest.mark.no_invariants  # as above
@pytest.mark.parametrize("tasks", ["fifo", "fair", "queue-tree"])
def test_what_is_forgotten_is_gone_without_a_search_for_cycles(tasks):
    """A live driver keeps its collector from searching what is old."""
    before = alive(JobEntry)
    world = OpenCluster([live(tasks)], seed=1, faults=0.0)
    with short_collections():
        gc.disable()
        for _ in range(3):
            world.submit(JOBS)
            world.run()
            world.state.closed.sweep()
        found = sum(type(one) is JobEntry for one in gc.get_objects())
        gc.enable()
    assert found - before <= JOBS / 10


def test_a_job_that_is_not_over_is_not_forgotten():
    world = OpenCluster([live("fifo"), live("fifo")], seed=3)
    world.submit(3)
    world.run()
    scheduler = world.schedulers[0]  # it has forgotten nothing
    state = scheduler.state
    ended = list(state.jobs)
    rows, totals = len(state.closed), state.closed.ended
    open_job = a_job("open")
    scheduler.handle(ev.JobSubmitted(world.now_s, open_job))
    scheduler.handle(ev.Tick(world.now_s))
    scheduler.handle(ev.JobsForgotten(world.now_s, ("open", "unknown", *ended, ended[0])))

    assert list(state.jobs) == ["open"]
    assert state.ignored["job unknown, or not over"] == 3
    assert list(state.closed) == []
    assert (len(state.closed), state.closed.ended) == (rows, totals)
    assert all(state.closed.phase_of(row) is None for row in range(rows))


def a_job(job_id):
    """A job of one map."""
    return Job(job_id=job_id, pool="p0", phases=(Phase(name="map", kind=SlotKind.MAP, tasks=1),))


@pytest.mark.no_invariants  # of hundreds of attempts
def test_a_node_that_is_up_stays_known_without_a_row():
    """A chunk of the record is full of the attempts of the first node, and goes."""
    scheduler, (first, second) = scheduler_of(), even_nodes(2, 1, 0).nodes

    def started(job_id):
        scheduler.handle(ev.JobSubmitted(0.0, a_job(job_id)))
        (launch,) = scheduler.handle(ev.Tick(0.0))
        return launch.key

    scheduler.handle(ev.NodeJoined(0.0, first))
    for number in range(512):
        scheduler.handle(ev.TaskFinished(0.0, started(f"j{number}"), 0.0))
    key = started("long")
    scheduler.handle(ev.NodeJoined(0.0, second))
    scheduler.handle(ev.TaskFinished(0.0, started("other"), 0.0))
    scheduler.handle(ev.JobsForgotten(0.0, tuple(JobId(f"j{number}") for number in range(512))))
    log = scheduler.state.closed
    assert log.sweep() == 512

    scheduler.handle(ev.TaskFinished(0.0, key, 0.0))
    assert [one.node.node_id for one in log] == [second.node_id, first.node_id]


@pytest.mark.no_invariants  # of thousands of attempts
def test_attempts_that_stay_read_as_before():
    """Also those on nodes that were lost since, in the same rows."""
    world = OpenCluster([live("fifo"), live("fifo")], seed=5, maps=60)
    world.submit(60)
    world.run()
    state = world.schedulers[0].state  # of the one that has forgotten nothing
    log, stays = state.closed, list(state.jobs)[20:25]
    phases = [phase for job_id in stays for phase in state.jobs[job_id].phases]
    before = [(log.rows_of(one), [facts(log[row]) for row in log.rows_of(one)]) for one in phases]
    assert sum(len(rows) for rows, _ in before) > 50
    assert [row for row in range(len(log)) if log.phase_of(row) in phases] == sorted(
        row for rows, _ in before for row in rows
    )

    gone = tuple(job_id for job_id in state.jobs if job_id not in stays)
    world.schedulers[0].handle(ev.JobsForgotten(world.now_s, gone))

    assert log.sweep() < len(log)
    assert before == [
        (log.rows_of(one), [facts(log[row]) for row in log.rows_of(one)]) for one in phases
    ]
    assert len(list(log)) == sum(len(rows) for rows, _ in before)


def test_sizes_of_rows_are_kept_within_spans():
    sizes = GroupSizes()
    for row in (1, 7, 12, 19, 25):
        sizes.add(row, row + 2)
    sizes.keep([range(5, 10), range(19, 22), range(25, 26)])

    assert list(sizes.rows) == [7, 19, 25]
    assert [sizes.of(row) for row in (1, 7, 12, 19, 25)] == [1, 9, 1, 21, 27]
