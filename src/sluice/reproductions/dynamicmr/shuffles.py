"""Network traffic of a run: the bytes that reduces fetch, computed from start and end times.

A run records the start of each reduce and the end of each map, but not the transfers. In each step
a reduce fetches the output of finished maps, limited by its own rate and by the network card of
its node. Over-committed cards lose speed in the simulation, but not here. Source: dynamicmr spec,
section 10 (shuffle).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence

from sluice.core.entries import Attempt
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.ids import JobId, NodeId
from sluice.model.job import SlotKind
from sluice.reproductions.dynamicmr.workload import SETTINGS

_FETCH: float = SETTINGS["fetch_bytes_per_s"]
_CARD: float = SETTINGS["nic_bytes_per_s"]


class _Fetch:
    """One reduce: the bytes that it has fetched, and those that it can fetch."""

    def __init__(self, reduce: Attempt, maps_end_at_s: Sequence[float]) -> None:
        output = reduce.phase.job.job.map_output
        assert output is not None, "every job of the workload has map output"
        self.starts_at_s = reduce.started_at_s
        self.node_id: NodeId = reduce.node.node_id
        self._share_bytes = output.bytes / reduce.phase.tasks
        self._maps_end_at_s = maps_end_at_s
        self._got_bytes = 0.0

    @property
    def is_over(self) -> bool:
        return self._got_bytes >= self._share_bytes * (1 - 1e-9)

    def wants_bytes(self, from_s: float, to_s: float) -> float:
        """Bytes that it would fetch in this step if it were alone on its node."""
        done = bisect_right(self._maps_end_at_s, to_s) / len(self._maps_end_at_s)
        seconds = max(0.0, to_s - max(from_s, self.starts_at_s))
        return max(0.0, min(_FETCH * seconds, self._share_bytes * done - self._got_bytes))

    def get(self, amount_bytes: float) -> None:
        self._got_bytes += amount_bytes


def shuffle_bytes_per_s(state: ClusterState, step_s: float) -> list[float]:
    """The rate of all shuffles together, for each step of a run."""
    to_come = sorted(_fetches(state), key=lambda fetch: fetch.starts_at_s, reverse=True)
    now: list[_Fetch] = []
    steps: list[float] = []
    while to_come or now:
        from_s, to_s = len(steps) * step_s, (len(steps) + 1) * step_s
        while to_come and to_come[-1].starts_at_s < to_s:
            now.append(to_come.pop())
        steps.append(_fetched_bytes(now, from_s, to_s) / step_s)
        now = [fetch for fetch in now if not fetch.is_over]
    return steps


def _fetches(state: ClusterState) -> list[_Fetch]:
    done = [one for one in state.closed if one.state is AttemptState.DONE]
    ends_at_s: Mapping[JobId, list[float]] = defaultdict(list)
    for one in done:
        if one.phase.kind is SlotKind.MAP:
            ends_at_s[one.phase.job_id].append(one.finished_at_s)
    for ends in ends_at_s.values():
        ends.sort()
    reduces = (one for one in done if one.phase.kind is SlotKind.REDUCE)
    return [_Fetch(one, ends_at_s[one.phase.job_id]) for one in reduces]


def _fetched_bytes(fetches: Sequence[_Fetch], from_s: float, to_s: float) -> float:
    """Advance all fetches by a step. Fetches share the card of a node in proportion."""
    wanted = [(fetch, fetch.wants_bytes(from_s, to_s)) for fetch in fetches]
    of_node: dict[NodeId, float] = defaultdict(float)
    for fetch, amount_bytes in wanted:
        of_node[fetch.node_id] += amount_bytes
    most_bytes = _CARD * (to_s - from_s)
    fits = {node_id: min(1.0, most_bytes / of) if of else 1.0 for node_id, of in of_node.items()}
    for fetch, amount_bytes in wanted:
        fetch.get(amount_bytes * fits[fetch.node_id])
    return sum(amount_bytes * fits[fetch.node_id] for fetch, amount_bytes in wanted)
