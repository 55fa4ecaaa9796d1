"""The forecast for one job more in a queue, and which change of it would help.

Each change is simulated like the job itself, over the same draws. Source: service spec, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace

from sluice.bootstrap.queues.forecast import QueueForecast
from sluice.estimate.run_lengths import OpenJob, PossibleLengths, RunLengths, quantile
from sluice.ingest.logs.live_queue import QueuedJob
from sluice.model.job import Job
from sluice.model.prices import Prices
from sluice.reporting.eta.quote import CounterOffer

OFFERS_MAX = 3
_NARROW = ("user, name and limit", "user and name")
_FROM_FILE = "its own lengths"
_ROOM = 1.1  # of a shorter limit, above the longest that is likely
_LIKELY = 0.95
_EARLIER = 0.1  # of the time to the end; what helps less is no offer
_MORE_MAX = 4096  # slots that are added


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A job that may be submitted. deadline_s: from its submission; None for none.

    possible: its lengths; None if nothing is known but its limit.
    slot_hour_usd: price of a slot; None where it is not known.
    """

    job: QueuedJob
    possible: PossibleLengths | None
    deadline_s: float | None
    slot_hour_usd: float | None

    @property
    def slots(self) -> int:
        return self.job.slots or 1


def asked(
    job: Job, user: str, past: RunLengths, slots: int, prices: tuple[Prices, int] | None
) -> Asked:
    """The job of a workload file. prices: of a VM, and its slots."""
    counts = [job.together(phase) if job.gang else phase.tasks for phase in job.phases]
    tasks = max(counts, default=1)
    queued = QueuedJob(
        job_id=str(job.job_id),
        name=str(job.profile or job.job_id),
        user=user,
        slots=tasks if job.gang else min(tasks, slots),
        limit_s=job.limit_s,
        ran_s=None,
    )
    possible = past.of(OpenJob(queued.name, user, tasks, job.limit_s))
    if possible is None or possible.kind not in _NARROW:
        possible = _own_lengths(job, queued.slots or 1) or possible
    return Asked(
        job=queued,
        possible=possible,
        deadline_s=None if job.deadline_at_s is None else job.deadline_at_s - job.submitted_at_s,
        slot_hour_usd=None if prices is None else prices[0].vm_hour_usd / prices[1],
    )


def _own_lengths(job: Job, slots: int) -> PossibleLengths | None:
    """From the average to the longest task in each wave; None if lengths are missing."""
    if not job.phases or any(phase.lengths is None for phase in job.phases):
        return None
    ends_s = [0.0, 0.0]
    for phase in job.phases:
        assert phase.lengths is not None
        waves = math.ceil(phase.tasks / slots)
        ends_s[0] += waves * phase.lengths.avg_s(phase.tasks)
        ends_s[1] += waves * phase.lengths.max_s(phase.tasks)
    least_s, most_s = ends_s[0] + job.driver_s, ends_s[1] + job.driver_s
    steps = [least_s + share / 4 * (most_s - least_s) for share in range(5)]
    return PossibleLengths(tuple(steps), 0, _FROM_FILE, is_whole=True)


class QueueQuote:
    """One job more, last in line. replications, seed: of each simulation."""

    def __init__(
        self,
        jobs: Sequence[QueuedJob],
        past: RunLengths,
        slots: int,
        *,
        backfills: bool,
        replications: int,
        seed: int,
    ) -> None:
        self._jobs = jobs
        self._past = past
        self.slots = slots
        self._backfills = backfills
        self._replications = replications
        self._seed = seed

    def forecast(self, one: Asked) -> QueueForecast:
        """The queue with the job at its end."""
        return QueueForecast(
            [*self._jobs, one.job],
            self._past,
            self.slots,
            backfills=self._backfills,
            known={} if one.possible is None else {one.job.job_id: one.possible},
        )

    # --- offers -------------------------------------------------------------------------------

    def offers(
        self, one: Asked, forecast: QueueForecast, ends_s: Sequence[float], level: float
    ) -> list[CounterOffer]:
        """Changes that let it end earlier, or meet its deadline: the cheapest first.

        forecast: of the queue with the job.  ends_s: when it ends in each future.
        """
        if not ends_s or not self._may_improve(one, ends_s, level):
            return []
        found = list(self._of_the_job(one, forecast, ends_s, level))[:OFFERS_MAX]
        if len(found) == OFFERS_MAX:
            return found  # that cost nothing
        found += self._more_vms(one, forecast, ends_s, level)
        return sorted(found, key=lambda offer: offer.more_usd or 0.0)

    def _may_improve(self, one: Asked, ends_s: Sequence[float], level: float) -> bool:
        if one.deadline_s is not None:
            return (probability(ends_s, one.deadline_s) or 0.0) < level
        return quantile(ends_s, 0.5) > (1 + _EARLIER) * self._alone_s(one)

    @staticmethod
    def _alone_s(one: Asked) -> float:
        return one.job.limit_s or 0.0 if one.possible is None else one.possible.at(
            0.5, OpenJob("", "", one.slots, one.job.limit_s)
        )  # fmt: skip

    def _of_the_job(
        self, one: Asked, forecast: QueueForecast, ends_s: Sequence[float], level: float
    ) -> Iterator[CounterOffer]:
        """Changes that cost nothing: a limit, a size, a deadline."""
        for kind, field, value, changed in self._changes(one):
            instead = (changed.job, changed.possible)
            offer = self._offer(kind, (field, value), one, forecast, ends_s, level, instead)
            if offer is not None:
                yield offer
        if one.deadline_s is not None and math.isfinite(late_s := quantile(ends_s, level)):
            yield CounterOffer(
                kind="later_deadline",
                change=("deadline_s", math.ceil(late_s)),
                ends_in_s=quantile(ends_s, 0.5),
                deadline_probability=probability(ends_s, math.ceil(late_s)),
                more_usd=0.0,
            )

    @staticmethod
    def _changes(one: Asked) -> Iterator[tuple[str, str, float, Asked]]:
        if one.possible is not None and one.job.limit_s is not None:
            limit_s = math.ceil(_ROOM * quantile(one.possible.lengths_s, _LIKELY))
            if limit_s < one.job.limit_s:
                job = one.job._replace(limit_s=float(limit_s))
                yield "shorter_limit", "limit_s", limit_s, replace(one, job=job)
        slots = one.slots // 2
        while slots:
            factor = one.slots / slots
            limit = one.job.limit_s
            job = one.job._replace(slots=slots, limit_s=None if limit is None else limit * factor)
            longer = None if one.possible is None else one.possible.times(factor)
            yield "fewer_slots", "slots", slots, replace(one, job=job, possible=longer)
            slots //= 2

    def _more_vms(
        self, one: Asked, forecast: QueueForecast, ends_s: Sequence[float], level: float
    ) -> Iterator[CounterOffer]:
        """The fewest slots more with which it helps, by halving from twice the job's own."""

        def offer(more: int) -> CounterOffer | None:
            larger = copy(forecast)
            larger.enlarge(more)
            return self._offer("more_vms", ("slots_more", more), one, larger, ends_s, level)

        more, low = min(_MORE_MAX, 2 * one.slots), 0
        found = offer(more)
        if found is None:
            return
        while more - low > 1:
            middle = (low + more) // 2
            fewer = offer(middle)
            if fewer is None:
                low = middle
            else:
                found, more = fewer, middle
        hours = found.ends_in_s / 3600
        price = None if one.slot_hour_usd is None else more * one.slot_hour_usd * hours
        yield replace(found, more_usd=price)

    def _offer(
        self,
        kind: str,
        change: tuple[str, float],
        one: Asked,
        forecast: QueueForecast,
        ends_s: Sequence[float],
        level: float,
        instead: tuple[QueuedJob, PossibleLengths | None] | None = None,
    ) -> CounterOffer | None:
        """The change, if it makes the deadline likely enough, or else ends the job earlier."""
        most_s = (
            (1 - _EARLIER) * quantile(ends_s, 0.5) if one.deadline_s is None else one.deadline_s
        )

        def ends_by(by_s: float) -> list[float]:
            return forecast.last_ends_s(self._replications, self._seed, instead, by_s)

        # Futures are walked no further than it takes to see that the change does not help.
        found_s = ends_by(most_s)
        chance = None if one.deadline_s is None else probability(found_s, one.deadline_s)
        helps = quantile(found_s, 0.5) < most_s if chance is None else chance >= level
        if not helps:
            return None
        if math.isinf(found_s[-1]) and math.isinf((found_s := ends_by(math.inf))[-1]):
            return None
        return CounterOffer(
            kind=kind,
            change=change,
            ends_in_s=quantile(found_s, 0.5),
            deadline_probability=chance,
            more_usd=0.0,
        )


def probability(ends_s: Sequence[float], deadline_s: float) -> float:
    """The share of futures in which the job ends by then."""
    return sum(end_s <= deadline_s for end_s in ends_s) / len(ends_s)
