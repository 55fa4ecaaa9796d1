"""Admission under deadlines: what is promised is kept, what is not is explained."""

import math
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.planning.capacity_problems import problem_of
from tests.runs import map_reduce

import sluice
from sluice.core.commands import Wake
from sluice.core.events import JobKilled, JobsForgotten, JobSubmitted, NodeJoined, NodeLost, Tick
from sluice.core.explain.story import story
from sluice.core.explain.why import why
from sluice.core.reasons import ReasonCode
from sluice.core.rules import Rules
from sluice.core.scheduler import Policies, Scheduler
from sluice.core.transitions import AttemptState, JobState
from sluice.model.cluster import Cluster, Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import NodeId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.planning.capacity.relaxation import solve_relaxation
from sluice.policies.admission.capacity_admission import CapacityAdmission
from sluice.policies.admission.container_needs import container_needs
from sluice.policies.admission.work_ahead import NewestLengths, Stretch, likely_s
from sluice.policies.defaults import KeepPools, ReleaseOnArrival
from sluice.policies.rooms.yarn_like import YarnLike
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings


def capacity(**settings):
    """The policy with these settings."""
    return CapacityAdmission(CapacityAdmission.Settings(**settings))


def composed(admission, *, heartbeat_s=0.0):
    return Scheduler(
        Policies(
            admission=admission, release=ReleaseOnArrival(), tasks=YarnLike(), pools=KeepPools()
        ),
        rules=Rules(by_heartbeat=heartbeat_s > 0),
    )


def cluster_of(*containers):
    nodes = (
        Node(node_id=NodeId(f"n{index}"), containers=count)
        for index, count in enumerate(containers)
    )
    return Cluster(nodes=tuple(nodes))


def simulated(cluster, jobs, admission, *, heartbeat_s=0.0, **world):
    """The state after all is over."""
    scheduler = composed(admission, heartbeat_s=heartbeat_s)
    settings = SimulationSettings(heartbeat_s=heartbeat_s, **world)
    Simulation(scheduler, cluster, jobs, settings=settings).run()
    return scheduler.state


def asking(job_id, *, deadline_s=100.0, at_s=0.0, maps=16, reduces=4, **other):
    """Tasks of 10 s: 8 containers keep a deadline of 60 s, 3 one of 100 s, none one of 19 s."""
    job = map_reduce(job_id, maps, 10.0, reduces, 10.0, at_s=at_s)
    deadline_at_s = None if deadline_s is None else at_s + deadline_s
    return replace(job, deadline_at_s=deadline_at_s, **other)


# What is promised is kept -------------------------------------------------------------------------

durations_s = st.floats(0.5, 30.0).map(lambda length_s: round(length_s, 2))


@st.composite
def deadline_jobs(draw, number):
    """One to three phases of unequal tasks, a deadline that may or may not be within reach."""
    phases = []
    for index in range(draw(st.integers(1, 3))):
        kind = SlotKind.MAP if index == 0 else SlotKind.REDUCE
        lengths = tuple(draw(st.lists(durations_s, min_size=1, max_size=12)))
        fetch = None
        if index and draw(st.booleans()):
            fetch = ListedLengths(tuple(draw(durations_s) for _ in lengths))
        phases.append(
            Phase(
                name=f"p{index}", kind=kind, tasks=len(lengths), lengths=ListedLengths(lengths),
                fetch=fetch, after=(index - 1,) if index else (),
            )
        )  # fmt: skip
    at_s = draw(st.sampled_from([0.0, 0.0, 3.0, 10.0, 17.5, 40.0, 90.0]))
    has_deadline = draw(st.sampled_from([True, True, True, False]))
    return Job(
        job_id=f"j{number}",
        pool="p",
        phases=tuple(phases),
        submitted_at_s=at_s,
        deadline_at_s=at_s + draw(st.floats(20, 400)) if has_deadline else None,
        weight=draw(st.sampled_from([1.0, 2.0])),
    )


counts, intervals_s = st.integers(2, 8), st.sampled_from([0.0, 5.0, 10.0, 30.0])
with_and_without_heartbeats = pytest.mark.parametrize("heartbeat_s", [0.0, 2.0])


@with_and_without_heartbeats
@settings(max_examples=30, deadline=None)
@given(st.data(), counts, intervals_s, st.sampled_from(["up", "avg"]))
def test_every_job_that_was_promised_its_deadline_meets_it(
    heartbeat_s, data, count, interval_s, bound
):
    """Hard deadlines, by a container scheduler that keeps promises, with lengths as shown.

    Source: capacity spec, section 3.1; avg is Graham's bound on equal containers.
    """
    check_promises(heartbeat_s, data, count, interval_s, bound)


@pytest.mark.slow
@with_and_without_heartbeats
@settings(max_examples=300, deadline=None)
@given(st.data(), counts, intervals_s, st.sampled_from(["up", "avg"]))
def test_every_promise_is_kept_in_many_worlds(heartbeat_s, data, count, interval_s, bound):
    check_promises(heartbeat_s, data, count, interval_s, bound)


def check_promises(heartbeat_s, data, count, interval_s, bound, **other):
    """No job that was promised containers ends after its deadline."""
    jobs = [data.draw(deadline_jobs(number)) for number in range(count)]
    cluster = cluster_of(*data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    admission = capacity(interval_s=interval_s, bound=bound, heartbeat_s=heartbeat_s, **other)
    state = simulated(cluster, jobs, admission, heartbeat_s=heartbeat_s)
    promised = [entry for entry in state.jobs.values() if entry.promised]
    event(f"promised: {min(len(promised), 3)}, of them jobs: {min(len(jobs), 3)}")

    assert {JobState.DONE, JobState.REFUSED} >= {entry.state for entry in state.jobs.values()}
    late = {
        entry.job_id: (entry.finished_at_s, entry.job.deadline_at_s)
        for entry in promised
        if entry.finished_at_s > entry.job.deadline_at_s + 1e-9
    }
    assert {} == late


@pytest.mark.interpreted
def test_promises_never_add_up_to_more_than_there_is():
    """Watched at every instant of a crowded run, with jobs beside them without a promise."""
    scheduler = composed(capacity(interval_s=5.0))
    jobs = [
        asking(f"j{number}", at_s=7.0 * number, deadline_s=90.0 if number % 3 else None)
        for number in range(12)
    ]
    handle, spare = scheduler.handle, []

    def watched(happening):
        commands = handle(happening)
        spare.append(free_containers(scheduler.state) - owed_containers(scheduler.state))
        return commands

    scheduler.handle = watched
    Simulation(scheduler, cluster_of(4, 4), jobs, settings=SimulationSettings()).run()

    assert 0 == min(spare)


def free_containers(state):
    """Counted on the nodes."""
    return sum(node.free[SlotKind.CONTAINER] for node in state.nodes.values())


def owed_containers(state):
    """Promised ones that are not in use yet, counted by jobs and running attempts."""
    in_use = Counter(attempt.phase.job_id for attempt in state.running.values())
    left = {
        job_id: min(job.promised, max(phase.tasks - phase.done for phase in job.phases))
        for job_id, job in state.jobs.items()
        if job.promised and job.finished_at_s is None
    }
    return sum(max(0, count - in_use[job_id]) for job_id, count in left.items())


def test_a_job_that_runs_above_its_promise_makes_no_room_for_another():
    """It keeps one container and runs on eight, all of them for longer than the other may wait."""
    long = replace(map_reduce("long", 8, 300.0), deadline_at_s=2600.0)
    hasty = replace(map_reduce("hasty", 8, 10.0, at_s=1.0), deadline_at_s=106.0)
    state = simulated(cluster_of(8), [long, hasty], capacity(interval_s=5.0))

    assert (1, 300.0) == (state.jobs["long"].promised, state.jobs["long"].finished_at_s)
    assert (0, JobState.REFUSED) == (state.jobs["hasty"].promised, state.jobs["hasty"].state)


def test_what_a_later_phase_needs_is_kept_while_an_earlier_one_needs_less():
    """One map holds one of four containers; three stay idle, though other work waits for them."""
    hard = replace(map_reduce("hard", 1, 20.0, 4, 10.0), deadline_at_s=31.0)
    other = map_reduce("other", 40, 25.0, at_s=1.0)
    state = simulated(cluster_of(4), [hard, other], capacity(interval_s=1.0))

    assert (4, 30.0) == (state.jobs["hard"].promised, state.jobs["hard"].finished_at_s)
    assert 30.0 == state.jobs["other"].started_at_s


def test_nodes_that_report_at_intervals_make_tasks_longer():
    """Ends of 10 s tasks are shown every 3 s: four of them in a row take 46 s, not 40."""
    hard = replace(map_reduce("hard", 4, 10.0), deadline_at_s=45.0)
    for deadline_s, containers in ((45.0, 0), (60.0, 1)):
        admission = capacity(bound="avg", heartbeat_s=3.0)
        jobs = [replace(hard, deadline_at_s=deadline_s)]
        state = simulated(cluster_of(1), jobs, admission, heartbeat_s=3.0)
        assert containers == state.jobs["hard"].promised


def test_a_promise_shrinks_with_the_tasks_that_are_left():
    """Ten containers for a last wave of one reduce would keep nine from everybody else."""
    first = asking("a", maps=10, reduces=1, deadline_s=30.0)
    second = asking("b", at_s=15.0, deadline_s=60.0)
    state = simulated(cluster_of(10), [first, second], capacity(interval_s=0.0))

    assert (10, 8) == (state.jobs["a"].promised, state.jobs["b"].promised)
    assert 15.0 == state.jobs["b"].released_at_s


# Who is taken -------------------------------------------------------------------------------------


def test_the_job_that_is_worth_more_by_the_container_is_taken():
    """Of two that arrive at once, whichever is named first."""
    dear = asking("dear", penalty_usd=50.0, deadline_s=60.0)
    cheap = asking("cheap", penalty_usd=20.0, deadline_s=60.0)
    for jobs in ([dear, cheap], [cheap, dear]):
        state = simulated(cluster_of(8), jobs, capacity())
        assert JobState.DONE is state.jobs["dear"].state
        assert JobState.REFUSED is state.jobs["cheap"].state


def test_it_is_the_worth_of_a_container_that_counts_not_the_penalty():
    """14 containers for 60 dollars are worth less than 8 for 50."""
    greedy = asking("greedy", penalty_usd=60.0, deadline_s=52.0)
    modest = asking("modest", penalty_usd=50.0, deadline_s=60.0)
    state = simulated(cluster_of(14), [greedy, modest], capacity())

    assert (0, 8) == (state.jobs["greedy"].promised, state.jobs["modest"].promised)


def test_what_is_taken_is_worth_at_most_one_job_less_than_the_linear_program():
    """A round is the greedy of capacity planning with jobs that cannot be divided."""
    jobs = [
        asking(f"j{number}", penalty_usd=5.0 + (7 * number) % 11, deadline_s=70.0 + number)
        for number in range(9)
    ]
    state = simulated(cluster_of(16), jobs, capacity(reserved_vm_usd=1e-6, vm_containers=1))
    needs = [container_needs(job, "up", 0.0).containers(job.deadline_at_s) for job in jobs]
    problem = problem_of(16, *[(n, j.penalty_usd, 0, 1) for n, j in zip(needs, jobs, strict=True)])
    rent = replace(problem.rent, reserved_usd=1e-6, on_demand_usd=1e6)
    best = solve_relaxation(replace(problem, rent=rent))
    first_round = [entry for entry in state.jobs.values() if entry.decisions[0][1] == "admitted"]
    saved = sum(entry.job.penalty_usd for entry in first_round if entry.decisions[0][0] == 0.0)

    assert saved >= -best.objective_usd - max(job.penalty_usd for job in jobs)
    assert saved <= -best.objective_usd + 1e-3


def test_a_job_that_cannot_start_yet_is_taken_when_it_can():
    state = simulated(
        cluster_of(8),
        [asking("first", deadline_s=60.0), asking("second", deadline_s=200.0, at_s=1.0)],
        capacity(interval_s=10.0),
    )

    assert [JobState.DONE] * 2 == [entry.state for entry in state.jobs.values()]
    assert 10.0 <= state.jobs["second"].released_at_s


def test_a_job_that_needs_every_container_is_taken_when_the_last_one_is_free():
    small = replace(map_reduce("small", 1, 1.5), deadline_at_s=2.0)
    jobs = [small, asking("all", at_s=0.5, deadline_s=62.0)]
    whole = simulated(cluster_of(8), jobs, capacity(interval_s=1.0)).jobs["all"]

    assert (8, 2.0) == (whole.promised, whole.released_at_s)


def test_rounds_are_an_interval_apart():
    """Who comes after a pause is decided about at once; who comes soon after waits for the next."""
    jobs = [
        asking(job_id, at_s=at_s, deadline_s=300.0) for job_id, at_s in (("a", 12.0), ("b", 15.0))
    ]
    state = simulated(cluster_of(8), jobs, capacity(interval_s=10.0))

    assert (12.0, 22.0) == tuple(state.jobs[job_id].released_at_s for job_id in "ab")


def one_round_at_12_s():
    """A scheduler that has taken a job at 12 s and heard of another at 15 s."""
    scheduler = composed(capacity(interval_s=10.0))
    scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId("n"), containers=4)))
    scheduler.handle(JobSubmitted(12.0, asking("a", at_s=12.0, deadline_s=300.0)))
    scheduler.handle(Tick(12.0))
    scheduler.handle(JobSubmitted(15.0, asking("b", at_s=15.0, deadline_s=300.0)))
    return scheduler


def test_the_world_is_asked_once_to_wake_us_for_a_round():
    scheduler = one_round_at_12_s()

    assert [Wake(22.0)] == scheduler.handle(Tick(15.0))
    assert [] == scheduler.handle(Tick(16.0))
    scheduler.handle(Tick(22.0))
    assert 22.0 == scheduler.state.jobs["b"].decisions[-1][0]


def test_a_round_is_held_though_the_clock_comes_late():
    """A real clock never strikes the instant itself."""
    scheduler = one_round_at_12_s()
    scheduler.handle(Tick(22.03))

    assert 22.03 == scheduler.state.jobs["b"].decisions[-1][0]


def test_a_job_between_two_rounds_says_that_it_waits_for_one():
    scheduler = one_round_at_12_s()
    scheduler.handle(Tick(15.0))

    assert "rounds" in why("b", scheduler.state, scheduler.policies.tasks).detail


def test_a_job_whose_tasks_all_fit_side_by_side_needs_no_bound():
    """Two maps and a reduce of 10 s each take 20 s; the high bound would say 40."""
    small = asking("small", maps=2, reduces=1, deadline_s=25.0)
    state = simulated(cluster_of(4), [small], capacity())

    assert 20.0 == state.jobs["small"].finished_at_s
    assert 2 == state.jobs["small"].promised


@pytest.mark.parametrize(("takes", "state"), [(True, JobState.DONE), (False, JobState.REFUSED)])
def test_jobs_without_a_deadline_are_taken_or_refused_as_shown(takes, state):
    job = asking("free", deadline_s=None)
    ended = simulated(
        cluster_of(4), [job], capacity(without_deadline="take" if takes else "refuse")
    )

    assert state is ended.jobs["free"].state
    assert 0 == ended.jobs["free"].promised


def test_a_refusal_says_whether_a_deadline_or_lengths_are_missing():
    unknown = asking("a")
    unknown = replace(unknown, phases=tuple(replace(one, lengths=None) for one in unknown.phases))
    found = [
        refused(job, without_deadline="refuse").code
        for job in (unknown, asking("a", deadline_s=None))
    ]

    assert [ReasonCode.NO_LENGTHS, ReasonCode.NO_DEADLINE] == found


def test_a_job_that_any_wait_makes_late_is_refused_though_rounds_have_no_interval():
    """It needs its ten seconds from now on, and another job has the containers."""
    first = asking("first", at_s=99.0, deadline_s=60.0)
    second = asking("second", maps=2, reduces=0, at_s=100.0, deadline_s=10.0)
    state = simulated(cluster_of(8), [first, second], capacity(interval_s=0.0))

    assert 8 == state.jobs["first"].promised
    assert (JobState.REFUSED, 100.0) == (
        state.jobs["second"].state, state.jobs["second"].finished_at_s
    )  # fmt: skip


def test_a_vm_is_as_large_as_the_nodes_that_are_left():
    """Eight containers are needed, and the node that is left has four: one VM more has the rest."""
    scheduler = composed(capacity())
    for node in cluster_of(4, 4).nodes:
        scheduler.handle(NodeJoined(0.0, node))
    scheduler.handle(NodeLost(1.0, NodeId("n0"), "gone"))
    scheduler.handle(JobSubmitted(2.0, asking("a", at_s=2.0, deadline_s=60.0)))
    scheduler.handle(Tick(2.0))

    assert "1 more VM from 2 s on" in scheduler.state.jobs["a"].reason


def test_a_job_that_no_promise_fits_is_taken_if_the_work_ahead_leaves_time():
    """All containers run tasks of a job without a deadline: none is free for a promise."""
    jobs = [
        asking("free", deadline_s=None, maps=100, reduces=0),
        asking("hard", at_s=1.0, deadline_s=100.0),
        asking("soon", at_s=1.0, deadline_s=45.0),
    ]
    refused = simulated(cluster_of(8), jobs, capacity(interval_s=7.0))
    assert JobState.REFUSED is refused.jobs["hard"].state
    state = simulated(cluster_of(8), jobs, capacity(interval_s=7.0, without_promise="likely"))
    hard = state.jobs["hard"]
    assert (JobState.DONE, 0) == (hard.state, hard.promised)
    assert hard.finished_at_s <= 101.0
    # As much work ahead as its own, 200 s, over 8 containers; two last tasks of 10 s, twice.
    assert (("needs_s", 90.0), ("left_s", 94.0)) == hard.decisions[-1][2].numbers
    assert JobState.REFUSED is state.jobs["soon"].state


@pytest.mark.parametrize(("deadline_s", "said"), [(40.0, "admitted"), (39.9, "deferred")])
def test_a_likely_job_may_need_all_of_the_time_that_is_left(deadline_s, said):
    """A task of 10 s is ahead of its own, and its own may take twice as long once more."""
    free = asking("free", deadline_s=None, maps=1, reduces=0)
    job = asking("job", at_s=1.0, maps=1, reduces=0, deadline_s=deadline_s)
    admission = capacity(interval_s=1.0, without_promise="likely")
    state = simulated(cluster_of(1), [free, job], admission)

    assert (1.0, said) == state.jobs["job"].decisions[0][:2]


def test_a_job_that_is_not_worth_its_rent_may_be_likely():
    """So it is taken without a promise."""
    job = asking("cheap", penalty_usd=0.001)
    admission = capacity(without_promise="likely", reserved_vm_usd=0.15)
    cheap = simulated(cluster_of(8), [job], admission).jobs["cheap"]

    assert (JobState.DONE, 0) == (cheap.state, cheap.promised)


@given(st.data(), counts)
def test_a_likely_job_breaks_no_promise(data, count):
    check_promises(0.0, data, count, 10.0, "up", without_promise="likely")


def stretch_of(state):
    """Return the stretch that all attempts of a run have shown."""
    newest = NewestLengths(state)
    for attempt in state.closed:
        newest.ended(attempt)
    return newest.stretch()


def test_the_stretch_is_that_of_the_newest_tasks():
    """Tasks that take three times their profile make the work ahead three times as long."""
    jobs = [asking("slow", deadline_s=None, maps=40, reduces=0)]
    state = simulated(cluster_of(8), jobs, capacity(), p_slow=0.3)
    stretch = stretch_of(state)
    assert 1.0 < stretch.mean < stretch.tail
    assert Stretch() == stretch_of(simulated(cluster_of(8), [], capacity()))


def of_newest(*lengths_s, failed=0):
    """The stretch that tasks of 10 s show which took so long, and some that failed after 99 s."""
    newest = NewestLengths(SimpleNamespace(observe_attempts=lambda _: None))
    phase = SimpleNamespace(phase=asking("a").phases[0])
    states = [AttemptState.DONE] * len(lengths_s) + [AttemptState.FAILED] * failed
    for state, length_s in zip(states, (*lengths_s, *[99.0] * failed), strict=True):
        newest.ended(
            SimpleNamespace(
                state=state, started_at_s=1.0, finished_at_s=1.0 + length_s, phase=phase
            )
        )
    return newest.stretch()


@pytest.mark.interpreted  # of an attempt as much as is looked at
def test_twenty_tasks_that_are_done_show_the_stretch_and_one_in_ten_its_tail():
    lengths_s = (10.0,) * 18 + (20.0, 40.0)

    assert of_newest(*lengths_s) == of_newest(*lengths_s, failed=50) == Stretch(1.2, 2.0)
    assert of_newest(*lengths_s[1:], failed=50) == Stretch()


@pytest.mark.interpreted
def test_tasks_that_are_done_are_not_ahead_of_a_job():
    """Ahead are 10 s of 30, and its own work is 30 s, on two slots; its last task takes 10 s."""
    job = asking("job", maps=3, reduces=0)
    (phase,) = job.phases
    other = SimpleNamespace(phases=[SimpleNamespace(phase=phase, tasks=3, done=2)])
    state: Any = SimpleNamespace(slots={SlotKind.CONTAINER: 2}, active={"other": other})

    assert 30.0 == likely_s(job, state, Stretch(1.0, 1.0))


def test_jobs_are_not_taken_without_a_promise_where_vms_are_rented():
    with pytest.raises(InvalidInput, match="without_promise"):
        CapacityAdmission.Settings(vms_max=9, on_demand_vm_usd=1.0, without_promise="likely")


def test_jobs_without_a_promise_get_what_is_promised_to_nobody():
    """They fill the cluster before, are never driven out, and take no container that is owed."""
    state = simulated(
        cluster_of(8),
        [asking("free", deadline_s=None, maps=40), asking("hard", at_s=5.0, deadline_s=200.0)],
        capacity(interval_s=5.0),
    )

    assert state.jobs["hard"].finished_at_s <= 205.0
    assert JobState.DONE is state.jobs["free"].state


# What is said about a no --------------------------------------------------------------------------


def refused(job, *others, containers=8, **options):
    """The reason for which a job is not taken in the round at 0 s."""
    scheduler = composed(capacity(**options))
    scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId("n"), containers=containers)))
    for each in (job, *others):
        scheduler.handle(JobSubmitted(0.0, each))
    scheduler.handle(Tick(0.0))
    return scheduler.state.jobs[job.job_id].verdict


def taken(job, *others, containers=8, **options):
    return refused(job, *others, containers=containers, **options) is None


def test_a_deadline_too_soon_is_shown_with_one_that_would_do():
    job = asking("a", deadline_s=30.0)
    reason = refused(job)
    enough_s = dict(reason.numbers)["enough_deadline_s"]

    assert ReasonCode.DEADLINE_TOO_SOON is reason.code
    assert f"a deadline of {enough_s:.0f} s" in reason.text()
    assert taken(replace(job, deadline_at_s=enough_s + 1e-6))
    assert not taken(replace(job, deadline_at_s=enough_s - 0.1))


def test_an_offer_after_a_deferral_counts_from_the_submission():
    """Three containers take the job in 93.3 s, of which it has waited 10 when it is refused."""
    rival = asking("rival", penalty_usd=50.0, deadline_s=76.0)
    job = asking("a", penalty_usd=1.0, deadline_s=72.0)
    state = simulated(cluster_of(8), [rival, job], capacity(interval_s=10.0))

    ((at_s, what, first),) = state.jobs["a"].decisions
    assert (0.0, "deferred") == (at_s, what)
    assert "a deadline of 94 s" in first.text()
    assert JobState.REFUSED is state.jobs["a"].state
    assert "a deadline of 104 s" in state.jobs["a"].verdict.text()


def test_a_penalty_below_the_rent_is_shown_with_one_that_would_do():
    job = asking("a", penalty_usd=1.0)
    reason = refused(job, reserved_vm_usd=8.0)
    enough_usd = dict(reason.numbers)["enough_penalty"]

    assert ReasonCode.NOT_WORTH is reason.code
    assert taken(replace(job, penalty_usd=enough_usd + 1e-6), reserved_vm_usd=8.0)
    assert not taken(replace(job, penalty_usd=enough_usd - 1e-6), reserved_vm_usd=8.0)


def test_full_promises_are_shown_with_every_change_that_would_do():
    """A later deadline, more machines, a higher penalty: each alone is enough, and less is not."""
    rival = asking("rival", penalty_usd=50.0, deadline_s=60.0)
    job = asking("a", penalty_usd=40.0, deadline_s=60.0)
    options = {"containers": 12, "reserved_vm_usd": 1.0, "vm_containers": 1}
    reason = refused(job, rival, **options)
    enough = dict(reason.numbers)

    assert ReasonCode.CAPACITY_PROMISED is reason.code
    assert taken(replace(job, deadline_at_s=enough["enough_deadline_s"] + 1e-6), rival, **options)
    assert taken(replace(job, penalty_usd=enough["enough_penalty"] + 1e-6), rival, **options)
    more = {**options, "containers": 12 + int(enough["enough_more_vms"])}
    assert taken(job, rival, **more)
    assert not taken(job, rival, **{**more, "containers": more["containers"] - 1})


def test_the_cheapest_change_is_shown_first():
    """A later deadline costs nothing; then whichever is less, more machines or more penalty."""
    rival = asking("rival", penalty_usd=50.0, deadline_s=60.0)
    job = asking("a", penalty_usd=40.0, deadline_s=60.0)
    dear = refused(job, rival, containers=12, reserved_vm_usd=20.0, vm_containers=4)
    cheap = refused(job, rival, containers=12, reserved_vm_usd=1.0, vm_containers=4)

    def kinds(reason):
        return [name for name, _ in reason.numbers if name.startswith(("enough", "lasting"))]

    deadlines = ["enough_deadline_s", "lasting_deadline_s"]
    assert [*deadlines, "enough_penalty", "enough_more_vms"] == kinds(dear)
    assert [*deadlines, "enough_more_vms", "enough_penalty"] == kinds(cheap)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0, 10, 20]), st.integers(40, 130), st.integers(1, 9)),
                min_size=2, max_size=6))  # fmt: skip
def test_more_vms_from_the_instant_in_the_message_are_enough(drawn):
    """The jobs arrive over three rounds; the VMs join just before the round that offered them."""
    jobs = [
        asking(f"j{number}", at_s=float(at_s), deadline_s=float(deadline_s), penalty_usd=usd)
        for number, (at_s, deadline_s, usd) in enumerate(drawn)
    ]

    def played(vms=0, from_s=0.0):
        scheduler = composed(capacity(vm_containers=2, reserved_vm_usd=0.1))
        scheduler.handle(NodeJoined(0.0, Node(node_id=NodeId("n"), containers=8)))
        for now_s in (0.0, 10.0, 20.0):
            for number in range(vms if now_s == from_s else 0):
                scheduler.handle(NodeJoined(now_s, Node(node_id=NodeId(f"{number}"), containers=2)))
            for job in (one for one in jobs if one.submitted_at_s == now_s):
                scheduler.handle(JobSubmitted(now_s, job))
            scheduler.handle(Tick(now_s))
        return scheduler.state.jobs

    for job in played().values():
        for at_s, _, reason in job.decisions:
            vms = int(dict(reason.numbers).get("enough_more_vms", 0))
            if vms:
                event(f"offered at {at_s:g} s")
                assert f" from {at_s:g} s on" in reason.text()
                assert played(vms, at_s)[job.job_id].promised


def test_changes_that_only_the_round_could_grant_are_shown_as_past():
    """The rival has the room by now: what was too little then is not offered."""
    rival = asking("rival", penalty_usd=50.0, deadline_s=60.0)
    job = asking("a", penalty_usd=40.0, deadline_s=60.0)
    reason = refused(job, rival, containers=12, reserved_vm_usd=20.0, vm_containers=4)

    now, then = reason.text().split("; ")[1:]
    assert "a deadline of 80 s or 1 more VM from 0 s on for $20.00 would do at once" == now
    assert "a deadline of 67 s or a penalty above $50.00 would have done in this round" == then


def test_why_and_story_show_what_admission_said():
    scheduler = composed(capacity(interval_s=10.0))
    jobs = [asking("first", deadline_s=60.0), asking("second", deadline_s=200.0)]
    simulation = Simulation(scheduler, cluster_of(8), jobs, settings=SimulationSettings())
    simulation.run(until_s=5.0)
    answer = why("second", scheduler.state, scheduler.policies.tasks)
    simulation.run()
    said = [(line.at_s, line.what) for line in story("second", scheduler.state).lines]

    assert "not reserved" in answer.detail
    assert 8 == dict(answer.reason.numbers)["slots"]
    assert (0.0, "deferred") in said
    assert "admitted" in [what for _, what in said]


def test_without_a_node_nothing_is_promised_yet():
    assert ReasonCode.NO_NODE is refused(asking("a"), containers=0).code


def test_a_round_is_reported():
    admission = capacity(interval_s=10.0)
    simulated(cluster_of(8), [asking("a"), asking("late", deadline_s=5.0)], admission)
    rounds: Any = admission.report()["admission_rounds"]
    (held,) = rounds

    assert (0.0, ["a"], ["late"], []) == (
        held["at_s"], held["taken"], held["refused"], held["deferred"],
    )  # fmt: skip


def test_nothing_is_kept_of_jobs_that_are_forgotten():
    """Neither the rounds that decided about them, nor the needs of one that was killed before."""
    scheduler = composed(admission := capacity(interval_s=10.0))
    scheduler.handle(NodeJoined(0.0, cluster_of(8).nodes[0]))
    scheduler.handle(JobSubmitted(0.0, asking("runs", deadline_s=60.0)))
    scheduler.handle(Tick(0.0))
    for number in range(1, 51):
        at_s = 20.0 * number
        for name, deadline_s in (("waits", 3000.0), ("late", 5.0)):
            job = asking(f"{name}-{number}", at_s=at_s, deadline_s=deadline_s)
            scheduler.handle(JobSubmitted(at_s, job))
        scheduler.handle(Tick(at_s))
        scheduler.handle(JobKilled(at_s + 1.0, f"waits-{number}"))
    assert len(admission.report()["admission_rounds"]) == len(admission._laws) + 1 == 51
    over = (one for one, job in scheduler.state.jobs.items() if job.has_ended)
    scheduler.handle(JobsForgotten(2000.0, tuple(over)))

    (held,) = admission.report()["admission_rounds"]
    assert held["taken"] == ["runs"]
    assert not admission._laws


def test_a_job_that_no_containers_help_ranks_last_and_its_counter_offer_does():
    """Its worth, infinite by infinite, was no number, and put the others out of order."""

    def refusal(deadline_s):
        jobs = [
            {
                "id": "cheap",
                "deadline_s": 213,
                "maps": {"tasks": 8, "avg_s": 5, "max_s": 7.5},
                "penalty_usd": 0.01,
            },
            {
                "id": "late",
                "deadline_s": deadline_s,
                "maps": {"tasks": 6, "avg_s": 5},
                "reduces": {"tasks": 7, "avg_s": 22},
                "shuffle": {"avg_s": 1.8},
            },
            {"id": "dear", "deadline_s": 273, "maps": {"tasks": 4, "avg_s": 8}, "penalty_usd": 2},
        ]

        document = {
            "version": 1,
            "cluster": {"containers": 7},
            "prices": {"on_demand_vm_usd": 0.4, "reserved_vm_usd": 0.15},
            "jobs": jobs,
        }
        found = sluice.why("late", source=document, tasks="yarn-like", admission="capacity")
        return None if found.state is JobState.DONE else dict(found.reason.numbers)

    offered_s = math.ceil(refusal(13)["enough_deadline_s"])
    assert refusal(offered_s) is None
