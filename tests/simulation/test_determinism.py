"""The same seed gives the same run, byte by byte, in whatever process; another seed another run."""

from collections import Counter

import pytest
from tests.effort import first_of
from tests.one_run import run
from tests.processes import traces_under_hash_seed
from tests.runs import trace


@pytest.mark.no_invariants  # the tests below recount
@pytest.mark.parametrize("hash_seed", "012")
def test_an_eventful_run_is_the_same_under_every_hash_seed(hash_seed):
    """Locality, stragglers, hangs, failures and lost nodes at once."""
    runs = [("fifo", 7, heartbeat_s) for heartbeat_s in (0.0, 3.0)]

    assert [trace(run(*how)) for how in runs] == traces_under_hash_seed(hash_seed, runs)


@pytest.mark.parametrize("heartbeat_s", [0.0, 3.0])
def test_another_seed_gives_another_run(heartbeat_s):
    assert trace(run("fifo", 7, heartbeat_s)) != trace(run("fifo", 8, heartbeat_s))


def test_the_eventful_run_is_eventful():
    """Otherwise the tests above would compare a quiet run with itself."""
    state = run("fifo", 7, 3.0)
    ends = Counter(attempt.state.value for attempt in state.closed)
    near = {attempt.launch.locality for attempt in state.closed}

    assert {"done", "failed", "lost"} <= set(ends)
    assert len(near) > 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", first_of(range(12), 3))
def test_kills_on_a_node_that_died_unnoticed_are_no_news_later(seed):
    """A failing job's attempts are asked to end also where nobody is left to ask: the node is dead,
    the scheduler does not know yet, and the node must not speak of them when it is back.
    """
    state = run("fifo", seed, 3.0, task_failure=0.4, node_mtbf_s=20.0)

    assert not state.running
    assert all(job.has_ended for job in state.jobs.values())
