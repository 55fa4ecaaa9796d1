"""The live driver: the same scheduler as in a simulation, over an engine that really runs things.

Theory of operation. One thread, one loop. Whatever has happened since the last turn (what the
engine reports, jobs that are due) becomes a batch that ends with a Tick. The batch is journaled,
before it counts; then the scheduler handles it, what it decides is noted and carried out. A
crash at any point loses at most what was not journaled, and nothing of that had counted:

* before the batch is journaled, nothing was decided on it;
* after, a replay decides the same again. What was launched for it counts as lost with the engine,
  and runs again under a new attempt number and a new epoch.

A journaled batch survives the end of this process at once, and a power cut a second later: waiting
for the disk at every batch would leave slots idle. A power cut ends the attempts too, so tasks
whose end it took run again. Before an output is put in its place, or removed, all is synced.

Where users submit jobs while others run, the driver has an intake, and no end of its own. What
they ask for goes into the batch, and is answered when the batch is on the disk. On a full disk it
pauses, and without nodes it waits for them.

A job's output is committed once the TaskFinished that completes the job is durable; that it was
committed is journaled afterwards. A crash between the two makes the commit happen again, which
does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluice.core.commands import Command, Reject
from sluice.core.events import Event, TaskProgress, TaskStarted, Tick
from sluice.core.garbage_collector import short_collections
from sluice.core.scheduler import Scheduler
from sluice.core.state import ClusterState
from sluice.core.transitions import JobState
from sluice.engines.arrivals import Arrivals
from sluice.engines.base import Engine
from sluice.engines.dispatch import Dispatcher
from sluice.engines.driver_state import DriverState
from sluice.engines.intake import Intake, OpenRequests
from sluice.engines.interruption import RunInterrupted, terminable, undisturbed
from sluice.engines.live_settings import LiveSettings
from sluice.engines.node_arrivals import NodeArrivals
from sluice.engines.node_health import AGAIN_S, NodeHealth
from sluice.engines.patience import Patience
from sluice.engines.pause import Pause
from sluice.engines.progress import Unwatched, Watcher, progress_of
from sluice.engines.recovery import check_resumable, facts_since, pause_s_of, replay_journal
from sluice.engines.retention import Retention
from sluice.engines.run_clock import RunClock
from sluice.engines.segments import SegmentCutter, SegmentSource
from sluice.engines.whole_outputs import WholeOutputs
from sluice.engines.work_source import WorkSource
from sluice.model.errors import SluiceError
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job
from sluice.store.journal import Journal
from sluice.store.journal_file import FIRST_EPOCH

TURN_S_MAX = 1.0  # an idle driver still looks around this often
PROGRESS_S = 0.2  # watchers get a report no more often
SYNC_S = 1.0  # rows of the journal that a power cut may take are no older
HELD_S = 0.05  # reports that free no slot wait this long for one that does


_CAN_WAIT = (TaskStarted, TaskProgress)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """How a run ended.

    result: the scheduler's state: every job with its instants, every attempt with its usage.
    uncommitted: done jobs whose output could not be put in its place, and why; while there are
    any the run stays open, and resuming it tries again.
    was_finished: the run had finished before; nothing was done now.
    """

    result: ClusterState
    uncommitted: Mapping[JobId, str]
    was_finished: bool = False


class Driver:
    """Drives one run from its start, or from where it was left, to its end. Use it once.

    scheduler: fresh, with the policies and settings in the journal's header.
    journal: new, or reopened to resume.  source: what tasks do.
    jobs: all jobs of the workload with their phases; each is submitted at its `submitted_at_s`, or
    when the jobs that it runs after are done.  clock: the clock that the engine uses.
    intake: where users submit more jobs; None for a run that ends with these.
    segments: where the journal goes on when it is cut; None for one that is never cut.
    """

    def __init__(  # noqa: PLR0913  # the parts of a live run
        self,
        *,
        engine: Engine,
        scheduler: Scheduler,
        journal: Journal,
        source: WorkSource,
        jobs: Sequence[Job],
        clock: RunClock,
        watcher: Watcher | None = None,
        settings: LiveSettings | None = None,
        intake: Intake | None = None,
        segments: SegmentSource | None = None,
    ) -> None:
        assert not scheduler.rules.by_heartbeat, "live nodes speak when something has happened"
        self._engine = engine
        self._scheduler = scheduler
        self._state = scheduler.state
        self._journal = journal
        self._source = source
        self._jobs = jobs
        self._clock = clock
        self._watcher = watcher or Unwatched()
        self._settings = settings or LiveSettings()
        self._intake = intake
        self._health = NodeHealth(self._state, self._watcher)
        self._driver_state = DriverState(scheduler)
        self._uncommitted: dict[JobId, str] = {}
        self._whole_outputs = WholeOutputs(
            self._driver_state, self._source, self._watcher.on_message
        )
        self._reported_at_s = -PROGRESS_S
        self._synced_at_s = 0.0
        self._held: list[Event] = []  # reports that wait for the next batch
        self._held_at_s = 0.0
        self._pause: Pause | None = None
        self._commit_at_s = 0.0
        self._patience = Patience(scheduler, self._settings.patience_s)
        self._segments = SegmentCutter(
            journal, self._driver_state, segments, self._settings.segments, self._watcher.on_message
        )

    def run(self) -> LiveRun:
        """Run to the end of all jobs.

        Raises RunInterrupted at Ctrl-C or SIGTERM; Infeasible where jobs are left that can never
        start; EngineUnavailable without nodes; StoreUnavailable on a full disk; StoreCorrupt and
        InvalidInput where the run cannot be resumed. After any of them nothing runs any more.
        """
        with terminable():
            try:
                return self._run()
            except KeyboardInterrupt:
                with undisturbed():
                    self._segments.cut()
                raise RunInterrupted(
                    "The run was stopped; nothing of it runs any more."
                    " Run it again with --resume to continue where it was."
                ) from None

    def _run(self) -> LiveRun:
        if replay_journal(self._journal, self._driver_state):
            return LiveRun(result=self._state, uncommitted={}, was_finished=True)
        forget_s = self._settings.forget_s
        self._retention = Retention(self._driver_state, self._source, self._intake, forget_s)
        gone = self._retention.let_go()
        self._jobs = [job for job in self._jobs if job.job_id not in gone]
        self._arrivals = Arrivals(
            self._jobs,
            self._source,
            self._journal,
            self._driver_state,
            has_more=self._intake is not None,
            held=() if self._intake is None else self._intake.held,
        )
        self._requests = (
            None if self._intake is None else OpenRequests(self._intake, self._arrivals)
        )
        with short_collections():
            return self._live()

    def _live(self) -> LiveRun:
        """From here on something runs."""
        if self._journal.epoch > FIRST_EPOCH:
            spoilt = None if self._requests is None else self._requests.spoilt
            check_resumable(self._jobs, self._source, self._driver_state, spoilt)
        pause_s = pause_s_of(self._journal, self._settings.reattach_s)
        dispatcher = self._dispatcher()
        left = dispatcher.left_running() if "adopt" in self._engine.capabilities() else []
        began_s = self._state.now_s + (pause_s if left else 0.0)
        if self._journal.epoch > FIRST_EPOCH:
            self._journal.begin_epoch(None if self._intake is None else began_s)
        self._source.sweep(self._journal.epoch, {attempt.name for attempt in left})
        self._clock.continue_from(began_s)
        if left:
            self._engine.adopt(left, self._state.now_s)
        dispatcher.rent_again()
        try:
            self._engine.start()
            if self._intake is not None:
                self._intake.wake(self._engine)
                self._pause = Pause(self._engine, self._intake, self._clock, self._watcher)
                self._journal.on_full = self._pause
            self._take_stock(dispatcher)
            while not self._is_over(dispatcher):
                self._turn(dispatcher)
        finally:
            with undisturbed():
                self._engine.stop(kill_running=True)
        if not self._uncommitted:
            self._journal.finish()
            self._source.clear()
        self._tell_progress()
        return LiveRun(result=self._state, uncommitted=self._uncommitted)

    # --- start and end ------------------------------------------------------------------------

    def _dispatcher(self) -> Dispatcher:
        """The hands of this life: the first one of the run, or a new one after those before."""
        return Dispatcher(
            engine=self._engine,
            source=self._source,
            driver_state=self._driver_state,
            clock=self._clock,
            limits=self._settings.limits,
            epoch=self._journal.epoch,
        )

    def _take_stock(self, dispatcher: Dispatcher) -> None:
        """After a pause: what of the former life is still there, and what is not."""
        self._patience.moved(self._clock.now_s())
        if not self._scheduler.events:
            self._greet_nodes(dispatcher)
            return
        up = {node_id for node_id, entry in self._state.nodes.items() if entry.is_up}
        events = self._await_nodes(up)
        real = self._engine.reconcile()
        events += self._engine.events(0.0)
        dispatcher.kill_unwanted(real.attempts)
        now_s = self._clock.now_s()
        # With a Tick whatever the facts: the last one of the former life may not have been carried
        # out, or not even been journaled.
        facts = [*facts_since(self._state, real, now_s, events), *events, *self._asked(now_s)]
        dispatcher.carry_out(self._decide([*facts, Tick(now_s)]))
        self._settle()

    def _greet_nodes(self, dispatcher: Dispatcher) -> None:
        """Let the cluster come up before its first jobs do."""
        events = self._await_nodes(set(self._settings.nodes))
        if events:
            dispatcher.carry_out(self._decide([*events, Tick(self._clock.now_s())]))

    def _await_nodes(self, nodes: set[NodeId]) -> list[Event]:
        patience_s = self._settings.nodes_s
        return NodeArrivals(self._engine, self._clock, patience_s, self._watcher).wait(nodes)

    def _is_over(self, dispatcher: Dispatcher) -> bool:
        if self._intake is not None:
            return False
        open_jobs = self._arrivals or self._driver_state.unsettled.keys() - self._uncommitted.keys()
        return not (open_jobs or self._state.running or dispatcher.facts)

    # --- one turn -----------------------------------------------------------------------------

    def _turn(self, dispatcher: Dispatcher) -> None:
        reports = [] if self._pause is None else self._pause.reports()
        wait_s = 0.0 if dispatcher.facts or reports else self._wait_s()
        events = [*reports, *self._engine.events(wait_s)]
        with self._segments.turn():
            self._handle(events, dispatcher)
        self._segments.cut_when_due(self._clock.now_s())

    def _handle(self, events: list[Event], dispatcher: Dispatcher) -> None:
        """Decide on what has happened, and carry it out."""
        now_s = self._clock.now_s()
        asked = [*self._asked(now_s), *self._arrivals.take(now_s)]
        batch = [*dispatcher.take_facts(), *events, *asked]
        batch = self._hold(batch, now_s)
        if not (batch or self._requests) and not self._driver_state.is_woken(now_s):
            self._sync_when_due(now_s)
            if self._requests is None:
                self._patience.check(now_s, is_something_due=self._next_at_s() is not None)
            return
        self._patience.moved(now_s)
        dispatcher.carry_out(self._decide([*batch, Tick(now_s)]))
        self._settle()
        self._health.report()
        if self._requests is None and self._driver_state.unsettled.keys() - self._uncommitted:
            self._health.check()
        if now_s - self._reported_at_s >= PROGRESS_S:
            self._reported_at_s = now_s
            self._tell_progress()

    def _asked(self, now_s: float) -> list[Event]:
        """Return users' requests; in a service also the steps it takes instead of giving up."""
        if self._requests is None:
            return []
        self._commit_again(now_s)
        events = [*self._requests.take(now_s), *self._health.rested(now_s)]
        return [*events, *self._retention.take(now_s)]

    def _commit_again(self, now_s: float) -> None:
        """Try outputs again that could not be put in their places a while ago."""
        if not self._uncommitted:
            self._commit_at_s = now_s + AGAIN_S
        elif now_s >= self._commit_at_s:
            self._commit_at_s = now_s + AGAIN_S
            self._uncommitted.clear()
            self._settle()

    def _hold(self, batch: list[Event], now_s: float) -> list[Event]:
        """The batch to handle now. Reports that free no slot wait a moment for those that do: a
        batch costs much more than an event.
        """
        if not self._held:
            self._held_at_s = now_s
        self._held += batch
        # Rounded, or a clock that is set to that very instant might stop just before it.
        is_over = now_s - self._held_at_s > HELD_S - 1e-6 or self._driver_state.is_woken(now_s)
        is_over = is_over or bool(self._requests)
        if not is_over and all(isinstance(event, _CAN_WAIT) for event in batch):
            return []
        held, self._held = self._held, []
        return held

    def _decide(self, batch: list[Event]) -> list[Command]:
        batch = self._whole_outputs.checked(batch)
        self._patience.hear(batch)
        self._journal.add(batch, self._requests.records() if self._requests else ())
        if self._requests:
            self._journal.sync()
            self._requests.answer()
        self._sync_when_due(self._clock.now_s())
        commands = [command for event in batch for command in self._driver_state.handle(event)]
        self._journal.note(commands)
        for command in commands:
            if isinstance(command, Reject):
                self._watcher.on_message(
                    f"job {command.job_id!r} was not taken: {command.reason.text()}"
                )
        return commands

    def _sync_when_due(self, now_s: float) -> None:
        if self._journal.has_unsynced and now_s >= self._synced_at_s + SYNC_S:
            self._journal.sync()
            self._synced_at_s = now_s

    def _next_at_s(self) -> float | None:
        """When something is to be done even if nothing happens; None for never."""
        instants = (self._arrivals.next_at_s(), self._driver_state.wake_at_s())
        return min((at_s for at_s in instants if at_s is not None), default=None)

    def _wait_s(self) -> float:
        now_s = self._clock.now_s()
        next_at_s = self._next_at_s()
        if self._held:
            held_until_s = self._held_at_s + HELD_S
            next_at_s = held_until_s if next_at_s is None else min(next_at_s, held_until_s)
        if next_at_s is None:
            return TURN_S_MAX
        return min(TURN_S_MAX, max(0.0, next_at_s - now_s))

    def _tell_progress(self) -> None:
        now_s = self._clock.now_s()
        progress = progress_of(
            self._state,
            jobs_total=len(self._jobs),
            at_s=now_s,
            jobs_uncommitted=len(self._uncommitted),
        )
        self._watcher.on_progress(progress)

    # --- ends of jobs -------------------------------------------------------------------------

    def _settle(self) -> None:
        self._retention.let_go()
        ended = self._driver_state.ended()
        if ended:
            self._journal.sync()  # before anything outside the run changes
        for entry in ended:
            if entry.state is not JobState.DONE:
                self._source.abort(entry.job_id)
                self._journal.aborted(entry.job_id)
                self._driver_state.settle(entry.job_id)
            elif entry.job_id not in self._uncommitted:
                self._commit(entry.job_id)
        settled = [one for one in ended if one.job_id not in self._driver_state.unsettled]
        self._arrivals.settled(settled)
        self._retention.settled(settled, self._clock.now_s())

    def _commit(self, job_id: JobId) -> None:
        try:
            self._source.commit(job_id, self._driver_state.outputs(job_id))
        except SluiceError as error:
            self._uncommitted[job_id] = str(error)
            self._watcher.on_message(
                f"job {job_id!r}: all tasks are done, but its output could not be committed"
            )
            return
        self._journal.committed(job_id)
        self._driver_state.settle(job_id)
