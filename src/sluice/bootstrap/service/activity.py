"""The running work: attempts of a job, nodes, and which jobs have changed since a client looked.

Rows of plain JSON values, as the page draws them. Source: service spec, sections 6 and 7.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from sluice.bootstrap.service.futures import instant, kept_from
from sluice.bootstrap.service.job_lists import OPEN_STATES
from sluice.bootstrap.service.readable import Readable
from sluice.bootstrap.service.views import OTHER_TENANT, Views
from sluice.core.entries import Attempt, NodeEntry
from sluice.core.explain.story import StoryLine, story
from sluice.core.transitions import AttemptState
from sluice.estimate.run_lengths import quantile
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId
from sluice.reporting.exports.job_document import job_document
from sluice.reporting.formatting import size
from sluice.store.service.task_logs import removed

CHANGES_MAX = 200  # jobs in one answer; more of them are only counted
_QUARTILES = {"min_s": 0.0, "p25_s": 0.25, "p50_s": 0.5, "p75_s": 0.75, "max_s": 1.0}
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
        self,
        job_id: JobId,
        tenant: str | None,
        *,
        sort: str = "started",
        offset: int = 0,
        limit: int = 100,
    ) -> Row:
        """Attempts of a job, those that run too. Raises InvalidInput.

        sort: "started", by their start, or "longest", those that ran or run longest first.
        """
        self._views.job(job_id, tenant)
        found = sorted(self._attempts(job_id), key=lambda each: (each.started_at_s, each.key))
        if sort == "longest":
            found.sort(key=self._length_s, reverse=True)
        page = found[offset : offset + limit]
        return {
            "attempts": [self.attempt_row(each) for each in page],
            "total": len(found),
            "lengths": None if offset else self._lengths(found),
        }

    def _lengths(self, attempts: Iterable[Attempt]) -> list[Row]:
        """For each phase: how many attempts are done, and the quartiles of their lengths."""
        by_phase: dict[str, list[float]] = defaultdict(list)
        for each in attempts:
            if each.state is AttemptState.DONE:
                by_phase[each.phase.name].append(self._length_s(each))
        return [
            {
                "phase": phase,
                "done": len(lengths_s),
                **{key: quantile(lengths_s, share) for key, share in _QUARTILES.items()},
            }
            for phase, lengths_s in ((name, sorted(them)) for name, them in by_phase.items())
        ]

    def run_id(self, job_id: JobId) -> Row:
        """The run of a job in the profile store, once it is done."""
        folder = self._replica.segment.name
        run = f"service-{folder}" if folder.startswith("segment-") else folder
        return {"run_id": f"{run}/{job_id}"}

    def workload(self, job_id: JobId, tenant: str | None) -> Row:
        """The job as a workload file on the cluster of the service. Raises InvalidInput."""
        self._views.job(job_id, tenant)
        submitted = self._replica.jobs[job_id].submitted
        nodes = self._replica.state.nodes.values()
        row = job_document(replace(submitted.job, submitted_at_s=0.0, deadline_at_s=None))
        return {
            "version": 1,
            "cluster": {"node_groups": [_group_of(each.node) for each in nodes]},
            "jobs": [{**row, "id": submitted.name}],
        }

    def log(self, job_id: JobId, key: str, tenant: str | None) -> Row:
        """Where an attempt writes what its command says: `path`, null if it was removed or is on
        another machine, and `removed`, why it was removed. Raises InvalidInput if there is no such
        attempt.
        """
        self._views.job(job_id, tenant)
        found = next((one for one in self._attempts(job_id) if _key_of(one) == key), None)
        if found is None:
            raise InvalidInput(
                f"there is no attempt {key!r:.60}",
                where="key",
                hint="GET /v1/jobs/{job_id}/attempts lists them",
            )
        name = self._replica.jobs[job_id].submitted.prepared.get("name", job_id)
        _, phase, task, number = found.key
        path = _log_path(self._replica.segment, f"{name}-{phase}-{task}-{number}")
        why = None if path not in {None, os.devnull} else self._why_removed(job_id)
        return {"path": path} if why is None else {"path": None, "removed": why}

    def _why_removed(self, job_id: JobId) -> str | None:
        """Why the logs of a job were removed; None if they were not."""
        note = removed(self._replica.segment)
        if note is None or job_id not in self._replica.settled:
            return None
        if self._replica.wall_s(self._replica.state.jobs[job_id].finished_at_s) > note["until_s"]:
            return None
        full = ""
        if "disk_percent" in note:
            full = f", and fewer on a disk that is {note['disk_percent']:g} % full"
        return (
            f"the log was removed: logs are kept for {note['days']:g} days after their job has"
            f" ended, and at most {size(note['bytes'])} of them{full}"
        )

    def story(self, job_id: JobId, tenant: str | None) -> Row:
        """Return what happened to a job, in order of time. Raises InvalidInput.

        job_id: without a tenant also of a node, which works for all of them.
        """
        is_node = tenant is None and NodeId(job_id) in self._replica.state.nodes
        if not is_node:
            self._views.job(job_id, tenant)
        lines = [
            StoryLine(change.at_s, "changed", change.what)
            for change in self._replica.changes.get(job_id, ())
        ]
        if is_node or job_id in self._replica.state.jobs:
            tasks = self._replica.scheduler.policies.tasks
            lines += story(job_id, self._replica.state, tasks).lines
        cut_s = self._replica.kept_from_s
        is_whole = not is_node and self._replica.jobs[job_id].workload.made_at_s > (cut_s or 0)
        return {
            "id": job_id,
            **kept_from(None if is_whole else cut_s),
            "kind": "node" if is_node else "job",
            "lines": [
                {"at": self._instant(line.at_s), "what": line.what, "why": line.why}
                for line in sorted(lines, key=lambda line: line.at_s)
            ],
        }

    def nodes(self, tenant: str | None) -> Row:
        """The nodes, with what runs on each; without rented ones that were given back."""
        state = self._replica.state
        returned = state.machines.returned
        running: dict[str, list[Attempt]] = defaultdict(list)
        for attempt in state.running.values():
            running[attempt.node.node_id].append(attempt)
        return {
            "nodes": [
                self._node(entry, running[node_id], tenant)
                for node_id, entry in state.nodes.items()
                if entry.is_up or node_id not in returned
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
            "cordoned": entry.cordon or None,
            "slots": node.map_slots + node.reduce_slots + node.containers,
            "used": sum(each.tasks for each in running),
            "jobs": [*visible, *others],
            "names": [*(self._replica.jobs[each].submitted.name for each in visible), *others],
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

    def _length_s(self, attempt: Attempt) -> float:
        end_s = attempt.finished_at_s
        return (self._replica.now_s if math.isnan(end_s) else end_s) - attempt.started_at_s

    def attempt_row(self, attempt: Attempt) -> Row:
        """An attempt as a row."""
        key, ended_at_s = attempt.key, attempt.finished_at_s
        return {
            "key": _key_of(attempt),
            "phase": attempt.phase.name,
            "task": int(key.task),
            "tasks": attempt.tasks,
            "number": attempt.number,
            "node": attempt.node.node_id,
            "slot": int(attempt.first_slot),
            "slot_kind": attempt.slot_kind.value,
            "state": attempt.state.value,
            "is_copy": attempt.is_copy,
            "progress": 1.0 if attempt.state is AttemptState.DONE else float(attempt.progress),
            "started_at": self._instant(attempt.started_at_s),
            "ended_at": None if math.isnan(ended_at_s) else self._instant(ended_at_s),
            "why": attempt.reason.text(),
        }

    # --- what has changed ---------------------------------------------------------------------

    def changes(self, since: int, tenant: str | None) -> Row:
        """The rows of jobs that have changed since this number, and the number of the last change.

        At most 200 rows; where more have changed, none, and `is_cut`: fetch the list again.
        """
        self._look()
        replica = self._replica
        newest_first = reversed(self._changed.items())
        changed = [
            job_id
            for job_id, _ in takewhile(lambda pair: pair[1] > since, newest_first)
            if tenant in {None, replica.jobs[job_id].workload.tenant}
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
        submitted = self._replica.submitted
        self._unsettled |= dict.fromkeys(submitted[self._known :])
        self._known = len(submitted)
        for job_id in list(self._unsettled):
            seen = self._views.mark(job_id)
            if self._seen.get(job_id) != seen:
                self._number += 1
                self._seen[job_id] = seen
                self._changed.pop(job_id, None)  # the order is that of the changes
                self._changed[job_id] = self._number
            if seen[0] not in OPEN_STATES:
                del self._unsettled[job_id]

    def _instant(self, at_s: float) -> str:
        return instant(self._replica.wall_s(at_s))


def _group_of(node: Node) -> Row:
    """A node as a group of its own, as workload files have them."""
    slots = {"map_slots": node.map_slots, "reduce_slots": node.reduce_slots}
    if node.containers:
        slots["containers"] = node.containers
    return {
        "id": str(node.node_id),
        "nodes": 1,
        **{key: value for key, value in slots.items() if value},
    }


def _key_of(attempt: Attempt) -> str:
    """How users name an attempt of a job."""
    return f"{attempt.phase.name}-{attempt.key.task}-{attempt.number}"


def _log_path(segment: Path, name: str) -> str | None:
    """The log of an attempt on this machine; one into which nothing was written is removed."""
    scratch = segment / "scratch"
    found = sorted(scratch.glob(f"*/log/{name}-e*.log"))
    if found:
        return str(found[-1])
    return os.devnull if any(scratch.glob("*/log")) else None
