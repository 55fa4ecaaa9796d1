"""Schedulers composed of parts: what each part is for, and what holds in all combinations."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.in_events import look_after_decisions
from tests.strategies import clusters, job_lists

import sluice
from sluice.api.simulate import Scheduling, simulated
from sluice.bootstrap.compositions import composed_text, composition_of
from sluice.core.events import NodeHeartbeat
from sluice.core.reasons import ReasonCode
from sluice.core.transitions import JobState
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.policies.composing import Needs, composed
from sluice.policies.composition import AXES, PRESETS, RESERVATIONS
from sluice.policies.orders.fair import Fair
from sluice.policies.orders.fifo import Fifo
from sluice.policies.part_settings import LENT
from sluice.policies.rooms.composed import Composed

ROOMS = ["typed", "lent", "lent-by-pool", "containers", "resources"]
TWO_TENANTS = """
version: 1
cluster: {nodes: 4, node: {map_slots: 2, reduce_slots: 1}}
pools: [{id: a, weight: 2}, {id: b}]
jobs:
  - {id: j1, pool: a, maps: {tasks: 20, avg_s: 10}, reduces: {tasks: 4, avg_s: 8}}
  - {id: j2, pool: b, submitted_at_s: 5, maps: {tasks: 8, avg_s: 5}, reduces: {tasks: 2, avg_s: 5}}
  - {id: j3, pool: b, submitted_at_s: 9, maps: {tasks: 12, avg_s: 6}, reduces: {tasks: 2, avg_s: 5}}
settings: {jitter: 0.3}
"""


def of_text(text):
    return sluice.parse_workload(text)


# --- the same as the presets ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "parts"),
    [
        ("fair", "order=fair"),
        ("fifo", "order=fifo"),
        ("dynamicmr", "order=fair+slots=lent"),
        ("yarn-like", "order=fewest+slots=containers"),
        *[(name, f"order={name}+slots=containers") for name in ("mlrf", "ltrf", "ltyarn", "decay")],
    ],
)
@settings(max_examples=15, deadline=None)
@given(cluster=clusters(kinds_min=2), jobs=job_lists(tasks_max=8), seed=st.integers(0, 99))
def test_a_preset_is_the_sum_of_its_parts(preset, parts, cluster, jobs, seed):
    workload = Workload(cluster=cluster, jobs=tuple(jobs))
    one, other = (
        sluice.simulate(workload, tasks=name, seed=seed, settings={"jitter": 0.3})
        for name in (preset, parts)
    )

    ends = [{str(job.job_id): job.finished_at_s for job in run.jobs} for run in (one, other)]
    assert ends[0] == ends[1]
    assert one.digest == other.digest


@pytest.mark.parametrize(
    ("parts", "given_settings"),
    [
        ("fair+copies=late", {"speculation": "late"}),
        ("fair+copies=sepb", {"speculation": "late", "sepb": 0.6}),
        ("dynamicmr+copies=late", {"speculation": "late"}),
        ("dynamicmr+order=fifo", {"order": "fifo"}),
        ("dynamicmr+slots=lent-by-pool", {"mode": "pd"}),
    ],
)
def test_a_part_is_what_a_setting_of_the_preset_was(parts, given_settings):
    workload = of_text(TWO_TENANTS)
    world = {"p_slow": 0.1, "min_age_s": 4}
    preset = parts.partition("+")[0]
    as_set = sluice.simulate(workload, tasks=preset, settings={**world, **given_settings})
    as_part = sluice.simulate(workload, tasks=parts, settings=world)

    assert as_set.digest == as_part.digest


# --- every combination ----------------------------------------------------------------------------


def may_be(one):
    """Whether parts can work together."""
    if one["slots"] in RESERVATIONS:
        return one["copies"] == one["data"] == "none" and one["machines"] == "fixed"
    if one["slots"].startswith("lent"):
        return one["machines"] == "fixed"
    return one["data"] != "prescheduling"


compositions = st.fixed_dictionaries(
    {axis: st.sampled_from(names) for axis, names in AXES.items()}
    | {"machines": st.sampled_from(["fixed", "fixed", "vm-pools"])}
).filter(may_be)


WORLDS: dict[str, dict[str, float]] = {
    "plain": {},
    "heartbeats": {"heartbeat_s": 3.0},
    "failing tasks": {"p_slow": 0.2, "task_failure": 0.1},
    "lost nodes": {"node_mtbf_s": 60.0, "node_repair_s": 10.0},
}
ANY_KIND = {"containers", "resources", *RESERVATIONS}  # rooms without slots for maps alone
TYPED = (SlotKind.MAP, SlotKind.REDUCE)
NO_SLOT = {ReasonCode.SLOTS_BUSY, ReasonCode.LOANS_BUSY}  # never true next to a free slot
# A reason that names those ahead is one only if what is ahead has a reason of its own.
BEHIND = {
    ReasonCode.BEHIND_IN_LINE, ReasonCode.POOL_OVER_SHARE, ReasonCode.JOB_OVER_SHARE,
    ReasonCode.GOALS_FIRST, ReasonCode.USED_MORE, ReasonCode.USED_MORE_THAN_NEXT,
    ReasonCode.OWED_LESS, ReasonCode.RUNS_MORE, ReasonCode.EARLIER_FIRST,
}  # fmt: skip


def watched_for_idle_slots(scheduler, order, room):
    """Fail if a decision leaves a slot free that a task could take, and no policy says why.

    Returns the decisions that were looked at.
    """
    state, tasks = scheduler.state, scheduler.policies.tasks
    by_heartbeat, lends = scheduler.rules.by_heartbeat, room in LENT

    def kinds_of(phase):
        return [SlotKind.CONTAINER] if room in ANY_KIND else TYPED if lends else [phase.kind]

    def takes(node, phase):
        has_room = room != "resources" or node.fits(phase.phase.demand.work)
        return has_room and any(node.free[kind] for kind in kinds_of(phase))

    def is_left_to_others(phase):
        """A node that reports takes its share of a demand below all slots, its balance line, in
        Fair and where slots are lent (dynamicmr spec, section 4); the rest is for other nodes.
        """
        if not (by_heartbeat and (lends or order == "fair")):
            return False
        kinds = kinds_of(phase)
        running = {key[:3] for key, one in state.running.items() if one.slot_kind in kinds}
        waiting = sum(state.backlogs[kind].count for kind in kinds)
        return len(running) + waiting < sum(state.slots[kind] for kind in kinds)

    def all_is_lent(phase, why, able):
        """As many tasks have borrowed as may; the slots that are free wait for their own kind."""
        numbers = dict(why.numbers)
        is_lent = why.code is ReasonCode.LOANS_BUSY and numbers["lent"] >= numbers["lendable"]
        return is_lent and not any(node.free[phase.kind] for node in able)

    def check(happening):
        if isinstance(happening, NodeHeartbeat):
            asked = [state.nodes[happening.node_id]]
        else:  # with heartbeats a node waits for its own, which `why` says
            asked = [] if by_heartbeat else state.nodes.values()
        able = [one for one in asked if one.is_up and one.rests_until_s <= state.now_s]
        said = [
            (phase, tasks.explain(phase, state, state.now_s))
            for job in state.active.values() for phase in job.phases
            if phase.is_open and phase.pending.count and any(takes(one, phase) for one in able)
            and not is_left_to_others(phase)
        ]  # fmt: skip
        reasons = {why.code for phase, why in said if not all_is_lent(phase, why, able)}
        assert not reasons & NO_SLOT, reasons
        assert not reasons or reasons - BEHIND, reasons

    return look_after_decisions(scheduler, check)


@pytest.mark.slow
@pytest.mark.interpreted
@settings(max_examples=500, deadline=None)
@given(
    parts=compositions,
    cluster=clusters(kinds_min=2, racks_max=2),
    jobs=job_lists(tasks_max=8),
    world=st.sampled_from(sorted(WORLDS)),
    slowstart=st.sampled_from([1.0, 0.3]),
)
def test_all_work_ends_and_no_slot_idles_next_to_a_task(parts, cluster, jobs, world, slowstart):
    tasks = composed_text(None, parts)
    given_settings = {**WORLDS[world], "slowstart": slowstart}
    how = Scheduling(tasks=tasks, settings=given_settings, seed=3)
    workload = Workload(cluster=cluster, jobs=tuple(jobs))
    looks = []

    def watch(scheduler):
        looks.append(watched_for_idle_slots(scheduler, parts["order"], parts["slots"]))

    scheduler, result = simulated(workload, how, on_start=watch)

    ended = {JobState.DONE, JobState.FAILED} if world == "failing tasks" else {JobState.DONE}
    assert {job.state for job in scheduler.state.jobs.values()} <= ended
    assert not scheduler.state.running
    assert all(job.has_ended for job in scheduler.state.jobs.values())
    assert result.digest == simulated(workload, how)[1].digest
    assert len(looks[0]) >= len(jobs)


@pytest.mark.parametrize(("order", "slots"), list(product(AXES["order"], ROOMS)))
def test_an_order_fills_every_room(order, slots):
    """Work for all slots at all times: whatever the order and the room, none idles before the
    last wave.
    """
    text = """
    {version: 1, cluster: {nodes: 2, node: {map_slots: 2, reduce_slots: 2, cpu: 100}},
     pools: [{id: a}, {id: b}], jobs: [
     {id: j, pool: a, deadline_s: 50, maps: {tasks: 12, avg_s: 10}, demand: {map: {cpu: 25}}},
     {id: k, pool: b, maps: {tasks: 12, avg_s: 10}, demand: {map: {cpu: 25}}}]}
    """
    found = sluice.simulate(of_text(text), tasks=f"order={order}+slots={slots}")
    slots_used = 4 if slots == "typed" else 8

    assert found.makespan_s == pytest.approx(240 / slots_used)


# --- what a user may get wrong --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("order=fare", "order is 'fare'. Did you mean fair"),
        ("odrer=fair", "'odrer' is no part of a scheduler"),
        ("fiar+copies=late", "'fiar' is no preset"),
        ("fair+data=prescheduling", "slots=lent or slots=lent-by-pool"),
        ("fair+machines=vm-pools+slots=lent", "slots=typed or slots=containers"),
        ("fair+machines=plan", "no pool has a most that it may run"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(spec, message):
    with pytest.raises(InvalidInput, match=message):
        sluice.simulate(of_text(TWO_TENANTS), tasks=spec)


def test_the_text_of_a_scheduler_is_read_as_it_was_written():
    text = composed_text("ltyarn", {"copies": "late", "slots": "resources"})
    preset, made = composition_of(text)

    assert ("ltyarn", "late", "resources") == (preset, made.copies, made.slots)
    assert {"copies": "late", "slots": "resources"} == made.differences(PRESETS["ltyarn"])
    assert "fifo" == composed_text(None, dict.fromkeys(AXES))


# --- what is built --------------------------------------------------------------------------------


class Defaults:
    """Settings of which none was given."""

    def of_part(self, kind, *owners):
        return kind()


@pytest.mark.parametrize(
    ("parts", "needs", "built"),
    [
        ("order=fair", Needs(), Fair),
        ("order=fair", Needs(caps=True), Fair),  # it keeps caps itself
        ("order=fair+data=delay", Needs(), Fair),
        ("order=fifo", Needs(), Fifo),
        ("order=fifo", Needs(caps=True), Composed),
        ("order=fifo+data=delay", Needs(), Composed),
        ("order=fair", Needs(promises=True), Composed),
        ("order=fair+goals=first", Needs(), Composed),
        ("order=fair+slots=containers", Needs(), Composed),
        ("order=fewest", Needs(), Composed),
    ],
)
def test_an_order_that_fills_typed_slots_by_itself_is_left_alone(parts, needs, built):
    """So that a decision costs no more than without parts."""
    _, chosen = composition_of(parts)

    assert type(composed(chosen, Defaults(), needs)) is built
