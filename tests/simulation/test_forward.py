"""From the middle of a simulation on: with lengths that are known, the future is the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policies.test_capacity_admission import asking, cluster_of
from tests.runs import even_nodes

from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.estimate.length_spread import LengthSpread
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.simulation.driver import Simulation
from sluice.simulation.forward import simulate_on
from sluice.simulation.settings import SimulationSettings

POLICIES = ("fifo", "fair", "static", "dynamicmr", "order=ltrf+slots=lent")
CLUSTER = even_nodes(2, 2, 1)


def job_of(number, maps, reduces, at_s):
    """A job of map and reduce tasks with the lengths given."""
    phases = [phase("map", SlotKind.MAP, maps)]
    if reduces:
        phases.append(phase("reduce", SlotKind.REDUCE, reduces, after=(0,)))
    name, pool = JobId(f"j{number}"), PoolId(f"p{number % 2}")
    return Job(job_id=name, pool=pool, phases=tuple(phases), submitted_at_s=at_s)


def phase(name, kind, lengths_s, after=()):
    """A phase with these lengths."""
    listed = ListedLengths(tuple(lengths_s))
    return Phase(name=name, kind=kind, tasks=len(lengths_s), lengths=listed, after=after)


lengths = st.lists(st.integers(1, 12).map(float), min_size=1, max_size=5)
many = st.lists(
    st.tuples(lengths, st.one_of(st.just([]), lengths), st.integers(0, 9).map(float)),
    min_size=1,
    max_size=5,
)


def started(tasks, jobs):
    """A scheduler, and the simulation that it serves."""
    scheduler = scheduler_for(settings=resolved_settings({}, ("heartbeat_s=0",)), tasks=tasks)
    settings_ = SimulationSettings(heartbeat_s=0.0)
    return scheduler, Simulation(scheduler, CLUSTER, jobs, settings=settings_)


@pytest.mark.parametrize("tasks", POLICIES)
@given(parts=many, share=st.floats(0.05, 0.95))
@settings(max_examples=40)
def test_known_lengths_have_one_future(tasks, parts, share):
    jobs = [job_of(number, *part) for number, part in enumerate(parts)]
    whole, simulation = started(tasks, jobs)
    simulation.run()
    ends = {name: entry.finished_at_s for name, entry in whole.state.jobs.items()}
    # No instant of an event, which would count as over for one and not for the other.
    now_s = round(share * max(ends.values())) + 0.5
    half, simulation = started(tasks, jobs)
    simulation.run(until_s=now_s)
    left = [job for job in jobs if job.job_id not in half.state.jobs]
    simulate_on(half, now_s, new=(), to_come=left, spread=lambda _: LengthSpread(0.0), seed=1)
    assert {name: entry.finished_at_s for name, entry in half.state.jobs.items()} == pytest.approx(
        ends
    )


def test_a_task_that_has_run_long_is_not_over_before_now():
    jobs = [job_of(0, [4.0], [], 0.0)]
    scheduler, simulation = started("fifo", jobs)
    simulation.run(until_s=1.0)
    # Ten seconds later it still runs: it is longer than its profile says.
    simulate_on(scheduler, 11.0, new=(), to_come=(), spread=lambda _: LengthSpread(0.3), seed=1)
    assert 11.0 < scheduler.state.jobs["j0"].finished_at_s < 15.0


def test_new_jobs_join_what_runs():
    scheduler, simulation = started("fifo", [job_of(0, [8.0] * 4, [], 0.0)])
    simulation.run(until_s=3.0)
    new = job_of(1, [5.0], [], 3.0)
    simulate_on(scheduler, 3.0, new=[new], to_come=(), spread=lambda _: LengthSpread(0.0), seed=1)
    assert scheduler.state.jobs["j1"].started_at_s == pytest.approx(8.0)
    assert scheduler.state.jobs["j1"].finished_at_s == pytest.approx(13.0)


def test_seeds_differ_and_repeat():
    def end_s(seed):
        scheduler, simulation = started("fair", [job_of(0, [8.0] * 9, [3.0], 0.0)])
        simulation.run(until_s=3.0)
        simulate_on(
            scheduler, 3.0, new=(), to_come=(), spread=lambda _: LengthSpread(0.3), seed=seed
        )
        return scheduler.state.jobs["j0"].finished_at_s

    assert end_s(1) == end_s(1)
    assert end_s(1) != end_s(2)


def test_vms_that_were_asked_for_join_when_they_would_have():
    """The first one was given back by then, and its name is not used again."""
    needs = {
        "capacity.interval_s": "5",
        "capacity.vms_max": "8",
        "capacity.vm_start_s": "20",
        "capacity.on_demand_vm_usd": "0.4",
    }
    chosen = resolved_settings({}, ("heartbeat_s=0", *(f"{key}={needs[key]}" for key in needs)))

    def begun():
        scheduler = scheduler_for(settings=chosen, tasks="yarn-like", admission="capacity")
        jobs = [
            asking("a"),
            asking("b"),
            asking("c", at_s=150.0),
            asking("d", deadline_s=104.0, at_s=150.0),
        ]
        world = SimulationSettings(heartbeat_s=0.0)
        return scheduler, Simulation(scheduler, cluster_of(4), jobs, settings=world)

    whole, simulation = begun()
    simulation.run()
    half, simulation = begun()
    simulation.run(until_s=160.0)
    assert (1, False) == (half.state.machines.to_come, half.state.nodes["rented-1"].is_up)
    simulate_on(half, 160.0, new=(), to_come=(), spread=lambda _: LengthSpread(0.0), seed=1)

    joined = [one for one in whole.state.machines.changes if one.what == "joined"]
    assert [0, 150] == [round(one.at_s) - 20 for one in joined]
    assert joined == [one for one in half.state.machines.changes if one.what == "joined"]
