"""One control cycle: trim the old placement, place reduces, then maps.

Source: RAS spec, section 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sluice.policies.ras.checks import check_counts
from sluice.policies.ras.map_exchange import ExchangeLoop, MapExchange, PrintedExchange
from sluice.policies.ras.placement import JobNeed, NodeCapacity, Placement, Slots, UtilityOf
from sluice.policies.ras.reducer_spread import ReducerSpread
from sluice.policies.ras.utility import job_utility

_LOOPS: Mapping[str, Callable[[Placement], ExchangeLoop]] = {
    "repaired": MapExchange,
    "printed": PrintedExchange,
}


def paper_utility(job: JobNeed, map_slots: int, reduce_slots: int) -> float:
    """The utility of the paper; see `utility`."""
    return job_utility(
        map_slots, job.map_slots_needed, job.maps_left, reduce_slots, job.reduces_left
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleRules:
    """How a cycle places. loop: "repaired" or "printed"."""

    rounds: int = 10
    loop: str = "repaired"
    parallel_copies: int = 5
    utility_of: UtilityOf = paper_utility


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleState:
    """The state that a cycle starts from: the old slots, and the tasks that really run.

    Everything is by job id and node id. Slots of unknown jobs and nodes are dropped: the job has
    ended, or the node is lost.  working: reduces that have begun their own work.
    """

    map_slots: Slots = field(default_factory=dict)
    reduce_slots: Slots = field(default_factory=dict)
    running_maps: Slots = field(default_factory=dict)
    running_reduces: Slots = field(default_factory=dict)
    working: Slots = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleResult:
    """The new placement. lowest_by_round: the lowest utility after each round of map placement."""

    placement: Placement
    lowest_by_round: tuple[float, ...]


def run_cycle(
    nodes: Sequence[NodeCapacity],
    jobs: Sequence[JobNeed],
    state: CycleState | None = None,
    rules: CycleRules | None = None,
) -> CycleResult:
    """The placement until the next cycle."""
    state, rules = state or CycleState(), rules or CycleRules()
    placement = Placement(
        nodes, jobs, rules.utility_of, parallel_copies=rules.parallel_copies, working=state.working
    )
    maps = _kept(state.map_slots, state.running_maps, placement, "maps_left")
    reduces = _kept(state.reduce_slots, state.running_reduces, placement, "reduces_left")
    placement.load(maps, reduces)
    for node in range(len(placement.nodes)):
        _relieve(placement, node)
    ReducerSpread(placement).place(_by_goal_rank(placement.jobs))
    lowest: list[float] = []
    if placement.nodes and placement.jobs:
        lowest = _LOOPS[rules.loop](placement).place(rules.rounds)
    return CycleResult(placement=placement, lowest_by_round=tuple(lowest))


def _by_goal_rank(jobs: Sequence[JobNeed]) -> list[int]:
    """Jobs whose goal is to be met first, then the others by seniority, then those that yield."""
    last = len(jobs)

    def rank(job: int) -> tuple[bool, int, int]:
        need = jobs[job]
        return (need.yields, last if need.goal_rank is None else need.goal_rank, job)

    return sorted(range(last), key=rank)


def _kept(
    slots: Slots, running: Slots, placement: Placement, left: str
) -> dict[str, dict[str, int]]:
    """The slots of known jobs and nodes, without those for which no task is left.

    A job loses surplus slots first where most of its slots have no running task behind them.
    """
    kept: dict[str, dict[str, int]] = {}
    for job_id, on in slots.items():
        index = placement.job_index.get(job_id)
        if index is None:
            continue
        known = {node: count for node, count in on.items() if node in placement.node_index}
        check_counts(job_id, known)
        surplus = sum(known.values()) - getattr(placement.jobs[index], left)
        runs = running.get(job_id, {})
        for _ in range(surplus):
            idlest = min(
                (node for node in known if known[node]),
                key=lambda node: (runs.get(node, 0) - known[node], placement.node_index[node]),
            )
            known[idlest] -= 1
        kept[job_id] = known
    return kept


def _relieve(placement: Placement, node: int) -> None:
    """Take map slots from a node above its capacity, highest utility first.

    If its reduces alone exceed it, they stay: the task scheduler holds the later ones back.
    """
    while placement.maps_on[node] and placement.is_over(node):
        loser = max(placement.maps_on[node], key=lambda job: (placement.utility[job], job))
        placement.add_map(loser, node, -1)
