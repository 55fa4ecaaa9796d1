"""The cost of attempts is drawn once, from the seed: nothing a scheduler does can change it."""

import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policies.registered import NAMES, task_policy
from tests.runs import even_nodes, map_reduce, simulate, totals

from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.cluster import Locality
from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase
from sluice.model.slot_kind import SlotKind
from sluice.simulation.efforts import Efforts, Mishap
from sluice.simulation.settings import SimulationSettings

MANY = 20_000


def phases_of(job):
    return ClusterState().add_job(job, {}, alike=False).phases


def first_phase(job):
    return phases_of(job)[0]


def drawn(tasks=1000, length_s=10.0, *, seed=0, job_id="j", **settings):
    """Lengths of the tasks of one phase."""
    efforts = Efforts(SimulationSettings(**settings), seed)
    effort = efforts.of(first_phase(map_reduce(job_id, tasks, length_s)))
    return [effort.of(task) for task in range(tasks)]


def mishaps(count=MANY, *, seed=0, **settings):
    efforts = Efforts(SimulationSettings(**settings), seed)
    effort = efforts.of(first_phase(map_reduce("j", count)))
    return [efforts.mishap_in(effort, task, 1) for task in range(count)]


# --- lengths --------------------------------------------------------------------------------------


@given(st.floats(0.01, 0.99), st.integers(0, 99), st.sampled_from([0.5, 10.0, 400.0]))
def test_jitter_keeps_within_its_share(jitter, seed, length_s):
    lengths_s = drawn(50, length_s, seed=seed, jitter=jitter)
    hair = 1e-9 * length_s

    assert length_s * (1 - jitter) - hair <= min(lengths_s)
    assert max(lengths_s) <= length_s * (1 + jitter) + hair


def test_jitter_reaches_both_ends_and_keeps_the_mean():
    """Uniform between 8.5 and 11.5: the mean of 20,000 is 10 within four standard errors."""
    lengths_s = drawn(MANY, jitter=0.15)

    assert min(lengths_s) < 8.51
    assert max(lengths_s) > 11.49
    assert statistics.fmean(lengths_s) == pytest.approx(10.0, abs=4 * 3 / 12**0.5 / MANY**0.5)


@pytest.mark.parametrize(
    ("spread", "cv", "is_of"),
    [("exponential", 0.5, 1.0), ("lognormal", 0.5, 0.5), ("lognormal", 2.0, 2.0),
     ("gamma", 0.3, 0.3), ("gamma", 1.5, 1.5)],
)  # fmt: skip
def test_a_spread_keeps_the_mean_and_has_its_variation(spread, cv, is_of):
    """`spread_cv` says nothing of the exponential distribution, whose variation is 1."""
    lengths_s = drawn(MANY, spread=spread, spread_cv=cv)
    mean_s = statistics.fmean(lengths_s)

    assert mean_s == pytest.approx(10.0, abs=4 * 10 * is_of / MANY**0.5)
    assert statistics.stdev(lengths_s) / mean_s == pytest.approx(is_of, rel=0.15)
    assert min(lengths_s) > 0


def test_an_unknown_spread_is_refused():
    with pytest.raises(InvalidInput, match="spread is 'cauchy'"):
        drawn(spread="cauchy")


def test_listed_lengths_keep_their_places_under_jitter():
    """Each task's own length is what varies, not the phase's average."""
    efforts = Efforts(SimulationSettings(jitter=0.1), 0)
    effort = efforts.of(first_phase(map_reduce("j", 2, (100.0, 1.0))))

    assert effort.of(0) == pytest.approx(100, rel=0.1)
    assert effort.of(1) == pytest.approx(1, rel=0.1)


def test_a_phase_that_nobody_measured_is_refused_by_name():
    phase = Phase(name="map", kind=SlotKind.MAP, tasks=1)
    with pytest.raises(InvalidInput, match=r"job 'j': phase 'map' has no task lengths"):
        Efforts(SimulationSettings(), 0).are_alike(Job(job_id="j", pool="p", phases=(phase,)))


# --- seeds ----------------------------------------------------------------------------------------


def test_lengths_are_the_same_wherever_and_whenever_they_are_drawn():
    """The numbers themselves: another machine, Python or release must draw them too."""
    assert [10.718, 10.116, 8.968] == [round(s, 3) for s in drawn(3, seed=7, jitter=0.15)]


def test_seeds_jobs_and_phases_each_draw_their_own():
    base = drawn(jitter=0.2)

    assert base == drawn(jitter=0.2)
    assert base != drawn(jitter=0.2, seed=1)
    assert base != drawn(jitter=0.2, job_id="k")
    efforts = Efforts(SimulationSettings(jitter=0.2), 0)
    job = map_reduce("j", 5, 10.0, 5, 10.0)
    maps, reduces = [efforts.of(phase) for phase in phases_of(job)]
    assert [maps.of(task) for task in range(5)] != [reduces.of(task) for task in range(5)]


def test_other_jobs_change_nothing():
    """A workload with one job more must not be another workload for the others."""
    alone, among = (Efforts(SimulationSettings(spread="gamma"), 0) for _ in range(2))
    job = map_reduce("j", 9, 10.0)
    among.of(first_phase(map_reduce("a", 4, 10.0)))
    effort, same = alone.of(first_phase(job)), among.of(first_phase(job))

    assert [effort.of(t) for t in range(9)] == [same.of(t) for t in range(9)]


def done_work(state):
    """By task, how long its first attempt worked until it ended by itself."""
    return {
        attempt.key: round(attempt.finished_at_s - attempt.started_at_s, 9)
        for attempt in state.closed
        if attempt.key.attempt == 1 and attempt.state is not AttemptState.KILLED
    }


@pytest.mark.parametrize("policy", NAMES)
def test_every_policy_sees_the_same_tasks(policy):
    """Else a comparison of policies would compare luck."""
    jobs = [map_reduce(f"j{n}", 12, 5.0, 4, 3.0, pool=f"p{n}", at_s=n * 2.0) for n in range(4)]
    mess = {"jitter": 0.3, "p_slow": 0.2, "task_failure": 0.1, "seed": 5}
    cluster = even_nodes(3, 2, 1)
    expected = done_work(simulate(cluster, jobs, **mess))

    done = done_work(simulate(cluster, jobs, task_policy(policy), **mess))

    assert done == {key: expected[key] for key in done}
    assert len(set(done.values())) > 30, "the tasks do differ, and few were overtaken by copies"


MISHAPS = {"p_slow": 0.3, "p_hang": 0.1, "task_failure": 0.2, "slow_factor": (2.0, 4.0)}


@pytest.mark.parametrize("mishap", MISHAPS)
@pytest.mark.parametrize("spread", [{"jitter": 0.2}, {"spread": "lognormal"}])
def test_lengths_do_not_change_with_mishaps(mishap, spread):
    """One generator a purpose: switching one model on leaves the others what they were."""
    assert drawn(50, **spread) == drawn(50, **spread, **{mishap: MISHAPS[mishap]})


def test_mishaps_do_not_change_with_lengths_and_hardly_with_each_other():
    """The same attempts are slow whether or not others fail as well."""
    slow = mishaps(2000, p_slow=0.2)
    failing = mishaps(2000, p_slow=0.2, task_failure=0.3)

    assert slow == mishaps(2000, p_slow=0.2, jitter=0.5)
    assert slow == [replace_failure(each) for each in failing]
    assert any(each.fails_after is not None for each in failing)


def replace_failure(mishap):
    return mishap._replace(fails_after=None)


# --- mishaps --------------------------------------------------------------------------------------


def share(hits):
    return sum(hits) / MANY


def four_sigma(chance):
    return 4 * (chance * (1 - chance) / MANY) ** 0.5


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.9])
def test_chances_are_what_they_say(chance):
    slow = [each.factor > 1 for each in mishaps(p_slow=chance)]
    hung = [each.hangs for each in mishaps(p_hang=chance)]
    failed = [each.fails_after is not None for each in mishaps(task_failure=chance)]

    for hits in (slow, hung, failed):
        assert share(hits) == pytest.approx(chance, abs=four_sigma(chance))


def test_what_hangs_is_not_slow_as_well_and_failures_are_apart():
    """Slow and hanging are two fates of one draw; failing is a draw of its own."""
    drawn_ = mishaps(**MISHAPS)

    assert share(m.hangs for m in drawn_) == pytest.approx(0.1, abs=four_sigma(0.1))
    assert share(m.factor > 1 for m in drawn_) == pytest.approx(0.3, abs=four_sigma(0.3))
    assert not any(m.hangs and m.factor > 1 for m in drawn_)
    both = share(m.factor > 1 and m.fails_after is not None for m in drawn_)
    assert both == pytest.approx(0.06, abs=four_sigma(0.06))


def test_an_attempt_fails_anywhere_on_its_way():
    shares = [m.fails_after for m in mishaps(task_failure=1.0)]

    assert all(0 <= share < 1 for share in shares)
    assert statistics.fmean(shares) == pytest.approx(0.5, abs=4 / 12**0.5 / MANY**0.5)


def test_another_attempt_has_another_fate():
    efforts = Efforts(SimulationSettings(task_failure=0.5), 0)
    effort = efforts.of(first_phase(map_reduce("j", 1)))
    fates = [efforts.mishap_in(effort, 0, n).fails_after for n in range(1, 20)]

    assert None in fates
    assert len(set(fates)) > 5


def test_without_chances_nothing_happens():
    assert [Mishap()] * 3 == mishaps(3)


# --- place, counting, fetching --------------------------------------------------------------------


def test_distance_costs_what_the_settings_say():
    efforts = Efforts(SimulationSettings(rack_factor=1.5, remote_factor=2.5), 0)

    assert [1.0, 1.0, 1.5, 2.5] == [
        efforts.locality_factor(near) for near in (None, Locality.NODE, Locality.RACK, Locality.ANY)
    ]


def nobody_knows(job_id, phase, task):
    """A recording of other jobs."""


def second_took_longer(job_id, phase, task):
    """A recording that knows one task."""
    return 7.5 if task == 1 else None


def test_tasks_are_alike_until_something_shows_them_apart():
    def is_alike(job, recorded=None, **settings):
        return Efforts(SimulationSettings(**settings), 0, recorded).are_alike(job)

    plain = map_reduce("j", 3, 2.0, 2, 1.0)
    assert is_alike(plain)
    assert not is_alike(map_reduce("j", 2, (1.0, 2.0)))
    assert not is_alike(plain, jitter=0.1)
    assert not is_alike(plain, spread="gamma")
    assert not is_alike(plain, nobody_knows)


def test_a_job_with_a_fetch_takes_it_before_its_work():
    job = map_reduce("j", 1, 4.0, 1, 3.0)
    fetch = replace(job.phases[1], fetch=job.phases[0].lengths)
    state = simulate(totals(1, 1), [replace(job, phases=(job.phases[0], fetch))])

    assert [(0.0, 4.0), (4.0, 11.0)] == [(a.started_at_s, a.finished_at_s) for a in state.closed]
    assert 8.0 == state.closed[1].shuffled_at_s


def test_recorded_lengths_win_and_the_rest_are_the_profile_s():
    efforts = Efforts(SimulationSettings(), 0, second_took_longer)
    effort = efforts.of(first_phase(map_reduce("j", 3, 2.0)))

    assert [2.0, 7.5, 2.0] == [effort.of(task) for task in range(3)]
