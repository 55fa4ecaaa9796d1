"""The forecast for a job in a queue, before it is submitted."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sluice.api.eta import REPLICATIONS
from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.options.predictions import QuoteOptions
from sluice.api.queue_now import queue_now
from sluice.api.sources import read_workload
from sluice.bootstrap.queues.forecast import running_jobs
from sluice.bootstrap.queues.quote import Asked, QueueQuote, asked, probability
from sluice.core.reasons import Reason, ReasonCode
from sluice.estimate.run_lengths import RunLengths
from sluice.estimate.uncertainty import check_level
from sluice.model.errors import InvalidInput
from sluice.model.prices import Prices
from sluice.model.workload import Workload
from sluice.reporting.eta.quote import Quote, instant_after
from sluice.reporting.eta.result import JobEta, When

_REPLICATIONS_MIN = 3
_VALID_S = 60.0  # of a quote; service spec, section 5
_JOB_FUTURES = 5_000  # of all jobs together, so that an answer takes about a second


@dataclass(frozen=True)
class QuoteCall(QuoteOptions):
    """Arguments of `quote`."""

    source: Source
    queue: str | Path


@called_with(QuoteCall)
def quote(given: QuoteCall) -> Quote:
    """Start, end, cost and deadline of one job more in a queue, and what would help.

    source: a workload with this job alone; its prices, if it has any, are those of the slots.
    queue, history, slots, nodes, backfills: as for `eta`.  level: of the intervals.
    Without past runs of the same user and name, the lengths in the file count.
    Raises InvalidInput.
    """
    check_level(given.level)
    workload = read_workload(given.source)
    if len(workload.jobs) != 1:
        raise InvalidInput(
            f"it has {len(workload.jobs)} jobs", where=workload.source, hint="give one job"
        )
    now = queue_now(given.queue, given)
    past = RunLengths(now.past, running_jobs(now.jobs))
    (job,) = workload.jobs
    user = str(job.customer or job.pool)
    one = asked(job, user, past, now.slots, _prices(workload))
    if any(other.job_id == one.job.job_id for other in now.jobs):
        raise InvalidInput(
            f"the queue has a job {one.job.job_id!r}",
            where=workload.source,
            hint="give the job another id, or ask `sluice eta`",
        )
    futures = max(_REPLICATIONS_MIN, min(REPLICATIONS, _JOB_FUTURES // (len(now.jobs) + 1)))
    quoted = QueueQuote(
        now.jobs, past, now.slots, backfills=now.backfills, replications=futures, seed=given.seed
    )
    notes = (*now.notes, now.turn_note)
    if one.slots > now.slots:
        return _refused(one, quoted, now.as_of, given.level, notes)
    forecast = quoted.forecast(one)
    eta = forecast.last_eta(given.level, futures, given.seed)
    ends_s = forecast.last_ends_s(futures, given.seed)
    is_known = eta.ends_in_s.expected is not None and math.isfinite(ends_s[-1])
    why_not = None
    if one.possible is None and one.job.limit_s is None:
        why_not = "no past run, no length and no limit of it is known"
    elif not is_known:
        why_not = "jobs of unknown length are ahead of it: give --history"
    elif eta.ends_in_s.low is None:
        why_not = "no past run and no length is known: its limit says the latest"
    return replace(
        _undecided(one, now.as_of, eta, given.level, notes),
        tenant=user,
        decision="accepted" if why_not is None else "accepted_without_promise",
        why_not=why_not,
        starts_at=_instants(now.as_of, eta.starts_in_s),
        ends_at=_instants(now.as_of, eta.ends_in_s),
        cost_usd=_cost_usd(one),
        deadline_probability=probability(ends_s, one.deadline_s)
        if is_known and one.deadline_s is not None
        else None,
        offers=tuple(quoted.offers(one, forecast, ends_s, given.level)),
        replications=futures,
    )


def _prices(workload: Workload) -> tuple[Prices, int] | None:
    """The price of a VM and its slots; None without both."""
    if workload.prices is None or workload.vm is None:
        return None
    shape = workload.vm
    return workload.prices, shape.containers or shape.map_slots + shape.reduce_slots


def _refused(
    one: Asked, quoted: QueueQuote, as_of: str, level: float, notes: tuple[str, ...]
) -> Quote:
    """A job that is larger than the cluster."""
    unknown = When(expected=None, low=None, high=None)
    numbers = (("tasks", one.slots), ("free", quoted.slots), ("slots", quoted.slots))
    eta = JobEta(
        job_id=one.job.job_id,
        slots=one.slots,
        is_running=False,
        starts_in_s=unknown,
        ends_in_s=unknown,
        reason=Reason(ReasonCode.NEEDS_TOGETHER, numbers),
        runs=0,
        kind=None,
    )
    why_not = f"it needs {one.slots} slots, and the cluster has {quoted.slots}"
    return replace(_undecided(one, as_of, eta, level, notes), why_not=why_not)


def _undecided(one: Asked, as_of: str, eta: JobEta, level: float, notes: tuple[str, ...]) -> Quote:
    """A quote that promises nothing."""
    return Quote(
        promise_id=_promise_id(one, as_of, eta),
        tenant=one.job.user,
        as_of=as_of,
        decision="refused",
        why_not=None,
        job=eta,
        starts_at=(None, None, None),
        ends_at=(None, None, None),
        level=level,
        cost_usd=None,
        deadline_s=one.deadline_s,
        deadline_at=None if one.deadline_s is None else instant_after(as_of, one.deadline_s),
        deadline_probability=None,
        offers=(),
        valid_until=instant_after(as_of, _VALID_S),
        replications=0,
        notes=notes,
    )


def _cost_usd(one: Asked) -> When | None:
    """The cost of a job's slots for as long as it holds them."""
    if one.slot_hour_usd is None:
        return None
    each_s = one.slots * one.slot_hour_usd / 3600
    if one.possible is None:
        limit_s = one.job.limit_s
        high = None if limit_s is None else each_s * limit_s
        return When(expected=high, low=None, high=high)
    lengths_s = one.possible.lengths_s
    tail = int(len(lengths_s) * 0.05)
    return When(
        expected=each_s * lengths_s[len(lengths_s) // 2],
        low=each_s * lengths_s[tail],
        high=each_s * lengths_s[-1 - tail],
    )


def _instants(as_of: str, when: When) -> tuple[str | None, str | None, str | None]:
    expected, low, high = (
        None if one is None else instant_after(as_of, one)
        for one in (when.expected, when.low, when.high)
    )
    return expected, low, high


def _promise_id(one: Asked, as_of: str, eta: JobEta) -> str:
    """Return the same for the same job, queue and answer."""
    about = [one.job, as_of, asdict(eta.starts_in_s), asdict(eta.ends_in_s)]
    return "quote-" + hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]
