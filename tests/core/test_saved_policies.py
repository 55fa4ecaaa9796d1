"""Each policy of one kind goes on from an opening as one that never stopped.

`test_opening` has the facts of the state; here each policy meets what it remembers for: faults,
deadlines, promised containers and rented nodes. That every fact it saves is needed is shown by
`test_each_saved_fact_is_needed`: a policy that gets the value of a fresh one decides otherwise.
"""

import json
import random
from dataclasses import replace
from functools import cache, partial

import pytest
from tests.conservation import check_all
from tests.core.test_opening import (
    FAULTS,
    YARN_TREES,
    as_gang,
    capacities,
    check_steps,
    cluster_of,
    containers,
    decided,
    instants_of,
    tasks_of,
    with_demands,
)
from tests.effort import IS_THOROUGH, of_today
from tests.in_events import InEvents
from tests.runs import map_reduce

from sluice.bootstrap.policy_classes import chosen_policy
from sluice.bootstrap.preparation.container_jobs import with_slot_kinds
from sluice.bootstrap.scheduler import link_admission, policy
from sluice.bootstrap.settings import resolved_settings
from sluice.core.commands import Wake
from sluice.core.events import JobKilled, JobsForgotten, JobSubmitted, NodeJoined, Tick
from sluice.core.protocols import Policies
from sluice.core.record.opening import opening_of
from sluice.core.record.restoring import restore
from sluice.core.rules import Rules
from sluice.core.scheduler import Scheduler
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId, PoolId
from sluice.model.job import Prediction
from sluice.model.queue_tree import AmountKind, ConfiguredQueue, QueueAmount, QueueTree
from sluice.model.queues import Pool, Queue, QueueOrder
from sluice.policies import members
from sluice.policies.copies.copy_order import CopyOrder
from sluice.policies.copies.reasons import attempt_reason
from sluice.policies.defaults import AdmitAll, KeepPools
from sluice.policies.orders.fewest_running import FewestRunning
from sluice.policies.rooms.composed import Composed
from sluice.policies.rooms.line import Line
from sluice.policies.rooms.room import Room
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

RENTS = (
    "capacity.interval_s=5", "capacity.vms_max=8", "capacity.vm_start_s=9",
    "capacity.reserved_vm_usd=0.15", "capacity.on_demand_vm_usd=0.4", "capacity.billing_s=60",
)  # fmt: skip
RAS = ("ras.period_s=7",)
COPIES = ("speculation=late", "min_age_s=4", "spec_cap=0.5", "kill_slow=true")
# What makes the policies of a run: the name of each that is not the default, and settings.
CASES = {
    "release.on-demand": ({"release": "on-demand"}, ()),
    "release.on-demand, tct": ({"release": "on-demand"}, ("on-demand.objective=tct",)),
    "admission.capacity": (
        {"admission": "capacity", "tasks": "yarn-like"}, ("capacity.interval_s=4",)
    ),
    "admission.capacity, likely": (
        {"admission": "capacity", "tasks": "yarn-like"},
        ("capacity.interval_s=4", "capacity.without_promise=likely"),
    ),
    "admission.capacity, rents": ({"admission": "capacity", "tasks": "yarn-like"}, RENTS),
    "tasks.fair, copies": ({"tasks": "fair"}, COPIES),
    "tasks.fair, sepb": ({"tasks": "fair"}, (*COPIES, "sepb=0.5")),
    "tasks.copies of its own": ({"tasks": "copies of its own"}, ()),
    "tasks.conservative": ({"tasks": "order=fair+slots=conservative, predictions"}, ()),
    "tasks.queue-tree, preempts": (
        {"tasks": "queue-tree"}, ("queue-tree.preempts_after_s=4",)
    ),
    "tasks.queue-tree, whole": ({"tasks": "queue-tree"}, ()),
    "tasks.decay, tree": ({"tasks": "decay"}, ("half_life_s=0.05",)),
    "tasks.karma, tree": ({"tasks": "karma"}, ("alpha=0.7", "initial_credits=5")),
    "tasks.ltrf, tree": ({"tasks": "ltrf"}, ("adaptive=false", "quantum_s=6", "probe_s=[9, 31]")),
    "tasks.ltyarn, tree": (
        {"tasks": "ltyarn"}, ("round_s=25", "discount_price=0.6", "queue_par=true")
    ),
    "tasks.ltyarn, dominant": ({"tasks": "ltyarn"}, ("shared=dominant", "discount_price=0.6")),
    "tasks.mlrf, tree": ({"tasks": "mlrf"}, ("head_of_line=wait",)),
    "tasks.vm-pools": ({"tasks": "vm-pools"}, ("vm_window_s=20", "vm_tick_s=2", "vm_boot_s=3")),
    "tasks.vm-pools, changes": (
        {"tasks": "vm-pools"},
        ("vm_reconfigure=true", "vm_servers=3", "vm_server_units=4", "vm_check_s=15",
         "vm_change_server_s=0.5"),
    ),
    "tasks.vm-pools, power": (
        {"tasks": "vm-pools"},
        ("vm_power_down_s=4", "vm_power_up_s=3", "vm_server_units=4"),
    ),
    "tasks.vm-pools, copies": ({"tasks": "vm-pools+copies=late"}, ("vm_boot_s=3",)),
    "tasks.vm-pools, instant": ({"tasks": "vm-pools"}, ("vm_rule=instant-opt",)),
    "admission.vm-pools": ({"admission": "vm-pools", "tasks": "vm-pools"}, ()),
    "admission.vm-pools, at once": (
        {"admission": "vm-pools", "tasks": "vm-pools"}, ("vm_service=immediate",)
    ),
    "tasks.ras": ({"tasks": "ras"}, RAS),
    "tasks.ras, live": ({"tasks": "ras"}, RAS),
    "tasks.ras, slots": ({"tasks": "ras"}, RAS),
    "tasks.ras, goals": ({"tasks": "ras"}, (*RAS, "ras.aim=goals", "ras.placement=printed")),
    "tasks.yarn": ({"tasks": "yarn"}, ()),
    "tasks.yarn, capacity": ({"tasks": "yarn, capacity"}, ()),
    "tasks.yarn, fair": ({"tasks": "yarn, fair"}, ()),
}  # fmt: skip
# Of the cases with a tree: queues in two levels, with limits and with rounds of their own.
ORG, A, B, C = map(PoolId, ("org", "a", "b", "c"))
QUEUES = (
    Queue(queue_id=ORG, order=QueueOrder.LTRF, weight=1.7, share_min=2.0),
    Queue(queue_id=A, parent=ORG, order=QueueOrder.LTRF, round_s=9.0),
    Queue(queue_id=B, parent=ORG, weight=0.3, quantum_s=2.5),
    Queue(queue_id=C, order=QueueOrder.MLRF, share_max=5.0),
)
# Queues of Kueue: a is strict, and b and c name the quota of the queue above them.
GUARANTEES = {"root.a": 3, "root.lent": 4, "root.lent.b": 0, "root.lent.c": 0, "root.d": 1}
WHOLE = QueueTree(
    queues=tuple(
        ConfiguredQueue(
            path=path,
            capacity=QueueAmount(AmountKind.CONTAINERS, most),
            maximum=QueueAmount(AmountKind.CONTAINERS, 8),
            is_strict=path == "root.a",
            admits_below=path == "root.lent",
        )
        for path, most in GUARANTEES.items()
    ),
    preempts_after_s=3.0,
    admits_whole=True,
)
SEEDS = 12
# A recount after each of all these events takes fifty times as long.
pytestmark = [pytest.mark.no_invariants, pytest.mark.interpreted]
if IS_THOROUGH:
    pytestmark.append(pytest.mark.slow)
each_case = pytest.mark.parametrize("name", CASES)


class OneInThreeSeconds(CopyOrder):
    """Copies one more task at each look, so that a look too many is a copy too many."""

    def memory(self):
        return {}

    def worth_a_copy(self, kind):
        running = [one for one in self.state.running.values() if one.phase.kind is kind]
        return [one for one in running if attempt_reason(one) is None][:1]


def copies_of_its_own():
    room = Room()
    return Composed(OneInThreeSeconds(Line(FewestRunning(), room, None)), room)


class Watched(Scheduler):
    """A scheduler that keeps its events, and what each led to; the driver's questions too."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.heard = []
        tasks = self.policies.tasks
        self._ask, tasks.may_begin_work = tasks.may_begin_work, self._asked  # type: ignore[method-assign]  # it listens in

    def handle(self, event):
        commands = super().handle(event)
        self.heard.append((event, decided(commands)))
        return commands

    def _asked(self, attempt, state, now_s):
        answer = self._ask(attempt, state, now_s)
        self.heard.append((attempt.key, answer))
        return answer


def handled(scheduler, event):
    """The commands that follow an event, or the answer to a driver's question about an attempt."""
    if isinstance(event, AttemptKey):
        state = scheduler.state
        return scheduler.policies.tasks.may_begin_work(state.running[event], state, state.now_s)
    return decided(scheduler.handle(event))


def difference(line, policies, rules, heard):
    """The first event after an opening that leads to other commands; None if there is none."""
    scheduler = restore(line, policies, rules)
    check_all(scheduler.state)
    assert json.loads(line) == json.loads(opening_of(scheduler)), "its own opening is another"
    for event, was in heard:
        found = handled(scheduler, event)
        if found != was:
            return event, was, found
    return None


def fresh(name):
    names, given = CASES[name]
    settings = resolved_settings({}, list(given))
    admission = policy("admission", names.get("admission", "all"), settings)
    named = names.get("tasks", "fifo")
    if name == "tasks.queue-tree, whole":
        chosen = replace(chosen_policy("tasks", named), queues=WHOLE)
        return Policies(
            admission=admission, release=policy("release", "input", settings),
            tasks=policy("tasks", chosen, settings), pools=KeepPools(),
        )  # fmt: skip
    if named == "copies of its own":
        tasks = copies_of_its_own()
    else:
        tasks = (
            tasks_of(named)
            if "=" in named or named in YARN_TREES
            else policy("tasks", named, settings)
        )
    if name == "tasks.ras, live":
        tasks.serve_processes()
    link_admission(admission, tasks)
    return Policies(
        admission=admission,
        release=policy("release", names.get("release", "input"), settings),
        tasks=tasks,
        pools=admission.machines or KeepPools(),
    )


def pools_of(name):
    """The queues of a file; two more pools register with their first jobs."""
    if not name.endswith("tree"):
        return ()
    return tuple(Pool(pool_id=queue.queue_id, queue=queue) for queue in QUEUES)


def uneven(nodes):
    """Nodes of three containers, each of which counts more than the one before it."""
    return Cluster(
        nodes=tuple(
            Node(node_id=NodeId(f"n{one}"), containers=3, unit_weight=1.3**one)
            for one in range(nodes)
        )
    )


def vms(vm_type, count, units, spares):
    """Nodes of one VM type, the last of which are shut down at first."""
    return tuple(
        Node(
            node_id=NodeId(f"{vm_type}{one}"), map_slots=units, reduce_slots=1, vm_type=vm_type,
            vm_units=units, vm_is_spare=one >= count,
        )
        for one in range(count + spares)
    )  # fmt: skip


def cluster_for(name):
    if "vm-pools" in name:
        spares = 2 if "changes" in name else 0
        return Cluster(nodes=vms("small", 4, 1, spares) + vms("large", 2, 2, spares))
    if name in {"tasks.ras, slots", "tasks.conservative"} or "queue-tree" in name:
        return containers(3)
    if name.endswith("tree"):
        return uneven(4)
    if uses_resources(name):
        return capacities(3)
    if name.startswith("admission"):
        return containers(1 if "rents" in name else 4)
    return cluster_of(CASES[name][0].get("tasks", ""))


def predictions(job, draw):
    """Of how long it would run on VMs of each type; most of them are wrong."""
    work_s = sum(phase.tasks * phase.lengths.avg_s(phase.tasks) for phase in job.phases)
    for vm_type, most, units in (("small", 4, 1), ("large", 2, 2)):
        for vms in range(1, most + 1):
            time_s = draw.uniform(0.7, 1.5) * (work_s / (vms * units) + 2)
            yield Prediction(vm_type=vm_type, vms=vms, time_s=time_s)


def uses_resources(name):
    return name.startswith("tasks.ras") or name.endswith("dominant")


def jobs_of(name, draw):
    reduces_max = 9 if name.startswith("tasks.fair") else 4  # of which five must have ended
    for index in range(9):
        at_s = draw.uniform(0, 60)
        job = map_reduce(
            f"j{index}", draw.randint(1, 9), draw.uniform(1, 9), draw.randint(0, reduces_max),
            draw.uniform(1, 9), pool=draw.choice("abcde" if name.endswith("tree") else "abc"),
            at_s=at_s,
        )  # fmt: skip
        if draw.random() < 0.8:
            job = replace(
                job,
                deadline_at_s=at_s + draw.uniform(15, 160),
                penalty_usd=draw.choice([None, 0.001, 50.0]),
            )
        if name in {"tasks.conservative", "tasks.queue-tree, whole"}:
            job = as_gang(job, draw)
        if name == "tasks.queue-tree, whole":
            pool = draw.choice(["root.a", "root.lent.b", "root.lent.c", "root.d"])
            job = replace(job, pool=PoolId(pool))
        if name.endswith("tree"):
            job = replace(
                job,
                phases=tuple(
                    replace(one, units=draw.choice([1.0, 0.7, 2.0])) for one in job.phases
                ),
            )
        if "vm-pools" in name:
            job = replace(job, predictions=tuple(predictions(job, draw)))
        if uses_resources(name):
            job = with_demands(job, draw)
        yield job


@cache
def recorded(name, seed):
    """The rules of a run with faults, and its events with what each led to."""
    draw = random.Random(seed)
    heartbeat_s = draw.choice([0.0, 3.0])
    rules = Rules(slowstart=draw.choice([1.0, 0.4]), by_heartbeat=heartbeat_s > 0)
    scheduler = Watched(fresh(name), pools=pools_of(name), rules=rules)
    is_whole = name == "tasks.conservative" and heartbeat_s  # see `test_opening`
    faults = {**FAULTS, "node_mtbf_s": None} if is_whole else FAULTS
    settings = SimulationSettings(heartbeat_s=heartbeat_s, **faults)
    given = sorted(jobs_of(name, draw), key=lambda job: job.submitted_at_s)
    cluster = cluster_for(name)
    jobs = with_slot_kinds(tuple(given), cluster, scheduler.policies.tasks)
    Simulation(InEvents(scheduler), cluster, jobs, settings=settings, seed=seed).run()
    return rules, scheduler.heard


def openings(name, seed, instants):
    """(instant, opening) of some instants, ascending; all are taken in one run."""
    rules, heard = recorded(name, seed)
    scheduler = Scheduler(fresh(name), pools=pools_of(name), rules=rules)
    for at, (event, _) in enumerate(heard[: max(instants) + 1]):
        if at in instants:
            yield at, opening_of(scheduler)
        handled(scheduler, event)


@each_case
def test_a_restored_policy_goes_on_as_the_one_that_never_stopped(name):
    draw = random.Random(name)
    for seed in of_today(range(SEEDS), 1):
        rules, heard = recorded(name, seed)
        found = openings(name, seed, instants_of(heard, draw))
        check_steps(found, heard, partial(fresh, name), rules, handled)


def test_a_look_at_what_runs_is_not_repeated_after_an_opening():
    """It would start another copy; an opening within three seconds of a look is rare."""
    name = "tasks.copies of its own"
    rules, heard = recorded(name, 1)
    for at, line in openings(name, 1, set(range(0, len(heard), 10))):
        assert difference(line, fresh(name), rules, heard[at:]) is None, at


def paths(saved):
    """The keys of a document, those of inner documents after the key of the outer one."""
    for key, value in saved.items():
        inner = isinstance(value, dict) and any(isinstance(one, str) for one in value)
        yield from ((key, *rest) for rest in paths(value)) if inner else [(key,)]


def is_missed(name, line, rules, heard):
    try:
        scheduler = restore(line, fresh(name), rules)
        check_all(scheduler.state)
        return any(handled(scheduler, event) != was for event, was in heard)
    except (AssertionError, InvalidInput, LookupError):
        return True


@cache
def memories_of(name, seed):
    """The state saved at a third, a half and two thirds of a run, with the events after it."""
    rules, heard = recorded(name, seed)
    instants = {int(len(heard) * part) for part in (1 / 3, 1 / 2, 2 / 3)}
    return [(json.loads(line), rules, heard[at:]) for at, line in openings(name, seed, instants)]


def memories(name):
    return (one for seed in range(SEEDS) for one in memories_of(name, seed))


def at(document, path):
    """The part of a document with the last key of a path."""
    for key in path[:-1]:
        document = document[key]
    return document


def is_as_fresh(document, kind, path, new):
    """Whether a policy saved what a fresh one has: the opening with that is the same."""
    saved = json.loads(dict(document["memory"])[kind])
    return at(saved, path).get(path[-1]) == at(new, path)[path[-1]]


def changed(document, kind, path, value=None):
    """The opening without one key of what a policy saved, or with another value."""
    memory = dict(document["memory"])
    saved = json.loads(memory[kind])
    part = at(saved, path)
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = at(value, path)[path[-1]]
    memory[kind] = json.dumps(saved)
    return json.dumps({**document, "memory": [*memory.items()]})


def saved_keys():
    for name in CASES:
        for kind, text in opening_memory(name).items():
            for path in paths(json.loads(text)):
                yield pytest.param(name, kind, path, id=f"{name}: {kind}.{'.'.join(path)}")


def opening_memory(name):
    """The memory that fresh policies save."""
    return dict(json.loads(opening_of(Scheduler(fresh(name), pools=pools_of(name))))["memory"])


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("name", "kind", "path"), list(saved_keys()))
def test_an_opening_without_a_key_of_a_policy_is_refused(name, kind, path):
    document, rules, _ = next(memories(name))
    with pytest.raises(InvalidInput, match="cannot be read"):
        restore(changed(document, kind, path), fresh(name), rules)


# Slots of a lost node, a deadlock of shuffles, and what matters only between the events of one
# instant are too rare to be met at a few instants; so is an attempt that becomes slow after LATE
# looked at it and before it looks again. A reservation of an ended job has a test of its own.
RARE = {
    "all_started", "at_last_cycle", "candidates", "check_all_at_s", "ended_s",
    "has_completed_phase", "held_back", "is_seen", "lost", "reported", "to_kill", "touched",
}  # fmt: skip
# Too rare as well. The scale of decayed use only changes how keys are rounded; probes are reported.
RARE |= {"arrived", "epoch_s", "learned", "left", "nodes_seen", "probes", "stale"}
# Heartbeats of YARN at one instant; the numbers of applications, which preemption looks at.
RARE |= {"plans", "submitted"}
# A change of VM pools that is under way, and what is only reported of them.
RARE |= {"coming", "counted", "deciders", "next_s", "others", "owed", "started", "wanted"}
RARE |= {"without_pool", "before", "changes", "last_s", "off_s", "offers", "refused", "rows"}
RARE |= {"starts", "stories"}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("kind", "path"),
    sorted(
        {
            (kind, path)
            for _, kind, path in (one.values for one in saved_keys())
            if path[-1] not in RARE
            and path[0] != "preemption"
            and path[:2] != ("others", "own")  # of an order that has cases of its own
        }
    ),
)
def test_each_saved_fact_is_needed(kind, path):
    """With the value of a fresh policy other commands follow somewhere."""
    for name in CASES:
        new = json.loads(opening_memory(name).get(kind, "{}"))
        if path in paths(new) and any(
            is_missed(name, changed(document, kind, path, new), rules, heard)
            for document, rules, heard in memories(name)
            if not is_as_fresh(document, kind, path, new)
        ):
            return
    pytest.fail("it need not be saved")


def amid_instants(name, seed):
    """Openings before a tenth of the events, at their time, with the events that follow."""
    rules, heard = recorded(name, seed)
    scheduler = Scheduler(fresh(name), pools=pools_of(name), rules=rules)
    for number, (event, _) in enumerate(heard):
        if number % 10 == 0:
            scheduler.handle(JobsForgotten(event.at_s, (JobId("unknown"),)))
            yield json.loads(opening_of(scheduler)), rules, heard[number : number + 150]
        handled(scheduler, event)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("name", "path"),
    [
        (name, path)
        for name in ("tasks.yarn, capacity", "tasks.yarn, fair")
        for path in paths(json.loads(opening_memory(name)["tasks"]))
        if path[0] == "preemption"
    ]
    + [("tasks.yarn, capacity", ("submitted",))],
)
def test_each_saved_fact_of_preemption_is_needed(name, path):
    """Few instants have it: while a task is killed, or when a round is due."""
    new = json.loads(opening_memory(name)["tasks"])
    for seed in range(SEEDS):
        for document, rules, heard in amid_instants(name, seed):
            if not is_as_fresh(document, "tasks", path, new) and is_missed(
                name, changed(document, "tasks", path, new), rules, heard
            ):
                return
    pytest.fail("it need not be saved")


def test_every_built_in_name_of_a_kind_has_a_case():
    """The task policies without a case here have theirs in `test_opening`, or are refused."""
    plain = {"admission.all", "release.input", "release.mrorder", "pools.keep"}
    named = {f"{kind}.{one}" for kind in ("admission", "release", "pools") for one in members(kind)}

    assert named == plain | {name.partition(",")[0] for name in CASES if name[:5] != "tasks"}


def easy():
    return Policies(
        admission=AdmitAll(), release=policy("release", "input", resolved_settings({})),
        tasks=tasks_of("order=fifo+slots=easy"), pools=KeepPools(),
    )  # fmt: skip


def test_a_full_cluster_wakes_for_the_reservation_of_a_job_that_was_killed():
    """No node is offered after the end of that job, so that the reservation is still there."""
    cluster = containers(1)
    given = [
        replace(map_reduce(one, 3, 30.0), gang=3, limit_s=limit_s)
        for one, limit_s in (("a", 30.0), ("b", 9.0), ("c", 9.0))
    ]
    jobs = with_slot_kinds(tuple(given), cluster, easy().tasks)
    arrivals = [JobSubmitted(0.0, job, {}, False, job is jobs[-1]) for job in jobs]
    scheduler = Scheduler(easy())
    for event in [
        NodeJoined(0.0, cluster.nodes[0]),
        *arrivals,
        Tick(0.0),
        JobKilled(5.0, jobs[1].job_id),
    ]:
        scheduler.handle(event)
    line = opening_of(scheduler)

    assert scheduler.handle(Tick(5.0)) == restore(line, easy()).handle(Tick(5.0)) == [Wake(30.0)]
    without = changed(json.loads(line), "tasks", ("own", "ended_s"), {"own": {"ended_s": []}})
    assert restore(without, easy()).handle(Tick(5.0)) == []


def test_an_opening_before_the_first_job_knows_what_the_nodes_have():
    name, seed, at = "tasks.ltyarn, dominant", 2, 5
    rules, heard = recorded(name, seed)
    ((_, line),) = openings(name, seed, {at})
    assert difference(line, fresh(name), rules, heard[at:]) is None


def test_dominant_shares_are_of_the_nodes_that_are_up():
    """Nodes come and go while tasks run: each queue counts its greatest part of what is there."""
    name, asked = "tasks.ltyarn, dominant", 0
    for seed in range(SEEDS):
        rules, heard = recorded(name, seed)
        scheduler = Scheduler(fresh(name), pools=pools_of(name), rules=rules)
        for event, _ in heard:
            handled(scheduler, event)
            state, tree = scheduler.state, scheduler.policies.tasks.tree
            if not state.running or tree.nodes_seen != state.node_changes:
                continue  # a node that comes or goes counts from the next decision on
            asked += 1
            up = [entry.node.capacity.amounts() for entry in state.nodes.values() if entry.is_up]
            total = [sum(amounts) for amounts in zip(*up, strict=True)]
            used = dict.fromkeys(tree.queues, [0.0] * len(total))
            for one in state.running.values():
                wanted = one.phase.phase.demand.work.amounts()
                pool = one.phase.job.job.pool
                used[pool] = [u + one.tasks * w for u, w in zip(used[pool], wanted, strict=True)]
            for pool, amounts in used.items():
                part = max(u / t for u, t in zip(amounts, total, strict=True) if t)
                assert tree.queues[pool].usage.rate == pytest.approx(part, abs=1e-9), (seed, event)
    assert asked > 500
