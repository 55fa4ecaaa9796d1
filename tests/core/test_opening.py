"""A restored scheduler goes on as the one that never stopped, whatever the policy.

That the property bites is shown by `test_a_fact_that_is_left_out_is_missed`: an opening without
one of its facts leads to other commands, or is refused.
"""

import json
import math
import random
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from tests.conservation import check_all
from tests.effort import IS_THOROUGH, of_today
from tests.in_events import InEvents
from tests.policies.ras.worlds import resources
from tests.policies.registered import NAMES, task_policy
from tests.runs import even_nodes, map_reduce, scheduler_of

from sluice.bootstrap.compositions import composition_of
from sluice.bootstrap.preparation.container_jobs import with_slot_kinds
from sluice.bootstrap.scheduler import composed_policy, policy
from sluice.bootstrap.settings import resolved_settings
from sluice.core.events import JobsForgotten, JobSubmitted, NodeJoined, Tick
from sluice.core.protocols import Policies
from sluice.core.record import restoring
from sluice.core.record.codec import decision_line
from sluice.core.record.opening import opening_of
from sluice.core.record.restoring import restore
from sluice.core.rules import Rules
from sluice.core.scheduler import Scheduler
from sluice.core.transitions import JobState
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import NodeId
from sluice.model.job import Demand
from sluice.model.queue_tree import (
    AmountKind,
    ConfiguredQueue,
    LeafOrder,
    QueueAmount,
    QueueTree,
    Starvation,
    YarnRules,
)
from sluice.policies.composing import Needs
from sluice.policies.composition import RESERVATIONS
from sluice.policies.defaults import AdmitAll, KeepPools
from sluice.policies.yarn.memory import RememberedYarn
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

FAULTS = {
    "node_mtbf_s": 40.0, "node_repair_s": 5.0, "node_timeout_s": 10.0, "task_failure": 0.08,
    "p_slow": 0.2,
}  # fmt: skip
SAVED = (
    "decay", "dynamicmr", "dynamicmr, pd, all parts", "dynamicmr, pi, all parts", "fair",
    "fair, copies", "fair, waits", "fifo", "karma", "ltrf", "ltyarn", "mlrf", "queue-tree",
    "static", "yarn", "yarn, capacity", "yarn, fair", "yarn-like",
)  # fmt: skip
# Names with a comma: needs of a run.
COMPOSED = (
    "order=fifo+goals=guarded", "order=fair+goals=first", "order=deadline+data=delay",
    "order=fewest+slots=typed", "order=critical-path", "order=utility+goals=guarded",
    "order=queues+data=delay", "order=fair, caps and promises",
    "order=fair+slots=lent-by-pool+data=prescheduling", "order=deadline+slots=lent",
    "order=fair+copies=late", "order=fifo+copies=sepb", "order=fewest+copies=sepb+slots=containers",
    "order=deadline+goals=guarded+copies=sepb", "order=queues+copies=sepb",
    "order=utility+slots=containers", "order=deadline+slots=resources+copies=late",
    "order=fair+slots=resources", "order=fifo+slots=rigid",
    "order=fifo+slots=easy, predictions", "order=fair+slots=conservative",
    "order=fair+slots=lent-by-pool+copies=sepb",
    "order=critical-path+copies=late+data=delay", "order=ltrf+goals=guarded",
    "order=ltyarn+data=delay", "order=karma+slots=typed", "order=decay",
    "machines=vm-pools+order=fair",
)  # fmt: skip
RELEASES = {
    "input": (), "mrorder": ("mrorder.interval_s=4",),
    "mrorder, fixed": ("mrorder.policy=fti", "mrorder.interval_s=7"),
}  # fmt: skip
QUEUES = tuple(
    ConfiguredQueue(
        path=f"root.{one}",
        capacity=QueueAmount(AmountKind.WEIGHT, weight),
        order=LeafOrder.FAIR if one == "a" else LeafOrder.FIFO,
        least=4.0 if one == "b" else 0.0,
        starvation=Starvation(99.0, 1.0, 4.0) if one == "b" else Starvation(3.0, 1.0),
    )
    for one, weight in (("a", 3.0), ("b", 2.0), ("c", 1.0))
)
YARN_TREES = {
    "yarn": None,
    "yarn, capacity": QueueTree(
        queues=QUEUES, idle_count=True, preempts_after_s=3.0,
        yarn=YarnRules(node_locality=3.0, round_s=2.0, round_share=0.2),
    ),
    "yarn, fair": QueueTree(
        queues=QUEUES, idle_count=False, preempts_after_s=3.0,
        yarn=YarnRules(
            node_locality=0.5, rack_locality=0.7, warning_s=2.0, pause_s=9.0, busy_share=0.5
        ),
    ),
}  # fmt: skip
ELSEWHERE = ("ras", "vm-pools")  # in `test_saved_policies`
SEEDS = 20
INSTANTS = 100 if IS_THOROUGH else 16  # of each run
CASES = [(name, "input") for name in (*SAVED, *COMPOSED)] + [
    ("fifo", release) for release in [*RELEASES][1:]
]
# A recount after each of all these events takes fifty times as long.
pytestmark = [pytest.mark.no_invariants, pytest.mark.interpreted]
if IS_THOROUGH:
    pytestmark.append(pytest.mark.slow)
each_case = pytest.mark.parametrize(("name", "release"), CASES)


class Watched(Scheduler):
    """A scheduler that keeps its events, and what each led to."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.heard = []

    def handle(self, event):
        commands = super().handle(event)
        self.heard.append((event, decided(commands)))
        return commands


def decided(commands):
    """The commands as text, with their reasons."""
    reasons = [getattr(command, "reason", None) for command in commands]
    return decision_line(commands), [reason and reason.text() for reason in reasons]


def tasks_of(name):
    """A task policy by its name, or composed of parts."""
    if name in YARN_TREES:
        settings = RememberedYarn.Settings(
            node_s=1.4, master_s=1.9, master_containers=2 if "capacity" in name else 1
        )
        return RememberedYarn(settings, tree=YARN_TREES[name])
    if "=" not in name:
        return task_policy(name)
    _, chosen = composition_of(name.partition(",")[0])
    needs = Needs(promises="promises" in name, caps="caps" in name)
    estimates = ["backfill.estimates=predictions"] if "predictions" in name else []
    return composed_policy(chosen, "", resolved_settings({}, estimates), needs)


def fresh(name, release="input"):
    of_release = policy(
        "release", release.partition(",")[0], resolved_settings({}, list(RELEASES[release]))
    )
    return Policies(
        admission=AdmitAll(), release=of_release, tasks=tasks_of(name), pools=KeepPools()
    )


def containers(nodes):
    """Nodes of three containers."""
    return _nodes(nodes, containers=3)


def capacities(nodes, **given):
    """Nodes that are limited by their resources."""
    return _nodes(nodes, capacity=resources((100.0, 100.0, 100.0)), **given)


def _nodes(nodes, **given):
    return Cluster(nodes=tuple(Node(node_id=NodeId(f"n{one}"), **given) for one in range(nodes)))


def with_demands(job, draw):
    """The job with resources that its tasks need."""

    def some(most):
        return resources([draw.uniform(0.1, most) for _ in range(3)])

    phases = [
        replace(one, demand=Demand(work=some(45.0), fetch=some(30.0), fetch_per_map=some(3.0)))
        for one in job.phases
    ]
    return replace(job, phases=tuple(phases))


def as_gang(job, draw):
    """The job with tasks that start together, and with a limit."""
    return replace(job, gang=draw.choice([0, 3, 8]), limit_s=draw.choice([None, 15.0, 60.0]))


def cluster_of(name):
    if "slots=resources" in name:
        return capacities(4, containers=3)
    if name in YARN_TREES:
        nodes = containers(5).nodes
        racks = [replace(node, rack=f"r{index % 2}") for index, node in enumerate(nodes)]
        return Cluster(nodes=tuple(racks), has_racks=True)
    if "slots=containers" in name or is_whole(name):
        return containers(4)
    return even_nodes(4, 2, 2, racks=2)


def is_whole(name):
    """Whether jobs start as a whole."""
    return any(f"slots={one}" in name for one in RESERVATIONS)


def jobs_of(name, draw):
    jobs = [
        replace(
            map_reduce(
                f"j{index}", draw.randint(1, 9), draw.uniform(1, 9), draw.randint(0, 4),
                draw.uniform(1, 9), pool=draw.choice("abc"), at_s=(at_s := draw.uniform(0, 40)),
            ),
            deadline_at_s=draw.choice([None, at_s + draw.uniform(10, 90)]),
        )
        for index in range(7)
    ]  # fmt: skip
    if is_whole(name):
        jobs = [as_gang(job, draw) for job in jobs]
    return [with_demands(job, draw) for job in jobs] if "resources" in name else jobs


@cache
def recorded(name, release, seed):
    """The rules of a run with faults, and its events with what each led to."""
    draw = random.Random(seed)
    heartbeat_s = draw.choice([0.0, 3.0])
    rules = Rules(
        slowstart=draw.choice([1.0, 0.4]),
        by_heartbeat=heartbeat_s > 0,
        failures_max=draw.choice([4, 2]),
    )
    scheduler = Watched(fresh(name, release), rules=rules)
    cluster = cluster_of(name)
    jobs = with_slot_kinds(tuple(jobs_of(name, draw)), cluster, scheduler.policies.tasks)
    settings = SimulationSettings(heartbeat_s=heartbeat_s, **FAULTS)
    Simulation(InEvents(scheduler), cluster, jobs, settings=settings, seed=seed).run()
    return rules, scheduler.heard


def opened(name, release, seed, at):
    """The opening after `at` events, and the events after it."""
    rules, heard = recorded(name, release, seed)
    scheduler = Scheduler(fresh(name, release), rules=rules)
    for event, _ in heard[:at]:
        scheduler.handle(event)
    return opening_of(scheduler), rules, heard[at:]


@pytest.mark.parametrize("rests_until_s", [-math.inf, 8.0, math.inf])
def test_a_restored_node_rests_as_long_as_it_did(rests_until_s):
    scheduler = scheduler_of()
    (node,) = even_nodes(1, 1, 0).nodes
    scheduler.handle(NodeJoined(0.0, node))
    scheduler.state.nodes[node.node_id].rests_until_s = rests_until_s
    restored = restore(opening_of(scheduler), scheduler_of().policies, Rules())

    assert restored.state.nodes[node.node_id].rests_until_s == rests_until_s


def difference(line, policies, rules, heard):
    """The first event after an opening that leads to other commands; None if there is none."""
    scheduler = restore(line, policies, rules)
    check_all(scheduler.state)
    assert json.loads(line) == json.loads(opening_of(scheduler)), "its own opening is another"
    for event, commands in heard:
        found = decided(scheduler.handle(event))
        if found != commands:
            return event, commands, found
    return None


def openings(name, release, seed, instants):
    """(instant, opening) of some instants, ascending; all are taken in one run."""
    rules, heard = recorded(name, release, seed)
    scheduler = Scheduler(fresh(name, release), rules=rules)
    for at, (event, _) in enumerate(heard):
        if at in instants:
            yield at, opening_of(scheduler)
        scheduler.handle(event)


def check_steps(found, heard, fresh_policies, rules, answer):
    """A scheduler that is restored from an opening decides as the one that never stopped.

    It goes on to the next opening. If it has the same one there, it would go on as the next one
    does; else it goes on to the end: some policies count turns from where they were restored.

    found: (instant, opening) in order.  answer: how a scheduler takes in what was heard.
    """
    for (at, line), (end, after) in pairwise([*found, (len(heard), None)]):
        scheduler = restore(line, fresh_policies(), rules)
        check_all(scheduler.state)
        assert json.loads(line) == json.loads(opening_of(scheduler)), "its own opening is another"
        for event, was in heard[at:end]:
            assert answer(scheduler, event) == was, (at, event)
        if after and json.loads(after) != json.loads(opening_of(scheduler)):
            for event, was in heard[end:]:
                assert answer(scheduler, event) == was, (at, event)


def instants_of(heard, draw):
    """Some of the instants of a run, in order."""
    return sorted(draw.sample(range(len(heard)), min(INSTANTS, len(heard))))


@each_case
def test_a_restored_scheduler_goes_on_as_the_one_that_never_stopped(name, release):
    draw = random.Random(f"{name} {release}")
    for seed in of_today(range(SEEDS), 1):
        rules, heard = recorded(name, release, seed)
        found = openings(name, release, seed, instants_of(heard, draw))
        check_steps(
            found, heard, partial(fresh, name, release), rules,
            lambda scheduler, event: decided(scheduler.handle(event)),
        )  # fmt: skip


def waits_again_amid_a_kill(state):
    """Whether a task waits whose copy is being killed: its output was lost meanwhile."""
    return any(
        attempt.is_moot and not attempt.phase.job.has_ended
        and attempt.phase.pending.take_tasks(attempt.task, 1)
        for attempt in state.running.values()
    )  # fmt: skip


def test_a_task_that_waits_again_while_its_copy_is_killed_waits_in_the_opening():
    name, seed, found = "dynamicmr, pi, all parts", 12, 0
    rules, heard = recorded(name, "input", seed)
    scheduler = Scheduler(fresh(name), rules=rules)
    for at, (event, _) in enumerate(heard):
        is_amid_a_kill = any(one.is_moot for one in scheduler.state.running.values())
        line = opening_of(scheduler) if is_amid_a_kill else ""
        if line and waits_again_amid_a_kill(restore(line, fresh(name), rules).state):
            assert difference(line, fresh(name), rules, heard[at:]) is None
            found += 1
        scheduler.handle(event)
    assert found


def test_a_job_is_forgotten_only_once_its_master_and_containers_are_over():
    """Each job is forgotten as soon as it may be; its master unregisters after its last task."""
    name, kept = "yarn, fair", 0
    rules, heard = recorded(name, "input", 0)
    scheduler = Scheduler(fresh(name), rules=rules)
    for at, (event, commands) in enumerate(heard):
        state = scheduler.state
        ended = tuple(one.job_id for one in state.jobs.values() if one.has_ended)
        scheduler.handle(JobsForgotten(state.now_s, ended))
        if ended and at % 10 == 0:
            line = opening_of(scheduler)
            assert difference(line, fresh(name), rules, heard[at:]) is None, at
        kept += any(one.has_ended for one in state.jobs.values())
        assert decided(scheduler.handle(event)) == commands
    assert kept
    assert not scheduler.state.jobs


def test_every_built_in_task_policy_has_a_case():
    assert {*NAMES, "yarn"} <= {*SAVED, *ELSEWHERE}


def test_what_cannot_be_saved_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(type(tasks_of("yarn")), "saved", lambda _: None)
    with pytest.raises(InvalidInput, match="tasks policy yarn cannot save"):
        opening_of(Scheduler(fresh("yarn")))


def test_the_usual_facts_are_left_out_of_an_opening():
    """An older release wrote its openings so: with another default they would change their sense.

    A node that is up and neither cordoned nor at rest, a job that runs its first task, and another
    that waits for the slot.
    """
    scheduler = scheduler_of()
    (node,) = even_nodes(1, 1, 0).nodes
    scheduler.handle(NodeJoined(0.0, node))
    for name in "ab":
        scheduler.handle(JobSubmitted(0.0, map_reduce(name, 1)))
    scheduler.handle(Tick(0.0))
    found = json.loads(opening_of(scheduler))
    jobs = [{name: fact for name, fact in job.items() if name != "job"} for job in found["jobs"]]
    each = {"submitted_at_s": 0.0, "released_at_s": 0.0}

    assert [{"node": {"node_id": "n0", "rack": "r0", "map_slots": 1}}] == found["nodes"]
    assert [{"pool": {"pool_id": "p"}}] == found["pools"]
    assert jobs == [
        {"seq": 0, "phase_number": 0, "state": "running", "phases": [{"tried": [[0, 1]]}],
         "release_seq": 0, "started_at_s": 0.0, **each},
        {"seq": 1, "phase_number": 1, "state": "queued", "phases": [{}], "release_seq": 1, **each},
    ]  # fmt: skip
    assert found["running"] == [
        {"job": 0, "phase": 0, "task": 0, "number": 1, "node": 0, "started_at_s": 0.0,
         "slot_kind": "map", "slots": [[0, 1]], "reason": ["FIRST_IN_LINE"], "state": "launched"},
    ]  # fmt: skip
    assert {*found} == {
        "form", "now_s", "events", "submitted", "releases", "phases", "node_changes", "is_closed",
        "pools", "nodes", "jobs", "done", "running", "rent_wake_s", "ignored", "memory",
    }  # fmt: skip


def without(part, field):
    """A change of a document: a field of all members of a part is left out."""

    def change(document):
        members = document[part] if isinstance(document[part], list) else [document[part]]
        for member in members:
            member.pop(field, None)

    return change


def phases_without(field):
    def change(document):
        for job in document["jobs"]:
            for phase in job["phases"]:
                phase.pop(field, None)

    return change


@pytest.mark.parametrize(
    ("change", "release"),
    [
        (lambda document: document.update(running=[]), "input"),
        (lambda document: document.update(done=[]), "input"),
        (without("jobs", "release_seq"), "input"),
        (without("nodes", "is_up"), "input"),
        (phases_without("tried"), "input"),
        (phases_without("locations"), "input"),
        (phases_without("retries"), "input"),
        (phases_without("failures"), "input"),
        (lambda document: document.pop("waiting", None), "mrorder"),
        (lambda document: document.pop("memory", None), "mrorder"),
    ],
)
def test_a_fact_that_is_left_out_is_missed(change, release):
    missed = 0
    for seed in range(SEEDS):
        at = len(recorded("fifo", release, seed)[1]) // 3
        line, rules, heard = opened("fifo", release, seed, at)
        document = json.loads(line)
        change(document)
        try:
            scheduler = restore(json.dumps(document), fresh("fifo", release), rules)
            check_all(scheduler.state)
            missed += any(decided(scheduler.handle(event)) != was for event, was in heard)
        except (AssertionError, InvalidInput):
            missed += 1
    assert missed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"form":99}', "has form 99, and this release reads form 1"),
        ('{"form":1}', "cannot be read"),
        ('{"form":1,"nodes":7}', "cannot be read"),
    ],
)
def test_a_line_that_is_no_opening_is_refused(line, message):
    with pytest.raises(InvalidInput, match=message):
        restore(line, fresh("fifo"))


def test_slots_that_two_attempts_hold_are_refused():
    line, rules, _ = next(
        found
        for found in (opened("fifo", "input", seed, 60) for seed in range(SEEDS))
        if json.loads(found[0])["running"]
    )
    document = json.loads(line)
    document["running"] += document["running"][:1]

    with pytest.raises(InvalidInput, match="are not free"):
        restore(json.dumps(document), fresh("fifo"), rules)


@pytest.mark.parametrize(
    ("started_at_s", "state", "moves"),
    [
        (None, JobState.QUEUED, 0),
        (3.0, JobState.QUEUED, 1),  # what it had started waits again
        (3.0, JobState.RUNNING, 0),
        (None, JobState.WAITING, 0),
    ],
)
def test_a_job_that_had_started_is_not_queued_again(started_at_s, state, moves):
    kept = SimpleNamespace(
        started_at_s=started_at_s, phases=(), state="", reason=None, verdict=None, decisions=(),
        released_at_s=1.0, finished_at_s=None,
    )  # fmt: skip
    entry = Mock(state=state, phases=[])
    restoring._settle(Mock(), kept, entry)

    assert entry.move.call_count == moves
    assert entry.released_at_s == 1.0
