"""Run attempts on nodes whose tasks share the node's resources.

An attempt's length is its work at profile speed, divided by the rate that the node's other tasks
leave it. `sharing` computes the rates, `shared_node` keeps the clocks, and `shuffle` models the
fetching before a task's own work. Lengths, mishaps and time-outs are those of `OwnSpeed`. On nodes
without capacities, or for tasks without demands, the result equals that of `OwnSpeed`.

An attempt that hangs keeps its memory from then on, and uses nothing else until its time-out.
"""

from __future__ import annotations

from functools import partial

from sluice.core.entries import Attempt, PhaseEntry
from sluice.core.events import FailureKind, TaskFailed, TaskFinished
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.ids import NodeId
from sluice.simulation.agenda import TASK_RANK, Agenda
from sluice.simulation.efforts import Efforts
from sluice.simulation.execution import WorkGate
from sluice.simulation.settings import SimulationSettings
from sluice.simulation.shared_node import Pace, SharedNode, settle_all
from sluice.simulation.sharing import Load
from sluice.simulation.shuffle import Run, Shuffle


class SharedNodes:
    """An Execution in which the attempts on a node slow each other down."""

    hears_each_task = True

    def __init__(
        self,
        agenda: Agenda,
        efforts: Efforts,
        settings: SimulationSettings,
        state: ClusterState,
        gate: WorkGate | None = None,
    ) -> None:
        self._agenda = agenda
        self._efforts = efforts
        self._timeout_s = settings.task_timeout_s
        self._state = state
        self._pace = Pace(settings)
        self._nodes: dict[NodeId, SharedNode] = {}
        self._touched: dict[SharedNode, None] = {}
        self._runs: dict[AttemptKey, Run] = {}
        self.abandoned: set[AttemptKey] = set()
        self._shuffle = Shuffle(efforts, settings, self._work, gate)

    def begin(self, attempt: Attempt, now_s: float) -> None:
        launch, phase = attempt.launch, attempt.phase
        key = launch.key
        run = self._runs[key] = Run(launch, phase, self._node(launch.node_id))
        if phase.needed_by:
            self._shuffle.placed(phase, launch.tasks, now_s)
        if self._efforts.of(phase).fetches:
            self._shuffle.begin(run, now_s)
        else:
            self._work(run, now_s)
        settle_all(self._touched, now_s)

    def abandon(self, key: AttemptKey, now_s: float) -> None:
        run = self._runs.pop(key, None)
        if run is None:
            # Its end is on the agenda for this instant, and it has left the node already.
            self.abandoned.add(key)
            return
        self._shuffle.forget(run)
        run.stop(now_s)
        self._leave(run, now_s)
        settle_all(self._touched, now_s)

    def progress(self, attempt: Attempt, now_s: float) -> float:
        key = attempt.key
        run = self._runs.get(key)
        if run is None:
            return 1.0  # its end is on the agenda for this instant
        mishap = self._efforts.mishap(run.launch, run.phase)
        most = mishap.hangs_at if mishap.hangs else 1.0
        if not most or run.hangs:
            return most
        work_s = self._efforts.work_s(run.launch, run.phase)
        done_s = self._shuffle.fetched_s(run, now_s)
        if run.works and run.stint is not None:
            done_s += run.stint.work_s - run.left_s(now_s)
        return min(most, done_s / (run.fetch_s + work_s))

    def task_done(self, phase: PhaseEntry, now_s: float) -> None:
        self._shuffle.task_done(phase, now_s)
        settle_all(self._touched, now_s)

    def resume(self, node_id: NodeId | None, now_s: float) -> None:
        self._shuffle.resume(node_id, now_s)
        settle_all(self._touched, now_s)

    def outputs_lost(self, now_s: float) -> None:
        self._shuffle.outputs_lost(now_s)
        settle_all(self._touched, now_s)

    def _node(self, node_id: NodeId) -> SharedNode:
        node = self._nodes.get(node_id)
        if node is None:
            capacity = self._state.nodes[node_id].node.capacity
            node = SharedNode(capacity, self._pace, self._agenda, self._touched)
            self._nodes[node_id] = node
        return node

    def _work(self, run: Run, now_s: float) -> None:
        """Start the attempt's own work."""
        tasks, node = run.launch.tasks, run.node
        load = node.load(run.phase.phase.demand.work)
        run.works = True
        mishap = self._efforts.mishap(run.launch, run.phase)
        work_s = self._efforts.work_s(run.launch, run.phase)
        if mishap.hangs:
            until_s = mishap.hangs_at * (run.fetch_s + work_s) - run.fetch_s
            if until_s <= 0:
                self._hang(run, load, now_s)
            else:
                then = partial(self._hang, run, load)
                run.stint = node.work(load, tasks, until_s, then, now_s)
        elif mishap.fails_after is None:
            run.stint = node.work(load, tasks, work_s, partial(self._finish, run), now_s)
        else:
            then = partial(self._fail, run, FailureKind.EXIT, "failed by chance")
            run.stint = node.work(load, tasks, work_s * mishap.fails_after, then, now_s)

    def _hang(self, run: Run, load: Load, now_s: float) -> None:
        """The attempt stops; it keeps its memory until its time-out."""
        run.hangs, run.stint = True, None
        if self._timeout_s is not None:
            then = partial(self._fail, run, FailureKind.TIMEOUT, "no progress")
            run.stint = run.node.stay(
                load.at_rest(), run.launch.tasks, self._timeout_s, now_s, then
            )

    def _finish(self, run: Run, now_s: float) -> None:
        launch = run.launch
        end = TaskFinished(now_s, launch.key, now_s, launch.tasks, run.shuffled_at_s)
        self._end(run, end)

    def _fail(self, run: Run, kind: FailureKind, detail: str, now_s: float) -> None:
        launch = run.launch
        self._end(run, TaskFailed(now_s, launch.key, now_s, kind, detail, launch.tasks))

    def _end(self, run: Run, end: TaskFinished | TaskFailed) -> None:
        run.stint = None
        del self._runs[run.launch.key]
        self._leave(run, end.at_s)
        self._agenda.add(end.at_s, TASK_RANK, end)

    def _leave(self, run: Run, now_s: float) -> None:
        """The attempt has left its node."""
        if run.phase.needed_by:
            self._shuffle.placed(run.phase, -run.launch.tasks, now_s)
