"""The scheduler: events in, commands out, no clock, no thread, no I/O.

Theory of operation. Facts change the state and decide nothing (`_on_*`). Decisions fall when an
instant is complete: at a `Tick`, or at a `NodeHeartbeat` for that node. Then, in this order,
deferred jobs are asked about again, the release policy sends waiting jobs to the cluster, and the
task policy fills free slots node by node. Every answer of a policy is checked before it counts; a
wrong one raises `WrongDecision`, because a wrong decision is worse than a stop. A late, repeated or
unknown event is ordinary input: it is counted in `state.ignored` and changes nothing.

The same events give the same commands from any driver: the journal of events is the recovery log.

There are two ways in, to one set of transitions: `handle` takes an event. `decide`, which returns
attempts instead of launches, `submit`, `finish_attempt`, `report_progress` and `complete_instant`
are for a simulation, which has the attempt in hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from mypy_extensions import mypyc_attr

from sluice.core import events as ev
from sluice.core.checks import WrongDecision, why_stray
from sluice.core.commands import Command, Kill, Wake
from sluice.core.entries import Attempt, JobEntry, NodeEntry
from sluice.core.events import TaskFinished, Tick
from sluice.core.faults import node_faults
from sluice.core.faults.lost_outputs import lose_output, undo
from sluice.core.faults.overruns import overrun_reason, overruns
from sluice.core.faults.task_failures import gives_up
from sluice.core.job_decisions import JobDecisions
from sluice.core.offers import Decisions, Offer
from sluice.core.protocols import Policies
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.record.forgetting import Forgetting
from sluice.core.rented_nodes import RentedNodes
from sluice.core.rules import Rules
from sluice.core.state import ClusterState, Locations
from sluice.core.transitions import ATTEMPT_TRANSITIONS, AttemptInput, AttemptState, JobInput
from sluice.model.attempts import AttemptKey
from sluice.model.job import Job
from sluice.model.queues import Pool

__all__ = ["Policies", "Scheduler"]

_TWIN_FINISHED = Reason(ReasonCode.TWIN_FINISHED)
_JOB_ENDED = Reason(ReasonCode.JOB_ENDED)
_FAILED_AS = {
    ev.FailureKind.KILLED: AttemptInput.KILL_CONFIRMED,
    ev.FailureKind.LOST: AttemptInput.NODE_LOST,
}
_KILLING: Final = AttemptState.KILLING
_ALL_DONE: Final = JobInput.ALL_DONE  # a look-up on the Enum itself takes 0.1 us


@mypyc_attr(allow_interpreted_subclasses=True)  # a subclass may watch its events
class Scheduler:
    """Decides for one cluster; the module describes how."""

    def __init__(
        self, policies: Policies, *, pools: tuple[Pool, ...] = (), rules: Rules | None = None
    ) -> None:
        self.policies = policies
        self.rules = rules or Rules()
        self._by_heartbeat, self._wall_s = self.rules.by_heartbeat, self.rules.wall_s
        starts_early = policies.tasks.ignores_slowstart and not self.rules.is_live
        slowstart = 0.0 if starts_early else self.rules.slowstart
        self.state = ClusterState(pools, slowstart=slowstart)
        self.events = 0
        self._decisions = Decisions()
        self._node_offer: Offer | None = None
        self.jobs = JobDecisions(policies, self.state, self._decisions)
        self.resting: dict[NodeEntry, None] = {}  # nodes that had a fault
        self.rented = RentedNodes(policies.pools, self.state, self._decisions, self.resting)
        self._handlers: dict[type, Callable[[Any], None]] = {
            ev.NodeHeartbeat: self._on_heartbeat,
            ev.TaskStarted: self._on_started,
            ev.TaskProgress: self._on_progress,
            ev.TaskFailed: self._on_failed,
            ev.JobSubmitted: self._on_submitted,
            ev.JobKilled: self._on_job_killed,
            ev.JobWithdrawn: self._on_job_withdrawn,
            ev.NodeJoined: self._on_joined,
            ev.NodeLost: self._on_lost,
            ev.NodeCordoned: partial(node_faults.set_cordon, self.state, self.resting),
            ev.QueuesChanged: self._on_queues_changed,
            ev.OutputLost: partial(lose_output, self.state),
            ev.JobsForgotten: Forgetting(self.state, policies.tasks, policies.admission).forget,
        }
        self._tasks = policies.tasks
        # Most policies leave these as they are, and a decision need not call them.
        self._may_kill = self._tasks.ever("kills") or self._wall_s is not None
        self._may_want_offer = self._tasks.ever("wants_offer")
        self.state.units = self._tasks.slot_units
        self.state.has_any_slot = self._tasks.has_any_slot
        self._tasks.attach(self.state)

    def handle(self, event: ev.Event) -> list[Command]:
        """Handle one event; returns the commands for the driver, in order."""
        decisions = self.decide(event).all()
        return [one.launch if isinstance(one, Attempt) else one for one in decisions]

    def decide(self, event: ev.Event) -> Decisions:
        """Do what `handle` does, with attempts; the next event uses the same list again."""
        decisions = self._begin(event[0])
        if type(event) is TaskFinished:
            self._on_finished(event)
        elif type(event) is Tick:
            self._decide()
        else:
            self._handlers[type(event)](event)
        return decisions

    def submit(
        self, at_s: float, job: Job, locations: Locations, *, alike: bool, is_last: bool
    ) -> Decisions:
        """Do what `decide` does for JobSubmitted."""
        decisions = self._begin(at_s)
        self.jobs.take(job, locations, alike=alike, is_last=is_last)
        return decisions

    def finish_attempt(
        self, attempt: Attempt, at_s: float, finished_at_s: float, shuffled_at_s: float
    ) -> Decisions:
        """Do what `decide` does for TaskFinished; shuffled_at_s: NaN for nothing fetched."""
        decisions = self._begin(at_s)
        if attempt.has_ended:
            self._ignore(attempt.key)
        else:
            if shuffled_at_s == shuffled_at_s:  # noqa: PLR0124  # a number; math.isnan is a call
                attempt.shuffled_at_s = shuffled_at_s
            self._finish(attempt, finished_at_s)
        return decisions

    def report_progress(self, attempts: list[Attempt], at_s: float) -> None:
        """Do what `decide` does for TaskProgress, for attempts that know their progress already."""
        self.events += len(attempts)
        self.pass_time(at_s)
        self.state.note_progress(attempts)

    def complete_instant(self, at_s: float) -> Decisions:
        """Do what `decide` does for Tick."""
        self._begin(at_s)
        self._decide()
        return self._decisions

    def _begin(self, at_s: float) -> Decisions:
        """Count an event; returns where its decisions are added."""
        self.events += 1
        decisions, state = self._decisions, self.state
        decisions.wake_at_s = math.inf
        if decisions.first is not None:
            decisions.clear()  # the driver has carried them out
        if at_s > state.now_s:  # noqa: PLR1730  # as in `pass_time`
            state.now_s = at_s
        return decisions

    def pass_time(self, at_s: float) -> None:
        """Set the clock to `at_s` without an event, for questions about that instant."""
        # The clock never runs backwards, even if an event arrives late.
        if at_s > self.state.now_s:  # noqa: PLR1730  # max() takes three times as long
            self.state.now_s = at_s

    # --- facts ------------------------------------------------------------------------------

    def _on_submitted(self, event: ev.JobSubmitted) -> None:
        _, job, locations, alike, is_last = event
        self.jobs.take(job, locations, alike=alike, is_last=is_last)

    def _on_job_killed(self, event: ev.JobKilled) -> None:
        entry = self.state.jobs.get(event.job_id)
        if entry is None or entry.has_ended:
            self.state.ignored["job unknown or ended"] += 1
            return
        if event.reason:
            entry.reason = event.reason
        self._end_job(entry, JobInput.KILLED)

    def _on_job_withdrawn(self, event: ev.JobWithdrawn) -> None:
        entry = self.state.jobs.get(event.job_id)
        if entry is None or not entry.is_unstarted:
            self.state.ignored["job unknown, started or ended"] += 1
            return
        self.jobs.withdraw(entry)

    def _on_joined(self, event: ev.NodeJoined) -> None:
        known = self.state.nodes.get(event.node.node_id)
        if known is not None and known.is_up:
            self.state.ignored["node already up"] += 1
            node_faults.recover(known)
            return
        self.rented.joined(self.state.add_node(event.node), known)

    def _on_queues_changed(self, event: ev.QueuesChanged) -> None:
        for pool in event.pools:
            entry = self.state.pool_entry(pool.pool_id, pool)
            entry.pool, entry.is_declared = pool, True
        self._tasks.queues_changed(self.state)

    def _on_lost(self, event: ev.NodeLost) -> None:
        node = self.state.nodes.get(event.node_id)
        if node is None or not node.is_up:
            self.state.ignored["node unknown or gone"] += 1
            return
        self.state.remove_node(node)
        self.resting.pop(node, None)
        self.rented.lost(node)
        detail = event.reason or f"node {node.node_id} was lost"
        for attempt in [a for a in self.state.running.values() if a.node is node]:
            self.state.close(attempt, AttemptInput.NODE_LOST, event.at_s, detail)
            self.state.run_again(attempt)
        done = node.done
        node.forget_done()
        for row in done:
            undo(self.state, row, f"its output was lost later, with node {node.node_id}")

    def _on_started(self, event: ev.TaskStarted) -> None:
        attempt = self._find(event.key)
        if attempt is None:
            return
        after = ATTEMPT_TRANSITIONS[AttemptInput.STARTED].get(attempt.state)
        if after is None:
            self.state.ignored["start late or repeated"] += 1
            return
        attempt.state = after
        # A busy driver reads the start late, sometimes together with the end. Clocks may differ.
        began_at_s = event.at_s if event.started_at_s is None else event.started_at_s
        attempt.started_at_s = max(attempt.started_at_s, min(began_at_s, event.at_s))

    def _on_progress(self, event: ev.TaskProgress) -> None:
        attempt = self._find(event.key)
        if attempt is not None:
            if event.shuffled_at_s is not None:
                attempt.shuffled_at_s = event.shuffled_at_s
            attempt.progress, attempt.progress_at_s = event.fraction, event.at_s
            self.state.note_progress([attempt])

    def _on_finished(self, event: ev.TaskFinished) -> None:
        attempt = self._find(event.key)
        if attempt is None:
            return
        if event.shuffled_at_s is not None:
            attempt.shuffled_at_s = event.shuffled_at_s
        if event.usage is not None:
            attempt.usage, attempt.outputs = event.usage, event.outputs
        self._finish(attempt, event.finished_at_s)

    def _finish(self, attempt: Attempt, finished_at_s: float) -> None:
        self.state.finish(attempt, finished_at_s)
        if attempt.node.faults and not attempt.node.is_set_aside:
            node_faults.recover(attempt.node)
        phase = attempt.phase
        if phase.repeats is not None and not attempt.is_moot:
            self._settle_copies(attempt, phase.repeats.copies)
        if phase.done == phase.tasks and not (phase.job.phases_left or phase.job.has_ended):
            self._end_job(phase.job, _ALL_DONE)

    def _on_failed(self, event: ev.TaskFailed) -> None:
        attempt = self._find(event.key)
        if attempt is None:
            return
        if event.usage is not None:
            attempt.usage = event.usage
        was = _FAILED_AS.get(event.kind, AttemptInput.FAILED)
        self.state.close(attempt, was, event.finished_at_s, event.detail)
        if attempt.node.is_up and event.kind is ev.FailureKind.NODE_FAULT:
            node_faults.record_fault(attempt.node, self.state.now_s, event.detail, self.rules)
            self.resting[attempt.node] = None
        if attempt.is_moot:
            return
        reason = gives_up(self.state, self.rules, attempt, event)
        if reason:
            attempt.phase.job.reason = reason
            self._end_job(attempt.phase.job, JobInput.TASK_GAVE_UP)
        else:
            self.state.run_again(attempt)

    def _wake_rested(self) -> None:
        """Forget the nodes that have rested, and ask to be woken when the next one has."""
        if self.resting:
            wake_at_s = node_faults.drop_rested(self.resting, self.state.now_s)
            if wake_at_s is not None:
                self._decisions.add(Wake(wake_at_s))

    def _find(self, key: AttemptKey) -> Attempt | None:
        attempt = self.state.running.get(key)
        if attempt is None:
            self._ignore(key)
        return attempt

    def _ignore(self, key: AttemptKey) -> None:
        """Count a message about an attempt that does not run (any more)."""
        self.state.ignored[why_stray(key, self.state.jobs)] += 1

    def _settle_copies(self, winner: Attempt, copies: dict[int, list[Attempt]]) -> None:
        """The first attempt to finish wins: its copies are killed, and their outcome is ignored."""
        for twin in [one for one in copies.pop(winner.task, ()) if one is not winner]:
            twin.is_moot = True
            self._ask_kill(twin, _TWIN_FINISHED)

    def _end_job(self, entry: JobEntry, was: JobInput) -> None:
        self.state.end_job(entry, was)
        if was is not _ALL_DONE:
            for attempt in [a for a in self.state.running.values() if a.phase.job is entry]:
                attempt.is_moot = True
                self._ask_kill(attempt, _JOB_ENDED)

    # --- decisions --------------------------------------------------------------------------

    def _decide(self) -> None:
        """The instant is complete."""
        state = self.state
        if state.waiting or state.deferred:
            self.jobs.decide()
        self.rented.decide()
        if self._by_heartbeat:
            return
        if self._may_kill:
            self._decide_kills()
        wants_offer = self._wants_offer()
        if not (state.startable or wants_offer):
            return
        if self.resting:
            self._wake_rested()
        self._offer_nodes(wants_offer=wants_offer, all_rested=not self.resting)
        # What has just started may need another look, although nothing ran before.
        if not (state.startable or self._wants_offer()):
            return  # no task waits, so no wake-up is needed
        wake_at_s = self._tasks.wake_at_s(state, state.now_s)
        if wake_at_s is not None:
            self._decisions.wake_at_s = wake_at_s

    def _wants_offer(self) -> bool:
        """Whether the task policy may act although no task waits to start."""
        return self._may_want_offer and self._tasks.wants_offer(self.state)

    def _offer_nodes(self, *, wants_offer: bool, all_rested: bool) -> None:
        """Offer the nodes with room, until no task waits. all_rested: none of them rests."""
        state = self.state
        # By ascending index, so that equal inputs give equal placements.
        index = self._tasks.next_node(0, state)
        while index >= 0:
            node = state.node_at[index]
            if all_rested or node not in self.resting:
                self._offer(node)
            if not (state.startable or wants_offer):
                break
            index += 1
            index = -1 if index == len(state.node_at) else self._tasks.next_node(index, state)

    def _on_heartbeat(self, event: ev.NodeHeartbeat) -> None:
        node = self.state.nodes.get(event.node_id)
        if node is None or not node.is_up:
            self.state.ignored["node unknown or gone"] += 1
            return
        self.jobs.decide()
        self.rented.decide()
        if self._may_kill:
            self._decide_kills()
        self._wake_rested()
        if node not in self.resting:
            self._offer(node)

    def _decide_kills(self) -> None:
        kills = self._tasks.kills(self.state, self.state.now_s)
        if kills:  # not the empty tuple, which most policies answer
            for key, reason in kills:
                attempt = self.state.running.get(key)
                if attempt is None:
                    raise WrongDecision(f"attempt {key} was to be killed but does not run")
                self._ask_kill(attempt, reason)
        wall_s = self._wall_s
        if wall_s is None:
            return
        found, look_at_s = overruns(self.state.running.values(), self.state.now_s, wall_s)
        for attempt in found:
            self._ask_kill(attempt, overrun_reason(wall_s))
        if look_at_s is not None:
            self._decisions.add(Wake(look_at_s))

    def _ask_kill(self, attempt: Attempt, reason: Reason) -> None:
        if attempt.state is not _KILLING:
            attempt.state = _KILLING
            attempt.kill_reason = reason
            self.state.running.expect(attempt)
            self._decisions.add(Kill(attempt.key, reason))

    def _offer(self, node: NodeEntry) -> None:
        """Let the task policy fill the node; an answer takes effect before the next is read."""
        offer = self._node_offer
        if offer is None:
            offer = self._node_offer = Offer(node, self.state, self.state.now_s, self._decisions)
        else:
            offer.node, offer.now_s = node, self.state.now_s
        self._tasks.fill(offer)
