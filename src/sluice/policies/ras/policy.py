"""RAS as a task policy: control cycles at fixed times, and the task scheduler between them.

At fixed times a control cycle (`control_cycle.py`) decides how many tasks of which jobs each node
is to run, by the completion times that jobs aim at. Between cycles the task scheduler
(`task_scheduler.py`) starts tasks in the slots that a cycle gave to their jobs. This class knows
when a cycle is due, what of its input has changed, and what to save for a restart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sluice.core.entries import Attempt, JobEntry, NodeEntry, PhaseEntry
from sluice.core.protocols import Assignment, TaskPolicy
from sluice.core.reasons import Reason
from sluice.core.settings import ShuffleSettings
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Node
from sluice.model.fitting import SlotShortage
from sluice.model.job import Job
from sluice.model.settings import SettingKind, declared, number, whole, word
from sluice.model.slot_kind import SlotKind
from sluice.policies.memory import finite, or_infinite
from sluice.policies.ras.checks import check_resources
from sluice.policies.ras.control_cycle import CycleRules, CycleState, paper_utility, run_cycle
from sluice.policies.ras.explanation import explain
from sluice.policies.ras.goals import GoalOutlook, goal_utility, with_goals
from sluice.policies.ras.history import PlacementHistory
from sluice.policies.ras.job_needs import (
    expected_map_s,
    goal_slots,
    job_need,
    outlook,
    reduce_time_s,
)
from sluice.policies.ras.job_slots import JobSlots
from sluice.policies.ras.job_stages import capacity_of, has_only_slots, reduces_may_work
from sluice.policies.ras.running_use import NodeUse, RunningUse
from sluice.policies.ras.stuck_shuffles import StuckShuffles
from sluice.policies.ras.task_scheduler import TaskScheduler

_ROUNDING = 1e-9


class Ras(TaskPolicy):
    """Places by resources, and aims at completion times."""

    name: ClassVar[str] = "ras"

    @dataclass(frozen=True, kw_only=True)
    class Settings(ShuffleSettings):
        """Source: RAS spec, section 3, and section 6 (E4, E9, E12, E15)."""

        period_s: float = number(30.0, "seconds between control cycles (ras)", low=1.0, high=600.0)
        rounds: int = whole(10, "most rounds of map placement in a cycle (ras)", low=1, high=100)
        reserve_reduce: bool = declared(
            SettingKind.FLAG,
            default=True,
            meaning="keep time for the reduce phase before a goal (ras)",
        )
        goal_margin: float = number(
            3.0, "control periods that are kept free before a goal (ras)", high=1000.0
        )
        placement: str = word("repaired", "loop that places maps (ras)", "repaired", "printed")
        aim: str = word(
            "utility", "raise the lowest utility, or meet the most goals (ras)", "utility", "goals"
        )
        between_cycles: bool = declared(
            SettingKind.FLAG,
            default=True,
            meaning="place between two cycles, too, when a task that waits fits on a node (ras)",
        )

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings)
        made: Ras.Settings = self.settings
        self._running = RunningUse(made.parallel_copies, made.shuffle_memory)
        self._slots = JobSlots()
        self._tasks = TaskScheduler(self._slots, self._running, made.shuffle_memory)
        self._history = PlacementHistory()
        self._stuck = StuckShuffles(self._running)
        self._cycle_at_s = -math.inf  # of the last cycle
        # What the last cycle found of each job, and what it was found from.
        self._known: dict[JobEntry, tuple[tuple[object, ...], GoalOutlook]] = {}
        self._changes = (0, 0)  # releases of jobs and changes of nodes at the last look for room
        self._rules = CycleRules(
            rounds=made.rounds,
            loop=made.placement,
            parallel_copies=made.parallel_copies,
            utility_of=goal_utility if made.aim == "goals" else paper_utility,
        )

    def attach(self, state: ClusterState) -> None:
        self._state = state
        state.observe_attempts(self._running)

    def saved(self) -> dict[str, object]:
        """All but the history, which the story of a job and the report show from then on."""
        self._drop_ended_reduces()
        releases, node_changes = self._changes
        return {
            "unseen": [self._state.releases - releases, self._state.node_changes - node_changes],
            "cycle_at_s": finite(self._cycle_at_s),
            "running": self._running.saved(),
            "slots": self._slots.saved(),
            "stuck": self._stuck.saved(),
        }

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        self._cycle_at_s = or_infinite(saved["cycle_at_s"], -math.inf)
        releases, node_changes = saved["unseen"]
        self._changes = (state.releases - releases, state.node_changes - node_changes)
        self._running.restored(saved["running"], state)
        self._slots.restored(saved["slots"], state)
        self._stuck.restored(saved["stuck"], state)

    # --- what the core and the drivers ask ----------------------------------------------------

    @property
    def ignores_slowstart(self) -> bool:
        return True

    @property
    def gates_work(self) -> bool:
        return True

    def may_begin_work(self, attempt: Attempt, state: ClusterState, now_s: float) -> bool:
        return self._running.begin_work(attempt)

    def serve_processes(self) -> None:
        """Real reduces begin to work without asking, when all their input is there."""
        self._running.is_asked = False

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        """Reduces in a deadlock. It is the first question of each decision, so a due cycle runs
        here.
        """
        self._drop_ended_reduces()
        at_s = self._last_due_s(now_s)
        has_completed, self._running.has_completed_phase = self._running.has_completed_phase, False
        if at_s > self._cycle_at_s:
            self._cycle_at_s = at_s
            self._run_cycle(state, at_s, now_s)
            return list(self._stuck.kills(state))
        # Reduces were given no slot while they would only have waited in it; now they can work, and
        # the slots of the maps are free.
        if (has_completed and has_only_slots(state)) or self._may_fill(state):
            self._run_cycle(state, now_s, now_s)
        return ()

    def _may_fill(self, state: ClusterState) -> bool:
        """Whether a job or node came, or room was left, since the last look, and a task fits there.

        Where nothing fits, the period decides alone, as in the paper.
        """
        if not self.settings.between_cycles or not self._has_news(state):
            return False
        is_any = self._running.has_left_room or self._changes[1] != state.node_changes
        self._running.has_left_room = False
        self._changes = (state.releases, state.node_changes)
        active = state.active.values()
        jobs = [job for job in active if is_any or job not in self._slots.utility]
        nodes = self._tasks.open_nodes(state.nodes.values())
        return bool(nodes) and any(self._tasks.has_room(job, nodes) for job in jobs)

    def _has_news(self, state: ClusterState) -> bool:
        changes = (state.releases, state.node_changes)
        return self._running.has_left_room or self._changes != changes

    def _drop_ended_reduces(self) -> None:
        for job, node in self._running.ended_reduces:
            self._slots.drop_reduce(job, node)
        self._running.ended_reduces.clear()

    def assign(self, node: NodeEntry, state: ClusterState, now_s: float) -> Iterable[Assignment]:
        return self._tasks.assign(
            node, state.active.values() if self.settings.between_cycles else ()
        )

    @property
    def has_any_slot(self) -> bool:
        return True

    def wants_offer(self, state: ClusterState) -> bool:
        return self._running.held > 0

    def wake_at_s(self, state: ClusterState, now_s: float) -> float | None:
        return self._next_cycle_s(now_s)

    def holds_back(self, state: ClusterState, now_s: float) -> bool:
        """Whether a job has not taken part in a cycle yet."""
        return any(job not in self._slots.utility for job in state.active.values())

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        return explain(phase, state, self._slots, self._running, self._next_cycle_s(now_s))

    def check(self, jobs: Sequence[Job], nodes: Sequence[Node]) -> None:
        check_resources(jobs, nodes)

    def shortage(self, kind: SlotKind, nodes: Sequence[Node]) -> SlotShortage | None:
        """None: any slot takes any task, and a node without slots is limited by its resources."""
        return None

    def forget(self, jobs: Sequence[JobEntry]) -> None:
        for job in jobs:
            self._history.changes.pop(str(job.job_id), None)
            for phase in job.phases:
                self._running.lengths.pop(phase, None)

    def notes(self, job: JobEntry) -> Iterable[tuple[float, str, str]]:
        return self._history.notes(str(job.job_id))

    def report(self) -> Mapping[str, object]:
        return self._history.document()

    # --- control cycles -----------------------------------------------------------------------

    def _last_due_s(self, now_s: float) -> float:
        period_s: float = self.settings.period_s
        return math.floor(now_s / period_s + _ROUNDING) * period_s

    def _next_cycle_s(self, now_s: float) -> float:
        period_s: float = self.settings.period_s
        return self._last_due_s(now_s) + period_s

    def _run_cycle(self, state: ClusterState, at_s: float, now_s: float) -> None:
        """Replace the placement.

        Only jobs that were there when a cycle was last due take part, unless jobs are placed
        between cycles, too.  at_s: when the cycle was due.
        """
        latest_s = now_s if self.settings.between_cycles else self._cycle_at_s
        jobs = {
            str(job.job_id): job
            for job in state.active.values()
            if job.released_at_s <= latest_s + _ROUNDING
        }
        nodes = {str(node.node_id): node for node in state.nodes.values() if node.is_up}
        is_slots_only = has_only_slots(state)
        outlooks = self._outlooks(jobs.values(), now_s, is_slots_only)
        capacities = [capacity_of(node) for node in nodes.values()]
        needs = [outlook.need for outlook in outlooks]
        if self.settings.aim == "goals":
            needs = with_goals(outlooks, capacities)
        result = run_cycle(
            capacities,
            needs,
            CycleState(
                map_slots=self._slots.by_id("maps"),
                reduce_slots=self._slots.by_id("reduces"),
                running_maps=self._running_by_id(nodes, "maps"),
                running_reduces=self._running_by_id(nodes, "reduces"),
                working=self._running_by_id(nodes, "working"),
            ),
            self._rules,
        )
        self._slots.publish(result.placement, nodes, jobs)
        self._history.note(at_s, result.placement)

    def _outlooks(
        self,
        jobs: Iterable[JobEntry],
        now_s: float,
        is_slots_only: bool,  # noqa: FBT001  # a fact of the cluster, not a choice
    ) -> list[GoalOutlook]:
        """Return what each job needs.

        That of a job without a goal changes with its tasks and slots alone. Most jobs wait, so
        what the last cycle found for them is still right.
        """
        reduces = self._slots.reduces()
        known, self._known = self._known, {}
        for job in jobs:
            may_shuffle = self._stuck.may_shuffle(job)
            if is_slots_only and not reduces_may_work(job):
                may_shuffle = False
            slots = reduces.get(job, 0)
            facts = (slots, may_shuffle, self._running.progress_of(job))
            found = known.get(job)
            if found is None or found[0] != facts or job.job.deadline_at_s is not None:
                found = (facts, self._outlook(job, now_s, slots, may_shuffle))
            self._known[job] = found
        return [found for _, found in self._known.values()]

    def _outlook(self, job: JobEntry, now_s: float, slots: int, may_shuffle: bool) -> GoalOutlook:  # noqa: FBT001  # as above
        settings: Ras.Settings = self.settings
        view = outlook(job, self._running, slots)
        if not may_shuffle:
            # A reduce that waits for maps would hold a slot, which may be all that there is.
            view = view._replace(reduces_left=0)
        reserved_s = settings.goal_margin * settings.period_s
        if settings.reserve_reduce:
            reserved_s += reduce_time_s(view)
        needed = goal_slots(job, view, now_s, reserved_s)
        goal_at_s = job.job.deadline_at_s
        map_s = expected_map_s(job, view)
        return GoalOutlook(
            need=job_need(job, view, needed, settings.shuffle_memory),
            maps_end_by_s=None if goal_at_s is None else goal_at_s - now_s - view.reduce_s,
            map_s=map_s,
            goal_is_past=goal_at_s is not None and goal_at_s <= now_s,
        )

    def _running_by_id(
        self, nodes: Mapping[str, NodeEntry], kind: str
    ) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for node_id, node in nodes.items():
            use: NodeUse = self._running.on(node)
            counts: dict[JobEntry, int] = getattr(use, kind)
            for job, count in counts.items():
                found.setdefault(str(job.job_id), {})[node_id] = count
        return found
