"""The discrete-event driver: virtual time for the same core that drives real work.

The driver pops what happens next, feeds it to the scheduler, ends every instant with a Tick, and
carries out what the scheduler asks. With a heartbeat above 0, nodes report at staggered instants
and the scheduler learns of an end only with the report. A node with nothing to report sends no
heartbeat while no task waits, because such a heartbeat would change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from sluice.core.commands import Kill, Wake
from sluice.core.entries import Attempt, PhaseEntry
from sluice.core.events import (
    Event,
    FailureKind,
    JobKilled,
    NodeHeartbeat,
    NodeJoined,
    NodeLost,
    TaskFailed,
    TaskFinished,
)
from sluice.core.garbage_collector import paused_collector
from sluice.core.offers import Decision, Decisions
from sluice.core.scheduler import Scheduler
from sluice.core.transitions import AttemptState
from sluice.model.attempts import AttemptKey
from sluice.model.cluster import Cluster
from sluice.model.ids import NodeId
from sluice.model.job import Job
from sluice.simulation.agenda import TASK_RANK, WAKE_RANK, Agenda
from sluice.simulation.arrivals import Arrivals
from sluice.simulation.attempt_work import work_of
from sluice.simulation.efforts import Efforts, Recorded
from sluice.simulation.execution import Execution, OwnSpeed
from sluice.simulation.faults import NodeFaults
from sluice.simulation.heartbeats import Heartbeats
from sluice.simulation.loss_limit import LossLimit
from sluice.simulation.placement import BlockPlacement
from sluice.simulation.progress import ProgressReports
from sluice.simulation.rented_machines import RentedMachines
from sluice.simulation.settings import SimulationSettings

_Job: Final = Job  # an imported name is looked up at each use
_PROGRESS_INSTANTS = 4096
_PATIENCE_S = 86400.0  # how long nodes may get no work before the run counts as stuck

OnProgress = Callable[[float, int], None]  # now_s, tasks ended


class Simulation:
    """One run of a workload under a scheduler, in virtual time.

    The scheduler must be fresh. Same arguments, same seed: the same run, event by event.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        cluster: Cluster,
        jobs: Iterable[Job],
        *,
        settings: SimulationSettings,
        seed: int = 0,
        recorded: Recorded | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        self._scheduler = scheduler
        self._state = scheduler.state
        self._settings = settings
        self._tells_tasks_apart = settings.tells_tasks_apart
        self._agenda = Agenda()
        self._efforts = Efforts(settings, seed, recorded)
        self._placement = BlockPlacement(cluster, settings, seed)
        self._observer = on_progress
        self._quiet_from_s = math.inf  # since when only heartbeats are to come
        self._tasks = scheduler.policies.tasks
        gate = self._may_begin_work if self._tasks.gates_work else None
        # The same as `_execution` where attempts have their own speed: calls of it are direct.
        self._own_speed: OwnSpeed | None = None
        self._execution: Execution
        if settings.contention == "shared":
            from sluice.simulation.contention import SharedNodes

            self._execution = SharedNodes(self._agenda, self._efforts, settings, self._state, gate)
        else:
            self._own_speed = OwnSpeed(self._agenda, self._efforts, settings, self._state, gate)
            self._execution = self._own_speed
        self._abandoned, self._has_gate = self._execution.abandoned, gate is not None
        self._progress: ProgressReports | None = None
        if self._tasks.reads_progress:
            self._progress = ProgressReports(
                scheduler, self._execution, by_node=settings.heartbeat_s > 0
            )
        self._wakes: set[float] = set()  # instants of the wake-ups that are on the agenda
        self._last_wake_s = math.inf  # the one that was added last
        self._heartbeats = Heartbeats(cluster, settings.heartbeat_s, self._agenda)
        self._by_heartbeat = settings.heartbeat_s > 0
        self._hears_each_task = self._execution.hears_each_task
        for node in cluster.nodes:
            self.report_node(NodeJoined(0.0, node))
        self._loss_limit = LossLimit(settings, len(cluster.nodes))
        self._faults = NodeFaults(self, cluster, self._agenda, settings, seed)
        start_s = scheduler.policies.pools.start_s
        self._rented = RentedMachines(self, cluster, self._agenda, start_s, self._faults)
        self._arrivals = Arrivals(jobs, self._agenda, self._state, self._cancel)

    @property
    def is_over(self) -> bool:
        """Whether every job has come and ended."""
        state = self._state
        return not (self._arrivals.left or state.active or state.waiting or state.deferred)

    def run(self, *, until_s: float | None = None) -> None:
        """Run until nothing more happens, or up to an instant; the result is in the state.

        until_s: seconds since the start of the workload; what happens at that very instant counts.
        """
        agenda = self._agenda
        by_heartbeat = self._by_heartbeat
        end_s = math.inf if until_s is None else until_s
        instants = 0
        with paused_collector():
            while True:
                now_s = agenda.next_at_s
                if now_s > end_s or now_s == math.inf:
                    break
                self._run_instant(now_s)
                if (by_heartbeat or self._wakes) and self._is_stuck(now_s):
                    break
                instants += 1
                if self._observer is not None and instants % _PROGRESS_INSTANTS == 0:
                    self._observer(now_s, len(self._state.closed))

    def take_over(self, now_s: float) -> None:
        """Go on from the scheduler's state; by the lengths, what runs ends after `now_s`."""
        assert self._own_speed is not None, "tasks of shared nodes have no length of their own"
        for attempt in list(self._state.running.values()):
            if attempt.state is AttemptState.KILLING:
                self._kill(attempt.key, now_s)
            else:
                self._own_speed.take_over(attempt)
        self._rented.take_over(self._state, now_s)
        self._wake(math.nextafter(now_s, math.inf), now_s)

    def _run_instant(self, now_s: float) -> None:
        """All that happens at the next instant, and what the scheduler then decides."""
        agenda = self._agenda
        while True:
            item = agenda.pop()
            # Nearly everything that happens is the end of a task.
            if type(item) is Attempt:
                self._end_attempt(item, now_s)
            else:
                self._happen(item, now_s)
            if agenda.next_at_s != now_s:
                break
        if self._has_gate and not self._by_heartbeat:  # with heartbeats each node asks for its own
            self._execution.resume(None, now_s)
        self._complete(now_s)
        if self._state.ended:  # asked here, because a call at each instant takes longer
            self._arrivals.enqueue(now_s)
        if self._by_heartbeat and self._asks_for_work:
            self._heartbeats.arm_all(self._state, now_s)

    def _may_begin_work(self, key: AttemptKey, now_s: float) -> bool:
        """Whether an attempt that has fetched its input begins its own work."""
        return self._tasks.may_begin_work(self._state.running[key], self._state, now_s)

    @property
    def _asks_for_work(self) -> bool:
        """Whether a node that reports may be given something to start or to kill."""
        return self._state.startable > 0 or self._tasks.wants_offer(self._state)

    def _is_stuck(self, now_s: float) -> bool:
        """Whether no work will ever start: all slots are held by attempts that never end."""
        if self._heartbeats.has_more(len(self._agenda) - len(self._wakes)):
            self._quiet_from_s = math.inf
            return False
        self._quiet_from_s = min(self._quiet_from_s, now_s)
        if now_s - self._quiet_from_s <= max(_PATIENCE_S, 3 * self._heartbeats.interval_s):
            return False
        return not self._tasks.holds_back(self._state, now_s)

    # --- what happens -------------------------------------------------------------------------

    def _happen(self, item: object, now_s: float) -> None:
        if item is None:
            self._wakes.discard(now_s)
            # Without heartbeats, who asked to be woken gets the progress of all attempts.
            if self._progress is not None:
                self._progress.report_all(now_s)
        elif isinstance(item, _Job):
            self._submit(item, now_s)
        elif isinstance(item, TaskFinished | TaskFailed):
            self._end(item, now_s)
        elif isinstance(item, NodeHeartbeat):
            self._beat(item, now_s)
        else:
            assert callable(item)
            item(now_s)  # a model's own step

    def _end_attempt(self, attempt: Attempt, now_s: float) -> None:
        """An attempt that was on the agenda itself ends well."""
        # An attempt that was abandoned has another end, which was reported or will be.
        work = work_of(attempt)
        if (work.is_unreported or attempt.has_ended) and attempt.key in self._abandoned:
            self._abandoned.discard(attempt.key)
        elif self._by_heartbeat:
            work.is_unreported = True
            self._heartbeats.keep(attempt.node.node_id, attempt, now_s)
        else:
            self._deliver_attempt(attempt, now_s)

    def _deliver_attempt(self, attempt: Attempt, now_s: float) -> None:
        work = work_of(attempt)
        work.is_unreported = False
        decisions = self._scheduler.finish_attempt(attempt, now_s, work.ends_at_s, work.from_s)
        if decisions.first is not None:
            self._carry_out_all(decisions, now_s)
        self._note_done(attempt.phase, now_s)

    def _complete(self, now_s: float) -> None:
        """End the instant, and carry out what the scheduler decides."""
        self._carry_out_all(self._scheduler.complete_instant(now_s), now_s)

    def _end(self, end: TaskFinished | TaskFailed, now_s: float) -> None:
        abandoned = self._execution.abandoned
        if abandoned and end.key in abandoned:
            abandoned.discard(end.key)
        elif self._by_heartbeat:
            self._report(end, now_s)
        else:
            self._deliver(end, now_s)

    def _report(self, end: TaskFinished | TaskFailed, now_s: float) -> None:
        """An attempt has ended; its node reports it with its next heartbeat."""
        attempt = self._state.running[end.key]
        work_of(attempt).is_unreported = True
        self._heartbeats.keep(attempt.node.node_id, end, now_s)

    def _deliver(self, end: TaskFinished | TaskFailed, now_s: float) -> None:
        key = end[1]
        self._handle(end)
        # To look among the running attempts would hash the whole key.
        self._note_done(self._state.jobs[key[0]].phases[key[1]], now_s)

    def _note_done(self, phase: PhaseEntry, now_s: float) -> None:
        """A task of the phase has ended; attempts that wait for it may go on."""
        is_done = phase.done == phase.tasks
        if is_done:
            phase.effort = None  # it may be drawn again, if an output is lost
        if phase.needed_by and (is_done or self._hears_each_task):
            if self._own_speed is not None:
                self._own_speed.task_done(phase, now_s)
            else:
                self._execution.task_done(phase, now_s)

    def _submit(self, job: Job, now_s: float) -> None:
        self._arrivals.left -= 1
        alike = self._efforts.are_alike(job)
        locations = self._placement.of(job)
        alike = alike and not locations and not self._tells_tasks_apart
        is_last = not self._arrivals.left
        decisions = self._scheduler.submit(now_s, job, locations, alike=alike, is_last=is_last)
        self._carry_out_all(decisions, now_s)

    def _cancel(self, job: Job, reason: str, now_s: float) -> None:
        """A job that never runs: the scheduler learns of it, and that it is over."""
        self._submit(job, now_s)
        self._handle(JobKilled(now_s, job.job_id, reason))

    def _beat(self, beat: NodeHeartbeat, now_s: float) -> None:
        node = self._state.nodes[beat.node_id]
        reports = self._heartbeats.take(beat.node_id)
        if reports is None or not node.is_up:
            return
        for report in reports:
            if type(report) is Attempt:
                self._deliver_attempt(report, now_s)
            elif isinstance(report, TaskFinished | TaskFailed):
                self._deliver(report._replace(at_s=now_s), now_s)
        if self._progress is not None:
            self._progress.report_node(node, now_s)
        if self._has_gate:
            self._execution.resume(beat.node_id, now_s)
        self._handle(beat)
        if self._asks_for_work:
            self._heartbeats.arm(beat.node_id, now_s)

    # --- what the scheduler asks ------------------------------------------------------------

    def _handle(self, event: Event) -> None:
        self._carry_out_all(self._scheduler.decide(event), event[0])

    def _carry_out_all(self, decisions: Decisions, now_s: float) -> None:
        if decisions.first is not None:
            self._carry_out(decisions.first, now_s)
            for decision in decisions.more:
                self._carry_out(decision, now_s)
        if decisions.wake_at_s != self._last_wake_s:
            self._wake(decisions.wake_at_s, now_s)

    def _carry_out(self, command: Decision, now_s: float) -> None:
        if type(command) is Attempt and self._own_speed is not None:
            self._own_speed.begin(command, now_s)
        else:
            self._carry_out_other(command, now_s)
        if self._heartbeats.silent and type(command) is Attempt:
            self._check_node(command, now_s)

    def _check_node(self, attempt: Attempt, now_s: float) -> None:
        """Stop an attempt on a node that is down, which the scheduler does not know yet: the tasks
        of a job that starts as a whole are placed when any node reports.
        """
        if attempt.node.node_id in self._heartbeats.silent:
            self._execution.abandon(attempt.key, now_s)
            work_of(attempt).is_unreported = True

    def _carry_out_other(self, command: Decision, now_s: float) -> None:
        # Apart, because all but the start of an attempt is rare.
        if type(command) is Attempt:
            self._execution.begin(command, now_s)
        elif type(command) is Kill:
            self._kill(command.key, now_s)
        elif type(command) is Wake:
            self._wake(command.at_s, now_s)
        else:
            self._rented.carry_out(command, now_s)

    def _wake(self, at_s: float, now_s: float) -> None:
        # Some policies ask for the same instant at every decision until then.
        if now_s < at_s < math.inf and at_s not in self._wakes:
            self._last_wake_s = at_s
            self._wakes.add(at_s)
            self._agenda.add(at_s, WAKE_RANK, None)

    def _kill(self, key: AttemptKey, now_s: float) -> None:
        """Kill an attempt; its end is reported like any other."""
        attempt = self._state.running[key]
        work = work_of(attempt)
        if work.is_unreported:
            return  # it has ended already
        work.is_unreported = True
        self._execution.abandon(key, now_s)
        end = TaskFailed(now_s, key, now_s, FailureKind.KILLED)
        if self._by_heartbeat:
            self._heartbeats.keep(attempt.node.node_id, end, now_s)
        else:
            self._agenda.add(now_s, TASK_RANK, partial(self._deliver, end))

    # --- what faults ask --------------------------------------------------------------------

    def node_dies(self, node_id: NodeId, now_s: float) -> None:
        """A node stops, with all that runs on it; the scheduler does not know it yet."""
        self._heartbeats.silence(node_id)
        attempts = [one for one in self._state.running.values() if one.node.node_id == node_id]
        closed = self._state.closed
        outputs = [closed.attempt(row).key for row in self._state.nodes[node_id].done]
        self._loss_limit.node_died(self._state, [one.key for one in attempts] + outputs)
        for attempt in attempts:
            # An end that was not reported is lost with the node, and is never reported.
            work = work_of(attempt)
            if not work.is_unreported:
                self._execution.abandon(attempt.key, now_s)
                work.is_unreported = True

    def report_node(self, event: NodeJoined | NodeLost) -> None:
        """The scheduler learns that a node is there, or is gone."""
        if isinstance(event, NodeJoined):
            self._heartbeats.awaken(event.node.node_id)
            self._handle(event)
        else:
            self._heartbeats.silence(event.node_id)
            self._handle(event)
            self._execution.outputs_lost(event.at_s)
