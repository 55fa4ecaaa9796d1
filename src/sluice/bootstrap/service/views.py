"""The answers of the follower about jobs and queues: rows of plain JSON values.

The fields are those of `GET /v1/jobs` and `GET /v1/queues`. Source: service spec, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sluice.bootstrap.service.causes import Causes, Late, between_s
from sluice.bootstrap.service.futures import Future, instant, interval_of, kept_from
from sluice.bootstrap.service.job_lists import HELD, OPEN_STATES, JobFilter, JobLists
from sluice.bootstrap.service.readable import KnownJob, Readable
from sluice.bootstrap.service.stages import stage_rows
from sluice.core.entries import JobEntry
from sluice.core.explain.names import nearest_of
from sluice.core.explain.why import Why, why
from sluice.core.reasons import Reason, ReasonCode
from sluice.core.transitions import JobState
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.store.service.ended_jobs import NO_INSTANT

_REASON_MAX = 300  # characters of why a job has failed, in a list
OTHER_TENANT = "other tenant"  # instead of the id of its job
Row = dict[str, Any]


class Views:
    """Rows over a replica. futures: the newest forecast, of each open job in each future."""

    def __init__(self, replica: Readable) -> None:
        self._replica = replica
        self.futures: Sequence[Mapping[JobId, Future]] = ()
        self._causes = Causes(replica)
        self.lists = JobLists(replica, self)

    def jobs(
        self,
        *,
        sort: str = "submitted",
        after: str | None = None,
        limit: int = 100,
        **only: Any,  # noqa: ANN401  # the fields of `JobFilter`
    ) -> Row:
        """The jobs that pass a filter, in an order of `ORDERS`; filtered, then cut.

        after: the place of the last row before these, as `next` gives it.  Raises InvalidInput.
        """
        part = self.lists.part(JobFilter(**only), sort, after, limit)
        return {
            "jobs": self.rows(part.jobs),
            "total": part.total,
            "total_is_exact": part.total_is_exact,
            "next": part.following,
            **kept_from(self._replica.kept_from_s),
        }

    def key_of_end(self, job_id: JobId) -> str:
        """When it ended or is expected to, as jobs are sorted by it."""
        entry = self._replica.state.jobs.get(job_id)
        return self._ends_at(job_id, entry)["expected"] or NO_INSTANT

    def is_kept(self, job_id: JobId) -> bool | None:
        """Whether its promise was kept; None if that is open."""
        found: bool | None = self.outcome(job_id)["kept"]
        return found

    def job(self, job_id: JobId, tenant: str | None = None) -> Row:
        """One job, with its promise and its phases. tenant: who asks; only it sees its jobs."""
        known = self._known(job_id, tenant)
        entry = self._replica.state.jobs.get(job_id)
        return {
            **self.row(job_id, self._positions()),
            "promise": {**known.submitted.promise, "outcome": self.explained_outcome(job_id)},
            "output": known.submitted.prepared["output"],
            "weight": known.submitted.job.weight,
            "version": known.submitted.version,
            "detail": "" if entry is None else entry.reason,
            "after": self._before(known, tenant),
            "phases": stage_rows(self._replica, job_id, self.futures),
        }

    def _before(self, known: KnownJob, tenant: str | None) -> list[Row]:
        """The jobs that must be done before it."""
        found = (
            self.row(one, {}) for one in known.submitted.job.after if self._is_there(one, tenant)
        )
        return [
            {name: row[name] for name in ("job_id", "name", "state", "ends_at")} for row in found
        ]

    def why(self, job_id: JobId, tenant: str | None = None) -> Row:
        """Why a job waits. tenant: who asks; it sees that others are ahead, and not which jobs."""
        self._known(job_id, tenant)
        replica = self._replica
        replica.scheduler.pass_time(replica.now_s)
        found = self._why(job_id).document()
        if self.state_of(job_id) == HELD:
            found["state"] = HELD
        ahead = [
            {
                "job_id": other if self._is_visible(other, tenant) else OTHER_TENANT,
                "queue": self._queue_of(other, tenant),
                "tasks": self._tasks(replica.state.jobs.get(other))["waiting"],
            }
            for other in self._ahead_of(job_id)
            if self.state_of(job_id) in OPEN_STATES
        ]
        return {**found, "ahead": ahead, "promise": self.explained_outcome(job_id)}

    def _why(self, job_id: JobId) -> Why:
        if self.state_of(job_id) == HELD:
            user = self._replica.jobs[job_id].submitted.held_by
            reason = Reason(ReasonCode.HELD, (("user", user),))
            return Why(
                job_id=job_id, at_s=self._replica.state.now_s, state=None, reason=reason,
                detail="", phases=(),
            )  # fmt: skip
        return why(job_id, self._replica.state, self._replica.scheduler.policies.tasks)

    def queues(self, tenant: str | None = None) -> Row:
        """Each queue of the file, or with open jobs, with its jobs and slots; and the nodes.

        tenant: who asks; the jobs of others are in one row.
        """
        state = self._replica.state
        idle = {"jobs": 0, "waiting_jobs": 0, "held_jobs": 0, "used": 0, "waiting": 0}
        queues: dict[str, Row] = {queue: dict(idle) for queue in self._replica.queues}
        for job_id in self._replica.open_jobs:
            queue = self._queue_of(job_id, tenant)
            row = queues.setdefault(queue, dict(idle))
            tasks = self._tasks(
                state.jobs.get(job_id), self._replica.jobs[job_id].submitted.job.tasks
            )
            row["jobs"] += 1
            row["waiting_jobs"] += self.state_of(job_id) == "waiting"
            row["held_jobs"] += self.state_of(job_id) == HELD
            row["used"] += tasks["running"]
            row["waiting"] += tasks["waiting"]
        up = [entry.node for entry in state.nodes.values() if entry.is_up]
        slots = sum(node.map_slots + node.reduce_slots + node.containers for node in up)
        drained = [self._last_end_s(future) for future in self.futures]
        known = sorted(one for one in drained if one is not None)
        is_complete = bool(known) and len(known) == len(drained)
        return {
            "queues": [{"queue": name, **row} for name, row in sorted(queues.items())],
            "nodes_up": len(up),
            "slots": slots,
            "used": sum(attempt.tasks for attempt in state.running.values()),
            "drains_at": self._interval(known) if is_complete else None,
            "as_of_seq": self._replica.seq,
        }

    def rows(self, job_ids: Iterable[JobId]) -> list[Row]:
        """These jobs as rows of the list."""
        positions, now_s = self._positions(), self._replica.now_s
        return [self.row(job_id, positions, now_s) for job_id in job_ids]

    def mark(self, job_id: JobId) -> tuple[object, ...]:
        """Return what is equal as long as nothing happens to a job; its state comes first."""
        entry = self._replica.state.jobs.get(job_id)
        if entry is None:
            return (self.state_of(job_id),)
        return (
            self.state_of(job_id),
            entry.pool.pool_id,
            *((phase.running, phase.done) for phase in entry.phases),
        )

    # --- parts --------------------------------------------------------------------------------

    def row(self, job_id: JobId, positions: Mapping[JobId, int], now_s: float | None = None) -> Row:
        """One job as a row of the list. now_s: see `explained_outcome`."""
        known, replica = self._replica.jobs[job_id], self._replica
        entry = replica.state.jobs.get(job_id)
        job, promise = known.submitted.job, known.submitted.promise
        state = self.state_of(job_id)
        reason = None
        if state in {"waiting", HELD}:
            reason = self._why(job_id).reason.text()
        elif entry is not None and state not in {"running", "done"}:
            reason = ": ".join(entry.reason.splitlines())[:_REASON_MAX] or None
        return {
            "job_id": job_id,
            "name": known.submitted.name,
            "tenant": known.workload.tenant,
            "user": known.submitted.user or known.workload.tenant,
            "queue": str(job.pool),
            "labels": dict(known.submitted.labels),
            "state": state,
            "reason": reason,
            "position": positions.get(job_id),
            "tasks": self._tasks(entry, job.tasks),
            "submitted_at": instant(known.workload.made_at_s),
            "starts_at": self._starts_at(job_id, entry),
            "ends_at": self._ends_at(job_id, entry),
            "deadline_at": self._deadline_at(known),
            "deadline_probability": self._chance(known),
            "cost_usd": promise.get("cost_usd"),
            "promise": self.explained_outcome(job_id, now_s),
        }

    def state_of(self, job_id: JobId) -> str:
        """The state as users see it: a job has ended when its output is in its place."""
        entry = self._replica.state.jobs.get(job_id)
        if entry is None:
            return HELD if self._replica.jobs[job_id].submitted.held_by else "waiting"
        if entry.has_ended and job_id not in self._replica.settled:
            return "running"
        if entry.has_ended:
            return entry.state.value
        return "running" if entry.state is JobState.RUNNING else "waiting"

    def _is_visible(self, job_id: JobId, tenant: str | None) -> bool:
        return tenant in {None, self._replica.jobs[job_id].workload.tenant}

    def _queue_of(self, job_id: JobId, tenant: str | None) -> str:
        """The queue of a job. Its name may be that of the job, so others do not see it."""
        if not self._is_visible(job_id, tenant):
            return OTHER_TENANT
        return str(self._replica.jobs[job_id].submitted.job.pool)

    def _is_there(self, job_id: JobId, tenant: str | None) -> bool:
        return job_id in self._replica.jobs and self._is_visible(job_id, tenant)

    def _known(self, job_id: JobId, tenant: str | None) -> KnownJob:
        if not self._is_there(job_id, tenant):
            visible = [each for each in self._replica.jobs if self._is_visible(each, tenant)]
            jobs = self._replica.jobs
            named = (each for each in reversed(visible) if jobs[each].submitted.name == job_id)
            newest = next(named, None)
            raise InvalidInput(
                f"there is no job {job_id!r:.60}",
                where="JOB",
                hint=f"{newest} is the newest of this name"
                if newest
                else nearest_of(job_id, visible),
            )
        return self._replica.jobs[job_id]

    def _positions(self) -> dict[JobId, int]:
        """The place in line of each waiting job of its queue, from 1."""
        line: dict[str, int] = {}
        found: dict[JobId, int] = {}
        for job_id in self._replica.open_jobs:
            if self.state_of(job_id) == "waiting":
                pool = str(self._replica.jobs[job_id].submitted.job.pool)
                found[job_id] = line[pool] = line.get(pool, 0) + 1
        return found

    def _ahead_of(self, job_id: JobId) -> Iterator[JobId]:
        """The open jobs that were submitted before it; of any queue, as all share the slots."""
        for other in self._replica.open_jobs:
            # Ids are given in order, with leading zeros; that of the millionth has a digit more.
            if (len(other), other) >= (len(job_id), job_id):
                return
            yield other

    @staticmethod
    def _tasks(entry: JobEntry | None, tasks: int = 0) -> dict[str, int]:
        if entry is None:
            return {"waiting": tasks, "running": 0, "done": 0, "failed": 0}
        running = sum(phase.running for phase in entry.phases)
        done = sum(phase.done for phase in entry.phases)
        failed = int(entry.state is JobState.FAILED)
        waiting = 0 if entry.has_ended else max(0, entry.job.tasks - running - done)
        return {"waiting": waiting, "running": running, "done": done, "failed": failed}

    def _starts_at(self, job_id: JobId, entry: JobEntry | None) -> str | None:
        if entry is not None and math.isfinite(entry.started_at_s):
            return self._instant(entry.started_at_s)
        if self.state_of(job_id) == HELD:
            return None
        known = self._of_futures(job_id, "starts_at_s")
        if known:
            return self._interval(known)["expected"]
        promised: str | None = self._promised(job_id, "starts_at")["expected"]
        return promised

    def _ends_at(self, job_id: JobId, entry: JobEntry | None) -> dict[str, str | None]:
        """When it ended, or is expected to end."""
        if entry is not None and entry.has_ended:
            at = self._instant(entry.finished_at_s) if math.isfinite(entry.finished_at_s) else None
            return {"expected": at, "low": at, "high": at}
        if self.state_of(job_id) == HELD:
            return self._interval(())
        known = self._of_futures(job_id, "ends_at_s")
        return self._interval(known) if known else self._promised(job_id, "ends_at")

    def _promised(self, job_id: JobId, field: str) -> dict[str, str | None]:
        """Return what the promise says, until the first forecast that knows the job."""
        found = self._replica.jobs[job_id].submitted.promise.get(field)
        return self._interval(()) if found is None else dict(found)

    def _of_futures(self, job_id: JobId, field: str) -> list[float]:
        """Ascending; nothing if it is not known in each future."""
        found = [getattr(one[job_id], field, None) for one in self.futures if job_id in one]
        known = sorted(one for one in found if one is not None)
        return known if len(known) == len(self.futures) else []

    def _deadline_at(self, known: KnownJob) -> str | None:
        """The promise has it as it was given; another one counts from the clock of the segment."""
        job, promise = known.submitted.job, known.submitted.promise
        if known.submitted.version == 0:
            given: str | None = promise.get("deadline_at")
            return given
        return None if job.deadline_at_s is None else self._instant(job.deadline_at_s)

    def _chance(self, known: KnownJob) -> float | None:
        deadline_at_s = known.submitted.job.deadline_at_s
        entry = self._replica.state.jobs.get(known.submitted.job_id)
        if deadline_at_s is None or self.state_of(known.submitted.job_id) == HELD:
            return None
        if entry is not None and entry.has_ended:
            is_met = entry.state is JobState.DONE and entry.finished_at_s <= deadline_at_s
            return float(is_met)
        ends_s = self._of_futures(known.submitted.job_id, "ends_at_s")
        if not ends_s:  # the first forecast that knows it is still to come
            promised: float | None = known.submitted.promise.get("deadline_probability")
            return promised
        return sum(end_s <= deadline_at_s for end_s in ends_s) / len(ends_s)

    def outcome(self, job_id: JobId) -> Row:
        """Whether the promise was kept: the job ended within the interval. None if it is open."""
        promise = self._replica.jobs[job_id].submitted.promise
        entry = self._replica.state.jobs.get(job_id)
        high = (promise.get("ends_at") or {}).get("high")
        nothing = {"kept": None, "off_s": None, "off_wait_s": None, "off_run_s": None}
        if entry is None or entry.state is not JobState.DONE or high is None:
            return nothing
        ended, started = self._instant(entry.finished_at_s), self._instant(entry.started_at_s)
        off_s = between_s(promise["ends_at"]["expected"], ended)
        off_wait_s = between_s(promise["starts_at"]["expected"], started)
        return {
            "kept": promise["ends_at"]["low"] <= ended <= high,
            "off_s": off_s,
            "off_wait_s": off_wait_s,
            "off_run_s": off_s - off_wait_s,
        }

    def explained_outcome(self, job_id: JobId, now_s: float | None = None) -> Row:
        """The outcome with its `cause`, if the promise was not kept, or cannot be kept any more.

        now_s: the present, which a list looks up once, because that reads files.
        """
        found = self.outcome(job_id)
        if found["kept"] is False:
            late = Late(found["off_s"], found["off_wait_s"])
            return {**found, "cause": self._causes.of_ended(job_id, late)}
        entry = self._replica.state.jobs.get(job_id)
        high = self._promised(job_id, "ends_at")["high"]
        ends = self._ends_at(job_id, entry)["expected"]
        if high is None or ends is None or (entry is not None and entry.has_ended):
            return {**found, "cause": None}
        now = self._instant(self._replica.now_s if now_s is None else now_s)
        late_s = max(between_s(high, ends), between_s(high, now))
        cause = self._causes.of_open(job_id, late_s) if late_s > 0 else None
        return {**found, "cause": cause}

    @staticmethod
    def _last_end_s(future: Mapping[JobId, Future]) -> float | None:
        ends_s = [one.ends_at_s for one in future.values()]
        known = [one for one in ends_s if one is not None]
        return max(known) if known and len(known) == len(ends_s) else None

    def _interval(self, ascending: Sequence[float]) -> dict[str, str | None]:
        if not ascending:
            return {"expected": None, "low": None, "high": None}
        return {name: self._instant(at_s) for name, at_s in interval_of(ascending).items()}

    def _instant(self, at_s: float) -> str:
        return instant(self._replica.wall_s(at_s))
