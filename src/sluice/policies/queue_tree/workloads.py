"""Queues that admit a job as a whole, as Kueue does.

A job is admitted once the quota of its queue and its cohort has room for all tasks that it runs at
once: its gang, or its largest stage, at most what its queue may ever have. It holds that quota
until it ends, and its tasks start as they are ready. Jobs that stay within the quota of their queue
come before those that borrow, each by submission. Behind a job that has to wait, others of its
queue are tried; not so under StrictFIFO, where a job that fits into its queue's own quota also
keeps later jobs of the cohort from borrowing what it waits for. A queue that takes its quota back
evicts jobs.

Source: Kueue's documents (ClusterQueue: queueing strategy, cohorts, preemption) and its scheduler,
which reserves quota for a pending workload that could preempt (v0.9, `resourcesToReserve`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sluice.core.entries import JobEntry, PhaseEntry
from sluice.core.indexes.ranking import Ranking
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.state import ClusterState
from sluice.model.attempts import AttemptKey
from sluice.model.ids import JobId
from sluice.policies.queue_tree.policy import CapacityQueues
from sluice.policies.queue_tree.queues import TINY, QueueState, is_waiting, next_phase


class WorkloadQueues(CapacityQueues):
    """A tree of which no job starts before all of it is admitted."""

    def attach(self, state: ClusterState) -> None:
        self._held: dict[JobId, tuple[JobEntry, int]] = {}  # admitted jobs and their quota
        self._is_settled = False  # whether no job can be admitted until something changes
        # The jobs that wait, by leaf and need: of such jobs none has room where the first has none.
        self._alike: dict[tuple[str, int], Ranking[JobEntry]] = {}
        self._filed: dict[JobId, Ranking[JobEntry]] = {}
        self._changed: dict[JobEntry, None] = {}
        super().attach(state)

    def saved(self) -> dict[str, object]:
        held = [[str(job_id), need] for job_id, (_, need) in self._held.items()]
        return {**super().saved(), "held": held}

    def restored(self, saved: Mapping[str, Any], state: ClusterState) -> None:
        super().restored(saved, state)
        self._held = {
            JobId(job_id): (state.jobs[JobId(job_id)], need) for job_id, need in saved["held"]
        }
        self._refile()

    def touch(self, phase: PhaseEntry) -> None:
        super().touch(phase)
        job = phase.job
        self._changed[job] = None
        if job.has_ended:
            self._held.pop(job.job_id, None)
        if job.has_ended or job.job_id not in self._held:
            self._is_settled = False

    def _resize(self) -> None:
        super()._resize()
        self._is_settled = False
        self._refile()  # what a job needs depends on what its queue may have

    # --- quota ------------------------------------------------------------------------------------

    def _use(self) -> dict[str, int]:
        """The quota that is held, by queue."""
        found = dict.fromkeys(self._queues, 0)
        for job, need in self._held.values():
            for queue in self._queue_of(job.pool).line():
                found[queue.queue.path] += need
        return found

    def _need(self, job: JobEntry) -> int:
        """Tasks that the job runs at once."""
        most = max((job.job.together(one.phase) for one in job.phases), default=0)
        if most > 1:
            return most
        tasks = max((phase.phase.tasks for phase in job.phases), default=1)
        room = min(queue.limit for queue in self._queue_of(job.pool).line())
        return max(1, min(tasks, int(room + TINY)))

    def _refile(self) -> None:
        """Forget the order of the jobs that wait; it is found again when it is needed."""
        self._alike.clear()
        self._filed.clear()
        for queue in self._queues.values():
            self._changed.update(dict.fromkeys(queue.leaf.waiting.in_order()))

    def _place(self, job: JobEntry) -> tuple[int] | None:
        return (job.release_seq,) if is_waiting(job) and job.job_id not in self._held else None

    def _file(self) -> None:
        """Give the jobs that have changed their places."""
        for job in self._changed:
            filed = self._filed.get(job.job_id)
            if filed is None and not job.has_ended:
                key = (self._queue_of(job.pool).queue.path, self._need(job))
                if key not in self._alike:
                    self._alike[key] = Ranking(self._place)
                filed = self._filed[job.job_id] = self._alike[key]
            if filed is not None:
                filed.touch(job)
            if job.has_ended:
                self._filed.pop(job.job_id, None)
        self._changed.clear()

    def _candidates(self) -> Iterator[tuple[JobEntry, QueueState]]:
        """Yield jobs that may be admitted, by submission: of a strict queue its first one only."""
        blocked: set[str] = set()
        for job, leaf in self._waiting():
            queue = _cluster_queue(leaf).queue
            if queue.path not in blocked:
                yield job, leaf
            if queue.is_strict:
                blocked.add(queue.path)

    def _waiting(self) -> list[tuple[JobEntry, QueueState]]:
        """Jobs that are not admitted, the first of each leaf and need, by submission."""
        self._file()
        found = []
        for (path, _), alike in self._alike.items():
            queue, job = self._queues[path], alike.first()
            if job is not None and not queue.children and queue.limit > 0:
                found.append((job, queue))
        return sorted(found, key=lambda one: one[0].release_seq)

    def _admit_next(self) -> JobEntry | None:
        """Admit the first job that has room."""
        use = self._use()
        turns = []
        for job, leaf in self._candidates():
            queue = _cluster_queue(leaf)
            need = self._need(job)
            borrows = use[queue.queue.path] + need > queue.guarantee + TINY
            turns.append((borrows, job.release_seq, job, leaf, need))
        for _, _, job, leaf, need in sorted(turns, key=lambda one: one[:2]):
            line = list(leaf.line())
            if all(use[one.queue.path] + need <= one.limit + TINY for one in line):
                self._held[job.job_id] = (job, need)
                self._changed[job] = None
                return job
            queue = _cluster_queue(leaf)
            if queue.queue.is_strict and need <= queue.guarantee + TINY:
                for one in line:  # nothing borrows what it waits for
                    use[one.queue.path] += need
        return None

    # --- what is decided --------------------------------------------------------------------------

    def _next(self) -> PhaseEntry | None:
        for job, need in self._held.values():
            phase = _startable(job, need)
            if phase is not None:
                return phase
        while not self._is_settled:
            admitted = self._admit_next()
            self._is_settled = admitted is None
            phase = None if admitted is None else _startable(admitted, self._need(admitted))
            if phase is not None:
                return phase
        return None

    def kills(self, state: ClusterState, now_s: float) -> Iterable[tuple[AttemptKey, Reason]]:
        after_s = self._preempts_after_s
        if after_s is None or not self._queues[next(iter(self._queues))].children:
            return
        self._settle()
        for path, job in self._starving(now_s).items():
            if now_s >= self._starved_from_s[path] + after_s - TINY:
                yield from self._evictions(path, job)

    def _starving(self, now_s: float) -> dict[str, JobEntry]:
        """By queue, a job that fits into its own quota, and waits for what others borrowed."""
        use = self._use()
        found: dict[str, JobEntry] = {}
        for job, leaf in self._candidates():
            queue = _cluster_queue(leaf)
            if use[queue.queue.path] + self._need(job) <= queue.guarantee + TINY:
                found.setdefault(leaf.queue.path, job)
        known = self._starved_from_s
        self._starved_from_s = {path: known.get(path, now_s) for path in found}
        return found

    def _evictions(self, path: str, first: JobEntry) -> Iterator[tuple[AttemptKey, Reason]]:
        """End jobs that borrow so that a job of a queue has room."""
        for job in self._evicted_for(first):
            del self._held[job.job_id]
            self._changed[job] = None
            self._is_settled = False
            leaf = self._queue_of(job.pool)
            for attempt in list(self._running.get(leaf.queue.path, {}).values()):
                if attempt.phase.job is job and attempt.key not in self._to_kill:
                    self._to_kill[attempt.key] = None
                    yield attempt.key, Reason(ReasonCode.PREEMPTED, (("queue", path),))

    def _evicted_for(self, first: JobEntry) -> list[JobEntry]:
        """Jobs that borrow, the last admitted first, without which it has room.

        None where it has no room without all of them either: they would only come back.
        """
        use, need = self._use(), self._need(first)
        line = list(self._queue_of(first.pool).line())
        found: list[JobEntry] = []
        for job, held in reversed(list(self._held.values())):
            if all(use[one.queue.path] + need <= one.limit + TINY for one in line):
                return found
            leaf = self._queue_of(job.pool)
            queue = _cluster_queue(leaf)
            if queue.queue.is_preemptible and use[queue.queue.path] > queue.guarantee + TINY:
                found.append(job)
                for one in leaf.line():
                    use[one.queue.path] -= held
        has_room = all(use[one.queue.path] + need <= one.limit + TINY for one in line)
        return found if has_room else []

    def explain(self, phase: PhaseEntry, state: ClusterState, now_s: float) -> Reason:
        self._settle()
        if phase.job.job_id in self._held:
            return super().explain(phase, state, now_s)
        leaf = self._queue_of(phase.job.pool)
        use, need = self._use(), self._need(phase.job)
        for queue in leaf.line():
            if use[queue.queue.path] + need > queue.limit + TINY:
                held = use[queue.queue.path]
                facts = (
                    ("tasks", need), ("queue", queue.queue.path), ("held", held),
                    ("units", f"{queue.limit:g}"),
                )  # fmt: skip
                return Reason(ReasonCode.NEEDS_QUOTA, facts)
        path = _cluster_queue(leaf).queue.path
        return Reason(ReasonCode.QUOTA_RESERVED, (("tasks", need), ("queue", path)))


def _cluster_queue(leaf: QueueState) -> QueueState:
    """The queue whose quota a leaf uses: itself, or that above a LocalQueue."""
    above = leaf.parent
    return above if above is not None and above.queue.admits_below else leaf


def _startable(job: JobEntry, need: int) -> PhaseEntry | None:
    """The first stage that may start one more task."""
    phase = next_phase(job, may_start_early=False)
    return phase if phase is not None and phase.running < need else None
