"""What to say of queues in a file that the chosen scheduler does not look at."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.bootstrap.policy_classes import ChosenPolicy
from sluice.model.workload import Workload

_ORDERS = frozenset({"mlrf", "ltrf", "ltyarn", "karma", "decay", "queues"})
_POLICIES = frozenset({*_ORDERS, "queue-tree"} - {"queues"})


def queue_note(workload: Workload, chosen: Sequence[ChosenPolicy]) -> str | None:
    """A sentence if `queues` of the workload decide nothing under some of these task policies."""
    if all(pool.queue is None for pool in workload.pools):
        return None
    names = dict.fromkeys(one.label for one in chosen if one.kind == "tasks" and _ignores(one))
    if not names:
        return None
    return (
        f"the weights and shares of `queues` decide nothing under {', '.join(names)}: take"
        " ltyarn, ltrf or another order that shares in the long run, or give --config"
    )


def _ignores(tasks: ChosenPolicy) -> bool:
    if not tasks.is_ours or tasks.order is not None:
        return False  # what others read is not known
    if tasks.composition is not None:
        return tasks.composition.order not in _ORDERS
    return tasks.name not in _POLICIES
