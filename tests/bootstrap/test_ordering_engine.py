"""MROrder by name: its ordering engine, and the worked example through the front door."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runs import completions_s, map_reduce, simulate, totals

from sluice.api import simulate as api
from sluice.model.workload import Workload
from sluice.planning.ordering.batch_orderer import BatchOrderer

ARRIVALS = (
    map_reduce("A", 4, 5.0, 2, 6.0, at_s=0.0),
    map_reduce("B", 2, 3.0, 2, 2.0, at_s=2.0),
    map_reduce("C", 6, 2.0, 1, 9.0, at_s=7.0),
    map_reduce("D", 1, 8.0, 3, 3.0, at_s=20.0),
)
WORKLOAD = Workload(cluster=totals(2, 2), jobs=ARRIVALS)


@pytest.mark.parametrize(
    ("given_settings", "rounds", "sums"),
    [
        (
            {"mrorder.policy": "fti"},
            [(10.0, ["C", "A", "B"], 24.0), (20.0, ["D"], 8.5)],
            (43.0, 134.0, 105.0),
        ),
        (
            {"mrorder.interval_s": 4, "mrorder.objective": "tct"},
            [(4.0, ["B", "A"], 19.0), (23.0, ["D", "C"], 14.5)],
            (43.0, 112.0, 83.0),
        ),
    ],
)
def test_the_worked_example_by_name_and_settings(given_settings, rounds, sums):
    """Ordering spec, section 8, G8."""
    result = api.simulate(WORKLOAD, release="mrorder", settings=given_settings)

    said = [(one["at_s"], one["order"], one["estimate_s"]) for one in result.document()["rounds"]]
    assert rounds == said
    assert sums == (result.makespan_s, result.total_completion_s, result.total_response_s)


def test_without_rounds_the_worked_example_is_that_of_a_plain_queue():
    result = api.simulate(WORKLOAD)

    assert (34.0, 96.0, 67.0) == (
        result.makespan_s, result.total_completion_s, result.total_response_s,
    )  # fmt: skip
    assert "rounds" not in result.document()


batches = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 9), st.integers(0, 4), st.integers(1, 9)).filter(
        lambda job: job[0] + job[2]
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=40)
@given(batches, st.integers(1, 3), st.integers(1, 3), st.sampled_from(["makespan", "tct"]))
def test_a_small_round_is_put_in_the_best_order_there_is(shapes, maps, reduces, objective):
    """Of equals the one that is better in the other measure, then the first: by the simulator."""
    jobs = [
        map_reduce(f"j{index}", m, float(ms), r, float(rs))
        for index, (m, ms, r, rs) in enumerate(shapes)
    ]

    def cost(order):
        ends = completions_s(simulate(totals(maps, reduces), [jobs[index] for index in order]))
        both = (max(ends), sum(ends))
        return (both if objective == "makespan" else both[::-1]), order

    best = min(permutations(range(len(jobs))), key=cost)
    assert best == tuple(BatchOrderer(objective, 7)(jobs, maps, reduces))


def test_a_large_round_is_ordered_by_the_rule():
    works = [(5, 2), (1, 6), (9, 7), (3, 8), (10, 4)]
    jobs = [map_reduce(f"j{i}", 1, float(m), 1, float(r)) for i, (m, r) in enumerate(works)]

    assert [1, 3, 2, 4, 0] == list(BatchOrderer("makespan", 4)(jobs, 1, 1))
    assert [0, 1, 3, 4, 2] == list(BatchOrderer("tct", 0)(jobs, 1, 1))


def test_jobs_of_any_shape_and_without_lengths_are_ordered_all_the_same():
    """By the work of their maps and of all else; an unknown task counts as one second."""
    long, short = map_reduce("long", 2, 9.0, 1, 9.0), map_reduce("short", 2, 1.0, 1, 1.0)
    unknown = map_reduce("unknown", 3, 1.0, 1, 1.0)
    unknown = replace(
        unknown, phases=tuple(replace(phase, lengths=None) for phase in unknown.phases)
    )
    again = replace(long.phases[0], name="map-2", after=(1,))
    steps = replace(long, job_id="steps", phases=(*long.phases, again))

    assert [2, 1, 0] == list(BatchOrderer("tct", 7)([long, unknown, short], 2, 1))
    assert [1, 0] == list(BatchOrderer("tct", 7)([steps, short], 2, 1))
    assert [1, 0] == list(BatchOrderer("makespan", 7)([steps, short], 2, 1))


def test_a_policy_of_ones_own_takes_the_place_of_a_name():
    """The user's own ordering function: the hook of MROrder."""
    from sluice.policies.release.mrorder import MrOrder
    from sluice.policies.release.rounds import EnoughJobs

    policy = MrOrder(engine=lambda jobs, *_: range(len(jobs))[::-1], timing=EnoughJobs(4))
    result = api.simulate(WORKLOAD, release=policy)

    assert [["D", "C", "B", "A"]] == [one["order"] for one in result.document()["rounds"]]


def test_as_many_jobs_as_the_threshold_are_simulated_and_one_more_is_not():
    """Erratum E6: Johnson's rule takes 31 where the best order takes 19."""
    jobs = [map_reduce("a", 3, 3.0, 1, 16.0), map_reduce("b", 6, 6.0, 6, 4.0)]

    def makespan_s(exact_jobs_max):
        order = BatchOrderer("makespan", exact_jobs_max)(jobs, 3, 7)
        return max(completions_s(simulate(totals(3, 7), [jobs[index] for index in order])))

    assert [19, 31] == [makespan_s(2), makespan_s(1)]
