"""A copy of the driver's scheduler, made of its journal: it answers without asking the driver.

The same events in the same scheduler give the same state, but for jobs that the driver has
forgotten: users still ask what became of them. Each decision is compared with the one
that the driver has noted, so that a policy that decides at random is found while it runs.
"""

from __future__ import annotations

import gc
import json
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sluice.bootstrap.service.config import segment_config
from sluice.bootstrap.service.kept_answers import KeptPromise
from sluice.bootstrap.service.open_jobs import jobs_of
from sluice.bootstrap.service.readable import KnownJob
from sluice.core.events import Event, QueuesChanged
from sluice.core.garbage_collector import paused_collector
from sluice.engines.driver_state import DriverState
from sluice.engines.recovery import JournalReplay
from sluice.engines.segments import SegmentOpening
from sluice.model.ids import JobId
from sluice.model.queues import inner_queues
from sluice.store.rows import Entry, EntryKind, JournalReader, header_and_end, opening_row
from sluice.store.run_info import silent_s
from sluice.store.service.segments import following, kept_from_s, origin_of
from sluice.store.service.submissions import JobChange, SubmittedJob, SubmittedWorkload

SETTLED_TOGETHER = 100  # jobs that are read at once, at most
OnSettled = Callable[[Mapping[JobId, Sequence[int]]], None]
_PREPARED = ("name", "output")
_QUEUES_CHANGED = '{"is":"QueuesChanged"'  # as the codec writes it: other events are not read twice


class Replica:
    """The scheduler of a segment and of those that go on from it, as far as they were read.

    segment: the first of them. It began with nothing, or those before it are not there any more;
    then jobs that were over when it began are unknown. The fields are those of `Readable`; the
    field `segment` is the folder of the first that there was.
    on_settled: called with some settled jobs, and with the rows that their attempts have in the
    record. After that nothing measured of these attempts is there any more; without it all is kept.
    """

    def __init__(self, segment: Path, on_settled: OnSettled | None = None) -> None:
        self.segment = origin_of(segment)
        self.kept_from_s = kept_from_s(segment)
        self.header, _ = header_and_end(segment)
        self.config = segment_config(segment, self.header)
        line = opening_row(segment)
        opening = None if line is None else SegmentOpening.of(line)
        self.scheduler = self.config.scheduler(None if opening is None else opening.scheduler)
        self.state = self.scheduler.state
        self.driver_state = DriverState(self.scheduler)
        self.jobs: dict[JobId, KnownJob] = {}
        self.submitted: list[JobId] = []
        self._unended: dict[JobId, None] = {}
        self.changes: dict[JobId, list[JobChange]] = {}
        self.settled: dict[JobId, None] = {}
        self.capacity: list[tuple[float, int]] = []
        self._to_come: dict[JobId, tuple[JobId, ...]] = {}
        self.state.to_come = self._to_come
        self._replay = JournalReplay(self.driver_state, forgets=False)
        self._reader = JournalReader(segment)
        self._on_settled = on_settled
        self._unread: list[JobId] = []  # settled jobs that it was not called with
        self._ended: dict[JobId, list[int]] = {}  # rows of the record, until they lose measures
        self._ended_count = 0  # rows of all jobs
        self._rows_before = 0  # in earlier segments
        self.newest = segment  # that is being read
        # Of each submission and each life: the clock of the segment stops while no driver runs.
        self._at_s: list[float] = []
        self._wall_s: list[float] = []
        if opening is not None:
            self._go_on_from(opening)

    def _go_on_from(self, opening: SegmentOpening) -> None:
        """Know the jobs that were not over when the segment began."""
        self.driver_state.restored(opening.driver)
        for known, changes in jobs_of(opening.users):
            self._take_jobs(known.workload, [known.submitted])
            job_id = known.submitted.job_id
            if changes:
                self.changes[job_id] = changes
            if self._has_ended(job_id) and job_id not in self.driver_state.unsettled:
                self.settled[job_id] = None
        self._count_slots()

    @property
    def seq(self) -> int:
        """The journal position that it knows, counted over all segments."""
        return self._rows_before + self._reader.seq

    @property
    def now_s(self) -> float:
        """The present instant on the clock of the segment."""
        return self.state.now_s + silent_s(self.newest)

    def wall_s(self, at_s: float) -> float:
        """The wall clock at an instant of the segment, seconds since 1970.

        Counted from the last submission, or the last start of a driver, before it.
        """
        if not self._at_s:
            return time.time() + at_s - self.now_s
        near = max(0, bisect_right(self._at_s, at_s) - 1)
        return self._wall_s[near] + at_s - self._at_s[near]

    def at_s(self, wall_s: float) -> float:
        """The instant of the segment at a time of the wall clock; the inverse of `wall_s`."""
        if not self._wall_s:
            return self.now_s - (time.time() - wall_s)
        near = max(0, bisect_right(self._wall_s, wall_s) - 1)
        return self._at_s[near] + wall_s - self._wall_s[near]

    @property
    def queues(self) -> list[str]:
        """The queues that jobs can be in, as the file or its newest change has them."""
        inner = inner_queues(self.config.workload.queues)
        pools = [pool.pool_id for pool in self.config.workload.pools]
        return [str(pool_id) for pool_id in pools if pool_id not in inner]

    @property
    def open_jobs(self) -> list[JobId]:
        """The jobs that have not ended, in the order of their submission."""
        for job_id in [one for one in self._unended if self._has_ended(one)]:
            del self._unended[job_id]
        return list(self._unended)

    def _has_ended(self, job_id: JobId) -> bool:
        entry = self.state.jobs.get(job_id)
        return entry is not None and entry.has_ended

    def follow(self, until_s: float = math.inf) -> list[JobId]:
        """Read on; returns the jobs that were settled since. Raises StoreCorrupt.

        until_s: what comes after this instant of the segment is not read.
        """
        before = len(self.settled)
        with paused_collector():
            while self._read_on(until_s):
                pass
            self._read_settled()
        return list(self.settled)[before:]

    def _read_on(self, until_s: float) -> bool:
        """Read what is new in this segment; returns whether another goes on from it."""
        later = following(self.newest)  # first: nothing is added to this one once that is there
        for entry in self._reader.new():
            if until_s < math.inf and _is_after(entry, until_s):
                return False
            self._take(entry)
            if len(self._unread) >= SETTLED_TOGETHER:
                self._read_settled()
        if later is None:
            return False
        self._rows_before += self._reader.seq + 1
        self._reader.close()
        self.newest, self._reader = later, JournalReader(later)
        header, _ = header_and_end(later)
        if header.changed:
            self.config = segment_config(later, header)
        return True

    def _take(self, entry: Entry) -> None:
        if entry.kind is EntryKind.SUBMITTED:
            workload = SubmittedWorkload.of(entry.payload)
            self._take_jobs(workload, workload.jobs)
        elif entry.kind is EntryKind.CHANGED:
            change = JobChange.of(entry.payload)
            known = self.jobs[change.job.job_id]
            after = change.applied_to(known.submitted)
            self.jobs[change.job.job_id] = KnownJob(after, known.workload)
            self.changes.setdefault(change.job.job_id, []).append(change)
        elif entry.kind in _SETTLED:
            self.settled[JobId(entry.payload)] = None
            self._unread.append(JobId(entry.payload))
        elif entry.kind is EntryKind.EPOCH and entry.payload:
            at_s, wall_s = json.loads(entry.payload)
            self._at_s.append(at_s)
            self._wall_s.append(wall_s)
        elif entry.kind is EntryKind.OPENING:
            return  # the rows before have led to it here, too, or the replica began with it
        elif entry.kind is EntryKind.EVENT and entry.payload.startswith(_QUEUES_CHANGED):
            self._take_queues(entry.event())
        changes = self.state.node_changes
        self._replay.take(entry)
        if self.state.node_changes != changes:
            self._count_slots()

    def _read_settled(self) -> None:
        """Let what was measured of settled jobs be read, and let go of it."""
        settled, self._unread = self._unread, []
        if self._on_settled is None:
            return
        log, count = self.state.closed, self._ended_count
        self._ended_count = len(log)
        for row in range(count, self._ended_count):
            phase = log.phase_of(row)
            assert phase is not None, "a replica forgets nothing"
            self._ended.setdefault(phase.job_id, []).append(row)
        if settled:
            self._on_settled({job_id: self._ended.get(job_id, []) for job_id in settled})
            # It leaves garbage in cycles, which is not collected while a journal is read.
            gc.collect(0)
        # Some attempts end after their job.
        for job_id in self.settled.keys() & self._ended.keys():
            log.lighten(self._ended.pop(job_id))

    def _take_jobs(self, workload: SubmittedWorkload, new: Sequence[SubmittedJob]) -> None:
        """Jobs that users have submitted, with or without others of the same workload."""
        self._at_s.append(workload.at_s)
        self._wall_s.append(workload.made_at_s)
        alone = replace(workload, jobs=())
        for submitted in new:
            job_id = submitted.job_id
            # The inputs of each task, which only the driver needs, would fill the memory.
            prepared = {key: one for key, one in submitted.prepared.items() if key in _PREPARED}
            promise = KeptPromise(submitted.promise)
            known = replace(submitted, prepared=prepared, promise=promise)
            self.jobs[job_id] = KnownJob(known, alone)
            self.submitted.append(job_id)
            self._unended[job_id] = None
            self._to_come[job_id] = submitted.job.after

    def _count_slots(self) -> None:
        """Note how many slots there are from now on."""
        self.capacity.append((self.state.now_s, sum(self.state.slots.values())))

    def _take_queues(self, event: Event) -> None:
        """The service has these queues from here on; its file may have others."""
        assert isinstance(event, QueuesChanged)
        workload = replace(self.config.workload, pools=event.pools)
        self.config = replace(self.config, workload=workload)


def _is_after(entry: Entry, at_s: float) -> bool:
    """Whether a row is about a later instant."""
    if entry.kind is EntryKind.SUBMITTED:
        return SubmittedWorkload.of(entry.payload).at_s > at_s
    return entry.kind is EntryKind.EVENT and entry.event().at_s > at_s


class PastReplica(Replica):
    """The scheduler of a segment as it was at an instant of its clock."""

    def __init__(self, segment: Path, at_s: float) -> None:
        super().__init__(segment)
        self._then_s = at_s
        self.follow(at_s)

    @property
    def now_s(self) -> float:
        """The instant that was asked for."""
        return self._then_s


_SETTLED = (EntryKind.COMMITTED, EntryKind.ABORTED)


def replayed_chain(segment: Path) -> Replica:
    """The replica at the end of the journal. segment: the first of its chain."""
    replica = Replica(segment)
    replica.follow()
    return replica
