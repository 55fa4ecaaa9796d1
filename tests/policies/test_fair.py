"""Fair sharing of typed slots: against an independent Fair Scheduler, and by worked example."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.policies.naive_fair import NaiveFair
from tests.policies.pool_worlds import (
    FAULTS,
    crowds,
    pools,
    racked,
    settings_of_worlds,
    starts,
    told_apart,
)
from tests.runs import completions_s, simulate, trace

from sluice.policies.delay import DelayScheduling
from sluice.policies.fair import Fair

WAITS = [(0.0, 0.0), (4.5, 4.5), (0.0, 2.0), (1.1, 0.0)]


@pytest.mark.no_invariants
@settings(max_examples=400, deadline=None)
@given(
    cluster=racked,
    jobs=crowds(),
    shares=pools(),
    world=settings_of_worlds,
    faults=st.sampled_from(sorted(FAULTS)),
    waits=st.sampled_from(WAITS),
)
def test_one_by_one_it_starts_what_the_pseudo_code_starts(
    cluster, jobs, shares, world, faults, waits
):
    """Every attempt, its slot, its reason and the order of all ends are the same."""
    jobs = jobs if faults in {"failures", "stragglers"} else told_apart(jobs)
    naive = NaiveFair(*waits)
    ours = Fair(DelayScheduling(*waits) if any(waits) else None)
    run = {"pools": shares, **world, **FAULTS[faults]}
    expected = simulate(cluster, jobs, naive, **run)

    assert trace(expected) == trace(simulate(cluster, jobs, ours, **run))
    event("delayed" if any(waits) and cluster.has_racks else "not delayed")
    event(f"{faults}: {'contended' if naive.choices > 5 else 'little contention'}")


@pytest.mark.no_invariants
@settings(max_examples=200, deadline=None)
@given(
    cluster=racked,
    jobs=crowds(),
    shares=pools(),
    world=settings_of_worlds,
    faults=st.sampled_from(["none", "lost nodes"]),
)
def test_many_at_once_start_as_they_would_one_by_one(cluster, jobs, shares, world, faults):
    pass
