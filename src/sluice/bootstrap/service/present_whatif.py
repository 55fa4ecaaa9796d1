"""The effects of a change on the jobs that are open now: other nodes, weights or a deadline.

Both sides are simulated forward from the present state, with the same draws in each future, so that
their differences are paired. Source: service spec, section 6 (`POST /v1/capacity`) and section 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sluice.bootstrap.service.forecasts import Forecaster
from sluice.bootstrap.service.futures import Future, Scale, instant, interval_of
from sluice.core.events import Event, NodeCordoned, QueuesChanged
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.queues import Pool

NODES_TRIED = (1, 2, 4, 8)
NODES_MAX = 1000  # more or fewer
OPEN_JOBS_MAX = 500  # with more, only the change itself is simulated
SECONDS = 1.0  # of each side
SECONDS_OF_SIZE = 0.3  # of each number of nodes in the list of sizes
Row = dict[str, Any]
Measure = Callable[[Mapping[JobId, Future]], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change to the present. nodes_more: below 0 for fewer.  weights: of queues, by name.

    deadline_at: RFC 3339; all jobs are to end by then, whatever their own deadlines are.
    """

    nodes_more: int = 0
    weights: Mapping[str, float]
    deadline_at: str | None = None


def present_whatif(forecaster: Forecaster, change: Change, tenant: str | None) -> Row:
    """The present and a change, side by side, for the jobs that a tenant sees; None for all.

    Raises InvalidInput where there is nothing to simulate, or for an impossible change.
    """
    compared = _Compared(forecaster, change, tenant)
    return compared.answer()


class _Compared:
    """One comparison, in a fork of the follower."""

    def __init__(self, forecaster: Forecaster, change: Change, tenant: str | None) -> None:
        self._forecaster, self._change = forecaster, change
        self._replica = replica = forecaster.replica
        forecaster.stop_clock()
        self._now_s = forecaster.now_s
        self._jobs = [
            job_id
            for job_id in replica.open_jobs
            if tenant in {None, replica.jobs[job_id].workload.tenant}
            and not replica.jobs[job_id].submitted.held_by
        ]
        self._up = [
            entry.node for entry in replica.state.nodes.values() if entry.is_up and not entry.cordon
        ]
        self._check()

    def _check(self) -> None:
        """Raise InvalidInput for what cannot be simulated."""
        replica, nodes, change = self._replica, len(self._up), self._change
        if not self._jobs:
            raise InvalidInput("no job is open", where="capacity",
                               hint="submit jobs, or give a workload")  # fmt: skip
        unknown = self._forecaster.unknown(())
        if unknown:
            raise InvalidInput(
                f"nothing is known of the length of {len(unknown)} of the open jobs",
                where="capacity",
                hint="give lengths in the file, or wait until one run of each has ended",
            )
        if nodes + change.nodes_more < 1:
            raise InvalidInput(
                f"{nodes} nodes take work, and {-change.nodes_more} fewer leaves none",
                where="change.nodes_more", hint=f"give {1 - nodes} or more",
            )  # fmt: skip
        known = {str(pool_id) for pool_id in replica.state.pools}
        strange = sorted(set(change.weights) - known)
        if strange:
            raise InvalidInput(f"there is no queue {strange[0]!r:.60}", where="change.weights",
                               hint="name queues of the service's file")  # fmt: skip
        tasks = replica.scheduler.policies.tasks
        if change.weights and not tasks.follows_queues:
            raise InvalidInput(
                f"{tasks.name} takes its queues when the service starts", where="change.weights",
                hint="serve with fair, ltyarn, ltrf, mlrf or queue-tree",
            )  # fmt: skip

    def answer(self) -> Row:
        """The document of the comparison."""
        now = self._forecaster.futures(seconds=SECONDS)
        then = self._forecaster.futures(events=self._events(), seconds=SECONDS)
        count = min(len(now), len(then))
        if not count:
            raise InvalidInput("no future could be simulated in time", where="capacity",
                               hint="ask again when fewer jobs are open")  # fmt: skip
        now, then = now[:count], then[:count]
        nodes = len(self._up)
        queues: dict[str, list[JobId]] = {}
        for job_id in self._jobs:
            queues.setdefault(str(self._replica.jobs[job_id].submitted.job.pool), []).append(job_id)
        return {
            "change": {
                "nodes_more": self._change.nodes_more,
                "weights": dict(self._change.weights),
                "deadline_at": self._change.deadline_at,
            },
            "made_at": instant(self._replica.wall_s(self._now_s)),
            "nodes": {"now": nodes, "then": nodes + self._change.nodes_more},
            "futures": count,
            "never": self._never(then),
            "all": self._sides(self._jobs, now, then, costs=True),
            "queues": [
                {"queue": queue, **self._sides(job_ids, now, then, costs=False)}
                for queue, job_ids in sorted(queues.items())
            ],
            "sizes": list(self._sizes(now)),
        }

    def _events(self) -> list[Event]:
        """The change, as the scheduler takes it."""
        nodes_more = self._change.nodes_more
        events: list[Event] = list(self._forecaster.more_nodes(max(0, nodes_more)))
        # A node less is one that gets no more work: what runs there goes on.
        fewer = self._up[len(self._up) + min(0, nodes_more) :]
        events += [
            NodeCordoned(self._now_s, node.node_id, is_cordoned=True, reason="what if")
            for node in fewer
        ]
        if self._change.weights:
            events.append(QueuesChanged(self._now_s, tuple(self._pools())))
        return events

    def _pools(self) -> Iterator[Pool]:
        """The present pools with their new weights."""
        for pool_id, entry in self._replica.state.pools.items():
            weight = self._change.weights.get(str(pool_id))
            if weight is None:
                yield entry.pool
            else:
                queue = entry.pool.queue
                other = None if queue is None else replace(queue, weight=weight)
                yield replace(entry.pool, weight=weight, queue=other)

    # --- figures ------------------------------------------------------------------------------

    def _sides(
        self,
        job_ids: Sequence[JobId],
        now: Sequence[Mapping[JobId, Future]],
        then: Sequence[Mapping[JobId, Future]],
        *,
        costs: bool,
    ) -> Row:
        """The figures of some jobs on both sides, and their differences, future by future."""
        before, after = len(self._up), len(self._up) + self._change.nodes_more
        sides: Row = {"jobs": len(job_ids), "now": {}, "then": {}, "difference": {}}
        for name, (measure, measure_then) in self._measures(job_ids, before, after).items():
            if name == "cost_usd" and not costs:
                continue
            old, new = [measure(one) for one in now], [measure_then(one) for one in then]
            scale = Scale.SHARE if name == "deadlines_met" else Scale.LENGTH
            sides["now"][name], sides["then"][name] = _spread(old, scale), _spread(new, scale)
            pairs = [
                None if one is None or other is None else other - one
                for one, other in zip(old, new, strict=True)
            ]
            sides["difference"][name] = _spread(pairs, Scale.DIFFERENCE)
        return sides

    def _measures(
        self, job_ids: Sequence[JobId], before: int, after: int
    ) -> dict[str, tuple[Measure, Measure]]:
        """The measures of one future, now and then. before, after: nodes."""
        waiting = [job_id for job_id in job_ids if not self._has_started(job_id)]

        def wait_s(share: float) -> Measure:
            return lambda future: self._wait_s(future, waiting, share)

        def last_s(future: Mapping[JobId, Future]) -> float | None:
            return self._last_s(future, job_ids)

        def in_time(future: Mapping[JobId, Future]) -> float | None:
            return self._in_time(future, job_ids)

        return {
            "wait_s_p50": (wait_s(0.5), wait_s(0.5)),
            "wait_s_p95": (wait_s(0.95), wait_s(0.95)),
            "ends_after_s": (last_s, last_s),
            "deadlines_met": (in_time, in_time),
            "cost_usd": (
                lambda future: self._cost_usd(last_s(future), before),
                lambda future: self._cost_usd(last_s(future), after),
            ),
        }

    def _has_started(self, job_id: JobId) -> bool:
        entry = self._replica.state.jobs.get(job_id)
        return entry is not None and math.isfinite(entry.started_at_s)

    def _wait_s(
        self, future: Mapping[JobId, Future], waiting: Sequence[JobId], share: float
    ) -> float | None:
        """A quantile of the waits from submission to start; None if one never starts."""
        waits = []
        for job_id in waiting:
            found = future.get(job_id)
            if found is None or found.starts_at_s is None:
                return None
            submitted_s = self._replica.at_s(self._replica.jobs[job_id].workload.made_at_s)
            waits.append(max(0.0, found.starts_at_s - submitted_s))
        if not waits:
            return None
        waits.sort()
        return waits[math.ceil(share * len(waits)) - 1]

    def _last_s(self, future: Mapping[JobId, Future], job_ids: Sequence[JobId]) -> float | None:
        """Seconds from now to the last end; None if one never ends."""
        ends_s = [future[each].ends_at_s if each in future else None for each in job_ids]
        known = [one for one in ends_s if one is not None]
        return max(0.0, max(known) - self._now_s) if len(known) == len(ends_s) else None

    def _in_time(self, future: Mapping[JobId, Future], job_ids: Sequence[JobId]) -> float | None:
        """The share of jobs with a deadline that meet it; None without one."""
        due_s = {job_id: self._due_s(job_id) for job_id in job_ids}
        due = [job_id for job_id in job_ids if due_s[job_id] < math.inf]
        if not due:
            return None
        ends_s = {each: future[each].ends_at_s if each in future else None for each in due}
        met = sum((ends_s[each] or math.inf) <= due_s[each] for each in due)
        return met / len(due)

    def _due_s(self, job_id: JobId) -> float:
        """The deadline on the clock of the segment; infinite without one."""
        if self._change.deadline_at is not None:
            return self._replica.at_s(datetime.fromisoformat(self._change.deadline_at).timestamp())
        own = self._replica.jobs[job_id].submitted.job.deadline_at_s
        return math.inf if own is None else own

    def _cost_usd(self, until_s: float | None, nodes: int) -> float | None:
        """The price of the nodes until the last job has ended; None without prices."""
        prices = self._replica.config.workload.prices
        if prices is None or until_s is None:
            return None
        return nodes * prices.vm_hour_usd * until_s / 3600

    def _never(self, then: Sequence[Mapping[JobId, Future]]) -> int:
        """How many jobs end in no future with the change."""
        return sum(
            all(job_id not in one or one[job_id].ends_at_s is None for one in then)
            for job_id in self._jobs
        )

    def _sizes(self, now: Sequence[Mapping[JobId, Future]]) -> Iterator[Row]:
        """The outcome of each number of nodes, with the present weights, in the same futures."""
        if len(self._replica.open_jobs) > OPEN_JOBS_MAX:
            return
        tried = {0: now}
        for more in NODES_TRIED:
            events = self._forecaster.more_nodes(more)
            tried[more] = self._forecaster.futures(events=events, seconds=SECONDS_OF_SIZE)
        count = min(len(futures) for futures in tried.values())
        for more, futures in tried.items():
            same, nodes = futures[:count], len(self._up) + more
            last = [self._last_s(one, self._jobs) for one in same]
            yield {
                "nodes": nodes,
                "ends_after_s": _spread(last),
                "deadlines_met": _spread(
                    [self._in_time(one, self._jobs) for one in same], Scale.SHARE
                ),
                "cost_usd": _spread([self._cost_usd(each, nodes) for each in last]),
            }


def _spread(values: Sequence[float | None], scale: Scale = Scale.LENGTH) -> Row | None:
    """The middle of some futures with its interval; None if it is unknown in one of them."""
    known = sorted(one for one in values if one is not None)
    return interval_of(known, scale=scale) if known and len(known) == len(values) else None
