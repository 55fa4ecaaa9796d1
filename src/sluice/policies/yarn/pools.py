"""The pools and queues of a workload as queues of YARN's fair scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sluice.core.entries import PoolEntry
from sluice.model.ids import PoolId
from sluice.model.queue_tree import ROOT, ConfiguredQueue
from sluice.model.queues import Pool
from sluice.policies.queue_tree.queues import configured_queue, queue_of_pool
from sluice.policies.yarn.queues import SchedulerRules, YarnQueue

_MASTERS_SHARE = 0.5  # the fair scheduler's default


def _with_masters(pool: Pool, path: str) -> ConfiguredQueue:
    """A queue with the weight, the minimum and the order of a pool. path: where it is."""
    given = pool.queue
    made = queue_of_pool(pool, path) if given is None else configured_queue(given, path)
    return replace(made, masters_share=_MASTERS_SHARE, masters_of_guarantee=True)


class PoolQueues:
    """The queue of each pool. has_tree: whether a configuration has queues for all of them."""

    def __init__(self, rules: SchedulerRules, *, has_tree: bool) -> None:
        self._rules = rules
        self._has_tree = has_tree
        self._queues: dict[PoolId, YarnQueue] = {}
        self._name_of_path: dict[str, str] = {}  # a path has numbers, for an id may have dots

    @property
    def known(self) -> list[PoolId]:
        """The pools with a queue, in the order in which they got it."""
        return list(self._queues)

    def queue_of(self, entry: PoolEntry, pools: Mapping[PoolId, PoolEntry]) -> YarnQueue:
        """The queue of a pool, which is made if there is none yet. pools: all of them."""
        known = self._queues.get(entry.pool_id)
        if known is None:
            pool, queues = str(entry.pool_id), self._rules.queues
            if self._has_tree:
                known = queues.get(pool) or queues[f"{ROOT}.{pool}"]
            else:
                parent = None if entry.pool.queue is None else entry.pool.queue.parent
                above = None if parent is None else self.queue_of(pools[parent], pools).queue
                path = f"{ROOT if above is None else above.path}.{len(queues)}"
                self._name_of_path[path] = f"{ROOT}.{pool}"
                known = self._rules.add(_with_masters(entry.pool, path))
            self._queues[entry.pool_id] = known
        return known

    def name_of(self, queue: YarnQueue) -> str:
        """Its name for users: the path of the configuration file, or root and the pool's id."""
        path = ROOT if queue.queue is None else queue.queue.path
        return self._name_of_path.get(path, path)
