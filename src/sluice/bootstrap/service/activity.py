"""What runs where: attempts of a job, nodes, and which jobs have changed since a client looked.

Rows of plain JSON values, as the page draws them. Source: service spec, sections 6 and 7.
"""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluice.bootstrap.service.promises import instant
from sluice.bootstrap.service.replica import Readable
from sluice.bootstrap.service.views import OPEN_STATES, OTHER_TENANT, Views
from sluice.core.entries import Attempt, NodeEntry
from sluice.core.story import story
from sluice.estimate.uncertainty import LEVEL
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId

CHANGES_MAX = 200  # jobs in one answer; more of them are only counted
JUDGED_MIN = 20  # outcomes; fewer prove nothing
_Z = 1.959964  # of a two-sided interval of 95 %
_GROUPS = ("profile", "queue", "tenant")
Row = dict[str, Any]


class Activity:
    """Reads a replica, and remembers what it has said of each job."""

    def __init__(self, replica: Readable, views: Views) -> None:
        self._replica = replica
        self._views = views
        self._read = 0  # rows of the record of ended attempts
        self._ended: dict[JobId, list[int]] = defaultdict(list)
        self._number = 0  # of the last change
        self._seen: dict[JobId, tuple[object, ...]] = {}
        self._changed: dict[JobId, int] = {}
        self._unsettled: dict[JobId, None] = {}
        self._known = 0  # jobs that were entered

    # --- attempts and nodes -------------------------------------------------------------------

    def attempts(
        self, job_id: JobId, tenant: str | None, *, offset: int = 0, limit: int = 100
    ) -> Row:
        """Attempts of a job by their start, those that run too. Raises InvalidInput."""
        self._views.job(job_id, tenant)
        found = sorted(self._attempts(job_id), key=lambda each: (each.started_at_s, each.key))
        page = found[offset : offset + limit]
        return {"attempts": [self._attempt(each) for each in page], "total": len(found)}

    def story(self, job_id: JobId, tenant: str | None) -> Row:
        """What happened to a job, in order of time. Raises InvalidInput."""
        self._views.job(job_id, tenant)
        if job_id not in self._replica.state.jobs:
            return {"id": job_id, "kind": "job", "lines": []}
        found = story(job_id, self._replica.state, self._replica.scheduler.policies.tasks)
        lines = [
            {"at": self._instant(line.at_s), "what": line.what, "why": line.why}
            for line in found.lines
        ]
        return {"id": found.subject, "kind": found.kind, "lines": lines}

    def nodes(self, tenant: str | None) -> Row:
        """The nodes, with what runs on each."""
        state = self._replica.state
        running: dict[str, list[Attempt]] = defaultdict(list)
        for attempt in state.running.values():
            running[attempt.node.node_id].append(attempt)
        return {
            "nodes": [
                self._node(entry, running[node_id], tenant)
                for node_id, entry in state.nodes.items()
            ]
        }

    def _node(self, entry: NodeEntry, running: Sequence[Attempt], tenant: str | None) -> Row:
        node = entry.node
        jobs = {each.phase.job_id for each in running}
        visible = sorted(
            job_id
            for job_id in jobs
            if tenant in {None, self._replica.jobs[job_id].workload.tenant}
        )
        others = [OTHER_TENANT] if len(visible) < len(jobs) else []
        return {
            "node_id": entry.node_id,
            "state": "up" if entry.is_up else "down",
            "slots": node.map_slots + node.reduce_slots + node.containers,
            "used": sum(each.tasks for each in running),
            "jobs": [*visible, *others],
            "faults": int(entry.faults),
            "fault": entry.fault or None,
        }

    def _attempts(self, job_id: JobId) -> Iterator[Attempt]:
        closed, state = self._replica.state.closed, self._replica.state
        while self._read < len(closed):
            self._ended[closed[self._read].phase.job_id].append(self._read)
            self._read += 1
        yield from (closed[row] for row in self._ended.get(job_id, ()))
        yield from (each for each in state.running.values() if each.phase.job_id == job_id)

    def _attempt(self, attempt: Attempt) -> Row:
        key, ended_at_s = attempt.key, attempt.finished_at_s
        return {
            "key": f"{attempt.phase.name}-{key.task}-{attempt.number}",
            "phase": attempt.phase.name,
            "task": int(key.task),
            "tasks": attempt.tasks,
            "number": attempt.number,
            "node": attempt.node.node_id,
            "slot": int(attempt.first_slot),
            "slot_kind": attempt.slot_kind.value,
            "state": attempt.state.value,
            "is_copy": attempt.is_copy,
            "progress": float(attempt.progress),
            "started_at": self._instant(attempt.started_at_s),
            "ended_at": None if math.isnan(ended_at_s) else self._instant(ended_at_s),
            "why": attempt.reason.text(),
        }

    # --- promises -----------------------------------------------------------------------------

    def promises(self, tenant: str | None, *, kept: bool | None = None, limit: int = 100) -> Row:
        """Promises with their outcome, the newest first. kept: only these."""
        found = [
            {**known.submitted.promise, "name": known.submitted.name, "outcome": outcome}
            for job_id, known in reversed(self._replica.jobs.items())
            if tenant in {None, known.workload.tenant}
            for outcome in [self._views.outcome(job_id)]
            if kept is None or outcome["kept"] is kept
        ]
        return {"promises": found[:limit], "total": len(found)}

    def calibration(self, by: str, tenant: str | None) -> Row:
        """The share of promises that were kept, against the level that each claimed.

        by: profile, queue or tenant. Jobs that their user killed are left out and counted.
        """
        if by not in _GROUPS:
            raise InvalidInput(
                f"unknown group {by!r:.40}", where="by", hint=f"use {', '.join(_GROUPS)}"
            )
        groups: dict[str, list[bool]] = defaultdict(list)
        killed: dict[str, int] = defaultdict(int)
        for job_id, known in self._replica.jobs.items():
            if tenant not in {None, known.workload.tenant}:
                continue
            job = known.submitted.job
            name = {"profile": job.profile, "queue": job.pool, "tenant": known.workload.tenant}[by]
            kept = self._views.outcome(job_id)["kept"]
            if kept is not None:
                groups[str(name)].append(kept)
            killed[str(name)] += self._views.state_of(job_id) == "killed"
        return {
            "by": by,
            "groups": [
                {"group": name, **_calibrated(found), "killed": killed[name]}
                for name, found in sorted(groups.items())
            ],
        }

    def counts(self) -> Row:
        """How many jobs are in each state, by queue; and how many promises were kept."""
        jobs: Counter[tuple[str, str]] = Counter()
        kept: Counter[bool | None] = Counter()
        for job_id, known in self._replica.jobs.items():
            jobs[str(known.submitted.job.pool), self._views.state_of(job_id)] += 1
            kept[self._views.outcome(job_id)["kept"]] += 1
        return {
            "counts": [
                {"queue": queue, "state": state, "jobs": number}
                for (queue, state), number in sorted(jobs.items())
            ],
            "promises": {"kept": kept[True], "broken": kept[False]},
        }

    # --- what has changed ---------------------------------------------------------------------

    def changes(self, since: int, tenant: str | None) -> Row:
        """The rows of jobs that have changed since this number, and the number of the last change.

        At most 200 rows; where more have changed, none, and `is_cut`: fetch the list again.
        """
        self._look()
        replica = self._replica
        changed = [
            job_id
            for job_id, number in self._changed.items()
            if number > since and tenant in {None, replica.jobs[job_id].workload.tenant}
        ]
        rows = []
        if len(changed) <= CHANGES_MAX:
            rows = self._views.rows(changed)
        return {
            "number": self._number,
            "rows": rows,
            "is_cut": len(changed) > CHANGES_MAX,
            "as_of_seq": replica.seq,
            "source": f"{replica.segment.name}-{os.getpid()}",  # numbers count from its start
        }

    def _look(self) -> None:
        """Compare each job that has not come to rest with what was last seen of it."""
        jobs = list(self._replica.jobs)
        self._unsettled |= dict.fromkeys(jobs[self._known :])
        self._known = len(jobs)
        for job_id in list(self._unsettled):
            seen = self._views.mark(job_id)
            if self._seen.get(job_id) != seen:
                self._number += 1
                self._seen[job_id], self._changed[job_id] = seen, self._number
            if seen[0] not in OPEN_STATES:
                del self._unsettled[job_id]

    def _instant(self, at_s: float) -> str:
        return instant(self._replica.wall_s(at_s))


def _calibrated(kept: Sequence[bool]) -> Mapping[str, Any]:
    """The share with its interval of 95 % (Wilson, 1927), and what it says."""
    total, share = len(kept), sum(kept) / len(kept)
    middle = (share + _Z**2 / (2 * total)) / (1 + _Z**2 / total)
    half = (
        _Z / (1 + _Z**2 / total) * math.sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2))
    )
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    verdict = "not judged yet"
    if total >= JUDGED_MIN:
        verdict = "good" if low <= LEVEL <= high else "too wide" if low > LEVEL else "too narrow"
    return {
        "outcomes": total,
        "kept": sum(kept),
        "share": share,
        "low": low,
        "high": high,
        "level": LEVEL,
        "verdict": verdict,
    }
