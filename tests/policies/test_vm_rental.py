"""Admission that rents VMs: what is promised is kept, limits hold, and nothing is paid for long."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.in_events import InEvents
from tests.policies.test_capacity_admission import asking, cluster_of, counts, deadline_jobs
from tests.runs import map_reduce

from sluice.core.commands import Provision, Release
from sluice.core.events import NodeJoined, NodeLost, Tick
from sluice.core.explain.story import story
from sluice.core.protocols import Admit, Defer
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.record.opening import opening_of
from sluice.core.record.restoring import restore
from sluice.core.rules import Rules
from sluice.core.scheduler import Policies, Scheduler
from sluice.core.transitions import JobState
from sluice.model.errors import InvalidInput
from sluice.model.ids import NodeId
from sluice.model.slot_kind import SlotKind
from sluice.policies.admission.capacity_admission import CapacityAdmission
from sluice.policies.admission.vm_rental import Claim, VmRental, _dispensable, check_rented
from sluice.policies.defaults import ReleaseOnArrival
from sluice.policies.rooms.yarn_like import YarnLike
from sluice.reporting.run.rented import machines_document
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

PRICES = {"reserved_vm_usd": 0.15, "on_demand_vm_usd": 0.40}


def renting(**given):
    chosen = {"interval_s": 5.0, "vms_max": 8, "vm_start_s": 20.0, **PRICES, **given}
    return CapacityAdmission(CapacityAdmission.Settings(**chosen))


def _policies(admission):
    return Policies(
        admission=admission, release=ReleaseOnArrival(), tasks=YarnLike(), pools=admission.machines
    )


class World:
    """A run of jobs under renting admission. commands: those about machines, in order."""

    def __init__(self, cluster, jobs, admission, *, heartbeat_s=0.0, **world):
        self.scheduler = Scheduler(_policies(admission), rules=Rules(by_heartbeat=heartbeat_s > 0))
        self.state: Any = self.scheduler.state
        self.commands: list[Any] = []
        self.vms: list[int] = []
        handle = self.scheduler.handle

        def watched(happening):
            commands = handle(happening)
            self.commands += [one for one in commands if isinstance(one, Provision | Release)]
            up = sum(node.is_up for node in self.state.nodes.values())
            self.vms.append(up + self.state.machines.to_come)
            return commands

        self.scheduler.handle = watched  # type: ignore[method-assign]  # to watch it
        simulation = Simulation(
            InEvents(self.scheduler),
            cluster,
            jobs,
            settings=SimulationSettings(heartbeat_s=heartbeat_s, **world),
        )
        simulation.run()

    def ended(self, job_id):
        job = self.state.jobs[job_id]
        return job.state, job.finished_at_s

    def changes(self):
        return [(one.at_s, one.what, one.nodes) for one in self.state.machines.changes]

    def bill(self):
        terms = self.scheduler.policies.pools.terms
        return machines_document(self.state, terms.prices, terms.reserved_usd)


pytestmark = pytest.mark.interpreted  # the events are watched


def test_a_job_that_does_not_fit_gets_vms_and_meets_its_deadline():
    """Three containers are enough for 100 s, and more for the 80 s that are left later."""
    world = World(cluster_of(4), [asking("a"), asking("b")], renting())

    assert (JobState.DONE, True) == (world.state.jobs["b"].state, world.ended("b")[1] <= 100.0)
    assert [(0.0, "rented", 1), (20.0, "joined", 1)] == world.changes()[:2]
    assert ["Provision", "Release"] == [type(one).__name__ for one in world.commands][:2]


def test_the_job_says_what_is_rented_for_it_and_the_node_when_it_came_and_went():
    world = World(cluster_of(4), [asking("a"), asking("b")], renting())
    whys = [line.why for line in story("b", world.state).lines]

    assert any(line.startswith("1 VM is rented for it for $0.01, less than") for line in whys)
    node = [line.what for line in story("rented-1", world.state).lines]
    assert "joined, rented" == node[0]
    assert "given back" in node


def test_no_vm_is_rented_for_a_job_that_is_worth_less():
    """At $0.40 a VM and hour, 75 s of a VM cost most of a cent."""
    cheap = asking("b", penalty_usd=0.001)
    world = World(cluster_of(4), [asking("a"), cheap], renting(reserved_vm_usd=None))

    assert [] == world.commands
    assert JobState.REFUSED is world.ended("b")[0]
    assert "bring its rent to" in world.state.jobs["b"].reason


def test_no_more_vms_are_rented_than_the_limit_allows():
    jobs = [asking(f"j{number}", deadline_s=70.0 if number < 6 else 62.0) for number in range(9)]
    world = World(cluster_of(4, 4), jobs, renting(vms_max=4, vm_start_s=0.0))

    assert 4 == max(world.vms)
    refused = [job for job in world.state.jobs.values() if job.state is JobState.REFUSED]
    assert any("may be rented (capacity.vms_max)" in job.reason for job in refused)


def test_a_vm_is_kept_until_the_hour_that_is_paid_ends_and_serves_the_next_job():
    """The second pair comes when the first has ended; the VM of the first is still there."""
    jobs = [asking("a"), asking("b"), asking("c", at_s=300.0), asking("d", at_s=300.0)]
    by_hour = World(cluster_of(4), jobs, renting(billing_s=3600.0))
    by_second = World(cluster_of(4), jobs, renting())

    assert 1 == sum(isinstance(one, Provision) for one in by_hour.commands)
    assert 2 == sum(isinstance(one, Provision) for one in by_second.commands)
    assert JobState.DONE is by_hour.ended("d")[0]


def test_a_node_whose_output_is_needed_stays_until_it_is_read():
    """Maps end on the rented node before the reduces have read them."""
    world = World(cluster_of(4), [asking("a"), asking("b")], renting())
    returned = [one.at_s for one in world.state.machines.changes if one.what == "returned"]

    assert returned
    assert not any(attempt.is_undone for attempt in world.state.closed)
    assert {} == {name: count for name, count in world.state.ignored.items() if "node" not in name}


def test_a_node_that_is_to_be_given_back_is_kept_if_the_next_job_needs_it():
    """Its last task ends after the next job has come."""
    long = replace(asking("slow", maps=4, reduces=0), deadline_at_s=None)
    jobs = [asking("a"), asking("b"), long, asking("c", at_s=85.0), asking("d", at_s=85.0)]
    world = World(cluster_of(4), jobs, renting(interval_s=1.0))

    assert {"rented", "joined", "unneeded"} <= {what for _, what, _ in world.changes()}


def test_the_bill_adds_up():
    world = World(cluster_of(4), [asking("a"), asking("b", penalty_usd=9.0)], renting())
    bill: Any = world.bill()
    (lease,) = bill["leases"]

    end_s = max(job.finished_at_s for job in world.state.jobs.values())
    assert 0.15 * end_s / 3600 == pytest.approx(bill["fixed_usd"], rel=0.02)
    held_s = lease["until_s"] - lease["from_s"]
    assert 0.40 * held_s / 3600 == pytest.approx(bill["rented_usd"], rel=0.02)
    assert bill["bill_usd"] == bill["fixed_usd"] + bill["rented_usd"] + bill["penalties_usd"]
    assert 0.0 == bill["penalties_usd"]


def test_limits_without_a_price_are_refused():
    with pytest.raises(InvalidInput, match="no price"):
        CapacityAdmission.Settings(vms_max=4)


@pytest.mark.parametrize("sizes", [(4, 6), (0,)])
def test_vms_are_rented_only_for_nodes_that_are_alike(sizes):
    nodes = (
        cluster_of(*sizes).nodes
        if any(sizes)
        else (replace(cluster_of(4).nodes[0], containers=0, map_slots=0, reduce_slots=0),)
    )
    with pytest.raises(InvalidInput, match="differ or have no slots"):
        check_rented(renting().machines, nodes, None)
    with pytest.raises(InvalidInput, match="has 4 containers"):
        check_rented(renting().machines, cluster_of(4).nodes, 6)


# Laws --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heartbeat_s", [0.0, 2.0])
@settings(max_examples=40, deadline=None)
@given(
    data=st.data(), count=counts, interval_s=st.sampled_from([0.0, 5.0, 10.0]),
    start_s=st.sampled_from([0.0, 7.0, 30.0]), billing_s=st.sampled_from([1.0, 60.0, 3600.0]),
    sizes=st.tuples(st.integers(1, 5), st.integers(0, 5)), with_others=st.booleans(),
)  # fmt: skip
def test_promises_are_kept_within_the_limit_whatever_is_rented(
    heartbeat_s, data, count, interval_s, start_s, billing_s, sizes, with_others
):
    """Every promised job is in time, and there are never more VMs than the limit."""
    each, extra = sizes
    jobs = [data.draw(deadline_jobs(number)) for number in range(count)]
    if with_others:
        jobs.append(replace(asking("filler", maps=40, reduces=0), deadline_at_s=None))
    admission = renting(
        interval_s=interval_s, vm_start_s=start_s, billing_s=billing_s, heartbeat_s=heartbeat_s,
        vms_max=2 + extra, on_demand_vm_usd=0.4,
    )  # fmt: skip
    world = World(cluster_of(each, each), jobs, admission, heartbeat_s=heartbeat_s)
    event(f"rented: {min(3, sum(type(one) is Provision for one in world.commands))}")
    event(f"returned: {min(3, sum(type(one) is Release for one in world.commands))}")

    late = [
        job.job_id
        for job in world.state.jobs.values()
        if job.promised and job.finished_at_s > job.job.deadline_at_s + 1e-9
    ]
    assert [] == late
    assert max(world.vms) <= 2 + extra
    assert all(job.has_ended for job in world.state.jobs.values())
    free = sum(node.free[SlotKind.CONTAINER] for node in world.state.nodes.values() if node.is_up)
    assert free == world.state.slots[SlotKind.CONTAINER]
    bill: Any = world.bill()
    lengths_s = [lease["until_s"] - lease["from_s"] for lease in bill["leases"]]
    assert all(length_s >= 0 for length_s in lengths_s)


def test_another_vm_of_the_same_name_is_paid_from_its_own_start():
    """It is given back when its own unit ends, and has a line of its own on the bill."""
    admission = renting(billing_s=100.0)
    rental: Any = admission.machines
    scheduler = Scheduler(_policies(admission))
    state, (own,) = scheduler.state, cluster_of(4).nodes
    vm = replace(own, node_id=NodeId("rented-1"))
    scheduler.handle(NodeJoined(0.0, own))
    for at_s in (50.0, 1070.0):
        scheduler.handle(Tick(at_s - 1))
        scheduler.rented.awaited.append(Reason(ReasonCode.NO_NODE))
        scheduler.handle(NodeJoined(at_s, vm))
        scheduler.handle(Tick(at_s))
        assert at_s + 80.0 == rental.wake_at_s(state, at_s)
        (release,) = scheduler.handle(Tick(at_s + 80.0))
        assert isinstance(release, Release)
        scheduler.handle(NodeLost(at_s + 81.0, vm.node_id, "given back"))
    bill: Any = machines_document(state, rental.terms.prices, 0.0)

    spans = [(lease["from_s"], lease["until_s"]) for lease in bill["leases"]]
    assert [(50.0, 130.0), (1070.0, 1150.0)] == spans
    assert 1 == bill["vms_fixed"]


def test_what_a_job_waits_for_is_given_to_no_other():
    """The VM and the one free container are for `b`; `small` comes while the VM starts."""
    small = replace(map_reduce("small", 1, 60.0, at_s=3.0), deadline_at_s=100.0)
    world = World(cluster_of(4), [asking("a"), asking("b", deadline_s=95.0), small], renting())

    assert 5 == world.state.jobs["b"].promised
    assert 20.0 == world.state.jobs["b"].released_at_s
    assert 2 == sum(one.what == "joined" for one in world.state.machines.changes)


def test_the_vm_that_came_for_a_job_is_no_room_for_one_that_asks_as_it_joins():
    """At 20 s `b` gets its four containers, and one of eight is free; `c` needs four as well."""
    world = World(cluster_of(4), [asking("a"), asking("b"), asking("c", at_s=20.0)], renting())

    assert [(0.0, 3), (20.0, 4), (40.0, 4)] == [
        (job.released_at_s, job.promised) for job in world.state.jobs.values()
    ]


def test_a_container_that_no_claim_keeps_is_promised_at_once():
    """Of two free ones `b` keeps one while its VM starts, and `c` takes the other."""
    small = replace(map_reduce("c", 1, 60.0, at_s=5.0), deadline_at_s=100.0)
    long = replace(map_reduce("a", 2, 100.0), deadline_at_s=110.0)
    jobs = [long, asking("b", deadline_s=95.0), small]
    world = World(cluster_of(4), jobs, renting())

    assert [(0.0, 2), (20.0, 5), (5.0, 1)] == [
        (job.released_at_s, job.promised) for job in world.state.jobs.values()
    ]


@pytest.mark.parametrize("start_s", [0.0, 3.0])
def test_what_is_kept_stays_free_when_no_promise_is_left(start_s):
    """Jobs a and b end at 1 s. A VM is rented for c; the filler takes no container that c needs."""
    jobs = [replace(map_reduce(name, 1, 1.0), deadline_at_s=20.0) for name in "abc"]
    filler = map_reduce("filler", 40, 10.0)
    admission = renting(vm_start_s=start_s, billing_s=1.0, vms_max=3)
    world = World(cluster_of(1, 1), [*jobs, filler], admission)

    assert (JobState.DONE, 6.0) == world.ended("c")


def test_by_the_hour_a_job_waits_for_free_containers_before_vms_are_rented():
    """The first job ends at 60 s; a VM for the second would cost a whole hour."""
    jobs = [
        asking("a", deadline_s=60.0, penalty_usd=99.0),
        asking("b", deadline_s=300.0, penalty_usd=9.0),
    ]
    world = World(cluster_of(8), jobs, renting(billing_s=3600.0))

    assert [] == world.commands
    assert JobState.DONE is world.ended("b")[0]
    assert ReasonCode.RENTED_LATER in {one[2].code for one in world.state.jobs["b"].decisions}


def test_a_job_that_uses_vms_on_their_way_says_so():
    """The VMs that come for `b` have more containers than it needs: none is rented for `c`."""
    jobs = [asking("a"), asking("b", maps=22), asking("c", maps=8, reduces=0, deadline_s=60.0)]
    world = World(cluster_of(4), jobs, renting())
    (why,) = [line.why for line in story("c", world.state).lines if "rent" in line.why]

    assert why.startswith("VMs that are already rented have room for it; its share")
    assert 0 == sum("0 VMs" in line.why for job in "abc" for line in story(job, world.state).lines)


@pytest.mark.parametrize("at_s", [10.0, 30.0])
def test_an_opening_holds_the_vms_that_are_there_and_those_to_come(at_s):
    """A driver that goes on from it has their agents started again, and waits for the others."""
    scheduler = Scheduler(_policies(renting()))
    world = SimulationSettings(heartbeat_s=0.0)
    simulation = Simulation(scheduler, cluster_of(4), [asking("a"), asking("b")], settings=world)
    simulation.run(until_s=at_s)
    line = opening_of(scheduler)
    restored = restore(line, _policies(renting()))

    what = "rented" if at_s < 20 else "joined"
    known = [one for one in scheduler.state.machines.changes if one.what == what]
    assert known == restored.state.machines.changes
    assert known
    assert json.loads(line) == json.loads(opening_of(restored))


@pytest.mark.parametrize(("all_vms", "usd"), [(2.0, 20.0), (2.5, 20.5), (3.0, 21.0), (1.0, 20.0)])
def test_a_job_pays_for_the_vms_it_rents_and_for_those_that_it_uses_besides(all_vms, usd):
    """2 VMs for $10 each, and $1 for each other one; it never gets money for using fewer."""
    prices = SimpleNamespace(rent_usd=lambda _: 10.0)
    rental = SimpleNamespace(terms=SimpleNamespace(prices=prices, reserved_usd=1.0))

    assert VmRental._rent_usd(rental, 2, all_vms, 60.0) == usd


# By hand -----------------------------------------------------------------------------------------


def rental_of(*claims, wanted=(), **terms):
    """A rental with claims given as (containers, kept), all of them there from 20 s on."""
    admission = renting(**terms)
    rental: Any = admission.machines
    rental._claims = {
        f"j{number}": Claim(containers, kept, 20.0, Reason(ReasonCode.VMS_RENTED))
        for number, (containers, kept) in enumerate(claims)
    }
    rental._wanted = [("j", vms) for vms in wanted]
    return rental


def seen(now_s=0.0, *, spare=0, kept_free=0, to_come=0, leaving=(), up=2):
    """As much of the state as a rental looks at. Its nodes have four containers each."""
    node = SimpleNamespace(is_up=True, node=SimpleNamespace(slots=lambda _: 4))
    machines = SimpleNamespace(kept_free=kept_free, to_come=to_come, leaving=leaving)
    nodes = dict.fromkeys(range(up), node)
    return SimpleNamespace(
        now_s=now_s, spare_containers=lambda: spare, machines=machines, nodes=nodes
    )


@pytest.mark.parametrize(("now_s", "found"), [(20.0, [Admit, Defer]), (20.1, [Admit])])
def test_two_claims_are_not_settled_with_the_same_containers(now_s, found):
    """Four are there for three and three. The VMs of the second may join at 20 s, not later."""
    rental = rental_of((3, 0), (3, 0))
    wishes = [
        SimpleNamespace(job=SimpleNamespace(job_id=one), containers=3) for one in ("j0", "j1")
    ]
    settled = rental.settle(wishes, seen(now_s, spare=3, kept_free=1))

    assert found == [type(one) for one in settled.values()]
    assert len(found) - 1 == len(rental._claims)


def test_what_claims_keep_is_no_room_and_stays_free():
    rental = rental_of((5, 2))

    assert 1 == rental.room(3, 4.0, seen(to_come=1))
    assert [2, 5] == [rental.kept_free(seen(to_come=vms)) for vms in (1, 0)]


def test_vms_to_come_count_against_the_limit_and_those_that_leave_do_not():
    rental = rental_of(wanted=(2,), vms_max=8)

    assert 4 == rental._may_add(seen(up=2, leaving=("n1",), to_come=1))


@pytest.mark.parametrize(("now_s", "due_s"), [(100.0, 130.0), (160.0, 130.0), (160.1, 190.0)])
def test_a_vm_is_given_back_at_the_last_round_of_its_paid_time(now_s, due_s):
    rental = rental_of(billing_s=60.0, interval_s=30.0, vm_start_s=20.0)
    rental._joined_at_s = {"vm": 100.0}

    assert due_s == rental._due_s(SimpleNamespace(node_id="vm"), now_s)


@pytest.mark.parametrize(
    ("owed", "runs_promised", "is_dispensable"),
    [(3, False, True), (4, False, False), (3, True, False)],
)
def test_a_vm_goes_if_what_is_owed_is_idle_elsewhere(owed, runs_promised, is_dispensable):
    """Three are. Jobs above their promise and tasks without one count for nothing."""
    nodes: Any = [SimpleNamespace(free={SlotKind.CONTAINER: free}) for free in (3, 1)]
    vm = nodes[1]
    job = SimpleNamespace(promised=int(runs_promised))
    task = SimpleNamespace(node=vm, tasks=1, phase=SimpleNamespace(job=job))
    promises = [SimpleNamespace(held=owed, running=0), SimpleNamespace(held=1, running=8)]
    state: Any = SimpleNamespace(promises=dict(enumerate(promises)), running={"t": task})

    assert [vm] * is_dispensable == _dispensable([vm], nodes, 0, state)


@pytest.mark.parametrize(("penalty_usd", "code"), [(20.0, "VMS_RENTED"), (19.9, "RENT_NOT_WORTH")])
def test_vms_are_rented_for_a_job_that_is_worth_exactly_their_rent(penalty_usd, code):
    rental = rental_of()
    rental._rent_usd = lambda *_: 20.0
    law = SimpleNamespace(containers=lambda _: 4)
    job = SimpleNamespace(job_id="j")
    wish = SimpleNamespace(job=job, law=law, left_s=99.0, penalty_usd=penalty_usd)
    answer = rental.answer(wish, Defer(Reason(ReasonCode.NO_NODE)), 0, 4.0, seen())

    assert ReasonCode[code] is answer.reason.code
