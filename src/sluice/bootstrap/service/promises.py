"""The promise of a job at its submission: start, end, cost, deadline, and what would help.

A promise is made once and never changed. It says "unknown" where a length is not known, and only an
admission policy that reserves makes a deadline a guarantee. Source: service spec, section 5.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sluice.bootstrap.service.forecasts import REPLICATIONS, Forecaster
from sluice.bootstrap.service.futures import Future, draws_of, instant, interval_of
from sluice.core.transitions import JobState
from sluice.estimate.uncertainty import LEVEL
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.prices import Prices
from sluice.store.service.submissions import SubmittedJob, SubmittedWorkload

OFFERS_MAX = 3
FORECAST_S = 0.6  # a submission waits for its futures,
OFFERS_S = 0.4  # and for the offers
NODES_MORE = (1, 2, 4, 8)
_LATER = (1.0, 1.5, 2.0, 4.0)
_NEAR = 0.05  # of a deadline: a smaller one that would do is not looked for
_VALID_S = 60.0
_TAKEN_S = 2.0  # from an answer to its acceptance by a program, and to the futures drawn then
REACTION_S = 0.25  # of processes that start and report: an interval claims to be no finer
_NOTHING = {"expected": None, "low": None, "high": None}

Futures = Sequence[Mapping[JobId, Future]]
Promise = dict[str, Any]


def promises_of(
    forecaster: Forecaster, workloads: Sequence[SubmittedWorkload], *, level: float = LEVEL
) -> list[list[Promise]]:
    """The promises of the jobs of each workload; all of them are submitted now.

    level: the share of all promises that are to be kept.
    """
    jobs = [each.job for workload in workloads for each in workload.jobs]
    forecaster.stop_clock()
    # With fewer the ends are guessed, and the few past runs of a job make tails that are long.
    replications = max(REPLICATIONS, draws_of(level))
    futures = forecaster.futures(jobs, replications=replications, seconds=FORECAST_S)
    until_s = time.monotonic() + OFFERS_S
    return [
        [
            _Promise(forecaster, workload, each, jobs, futures, level).made(until_s)
            for each in workload.jobs
        ]
        for workload in workloads
    ]


class _Promise:
    """The promise of one job, in the making."""

    def __init__(
        self,
        forecaster: Forecaster,
        workload: SubmittedWorkload,
        each: SubmittedJob,
        jobs: Sequence[Job],
        futures: Futures,
        level: float = LEVEL,
    ) -> None:
        self._forecaster = forecaster
        self._replica = forecaster.replica
        self._tenant = workload.tenant
        self._names = {one.job_id: one.name for one in workload.jobs}
        self._job = each.job
        self._jobs = jobs
        self._level = level
        self._futures = [future[each.job_id] for future in futures if each.job_id in future]
        self._now_s = forecaster.now_s
        self._made_at_s = time.time()

    def made(self, until_s: float) -> Promise:
        """until_s: when to stop looking for offers, by the monotonic clock."""
        why_not = self._why_not()
        ends_s = _instants([future.ends_at_s for future in self._futures])
        starts_s = _instants([future.starts_at_s for future in self._futures])
        is_known = why_not is None and ends_s is not None
        refusals = [one for one in self._futures if one.state == JobState.REFUSED.value]
        decision = "accepted" if is_known else "accepted_without_promise"
        if self._futures and len(refusals) == len(self._futures):
            decision, why_not = "refused", "admission refuses it: it could not keep its deadline"
        elif not is_known and why_not is None:
            why_not = "not all futures end"
        chance = self._chance(ends_s) if is_known else None
        offers: list[Promise] = []
        wants_help = decision == "refused" or (chance is not None and chance < LEVEL)
        if wants_help:
            offers = list(self._offers(ends_s, until_s))[:OFFERS_MAX]
        known = self._forecaster.known(self._job.job_id)
        return {
            "promise_id": f"promise-{self._job.job_id}",
            "job_id": self._job.job_id,
            "tenant": self._tenant,
            "made_at": instant(self._made_at_s),
            "as_of_seq": self._replica.seq,
            "decision": decision,
            "why_not": why_not,
            "starts_at": self._interval(starts_s) if is_known else _NOTHING,
            "ends_at": self._interval(ends_s) if is_known else self._not_before(ends_s),
            "level": self._level,
            "cost_usd": self._cost() if is_known else None,
            "price_rule": None,
            "deadline_at": self._deadline_at(),
            "deadline_probability": chance,
            "deadline_guaranteed": self._is_guaranteed(decision),
            "reason": None if why_not is None else {"code": decision, "text": why_not},
            "counter_offers": offers,
            "basis": {
                "profile": self._job.profile,
                "runs": known.runs,
                "model": "past runs" if known.runs else "lengths of the file",
                "replications": len(self._futures),
            },
        }

    def _why_not(self) -> str | None:
        own = [
            job.job_id for job in self._jobs if self._forecaster.known(job.job_id).spread is None
        ]
        if self._job.job_id in own:
            return "no past run of it is known, and its file gives no lengths"
        if own:
            # In the user's own words: a quote gives no ids. Another user may submit just now, too.
            named = [self._names[one] for one in own if one in self._names]
            which = named[0] if named else "a job of another user"
            return f"nothing is known of the length of {which}, which is submitted with it"
        unknown = self._forecaster.unknown(self._jobs)
        if unknown:
            more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            return f"nothing is known of the length of {unknown[0]}{more}, which is open"
        if not any(entry.is_up for entry in self._replica.state.nodes.values()):
            return "no node is up"
        if not self._futures:
            return "no future could be simulated in time"
        return None

    def _chance(self, ends_s: Sequence[float] | None) -> float | None:
        """The share of futures in which it keeps its deadline."""
        deadline_s = self._job.deadline_at_s
        if deadline_s is None or ends_s is None:
            return None
        in_time = sum(end_s <= self._now_s + deadline_s for end_s in ends_s)
        return in_time / len(ends_s)  # of those with a change there may be fewer

    def _is_guaranteed(self, decision: str) -> bool:
        admission = self._replica.scheduler.policies.admission
        has_deadline = self._job.deadline_at_s is not None
        return has_deadline and decision != "refused" and admission.makes_promises

    def _interval(self, instants_s: Sequence[float] | None) -> dict[str, str | None]:
        if not instants_s:
            return dict(_NOTHING)
        found = interval_of([at_s - self._now_s for at_s in instants_s], self._level)
        expected_s, low_s, high_s = (self._now_s + one for one in found.values())
        return {
            "expected": self._instant(expected_s),
            "low": self._instant(min(low_s, expected_s - REACTION_S)),
            "high": self._instant(max(high_s, expected_s + REACTION_S)),
        }

    def _not_before(self, ends_s: Sequence[float] | None) -> dict[str, str | None]:
        return {**_NOTHING, "low": self._instant(ends_s[0]) if ends_s else None}

    def _instant(self, at_s: float) -> str:
        # What is due has not begun before the promise: the replica is a moment behind.
        return instant(self._made_at_s + max(0.0, at_s - self._now_s))

    def _deadline_at(self) -> str | None:
        deadline_s = self._job.deadline_at_s
        return None if deadline_s is None else instant(self._made_at_s + deadline_s)

    def _cost(self) -> dict[str, float] | None:
        """The cost of its slots, as long as its tasks hold them; None without a price."""
        price = slot_hour_usd(self._replica.config.workload.prices, self._slots_of_vm())
        used_s = sorted(one.slot_s for one in self._futures if one.slot_s is not None)
        if price is None or not used_s:
            return None
        return {name: used * price / 3600 for name, used in interval_of(used_s).items()}

    def _slots_of_vm(self) -> int:
        """The slots of the VM whose price is given; a node of the cluster is one."""
        config = self._replica.config
        shape = config.workload.vm or config.cluster.nodes[0]
        return shape.containers or shape.map_slots + shape.reduce_slots

    # --- counter-offers -----------------------------------------------------------------------

    def _offers(self, ends_s: Sequence[float] | None, until_s: float) -> Iterator[Promise]:
        """Changes that keep the deadline with the probability of the level: free ones first."""
        now_s = time.monotonic()
        # Half of the time is for the other kinds.
        later = self._later_deadline(ends_s, now_s + (until_s - now_s) / 2)
        if later is not None:
            yield later
        for queue in self._forecaster.other_queues(self._job):
            if time.monotonic() > until_s:
                return
            found = self._ends_s(replace(self._job, pool=queue))
            chance = self._chance(found)
            if found and chance is not None and chance >= LEVEL:
                yield self._offer("other_queue", {"queue": queue}, found, chance)
                break
        fewer = 0
        for nodes in NODES_MORE:
            if time.monotonic() > until_s:
                return
            more = self._more_nodes(nodes)
            if more is not None:
                yield _narrowed(fewer, more, self._more_nodes, until_s)
                return
            fewer = nodes

    def _more_nodes(self, nodes: float) -> Promise | None:
        found = self._ends_s(self._job, nodes_more=int(nodes))
        chance = self._chance(found)
        if not found or chance is None or chance < LEVEL:
            return None
        return self._offer("more_vms", {"nodes_more": int(nodes)}, found, chance)

    def _later_deadline(self, ends_s: Sequence[float] | None, until_s: float) -> Promise | None:
        """A deadline that it keeps, from multiples of the time that it needs; then the least.

        Who takes the offer gets a promise of its own, from other futures and a little later: the
        deadline leaves room for both. until_s: when to stop looking for a smaller one.
        """
        is_refused = not ends_s
        ends_s = ends_s or self._ends_s(replace(self._job, deadline_at_s=None))
        if not ends_s:
            return None
        needs_s = ends_s[-1] - self._now_s
        slack_s = _TAKEN_S + (ends_s[-1] - ends_s[0]) / 2
        # What is refused may do with less than it takes without a deadline: it is promised room.
        too_soon_s = (self._job.deadline_at_s or 0.0) if is_refused else None
        for factor in _LATER:
            deadline_s = float(math.ceil(needs_s * factor + slack_s))
            offer = self._with_deadline(deadline_s)
            if offer is None:
                too_soon_s = deadline_s
            elif too_soon_s is None:
                return offer  # a smaller one would leave no room
            else:
                return _narrowed(too_soon_s, offer, self._with_deadline, until_s)
        return None

    def _with_deadline(self, deadline_s: float) -> Promise | None:
        found = self._ends_s(replace(self._job, deadline_at_s=deadline_s))
        by_s = self._now_s + deadline_s - _TAKEN_S
        chance = sum(end_s <= by_s for end_s in found) / len(found) if found else 0.0
        if found is None or chance < LEVEL:
            return None
        return self._offer("later_deadline", {"deadline_s": deadline_s}, found, chance)

    def _ends_s(self, job: Job, *, nodes_more: int = 0) -> list[float] | None:
        """When it ends in each future with a change."""
        jobs = [job if one.job_id == job.job_id else one for one in self._jobs]
        more = self._forecaster.more_nodes(nodes_more)
        futures = self._forecaster.futures(jobs, events=more, seconds=OFFERS_S)
        self_ends = [future[job.job_id].ends_at_s for future in futures if job.job_id in future]
        return _instants(self_ends)

    def _offer(
        self, kind: str, change: Mapping[str, Any], ends_s: Sequence[float], chance: float
    ) -> Promise:
        return {
            "kind": kind,
            "change": dict(change),
            "ends_at": self._instant(ends_s[len(ends_s) // 2]),
            "cost_usd": None,
            "deadline_probability": chance,
            "valid_until": instant(self._made_at_s + _VALID_S),
        }


def _narrowed(
    low: float, offer: Promise, ask: Callable[[float], Promise | None], until_s: float
) -> Promise:
    """The least offer that halving finds in time. low: a number that does not do."""
    while time.monotonic() < until_s:
        (high,) = offer["change"].values()
        if high - low <= max(1.0, _NEAR * high):
            break
        middle = float(math.floor((low + high) / 2))
        found = ask(middle)
        if found is None:
            low = middle
        else:
            offer = found
    return offer


def _instants(found: Sequence[float | None]) -> list[float] | None:
    """Ascending; None if there is none, or one is missing."""
    known = [one for one in found if one is not None]
    return sorted(known) if known and len(known) == len(found) else None


def slot_hour_usd(prices: Prices | None, slots: int) -> float | None:
    """The price of a slot for an hour; None if it is not known."""
    return None if prices is None or not slots else prices.vm_hour_usd / slots


def stamped(promise: Mapping[str, Any], made_at_s: float) -> Promise:
    """The promise of a job that is submitted at this instant, and not when it was computed."""
    if "made_at" not in promise:
        return {**promise, "made_at": instant(made_at_s)}
    by_s = made_at_s - datetime.fromisoformat(promise["made_at"]).timestamp()
    return {
        **promise,
        "made_at": instant(made_at_s),
        "deadline_at": _later(promise["deadline_at"], by_s),
        **{
            name: {which: _later(at, by_s) for which, at in promise[name].items()}
            for name in ("starts_at", "ends_at")
        },
        "counter_offers": [
            {**each, "ends_at": _later(each["ends_at"], by_s)} for each in promise["counter_offers"]
        ],
    }


def _later(at: str | None, by_s: float) -> str | None:
    return None if at is None else instant(datetime.fromisoformat(at).timestamp() + by_s)
