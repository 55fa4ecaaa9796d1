"""The job slots on each node, and what they use of its resources.

A job slot is the permission to run one task of one job and one kind on one node. `Placement` keeps
the use of each node, the utility of each job and the order of the jobs up to date with each slot
that is added or removed, so that a change costs the same on a large cluster as on a small one.

Jobs and nodes are numbered: jobs by seniority (submission, then id), nodes in their given order.
Source: RAS spec, sections 3 and 4.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sluice.model.errors import InvalidInput
from sluice.policies.ras.checks import numbered

Vector = tuple[float, ...]  # one amount for each resource
_ROUNDING = 1e-9  # of a capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """A node and its capacity: one amount above 0 for each resource, infinite for no limit."""

    node_id: str
    capacity: Vector

    def __post_init__(self) -> None:
        for amount in self.capacity:
            if not amount > 0:
                raise InvalidInput(
                    f"a capacity is {amount}",
                    where=f"node {self.node_id!r}",
                    hint="give a number above 0",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNeed:
    """One job as a control cycle sees it.

    maps_left, reduces_left: tasks not done, running ones included.  map_slots_needed: to meet its
    goal.  demand: of one map, of one reduce that shuffles, for each placed map of the job in
    addition, and of one reduce that works.  in_reduce_phase: no map is left.
    goal_rank: its place among the jobs whose goal is to be met; None outside `aim=goals`.
    """

    job_id: str
    submitted_at_s: float
    maps_left: int
    reduces_left: int
    map_slots_needed: int
    map_demand: Vector
    shuffle_demand: Vector
    shuffle_per_map: Vector
    reduce_demand: Vector
    in_reduce_phase: bool = False
    goal_rank: int | None = None
    yields: bool = False

    def __post_init__(self) -> None:
        for name in ("maps_left", "reduces_left", "map_slots_needed"):
            count: object = getattr(self, name)
            if not isinstance(count, int) or count < 0:
                raise InvalidInput(
                    f"{name} is {count}",
                    where=f"job {self.job_id!r}",
                    hint="give a whole number of at least 0",
                )
        for name in ("map_demand", "shuffle_demand", "shuffle_per_map", "reduce_demand"):
            for amount in getattr(self, name):
                if not 0 <= amount < math.inf:
                    raise InvalidInput(
                        f"{name} has an amount of {amount}",
                        where=f"job {self.job_id!r}",
                        hint="give finite numbers of at least 0",
                    )


# Utility of a job with that many map slots and reduce slots; never falls with more of either.
UtilityOf = Callable[[JobNeed, int, int], float]
# Job slots by job id and node id.
Slots = Mapping[str, Mapping[str, int]]


class Placement:
    """Job slots of all jobs on all nodes. Starts empty.

    working: reduces of a job that already work on a node, by job id and node id; they count with
    the profile of their real phase even if maps of their job are left again.
    """

    def __init__(
        self,
        nodes: Sequence[NodeCapacity],
        jobs: Iterable[JobNeed],
        utility_of: UtilityOf,
        *,
        parallel_copies: int = 5,
        working: Slots | None = None,
    ) -> None:
        self.nodes = list(nodes)
        self.jobs = sorted(jobs, key=lambda job: (job.submitted_at_s, job.job_id))
        self.node_index = numbered([node.node_id for node in self.nodes], "node")
        self.job_index = numbered([job.job_id for job in self.jobs], "job")
        self.limits = [_with_rounding(node.capacity) for node in self.nodes]
        self.copies_max = parallel_copies
        resources = len(self.nodes[0].capacity) if self.nodes else 0
        self.map_use = [[0.0] * resources for _ in self.nodes]
        self.reduce_use = [[0.0] * resources for _ in self.nodes]
        self.maps_on: list[dict[int, int]] = [{} for _ in self.nodes]
        self.reduces_on: list[dict[int, int]] = [{} for _ in self.nodes]
        self.map_slots = [0] * len(self.jobs)
        self.reduce_slots = [0] * len(self.jobs)
        self._shuffling: list[dict[int, int]] = [{} for _ in self.jobs]
        self._grows = [any(j.shuffle_per_map) and not j.in_reduce_phase for j in self.jobs]
        self._version = 0  # counts changes
        self._overgrown: dict[int, tuple[int, list[tuple[int, list[float]]]]] = {}
        # For each job a node that cannot bear one more of its maps, and that node's version.
        self._blocker: dict[int, tuple[int, int]] = {}
        self._node_version = [0] * len(self.nodes)
        self._working = working or {}
        self._utility_of = utility_of
        self.utility = [utility_of(job, 0, 0) for job in self.jobs]
        self.utility_less = [-math.inf] * len(self.jobs)  # after the loss of a map slot
        # Jobs with unplaced maps, lowest utility first; ties go to the senior job.
        self.by_utility = sorted(
            (self.utility[j], j) for j, job in enumerate(self.jobs) if job.maps_left
        )

    # --- questions ----------------------------------------------------------------------------

    def use(self, node: int) -> Vector:
        """Return what all slots on a node use of each resource."""
        return tuple(
            maps + reduces
            for maps, reduces in zip(self.map_use[node], self.reduce_use[node], strict=True)
        )

    def free(self, node: int) -> list[float]:
        """Return what the slots on a node leave of each resource."""
        rows = zip(self.limits[node], self.map_use[node], self.reduce_use[node], strict=True)
        return [most - maps - reduces for most, maps, reduces in rows]

    def utility_with(self, job: int, map_slots: int) -> float:
        """The utility of the job if it had that many map slots."""
        return self._utility_of(self.jobs[job], map_slots, self.reduce_slots[job])

    def add_shuffle_freed(self, free: list[float], job: int, node: int, map_slots: int) -> None:
        """Add what the reduces of a job on a node use less if the job loses map slots."""
        reduces = self._shuffling[job].get(node, 0) if self._grows[job] else 0
        if not reduces:
            return
        fewer = self._maps_fetched(job) - min(self.map_slots[job] - map_slots, self.copies_max)
        for r, each in enumerate(self.jobs[job].shuffle_per_map):
            free[r] += reduces * fewer * each

    def overgrown(self, job: int, at_node: int) -> Iterator[tuple[int, list[float]]]:
        """Other nodes that one more map of the job would overload, and by how much."""
        if not self._grows[job] or self.map_slots[job] >= self.copies_max:
            return
        version, found = self._overgrown.get(job, (-1, []))
        if version != self._version:
            found = self._find_overgrown(job)
            self._overgrown[job] = (self._version, found)
        for node, lacking in found:
            if node != at_node:
                yield node, lacking

    def is_blocked(self, job: int, node: int) -> bool:
        """Whether another node cannot bear one more map of the job, whatever leaves this node.

        Only a quick answer: a job that is not blocked may still find no room.
        """
        if not self._grows[job] or self.map_slots[job] >= self.copies_max:
            return False
        blocker, version = self._blocker.get(job, (-1, -1))
        if blocker < 0 or version != self._node_version[blocker]:
            found = next(self.overgrown(job, -1), None)
            if found is None:
                return False
            blocker = found[0]
            self._blocker[job] = (blocker, self._node_version[blocker])
        if blocker == node:
            return False
        # A job that leaves this node takes its shuffles off the other one, too.
        return self.reduces_on[blocker].keys().isdisjoint(self.maps_on[node])

    def _find_overgrown(self, job: int) -> list[tuple[int, list[float]]]:
        found = []
        each = self.jobs[job].shuffle_per_map
        for node, reduces in self._shuffling[job].items():
            free = self.free(node)
            lacking = [
                reduces * more - left if left >= 0 and reduces * more > left else 0.0
                for more, left in zip(each, free, strict=True)
            ]
            if any(lacking):
                found.append((node, lacking))
        return found

    def is_over(self, node: int) -> bool:
        """Whether the slots on a node use more than it has."""
        return any(
            used > most for used, most in zip(self.use(node), self.limits[node], strict=True)
        )

    def has_unplaced_maps(self, job: int) -> bool:
        """Whether the job has more maps left than map slots."""
        return self.map_slots[job] < self.jobs[job].maps_left

    def has_unplaced_reduces(self, job: int) -> bool:
        """Whether the job has more reduces left than reduce slots."""
        return self.reduce_slots[job] < self.jobs[job].reduces_left

    def has_map_room(self, job: int, node: int) -> bool:
        """Whether one more map of the job fits on the node, and overloads no other node.

        A map raises the shuffle demand wherever reduces of its job are placed.
        """
        need = self.jobs[job]
        if self.map_slots[job] >= need.maps_left:
            return False
        for maps, reduces, wanted, most in zip(
            self.map_use[node], self.reduce_use[node], need.map_demand, self.limits[node],
            strict=True,
        ):  # fmt: skip
            if maps + reduces + wanted > most:
                return False
        if self._grows[job] and self.map_slots[job] < self.copies_max:
            return self._shuffle_may_grow(job, node)
        return True

    def _shuffle_may_grow(self, job: int, at_node: int) -> bool:
        need = self.jobs[job]
        here = self._shuffling[job].get(at_node, 0)
        if here:
            for left, wanted, grown in zip(
                self.free(at_node), need.map_demand, need.shuffle_per_map, strict=True
            ):
                if left >= 0 and wanted + here * grown > left:
                    return False
        return next(self.overgrown(job, at_node), None) is None

    def fits_without_maps(self, job: int, node: int) -> bool:
        """Whether a map of the job would fit on the node if it ran no map at all."""
        rows = zip(self.reduce_use[node], self.jobs[job].map_demand, self.limits[node], strict=True)
        for reduces, wanted, most in rows:  # noqa: SIM110  # a generator takes twice as long
            if reduces + wanted > most:
                return False
        return True

    def reduce_demand(self, job: int) -> Vector:
        """Return what one more reduce slot of the job uses now."""
        need = self.jobs[job]
        if need.in_reduce_phase:
            return need.reduce_demand
        maps = self._maps_fetched(job)
        return tuple(
            fixed + maps * each
            for fixed, each in zip(need.shuffle_demand, need.shuffle_per_map, strict=True)
        )

    def has_reduce_room(self, job: int, node: int) -> bool:
        """Whether one more reduce of the job fits on the node.

        All shuffling reduces of a node and the work of any one of them must fit without maps:
        otherwise all of them could wait for each other to begin their work.
        """
        if not self.has_unplaced_reduces(job):
            return False
        wanted = self.reduce_demand(job)
        for maps, reduces, more, most in zip(
            self.map_use[node], self.reduce_use[node], wanted, self.limits[node], strict=True
        ):
            if maps + reduces + more > most:
                return False
        return self._can_begin_work(job, node)

    def _can_begin_work(self, job: int, node: int) -> bool:
        """Whether any one of the shuffling reduces on the node can work while the others wait."""
        if self.jobs[job].in_reduce_phase:
            return True
        counts = {one: self._shuffling[one].get(node, 0) for one in self.reduces_on[node]}
        counts[job] = counts.get(job, 0) + 1
        held = [0.0] * len(self.limits[node])
        excess = [0.0] * len(held)
        for one, count in counts.items():
            if count:
                need = self.jobs[one]
                for r, fixed in enumerate(need.shuffle_demand):
                    fetch = fixed + self.copies_max * need.shuffle_per_map[r]
                    held[r] += count * fetch
                    excess[r] = max(excess[r], need.reduce_demand[r] - fetch)
        return all(
            fetches + more <= most
            for fetches, more, most in zip(held, excess, self.limits[node], strict=True)
        )

    def sorted_utilities(self) -> list[float]:
        """The utilities of all jobs, ascending: what the placement maximises lexicographically."""
        return sorted(self.utility)

    def slots_by_id(self, slots_on: list[dict[int, int]]) -> dict[str, dict[str, int]]:
        """`maps_on` or `reduces_on` by job id and node id."""
        found: dict[str, dict[str, int]] = {}
        for node, slots in zip(self.nodes, slots_on, strict=True):
            for job, count in slots.items():
                found.setdefault(self.jobs[job].job_id, {})[node.node_id] = count
        return found

    # --- changes ------------------------------------------------------------------------------

    def add_map(self, job: int, node: int, slots: int = 1) -> None:
        """Give the job map slots on the node; a negative number takes them away."""
        need, on = self.jobs[job], self.maps_on[node]
        self._node_version[node] += 1
        on[job] = on.get(job, 0) + slots
        if not on[job]:
            del on[job]
        used = self.map_use[node]
        if on:
            for r, wanted in enumerate(need.map_demand):
                used[r] += slots * wanted
        else:
            used[:] = [0.0] * len(used)  # no rounding is left on a node without maps
        before = self._maps_fetched(job)
        self._set_slots(job, self.map_slots[job] + slots)
        grown = self._maps_fetched(job) - before
        if grown and self._grows[job]:
            self._grow_shuffles(job, grown)

    def add_reduce(self, job: int, node: int, slots: int = 1) -> None:
        """Give the job reduce slots on the node; a negative number takes them away."""
        need, on = self.jobs[job], self.reduces_on[node]
        self._node_version[node] += 1
        shuffling = self._shuffling[job]
        had = on.get(job, 0)
        on[job] = had + slots
        if not on[job]:
            del on[job]
        self.reduce_slots[job] += slots
        working = self._working.get(need.job_id, {}).get(self.nodes[node].node_id, 0)
        if need.in_reduce_phase:
            working = had + max(slots, 0)
        more_working = min(working, had + slots) - min(working, had)
        more_shuffling = slots - more_working
        fetch, used = self.reduce_demand(job), self.reduce_use[node]
        for r, work in enumerate(need.reduce_demand):
            used[r] += more_working * work + more_shuffling * fetch[r]
        if more_shuffling:
            shuffling[node] = shuffling.get(node, 0) + more_shuffling
            if not shuffling[node]:
                del shuffling[node]
        if not self.reduces_on[node]:
            used[:] = [0.0] * len(used)
        self._set_slots(job, self.map_slots[job])

    def _maps_fetched(self, job: int) -> int:
        return min(self.map_slots[job], self.copies_max)

    def _grow_shuffles(self, job: int, maps: int) -> None:
        each = self.jobs[job].shuffle_per_map
        for node, reduces in self._shuffling[job].items():
            used = self.reduce_use[node]
            self._node_version[node] += 1
            for r, more in enumerate(each):
                used[r] = max(0.0, used[r] + maps * reduces * more)

    def _set_slots(self, job: int, slots: int) -> None:
        """Note the job's map slots, and keep its utility and its place in the order."""
        need = self.jobs[job]
        self._version += 1
        if need.maps_left > self.map_slots[job]:
            at = bisect_left(self.by_utility, (self.utility[job], job))
            del self.by_utility[at]
        self.map_slots[job] = slots
        reduces = self.reduce_slots[job]
        self.utility[job] = self._utility_of(need, slots, reduces)
        self.utility_less[job] = self._utility_of(need, slots - 1, reduces) if slots else -math.inf
        if need.maps_left > slots:
            insort(self.by_utility, (self.utility[job], job))

    def load(self, maps: Slots, reduces: Slots) -> None:
        """Take over the slots of an earlier placement; all its jobs and nodes are known here."""
        for slots, add in ((maps, self.add_map), (reduces, self.add_reduce)):
            for job_id, on in slots.items():
                for node_id, count in on.items():
                    if count:
                        add(self.job_index[job_id], self.node_index[node_id], count)


def _with_rounding(capacity: Vector) -> Vector:
    return tuple(amount * (1 + _ROUNDING) for amount in capacity)
