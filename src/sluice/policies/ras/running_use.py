"""The use of each node by the tasks that really run.

A reduce counts with the profile of what it really does: it shuffles from its start, and works from
the moment at which the task scheduler lets it. While it shuffles it uses more with each running map
of its job, up to a number of parallel copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.state import ClusterState
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.policies.ras.job_stages import (
    capacity_of,
    is_reduce,
    start_demand,
    vector,
    works_at_once,
)
from sluice.policies.ras.placement import Vector

T = TypeVar("T")
_ROUNDING: Final = 1e-9
_DONE: Final = AttemptState.DONE
_UNMEASURED: Final = (0, 0.0)


class NodeUse:
    """The running tasks of one node."""

    __slots__ = ("held", "limits", "maps", "reduces", "shuffling", "used", "working")

    def __init__(self, node: NodeEntry) -> None:
        capacity = capacity_of(node).capacity
        self.limits: Vector = tuple(amount * (1 + _ROUNDING) for amount in capacity)
        self.used = [0.0] * len(capacity)  # without what shuffles use for running maps
        self.maps: dict[JobEntry, int] = {}
        self.reduces: dict[JobEntry, int] = {}
        self.working: dict[JobEntry, int] = {}
        self.shuffling: dict[PhaseEntry, int] = {}
        self.held: dict[Attempt, None] = {}  # they have shuffled, and wait for room to work

    @property
    def has_slot(self) -> bool:
        """Whether one more task has a slot, the last of the resources."""
        return self.used[-1] + 1.0 <= self.limits[-1]


class RunningUse:
    """Observes attempts, as `AttemptObserver`. copies_max: maps that count in a shuffle."""

    def __init__(self, copies_max: int, shuffle_memory: str) -> None:
        self._copies_max = copies_max
        self._shuffle_memory = shuffle_memory
        self._nodes: dict[NodeEntry, NodeUse] = {}
        self._demand: dict[Attempt, Vector] = {}  # what each running attempt adds to `used`
        self._shuffles: dict[Attempt, None] = {}
        self._maps: dict[JobEntry, int] = {}  # running, on all nodes
        self._shuffling_on: dict[PhaseEntry, dict[NodeEntry, int]] = {}
        self.lengths: dict[PhaseEntry, tuple[int, float]] = {}  # done tasks, their seconds
        self.ended_reduces: list[tuple[JobEntry, NodeEntry]] = []  # since they were last read
        self.has_completed_phase = False  # since that was last read
        self.has_left_room = False  # a task ended, and no task of its phase waits; as above
        self.held = 0
        self.is_asked = True  # the driver asks before a reduce works; else all begin by themselves

    def saved(self) -> dict[str, object]:
        """Return as JSON what the running attempts do not show; sums as they have been rounded."""
        nodes = {
            node: use
            for node, use in sorted(self._nodes.items(), key=lambda one: one[0].index)
            if use.maps or use.reduces
        }
        return {
            "demand": [(one.key, demand) for one, demand in self._demand.items()],
            "shuffles": [one.key for one in self._shuffles],
            "held": [one.key for use in nodes.values() for one in use.held],
            "used": [(node.index, use.used) for node, use in nodes.items()],
            "shuffling": [
                (node.index, [(one.job_id, one.index) for one in use.shuffling])
                for node, use in nodes.items()
            ],
            "lengths": [
                (one.job_id, one.index, *lengths)
                for one, lengths in self.lengths.items()
                if not one.job.has_ended
            ],
            "has_completed_phase": self.has_completed_phase,
            "has_left_room": self.has_left_room,
        }

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        """Remember again what `saved` returned; the attempts of the state have begun."""
        running = state.running
        self._demand = {running[AttemptKey(*key)]: tuple(one) for key, one in saved["demand"]}
        self._shuffles = {running[AttemptKey(*key)]: None for key in saved["shuffles"]}
        self._shuffling_on = {}
        for index, used in saved["used"]:
            use = self.on(state.node_at[index])
            use.used, use.working = list(used), {}
        for index, phases in saved["shuffling"]:
            found = [state.jobs[job_id].phases[number] for job_id, number in phases]
            self.on(state.node_at[index]).shuffling = dict.fromkeys(found, 0)
        for attempt in self._demand:
            if attempt in self._shuffles:
                self._count_shuffle(attempt, attempt.tasks)
            elif is_reduce(attempt.phase):
                _count(self.on(attempt.node).working, attempt.phase.job, attempt.tasks)
        for key in saved["held"]:
            self._hold(running[AttemptKey(*key)])
        self.lengths = {
            state.jobs[job_id].phases[index]: (int(tasks), float(total_s))
            for job_id, index, tasks, total_s in saved["lengths"]
        }
        self.ended_reduces.clear()
        self.has_completed_phase = bool(saved["has_completed_phase"])
        self.has_left_room = bool(saved["has_left_room"])

    def on(self, node: NodeEntry) -> NodeUse:
        """The running tasks of a node."""
        use = self._nodes.get(node)
        if use is None:
            use = self._nodes[node] = NodeUse(node)
        return use

    # --- questions ----------------------------------------------------------------------------

    def used(self, node: NodeEntry) -> list[float]:
        """Return what runs on a node uses of each resource."""
        use = self.on(node)
        if not use.shuffling:
            return use.used
        total = list(use.used)
        for phase, count in use.shuffling.items():
            maps = self._fetched_maps(phase)
            for r, each in enumerate(_per_map(phase)):
                total[r] += count * maps * each
        return total

    def fits(self, phase: PhaseEntry, node: NodeEntry) -> bool:
        """Whether one more task of the phase fits on the node, and overloads no other node."""
        demand = start_demand(phase, self._shuffle_memory)
        if not works_at_once(phase):
            maps = self._fetched_maps(phase)
            demand = tuple(d + maps * e for d, e in zip(demand, _per_map(phase), strict=True))
        for used, more, most in zip(self.used(node), demand, self.on(node).limits, strict=True):
            if used + more > most:
                return False
        return is_reduce(phase) or self._shuffles_may_grow(phase, node, demand)

    def _shuffles_may_grow(self, phase: PhaseEntry, at_node: NodeEntry, demand: Vector) -> bool:
        """Whether all nodes bear what one more map adds to the shuffles that read it."""
        if self._maps.get(phase.job, 0) >= self._copies_max:
            return True
        for later in phase.needed_by:
            each = _per_map(later)
            if not any(each):
                continue
            for node, count in self._shuffling_on.get(later, {}).items():
                extra = demand if node is at_node else (0.0,) * len(each)
                limits = self.on(node).limits
                for used, more, grown, most in zip(
                    self.used(node), extra, each, limits, strict=True
                ):
                    if used + more + count * grown > most:
                        return False
        return True

    def lacking(self, phase: PhaseEntry, node: NodeEntry) -> int | None:
        """The first resource that is short for one more task of the phase; None if none is."""
        demand = start_demand(phase, self._shuffle_memory)
        rows = zip(self.used(node), demand, self.on(node).limits, strict=True)
        return next((r for r, (used, more, most) in enumerate(rows) if used + more > most), None)

    def shuffles(self, attempt: Attempt) -> bool:
        """Whether a running attempt still shuffles, or waits for room to work."""
        return attempt in self._shuffles

    def is_held(self, attempt: Attempt) -> bool:
        """Whether it has shuffled, and waits for room to work."""
        return attempt in self.on(attempt.node).held

    def _fetched_maps(self, phase: PhaseEntry) -> int:
        return min(self._maps.get(phase.job, 0), self._copies_max)

    def mean_s(self, phase: PhaseEntry) -> float | None:
        """Mean length of the done tasks of a phase; None before the first."""
        tasks, total_s = self.lengths.get(phase, _UNMEASURED)
        return total_s / tasks if tasks else None

    def progress_of(self, job: JobEntry) -> tuple[tuple[int, int, int], ...]:
        """Tasks that are done and that wait, and measured lengths, of each phase of a job."""
        return tuple(
            [
                (phase.done, phase.pending.count, self.lengths.get(phase, _UNMEASURED)[0])
                for phase in job.phases
            ]
        )

    # --- changes ------------------------------------------------------------------------------

    def began(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        phase, job, use = attempt.phase, attempt.phase.job, self.on(attempt.node)
        demand = start_demand(phase, self._shuffle_memory)  # `TaskScheduler` starts one at a time
        self._demand[attempt] = demand
        _add(use.used, demand)
        if not is_reduce(phase):
            _count(use.maps, job, attempt.tasks)
            _count(self._maps, job, attempt.tasks)
            return
        _count(use.reduces, job, attempt.tasks)
        if works_at_once(phase):
            _count(use.working, job, attempt.tasks)
        else:
            self._shuffles[attempt] = None
            self._count_shuffle(attempt, attempt.tasks)

    def ended(self, attempt: Attempt) -> None:
        """See `AttemptObserver`."""
        phase, job, node = attempt.phase, attempt.phase.job, attempt.node
        use, tasks = self.on(node), attempt.tasks
        _subtract(use.used, self._demand.pop(attempt))
        self.has_left_room |= not phase.is_queued
        if attempt.state is _DONE:
            done, total_s = self.lengths.get(phase, _UNMEASURED)
            length_s = attempt.finished_at_s - attempt.started_at_s
            self.lengths[phase] = (done + tasks, total_s + tasks * length_s)
            self.has_completed_phase |= phase.is_done
            if phase.is_done and not self.is_asked:
                self._let_work(phase)
        if not is_reduce(phase):
            _count(use.maps, job, -tasks)
            _count(self._maps, job, -tasks)
        else:
            self._reduce_ended(attempt)
        if not (use.maps or use.reduces):
            use.used[:] = [0.0] * len(use.used)  # no rounding is left on an idle node
            if not node.is_up:
                del self._nodes[node]

    def _reduce_ended(self, attempt: Attempt) -> None:
        job, use = attempt.phase.job, self.on(attempt.node)
        _count(use.reduces, job, -attempt.tasks)
        if attempt in self._shuffles:
            del self._shuffles[attempt]
            self._count_shuffle(attempt, -attempt.tasks)
            self._release(attempt)
        else:
            _count(use.working, job, -attempt.tasks)
        if attempt.state is _DONE:
            self.ended_reduces += [(job, attempt.node)] * attempt.tasks

    def begin_work(self, attempt: Attempt) -> bool:
        """A reduce has shuffled and asks to work. Whether it fits; if not, it is held."""
        if attempt not in self._shuffles:
            return True
        use, held = self.on(attempt.node), self._demand[attempt]
        work = vector(attempt.phase.phase.demand.work)
        own_growth = _per_map(attempt.phase)
        maps = self._fetched_maps(attempt.phase)
        for used, now, each, then, most in zip(
            self.used(attempt.node), held, own_growth, work, use.limits, strict=True
        ):
            if used - now - maps * each + then > most:
                if attempt not in use.held:
                    self._hold(attempt)
                return False
        self._works(attempt)
        return True

    def _let_work(self, phase: PhaseEntry) -> None:
        """Real reduces that have all their input work, whether they fit or not."""
        for attempt in [one for one in self._shuffles if one.phase in phase.needed_by]:
            if attempt.phase.has_inputs:
                self._works(attempt)

    def _works(self, attempt: Attempt) -> None:
        """From now on a reduce uses what its work does, and no more what its shuffle did."""
        use, work = self.on(attempt.node), vector(attempt.phase.phase.demand.work)
        self._release(attempt)
        del self._shuffles[attempt]
        self._count_shuffle(attempt, -attempt.tasks)
        _count(use.working, attempt.phase.job, attempt.tasks)
        _subtract(use.used, self._demand[attempt])
        _add(use.used, work)
        self._demand[attempt] = work

    def _hold(self, attempt: Attempt) -> None:
        self.on(attempt.node).held[attempt] = None
        self.held += 1

    def _release(self, attempt: Attempt) -> None:
        use = self.on(attempt.node)
        if attempt in use.held:
            del use.held[attempt]
            self.held -= 1

    def _count_shuffle(self, attempt: Attempt, tasks: int) -> None:
        phase, node = attempt.phase, attempt.node
        _count(self.on(node).shuffling, phase, tasks)
        _count(self._shuffling_on.setdefault(phase, {}), node, tasks)
        if not self._shuffling_on[phase]:
            del self._shuffling_on[phase]


def _per_map(phase: PhaseEntry) -> Vector:
    return vector(phase.phase.demand.fetch_per_map, slots=0.0)


def _add(used: list[float], demand: Vector) -> None:
    for r, amount in enumerate(demand):
        used[r] += amount


def _subtract(used: list[float], demand: Vector) -> None:
    for r, amount in enumerate(demand):
        used[r] = max(0.0, used[r] - amount)


def _count(counts: dict[T, int], key: T, more: int) -> None:
    """Add to a count; a count of 0 is dropped."""
    counts[key] = counts.get(key, 0) + more
    if not counts[key]:
        del counts[key]
