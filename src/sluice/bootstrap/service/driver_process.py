"""The process that decides and runs: `python -m sluice.bootstrap.service.driver_process`.

It continues the newest segment of the service's journal, or one that was just made. Users reach it
by `driver.sock`; it knows no network, no page and no question but its own state.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from sluice.bootstrap.engines.kinds import EngineWork
from sluice.bootstrap.engines.registry import engine_kind
from sluice.bootstrap.service.activation import activation_of
from sluice.bootstrap.service.begun_segments import next_folder, with_kept_queues
from sluice.bootstrap.service.changes import WantedChange, is_too_late
from sluice.bootstrap.service.conditions import conditions_of, full_disk
from sluice.bootstrap.service.config import segment_config
from sluice.bootstrap.service.intake import QueuedIntake, UnknownJob, Waiting, WantedCordon
from sluice.bootstrap.service.messages import Message, MessageServer, ask, say
from sluice.bootstrap.service.received import Received
from sluice.bootstrap.service.reception import Reception
from sluice.core.events import JobsForgotten
from sluice.core.record.codec import encode
from sluice.engines.driver import Driver
from sluice.engines.interruption import RunInterrupted
from sluice.engines.job_runner import JobRunner
from sluice.engines.live_settings import LiveSettings
from sluice.engines.mapreduce.layout import PreparedJob
from sluice.engines.progress import Unwatched
from sluice.engines.run_clock import RunClock
from sluice.engines.segments import SegmentLimits, SegmentOpening
from sluice.engines.settings import TaskLimitSettings
from sluice.model.errors import EngineUnavailable, InvalidInput, SluiceError
from sluice.model.ids import JobId
from sluice.store.database import StoreUnavailable
from sluice.store.journal import Journal
from sluice.store.private import make_private_folder
from sluice.store.rows import Entry, EntryKind, RunHeader, entries, header_and_end, opening_row
from sluice.store.run_lock import RunLock
from sluice.store.runs import Runs
from sluice.store.service.places import ServicePlace
from sluice.store.service.segments import chain_of, drop_old_segments, origin_of
from sluice.store.service.submissions import JobChange, SubmittedJob, SubmittedWorkload

Rows = Sequence[Mapping[str, Any]]

_SCRATCH = "scratch"
_DAY_S = 86400.0
_NO_PROMISE = "accepted_without_promise"
_FORGOTTEN_AT_ONCE = 1000
_FORGOTTEN = encode(JobsForgotten(0.0, ())).partition(",")[0]  # how a row with it begins


class DriverProcess:
    """The driver of one segment, and what users reach of it."""

    def __init__(self, place: ServicePlace, segment: Path, before: Sequence[Path]) -> None:
        self._place = place
        self._header, _ = header_and_end(segment)
        config = segment_config(segment, self._header)
        chain = chain_of(segment)
        origin = origin_of(chain[0])
        self._scratch = origin / _SCRATCH  # attempts that run on know it by this name
        line = opening_row(segment)
        opening = None if line is None else SegmentOpening.of(line)
        self._kind = engine_kind(config.options.engine)
        workload = self._kind.with_nodes(config.workload, config.options)
        self._config = config = replace(config, workload=workload)
        self._journal = Journal.reopened(segment, say)
        self._first_lock = RunLock(origin) if origin != segment else None
        self._runner = JobRunner((), self._scratch)
        self._runner.reserve_by(Runs(place.folder.parent).locked_outputs(()))
        self._scheduler = config.scheduler(None if opening is None else opening.scheduler)
        self._intake = QueuedIntake(self._scheduler.state, self._runner, place, config)
        if opening is None:
            self._remember_before(before)
        else:
            self._runner.add(map(self._restored, self._intake.restored(opening.users)))
        self._remember(self._journal.read())
        self._present = with_kept_queues(config, place)
        self._activating = Lock()
        self._reception = Reception(self._present, self._intake.last_number + 1)
        known = {job.job_id for job in self._runner.jobs}
        for job_id in set(place.kept_environments()) - known:
            place.drop_environment(job_id)  # of a submission that was never acknowledged

    def run(self) -> None:
        """Run until SIGTERM. Raises what `Driver.run` raises."""
        config, clock, scratch = self._config, RunClock(), self._scratch
        make_private_folder(scratch)
        limits = config.settings.of(TaskLimitSettings)
        opening = self._kind.at_work(
            EngineWork(
                options=config.options,
                settings=config.settings,
                cluster=config.cluster,
                runner=self._runner,
                scratch=scratch,
                epoch=self._journal.epoch,
                clock=clock.now_s,
                vm_start_s=self._scheduler.policies.pools.start_s,
            )
        )
        try:
            with opening as engine:
                MessageServer(self._place.driver_socket, self._answer).start()
                Driver(
                    engine=engine,
                    scheduler=self._scheduler,
                    journal=self._journal,
                    source=self._runner,
                    jobs=self._runner.jobs,
                    clock=clock,
                    watcher=_Log(),
                    settings=LiveSettings(
                        limits=limits.limits(),
                        nodes=tuple(node.node_id for node in config.cluster.nodes),
                        nodes_s=self._kind.nodes_s,
                        reattach_s=limits.reattach_s,
                        forget_s=config.forget_s,
                        segments=SegmentLimits(rows=config.segment_rows, age_s=config.segment_s),
                    ),
                    intake=self._intake,
                    segments=self,
                ).run()
        finally:
            self._journal.close()
            if self._first_lock is not None:
                self._first_lock.release()

    # --- what a new segment begins with ------------------------------------------------------

    def saved(self, unsettled: Collection[JobId]) -> Mapping[str, Any]:
        """See `SegmentSource`."""
        saved, records = self._intake.saved(unsettled), self._runner.records()
        for each in saved["jobs"]:
            submitted = each["submitted"]
            each["submitted"] = submitted | {"prepared": records[submitted["job"]["job_id"]]}
        return saved

    def next(self) -> tuple[Path, RunHeader]:
        """See `SegmentSource`. First, old segments make room."""
        now_s = time.time()
        try:
            drop_old_segments(self._place.journal, now_s - self._config.keep_days * _DAY_S)
        except SluiceError as error:
            say(f"old segments of the journal stay: {error}")
        activated = self._intake.activated
        present = self._present if activated is None else activated.config
        changed = activated is not None or self._present is not self._config
        rows = present.document["queues"] if changed else None
        folder = next_folder(self._place, present, rows)
        started_at = datetime.fromtimestamp(now_s, UTC).isoformat(timespec="milliseconds")
        after = self._journal.folder.name
        return folder, replace(self._header, after=after, started_at=started_at)

    # --- what the journal has of users ---------------------------------------------------------

    def _remember_before(self, segments: Sequence[Path]) -> None:
        """Know what users did in earlier segments, all of whose jobs have ended."""
        opening = opening_row(segments[0]) if segments else None
        if opening is not None:  # those before it were removed
            over = self._intake.restored(SegmentOpening.of(opening).users)
            self._intake.forget([each.job_id for each in over])
        for folder in segments:
            self._remember_over(entries(folder))

    def _remember_over(self, rows: Iterable[Entry]) -> None:
        """Submissions of an earlier segment, whose jobs have ended."""
        over: list[JobId] = []
        for row in rows:
            if row.kind is EntryKind.SUBMITTED:
                over += self._submitted(row)
            if len(over) >= _FORGOTTEN_AT_ONCE:
                self._intake.forget(over)
                over.clear()
        self._intake.forget(over)

    def _remember(self, rows: Iterable[Entry]) -> None:
        """Submissions of this segment. What its jobs run is not kept of those it has forgotten."""
        for row in rows:
            if row.kind is EntryKind.SUBMITTED:
                self._runner.add(self._restored(each) for each in self._submitted(row).values())
            elif row.kind is EntryKind.CHANGED:
                self._intake.change(JobChange.of(row.payload))
            elif row.kind is EntryKind.LAID_OUT:
                self._runner.lay_out_again(*row.prepared())
            elif row.kind is EntryKind.EVENT and row.payload.startswith(_FORGOTTEN):
                event = row.event()
                assert isinstance(event, JobsForgotten)
                self._runner.forget(event.job_ids)
                self._intake.forget(event.job_ids)

    def _submitted(self, row: Entry) -> dict[JobId, SubmittedJob]:
        workload = SubmittedWorkload.of(row.payload)
        self._intake.remember(workload)
        return {each.job_id: each for each in workload.jobs}

    def _restored(self, each: SubmittedJob) -> PreparedJob:
        prepared = PreparedJob.from_json(each.job, each.prepared)
        return replace(prepared, env=tuple(self._place.environment(each.job_id).items()))

    # --- threads of users ---------------------------------------------------------------------

    def _answer(self, message: Message) -> Message:
        answers: dict[object, Callable[[Message], Message]] = {
            "submit": self._submit,
            "quote": self._quote,
            "change": self._change,
            "kill": self._kill,
            "cordon": self._cordon,
            "activate": self._activate,
            "status": self._status,
        }
        answer = answers.get(message["do"])
        if answer is None:
            raise InvalidInput(
                f"unknown request {message['do']!r:.40}", where="message", hint="use this release"
            )
        return answer(message)

    def _kill(self, message: Message) -> Message:
        reason, job_id = str(message.get("reason") or "killed by its user"), message["job_id"]
        try:
            return self._intake.put(Waiting(job_id=JobId(job_id), reason=reason))
        except UnknownJob:
            return {"job_id": job_id, "state": self._state_of_forgotten(job_id), "was_over": True}

    def _cordon(self, message: Message) -> Message:
        return self._intake.put(Waiting(cordon=WantedCordon.of(message)))

    def _submit(self, message: Message) -> Message:
        received = self._reception.receive(message)
        return self._intake.put(Waiting(received=received, promises=self._promises(received)))

    def _change(self, message: Message) -> Message:
        wanted, job_id = WantedChange.of(message, self._reception.check), message["job_id"]
        try:
            return self._intake.put(Waiting(job_id=JobId(job_id), change=wanted.made_on))
        except UnknownJob:
            raise is_too_late(self._state_of_forgotten(job_id)) from None

    def _state_of_forgotten(self, job_id: str) -> str:
        """The state in which a job ended. Raises InvalidInput for one that was never there."""
        message = {"do": "job", "job_id": job_id}
        found = ask(self._place.follower_socket, message, timeout_s=self._config.promise_wait_s)
        return str(found["state"])

    def _activate(self, message: Message) -> Message:
        with self._activating:
            wanted = activation_of(self._present, self._scheduler.policies.tasks, message)
            answer = self._intake.put(Waiting(activation=wanted))
            # A crash before this line leaves them to the journal of the present segment.
            self._place.keep_queues(wanted.record)
            self._present = wanted.config
            self._reception.take_up(wanted.config)
        return answer

    def _quote(self, message: Message) -> Message:
        """Return what would be promised; nothing is kept of it."""
        received = self._reception.receive(message)
        promises = self._promises(received)
        pairs = zip(received.names, promises, strict=True)
        no_ids = {"job_id": None, "promise_id": None}  # given with the submission
        jobs = [{**each, **no_ids, "name": name} for name, each in pairs]
        return {"jobs": jobs, "notes": list(received.notes)}

    def _promises(self, received: Received) -> list[Mapping[str, Any]]:
        """The promise of each job, from the follower; without one if it cannot say in time."""
        if received.held_by:
            why = f"{received.held_by} holds it, and its end depends on when that ends"
            return [{"decision": _NO_PROMISE, "why_not": why} for _ in received.prepared]
        wait_s = self._config.promise_wait_s
        try:
            answer = ask(
                self._place.follower_socket,
                {"do": "promise", "workload": draft_of(received).line()},
                timeout_s=wait_s,
            )
        except SluiceError as error:
            why = f"no forecast was ready within {wait_s:g} s (service.promise_wait_s)"
            if not isinstance(error, EngineUnavailable):
                why = f"no forecast could be made: {error}"
            return [{"decision": _NO_PROMISE, "why_not": why} for _ in received.prepared]
        promises: list[Mapping[str, Any]] = answer["promises"]
        return promises

    def _status(self, _: Message) -> Message:
        state = self._scheduler.state
        return {
            "pid": os.getpid(),
            "segment": self._journal.folder.name,
            "epoch": self._journal.epoch,
            "nodes_up": sum(node.is_up for node in list(state.nodes.values())),
            "jobs_running": len(state.active),
            "jobs_waiting": len(state.waiting) + len(state.deferred),
            "tasks_running": len(state.running),
            "conditions": conditions_of(
                state, self._intake.paused, full_disk(self._place, self._config.disk_percent_max)
            ),
        }


def draft_of(received: Received) -> SubmittedWorkload:
    """The submission before it has a promise and an instant."""
    return SubmittedWorkload(
        tenant=received.tenant,
        key=received.key,
        digest=received.digest,
        made_at_s=time.time(),
        at_s=0.0,
        jobs=tuple(
            SubmittedJob(job=job, name=name, prepared={}, promise={})
            for job, name in zip(received.jobs, received.names, strict=True)
        ),
    )


class _Log(Unwatched):
    """Messages of the driver go to the log of the service."""

    def on_message(self, message: str) -> None:
        say(message)


def main() -> int:
    """Drive the newest segment. Returns the exit status of the process."""
    place = ServicePlace()
    segments = place.segments()
    try:
        DriverProcess(place, segments[-1], segments[:-1]).run()
    except RunInterrupted:
        return 0
    except SluiceError as error:
        say(f"error: {error}")
        # What the machine lacks may be there at the next start; what is wrong stays wrong.
        return 3 if isinstance(error, EngineUnavailable | StoreUnavailable) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
