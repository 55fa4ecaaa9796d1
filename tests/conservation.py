"""The conservation laws, held while tests run: see `tests/conftest.py`."""

from collections import Counter
from weakref import WeakKeyDictionary

from tests.invariants import check

from sluice.core.entries import PoolEntry
from sluice.core.scheduler import Scheduler
from sluice.model.slot_kind import SlotKind
from sluice.policies.orders.share_order import ShareOrder

# Attempts, jobs and nodes that may be looked at for each event: where any event may break a law,
# and elsewhere, where the same laws were checked already.
OFTEN, SAMPLED = 500, 50

handle = Scheduler.handle  # as it is, without the checks


def check_shares(order, state):
    """Check that the figures of share policies on demand and running tasks equal a recount."""
    order.settle()
    demand: Counter[tuple[PoolEntry, SlotKind]] = Counter()
    running: Counter[tuple[PoolEntry, SlotKind]] = Counter()
    for job in state.jobs.values():
        for phase in job.phases:
            place = (job.pool, phase.kind)
            waiting = phase.pending.count if phase.is_open else 0
            running[place] += phase.running
            demand[place] += phase.running + waiting
    for (pool, kind), tasks in demand.items():
        share = order.share(pool, kind)
        assert (share.demand, share.running) == (tasks, running[pool, kind]), (
            f"pool {pool.pool_id} counts demand {share.demand} and {share.running} running"
            f" {kind.value}s, really {tasks} and {running[pool, kind]}"
        )
    for kind, tasks in order.demand.items():
        assert tasks == sum(n for place, n in demand.items() if place[1] is kind)


def check_all(state):
    """Raise AssertionError unless the state, and what policies counted on it, is sound."""
    check(state)
    for observer in state.observers:
        if isinstance(observer, ShareOrder):
            check_shares(observer, state)


def conserving(looks=OFTEN):
    """`Scheduler.handle`, then a check of the state.

    looks: parts of the state to look at for each event, on average. A check costs time in
    proportion to the state, so in large runs only every k-th event is followed by one, k growing
    with the state: the cost of an event stays bounded.
    """
    due: WeakKeyDictionary[Scheduler, int] = WeakKeyDictionary()

    def handle_and_check(scheduler, event):
        commands = handle(scheduler, event)
        state = scheduler.state
        left = due.get(scheduler, 0) - 1
        if left < 0:
            check_all(state)
            size = len(state.jobs) + len(state.nodes) + len(state.running) + len(state.closed)
            left = size // looks
        due[scheduler] = left
        return commands

    return handle_and_check
