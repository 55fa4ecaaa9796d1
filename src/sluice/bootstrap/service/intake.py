"""The requests of all users on their way from the threads that receive them to the driver.

A request waits until the driver's thread takes it, writes what it changes to the journal, and only
then answers: what was acknowledged survives a crash. While the disk is full, no request is taken.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from threading import Event as Signal
from typing import Any

from sluice.bootstrap.service.activation import Activation
from sluice.bootstrap.service.changes import is_too_late
from sluice.bootstrap.service.conditions import Paused, full_disk
from sluice.bootstrap.service.config import ServiceConfig
from sluice.bootstrap.service.kept_answers import KEYS_S, KeptAnswer, answer_of
from sluice.bootstrap.service.open_jobs import OpenRecord
from sluice.bootstrap.service.promises import stamped
from sluice.bootstrap.service.quotas import QuotaUse, SpentDay, check_quota, expected_usd, use_of
from sluice.bootstrap.service.received import Received
from sluice.core.state import ClusterState
from sluice.engines.base import Engine, Wakeable
from sluice.engines.intake import Change, Cordon, Kill, QueueChange, Request, Submission
from sluice.engines.job_runner import JobRunner
from sluice.engines.mapreduce.layout import PreparedJob
from sluice.model.errors import EngineUnavailable, InvalidInput, SluiceError
from sluice.model.ids import JobId, NodeId
from sluice.store.database import StoreFull
from sluice.store.service.places import ServicePlace
from sluice.store.service.submissions import JobChange, SubmittedJob, SubmittedWorkload

ACKNOWLEDGE_S_MAX = 60.0
_NODES_NAMED = 10
_REASON_MAX = 200

Answer = dict[str, Any]
Changing = Callable[[SubmittedJob, float], JobChange]  # at this instant of the clock


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCordon:
    """A node that an operator wants no more work on, or wants it on again; and why."""

    node_id: NodeId
    is_cordoned: bool
    reason: str

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> WantedCordon:
        """Read a message with `node_id`, `cordoned`, `reason` and `by`."""
        reason = str(message.get("reason") or f"cordoned by {message['by']}")[:_REASON_MAX]
        is_cordoned = bool(message["cordoned"])
        return cls(
            node_id=NodeId(str(message["node_id"])),
            is_cordoned=is_cordoned,
            reason=reason if is_cordoned else "",
        )


@dataclass(eq=False, kw_only=True)
class Waiting:
    """A request of a user who waits. The driver's thread sets one of answer and error.

    change: makes the new values of the job of `job_id`, on the driver's thread.  cordon: of a node.
    activation: of other queues.
    """

    change: Changing | None = None
    cordon: WantedCordon | None = None
    activation: Activation | None = None
    received: Received | None = None
    promises: Sequence[Mapping[str, Any]] = ()
    job_id: JobId | None = None
    reason: str = ""
    answer: Answer = field(default_factory=dict)
    error: SluiceError | None = None
    is_done: Signal = field(default_factory=Signal)

    def result(self) -> Answer:
        """The answer, once it is durable. Raises the error of the driver; EngineUnavailable."""
        if not self.is_done.wait(ACKNOWLEDGE_S_MAX):
            raise EngineUnavailable("the driver of the service does not answer; ask again later")
        if self.error is not None:
            raise self.error
        return self.answer


class QueuedIntake:
    """An `Intake` that threads put requests into.

    state: the driver's, which only its thread reads.
    """

    def __init__(
        self, state: ClusterState, runner: JobRunner, place: ServicePlace, config: ServiceConfig
    ) -> None:
        self._state = state
        self._runner = runner
        self._place = place
        self._open_jobs_max = config.open_jobs_max
        self._disk_percent_max = config.disk_percent_max
        self._queue: deque[Waiting] = deque()
        self.paused: Paused | None = None
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._by_key: dict[tuple[str, str], KeptAnswer] = {}  # in the order of submission
        self._jobs: dict[JobId, str] = {}  # the output of each job that is not forgotten
        self._submitted: dict[JobId, SubmittedJob] = {}  # without what is large
        self._records: dict[JobId, OpenRecord] = {}
        self.last_number = 0  # the highest of a job
        self.activated: Activation | None = None  # the last
        self._costs: dict[JobId, tuple[str, float, float]] = {}  # tenant, US dollars, made at
        self._spent = SpentDay()  # by jobs that are forgotten

    def saved(self, unsettled: Collection[JobId]) -> dict[str, Any]:
        """Return all that it remembers, as plain JSON, for an opening; see `restored`.

        unsettled: jobs that may be over, and that the driver has still to do with.
        """
        kept = [one for one in self._jobs if one in unsettled or self._is_open(one)]
        return {
            "last_number": self.last_number,
            "jobs": [
                {
                    "output": self._jobs[job_id],
                    "submitted": self._submitted[job_id].plain(),
                    **self._records[job_id].plain(),
                }
                for job_id in kept
            ],
            "costs": [(job_id, *cost) for job_id, cost in self._costs.items()],
            "spent": self._spent.plain(),
            "keys": [(*key, *kept.plain()) for key, kept in self._by_key.items()],
        }

    def restored(self, saved: Mapping[str, Any]) -> list[SubmittedJob]:
        """Remember it again; returns the jobs. Those that were over then are not known any more."""
        self.last_number = saved["last_number"]
        jobs = [SubmittedJob.of(each["submitted"]) for each in saved["jobs"]]
        for each, submitted in zip(saved["jobs"], jobs, strict=True):
            self._jobs[submitted.job_id] = each["output"]
            self._submitted[submitted.job_id] = replace(submitted, prepared={})
            self._records[submitted.job_id] = OpenRecord.of_plain(each)
        self._costs = {job_id: (tenant, usd, at_s) for job_id, tenant, usd, at_s in saved["costs"]}
        self._spent = SpentDay(saved.get("spent", ()))
        self._by_key = {
            (tenant, key): KeptAnswer.of_plain(*kept) for tenant, key, *kept in saved["keys"]
        }
        return jobs

    def remember(self, workload: SubmittedWorkload) -> None:
        """Users have submitted these jobs, now or as the journal has it."""
        if workload.key is not None and time.time() - workload.made_at_s < KEYS_S:
            self._by_key[workload.tenant, workload.key] = KeptAnswer.of(workload)
        for each in workload.jobs:
            self.last_number = max(self.last_number, int(each.job_id.rpartition("-")[2]))
            self._jobs[each.job_id] = str(each.prepared["output"])
            self._submitted[each.job_id] = replace(each, prepared={}, promise={})
            self._records[each.job_id] = OpenRecord.of(each, workload)
            usd = expected_usd(each.promise)
            self._costs[each.job_id] = (workload.tenant, usd, workload.made_at_s)

    def change(self, made: JobChange) -> SubmittedJob:
        """A user has changed a job, now or as the journal has it. Returns the job as it is now."""
        known = made.applied_to(self._submitted[made.job.job_id])
        self._submitted[known.job_id] = known
        self._records[known.job_id].changes.append(made.line())
        self._runner.change(made.job)
        return known

    def forget(self, job_ids: Iterable[JobId]) -> None:
        for job_id in job_ids:
            self._jobs.pop(job_id, None)
            self._submitted.pop(job_id, None)
            self._records.pop(job_id, None)
        now_s = time.time()
        for job_id in [one for one in self._costs if one not in self._jobs]:
            self._spent.add(*self._costs.pop(job_id))
        self._spent.forget(now_s)
        for key in list(takewhile(lambda key: self._by_key[key].is_old(now_s), self._by_key)):
            del self._by_key[key]

    @property
    def held(self) -> list[JobId]:
        """The jobs that their users hold."""
        return [job_id for job_id, each in self._submitted.items() if each.held_by]

    # --- threads of users ---------------------------------------------------------------------

    def put(self, waiting: Waiting) -> Answer:
        """The answer to a request, once it is durable.

        Raises InvalidInput, EngineUnavailable; StoreFull while nothing can be journaled.
        """
        if (paused := self.paused) is not None:
            raise StoreFull(paused.why)
        self._queue.append(waiting)
        os.write(self._writer, b".")
        return waiting.result()

    # --- the driver's thread ------------------------------------------------------------------

    def wake(self, engine: Engine) -> None:
        self._runner.reserve_again(filter(self._is_open, self._jobs))
        if isinstance(engine, Wakeable):
            engine.wake_by(self._reader, self._drain)

    def _drain(self) -> None:
        os.read(self._reader, 4096)

    def pause(self, why: str) -> None:
        self.paused = Paused(why=why, since_s=time.time())
        while self._queue:
            waiting = self._queue.popleft()
            waiting.error = StoreFull(why)
            waiting.is_done.set()

    def resume(self) -> None:
        self.paused = None

    def take(self, now_s: float) -> Sequence[Request]:
        requests: list[Request] = []
        while self._queue:
            waiting = self._queue.popleft()
            try:
                requests += self._request(waiting, now_s)
            except SluiceError as error:
                waiting.error = error
                waiting.is_done.set()
        return requests

    def _request(self, waiting: Waiting, now_s: float) -> list[Request]:
        if waiting.change is not None:
            return self._change(waiting, waiting.change, now_s)
        if waiting.cordon is not None:
            return self._cordon(waiting, waiting.cordon)
        if waiting.activation is not None:
            return self._activate(waiting, waiting.activation)
        if waiting.received is None:
            return self._kill(waiting)
        received = waiting.received
        before = self._by_key.get((received.tenant, received.key or ""))
        if before is not None:
            waiting.answer = before.repeated(received.digest)
            waiting.is_done.set()
            return []
        self._check_room(received)
        if received.quota:
            check_quota(received, waiting.promises, self._of_tenant(received.tenant))
        self._runner.reserve(received.prepared)
        for each in received.prepared:
            if each.env:
                self._place.keep_environment(each.job.job_id, dict(each.env))
        prepared = [_from(each, now_s) for each in received.prepared]
        made_at_s = time.time()
        workload = SubmittedWorkload(
            tenant=received.tenant,
            key=received.key,
            digest=received.digest,
            made_at_s=made_at_s,
            at_s=now_s,
            jobs=tuple(
                SubmittedJob(
                    job=each.job,
                    name=name,
                    prepared=each.to_json(),
                    promise=stamped(promise, made_at_s),
                    user=received.user,
                    labels=received.labels,
                    held_by=received.held_by,
                )
                for each, name, promise in zip(
                    prepared, received.names, waiting.promises, strict=True
                )
            ),
        )
        self._runner.add(prepared)
        self.remember(workload)
        waiting.answer = answer_of(workload) | {"notes": list(received.notes)}
        return [
            Submission(
                jobs=[each.job for each in prepared],
                record=workload.line(),
                acknowledge=waiting.is_done.set,
                held=[each.job_id for each in workload.jobs if each.held_by],
            )
        ]

    def _change(self, waiting: Waiting, change: Changing, now_s: float) -> list[Request]:
        job_id = waiting.job_id
        if job_id is None or job_id not in self._submitted:
            raise _unknown(job_id)
        entry = self._state.jobs.get(job_id)
        if entry is not None and not entry.is_unstarted:
            raise is_too_late(entry.state.value)
        made = change(self._submitted[job_id], now_s)
        known = self.change(made)
        waiting.answer = {"job_id": job_id, "version": known.version}
        return [
            Change(
                job=made.job,
                is_held=bool(known.held_by),
                record=made.line(),
                acknowledge=waiting.is_done.set,
            )
        ]

    def _kill(self, waiting: Waiting) -> list[Request]:
        job_id = waiting.job_id
        if job_id is None or job_id not in self._jobs:
            raise _unknown(job_id)
        entry = self._state.jobs.get(job_id)
        if entry is not None and entry.has_ended:
            waiting.answer = {"job_id": job_id, "state": entry.state.value, "was_over": True}
            waiting.is_done.set()
            return []
        waiting.answer = {"job_id": job_id, "state": "killed", "was_over": False}
        return [Kill(job_id=job_id, reason=waiting.reason, acknowledge=waiting.is_done.set)]

    def _cordon(self, waiting: Waiting, wanted: WantedCordon) -> list[Request]:
        if wanted.node_id not in self._state.nodes:
            raise InvalidInput(
                f"there is no node {wanted.node_id!r:.60}", where="NODE",
                hint="the nodes are " + ", ".join(sorted(self._state.nodes)[:_NODES_NAMED]),
            )  # fmt: skip
        waiting.answer = {"node_id": wanted.node_id, "cordoned": wanted.is_cordoned}
        return [
            Cordon(
                node_id=wanted.node_id,
                is_cordoned=wanted.is_cordoned,
                reason=wanted.reason,
                acknowledge=waiting.is_done.set,
            )
        ]

    def _activate(self, waiting: Waiting, activation: Activation) -> list[Request]:
        activation.check(
            known.job.pool for job_id, known in self._submitted.items() if self._is_open(job_id)
        )
        queues = activation.config.workload.queues
        waiting.answer = {"queues": [str(queue.queue_id) for queue in queues]}
        self.activated = activation
        return [QueueChange(pools=activation.pools, acknowledge=waiting.is_done.set)]

    def _check_room(self, received: Received) -> None:
        """Refuse jobs on a full disk, more than may be open, and an output of an open job."""
        if (full := full_disk(self._place, self._disk_percent_max)) is not None:
            raise StoreFull(full)
        outputs = {output: job_id for job_id, output in self._jobs.items() if self._is_open(job_id)}
        if len(outputs) + len(received.prepared) > self._open_jobs_max:
            raise InvalidInput(
                f"{len(outputs)} jobs are open, and the service takes {self._open_jobs_max}",
                where="submit",
                hint="wait until some have ended, or raise service.open_jobs_max",
            )
        for each, name in zip(received.prepared, received.names, strict=True):
            maker = outputs.get(str(each.staging.output))
            if maker is not None:
                raise InvalidInput(
                    f"output {str(each.staging.output)!r} is also the output of {maker}",
                    where=f"job {name!r}",
                    hint="name another, for example with {job_id} in it, or wait for that job",
                )

    def _of_tenant(self, tenant: str) -> list[QuotaUse]:
        """Return what the jobs of a tenant hold, and the cost of those of the last day."""
        known = [
            use_of(self._state.jobs.get(job_id), self._submitted.get(job_id), usd, made_at_s)
            for job_id, (owner, usd, made_at_s) in self._costs.items()
            if owner == tenant
        ]
        return known + self._spent.uses_of(tenant)

    def _is_open(self, job_id: JobId) -> bool:
        entry = self._state.jobs.get(job_id)
        return job_id in self._jobs and (entry is None or not entry.has_ended)


class UnknownJob(InvalidInput):
    """A job that was never submitted, or is forgotten."""


def _unknown(job_id: JobId | None) -> UnknownJob:
    return UnknownJob(
        f"there is no job {job_id!r:.60}", where="JOB", hint="`sluice jobs` lists them"
    )


def _from(prepared: PreparedJob, now_s: float) -> PreparedJob:
    """The job on the clock of the segment, submitted now."""
    job = prepared.job
    deadline_at_s = None if job.deadline_at_s is None else now_s + job.deadline_at_s
    at_s = now_s + job.submitted_at_s
    return replace(prepared, job=replace(job, submitted_at_s=at_s, deadline_at_s=deadline_at_s))
