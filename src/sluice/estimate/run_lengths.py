"""How long a queued job may run: lengths of past runs of the same kind, drawn at random.

A job is compared with past runs of its user and name, or else of less; the first group that has
enough of them counts, and of that the newest. Where limits are known, shares of the limit are
drawn, because users ask for more time where they need more. A job that runs already is compared
with those that had run for as long. No job is expected to run longer than its limit, or than the
seconds after it that others took to end.

Jobs that run now count, too: each will take longer than it has (Kaplan and Meier 1958). Without
them the past is of short jobs, because the long ones of a batch have not ended yet.

Jobs of one user and name are drawn at the same place of their past runs as often as these runs were
alike: of a batch all are short, or all are long. With a place for each, intervals of 90 % held in
65 % of a log of batches; with one place for all, they are too wide where jobs are independent.
The place of a batch is above those that its running jobs have passed.

A forecast knows less than it simulates: jobs that are submitted later, other hours of the day. In
each future all waits are longer or shorter by one factor. Without it, intervals of 90 % held in 78
to 83 % of two public logs (HPC2N, KTH-SP2).
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist, correlation
from typing import Final, NamedTuple

import numpy as np

GROUP_MIN: Final = 8  # past runs; with fewer, a wider group counts
_RARE: Final = 8  # runs of a group for each of all, because what is rare in a group happens, too
NEWEST: Final = 60  # of a group
_BEYOND: Final = 2.0  # how much longer than all past runs one without a limit may be
_ALMOST: Final = 1 - 1e-9
_NEARLY: Final = 0.01  # of its limit; a job that runs has that much left at least
# Neighbours of a history straddle batches, and batches interleave: jobs that wait at the same time
# are about twice as alike. By the correlation alone, intervals of 90 % of HPC2N hold in 84 %.
_TOGETHER: Final = 2.0
_EVIDENCE: Final = 0.35  # of all running jobs of a batch together, which repeat each other
_LEAST: Final = 1e-12
_PASSED_MAX: Final = 0.98  # a place that a running job has passed; more of it says nothing
_DELAY: Final = NormalDist(0.08, 0.2)  # of waits, as a logarithm: most of what is unknown delays
_PAIRS_OF_ALL: Final = 8.0  # for how many pairs of runs of a job's own those of all jobs count


class PastLength(NamedTuple):
    """One past run. limit_s: None if it had none."""

    name: str
    user: str
    slots: int
    limit_s: float | None
    run_s: float


class OpenJob(NamedTuple):
    """A job that waits or runs. ran_s: so far; 0 of one that waits."""

    name: str
    user: str
    slots: int
    limit_s: float | None
    ran_s: float = 0.0


class PossibleLengths(NamedTuple):
    """lengths_s: as likely as each other, ascending.  runs: they come from so many past runs.

    kind: what these have in common with the job.
    is_whole: whether nothing shorter or longer is possible.
    """

    lengths_s: tuple[float, ...]
    runs: int
    kind: str
    is_whole: bool = False

    def times(self, factor: float) -> PossibleLengths:
        """Lengths multiplied by a factor."""
        return self._replace(lengths_s=tuple(factor * one for one in self.lengths_s))

    def at(self, place: float, job: OpenJob) -> float:
        """The length at a place from 0 to 1: as likely between two runs as before the first one.

        What is longer than all of them reaches to the limit.
        """
        last_s = self.lengths_s[-1]
        most_s = _BEYOND * last_s if job.limit_s is None else max(last_s, job.limit_s)
        steps = self.lengths_s if self.is_whole else (job.ran_s, *self.lengths_s, most_s)
        at = min(place, _ALMOST) * (len(steps) - 1)
        below = int(at)
        return steps[below] + (at - below) * (steps[below + 1] - steps[below])


class RunLengths:
    """Lengths by what jobs have in common.

    past: from the oldest to the newest.  running: the jobs that run now, which count from ran_s on.
    """

    def __init__(self, past: Iterable[PastLength], running: Iterable[OpenJob] = ()) -> None:
        self._unended: dict[Hashable, list[OpenJob]] = {}
        for job in running:
            for _, key in _kinds(job):
                self._unended.setdefault(key, []).append(job)
        self._groups: dict[Hashable, list[PastLength]] = {}
        self._known: dict[OpenJob, PossibleLengths | None] = {}
        self._newest: dict[Hashable, _Group] = {}
        self._named: dict[tuple[str, str], list[float]] = {}
        for run in past:
            self._named.setdefault((run.user, run.name), []).append(run.run_s)
            for _, key in _kinds(run):
                self._groups.setdefault(key, []).append(run)

    def of(self, job: OpenJob) -> PossibleLengths | None:
        """Return what is possible; None without any past run that says something."""
        if job not in self._known:
            self._known[job] = self._compared(job)
        return self._known[job]

    def passed(self, job: OpenJob) -> float:
        """The place among its possible lengths that a running job has passed, from 0 to 1."""
        possible = self.of(job._replace(ran_s=0.0)) if job.ran_s else None
        if possible is None:
            return 0.0
        shorter = bisect_right(possible.lengths_s, job.ran_s)
        return min(_PASSED_MAX, shorter / (len(possible.lengths_s) + 1))

    def likeness(self, user: str, name: str) -> float:
        """How alike two jobs of a user and name are that wait together, from 0 to 1.

        By the rank correlation of runs that ended one after the other, as far as there are many;
        else by that of all users and names. 1 where nothing is known.
        """
        pairs, correlation = _neighbours(self._named.get((user, name), ()))
        if not self._of_all:
            return 1.0
        weighed = pairs * correlation + _PAIRS_OF_ALL * self._of_all[0]
        return min(1.0, max(0.0, _TOGETHER * weighed / (pairs + _PAIRS_OF_ALL)))

    @cached_property
    def _of_all(self) -> tuple[float, ...]:
        """The correlation over all users and names; empty where none has enough runs."""
        found = [_neighbours(lengths_s) for lengths_s in self._named.values()]
        pairs = sum(one for one, _ in found)
        return (sum(one * correlation for one, correlation in found) / pairs,) if pairs else ()

    def _compared(self, job: OpenJob) -> PossibleLengths | None:
        found = None
        kinds = _kinds(job)
        for kind, key in kinds:
            group = self._group(key)
            lengths_s = group.lengths_s(job)
            if len(lengths_s) >= GROUP_MIN:
                wider = self._group(kinds[-1][1]).lengths_s(job)
                few = wider[:: max(1, len(wider) * _RARE // len(lengths_s))]
                return PossibleLengths(tuple(sorted(lengths_s + few)), len(group.runs), kind)
            if lengths_s and found is None:
                found = PossibleLengths(tuple(lengths_s), len(group.runs), kind)
        return found

    def _group(self, key: Hashable) -> _Group:
        if key not in self._newest:
            self._newest[key] = _Group(
                self._groups.get(key, ())[-NEWEST:], self._unended.get(key, ())[:NEWEST]
            )
        return self._newest[key]


def _kinds(job: PastLength | OpenJob) -> list[tuple[str, Hashable]]:
    """From the narrowest group to all."""
    return [
        ("user, name and limit", (0, job.user, job.name, job.limit_s, job.slots)),
        ("user and name", (1, job.user, job.name)),
        ("user and limit", (2, job.user, job.limit_s)),
        ("user", (3, job.user)),
        ("limit", (4, job.limit_s)),
        ("all", (5,)),
    ]


class _Group:
    """Past runs with something in common."""

    def __init__(self, runs: Sequence[PastLength], unended: Sequence[OpenJob]) -> None:
        self.runs = runs
        self._unended = unended
        limited = [(run.run_s, run.limit_s) for run in runs if run.limit_s is not None]
        # Runs may be more alike in the share of their limit than in their length.
        shares = [run_s / limit_s for run_s, limit_s in limited]
        self._by_share = bool(limited) and _spread(shares) < _spread([one for one, _ in limited])

    def lengths_s(self, job: OpenJob) -> list[float]:
        """How long the job would run like each of them, ascending; but not less than it has."""
        lengths_s = sorted(self._scaled_s(run.run_s, run.limit_s, job) for run in self.runs)
        if lengths_s and self._unended:
            at_least_s = [self._scaled_s(one.ran_s, one.limit_s, job) for one in self._unended]
            lengths_s = _with_unended(lengths_s, at_least_s, job.limit_s)
        return [length_s for length_s in lengths_s if length_s > job.ran_s]

    def _scaled_s(self, run_s: float, limit_s: float | None, job: OpenJob) -> float:
        """The length of a run as one of the job."""
        if job.limit_s is None:
            return run_s
        if limit_s is not None and run_s > limit_s:  # a scheduler is late to end a job
            return job.limit_s + min(run_s - limit_s, job.limit_s)
        if limit_s is not None and self._by_share:
            return run_s / limit_s * job.limit_s
        return min(run_s, job.limit_s)


def _with_unended(
    ended_s: Sequence[float], at_least_s: Sequence[float], limit_s: float | None
) -> list[float]:
    """Merge both lists into as many lengths, ascending and each as likely as the others.

    The weight of one that has not ended goes to all longer ones in equal parts (Efron 1967). The
    longest of all takes its limit, or twice what it has.

    >>> _with_unended([1, 2, 6, 8], [3, 4], None)
    [1, 2, 6, 6, 8, 8]
    """
    events = sorted([*((one, False) for one in ended_s), *((one, True) for one in at_least_s)])
    weight, weighed, total = 1.0, [], 0.0
    for rest, (length_s, is_open) in zip(range(len(events) - 1, -1, -1), events, strict=True):
        if is_open and rest:
            weight *= 1 + 1 / rest
            continue
        longest_s = _BEYOND * length_s if limit_s is None else max(length_s, limit_s)
        total += weight
        weighed.append((longest_s if is_open else length_s, total))
    found, place = [], 0
    for at in range(len(events)):
        while weighed[place][1] < (at + 0.5) * total / len(events):
            place += 1
        found.append(weighed[place][0])
    return found


def _spread(values: Sequence[float]) -> float:
    """The standard deviation as a share of the mean."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / len(values)) / mean


def _neighbours(lengths_s: Sequence[float]) -> tuple[int, float]:
    """How many pairs of neighbours the newest lengths have, and their rank correlation.

    (0, 0) of fewer than GROUP_MIN, and of lengths that do not differ, which say nothing.

    >>> pairs, correlation = _neighbours([1, 1, 2, 2, 3, 3, 9, 9])
    >>> pairs, round(correlation, 3), _neighbours([5] * 9)
    (7, 0.885, (0, 0.0))
    """
    newest = lengths_s[-NEWEST:]
    ordered = sorted(newest)
    if len(newest) < GROUP_MIN or ordered[0] == ordered[-1]:
        return 0, 0.0
    ranks = [(bisect_left(ordered, one) + bisect_right(ordered, one)) / 2 for one in newest]
    before, after = ranks[:-1], ranks[1:]
    if min(before) == max(before) or min(after) == max(after):
        return 0, 0.0
    return len(before), correlation(before, after)


def left_s(job: OpenJob, length_s: float) -> float:
    """Return what is left of a length, above 0."""
    return max(length_s - job.ran_s, _NEARLY * (job.limit_s or length_s))


def drawn_lengths_s(
    jobs: Sequence[OpenJob],
    possible: Sequence[PossibleLengths | None],
    places: Sequence[Sequence[float]],
) -> list[list[float]]:
    """For each replication, what is left of each job. Without past runs it is the limit.

    places: of each job, as `drawn_places` draws them.
    """
    return [
        [length_at(*one) for one in zip(jobs, possible, of_jobs, strict=True)]
        for of_jobs in zip(*places, strict=True)
    ]


def drawn_places(
    jobs: Sequence[OpenJob], past: RunLengths, replications: int, draw: random.Random
) -> list[list[float]]:
    """For each job, the place of each replication among its possible lengths, from 0 to 1.

    They are spread evenly over the replications, in a random order. Two jobs of a user and name
    have one place in as many of them as their past runs were alike, and else a place of their own.
    """
    passed: dict[tuple[str, str], list[float]] = {}
    for job in jobs:
        passed.setdefault((job.user, job.name), []).append(past.passed(job))
    shared = {}
    for key, places in passed.items():
        # A place that each of two jobs takes over with p is common to both with p * p.
        taken_over = math.sqrt(past.likeness(*key))
        given = _spread_places(replications, draw)
        shared[key] = _places_above(sorted(filter(None, places)), given, taken_over), taken_over
    found = []
    for job in jobs:
        of_all, taken_over = shared[job.user, job.name]
        own, least = _spread_places(replications, draw), past.passed(job)
        found.append(
            [
                (place - least) / (1 - least)
                if place >= least and draw.random() < _share(taken_over, least)
                else mine
                for place, mine in zip(of_all, own, strict=True)
            ]
        )
    return found


def _share(taken_over: float, least: float) -> float:
    """How likely a job that has passed this place has one above it that it took over."""
    return taken_over / (taken_over + (1 - taken_over) * (1 - least)) if taken_over else 0.0


def _places_above(
    passed: Sequence[float], places: Sequence[float], taken_over: float
) -> Sequence[float]:
    """Places of a batch, out of even ones, where its running jobs have passed these (ascending).

    By the rule of Bayes: a running job has either taken the place over, which is then above what it
    has passed, or has a place of its own.

    >>> [round(one, 2) for one in _places_above([0.8], [0.25, 0.5, 0.75], 1.0)]
    [0.85, 0.9, 0.95]
    """
    if not passed or not taken_over:
        return places
    heights, total = [0.0], 0.0
    edges = [0.0, *passed, 1.0]
    own = [math.log(max((1 - taken_over) * (1 - one), _LEAST)) for one in passed]
    gain = [
        math.log(taken_over + (1 - taken_over) * (1 - one)) - alone
        for one, alone in zip(passed, own, strict=True)
    ]
    # Without the part that is common to all places.
    logs = [math.fsum(gain[:at]) * _EVIDENCE / len(passed) for at in range(len(edges) - 1)]
    for (low, high), log in zip(pairwise(edges), logs, strict=True):
        total += (high - low) * math.exp(log - logs[-1])
        heights.append(total)
    return [float(one) for one in np.interp([total * one for one in places], heights, edges)]


def drawn_delays(replications: int, draw: random.Random) -> list[float]:
    """The factor of all waits in each replication."""
    return [math.exp(_DELAY.inv_cdf(place)) for place in _spread_places(replications, draw)]


def _spread_places(replications: int, draw: random.Random) -> list[float]:
    places = [(at + draw.random()) / replications for at in range(replications)]
    draw.shuffle(places)
    return places


def length_at(job: OpenJob, possible: PossibleLengths | None, place: float) -> float:
    """Seconds that are left of a job, at a place from 0 to 1; of its limit if it has no runs.

    Infinite without either, so that what waits for the job has no start either.
    """
    if possible is not None:
        return left_s(job, possible.at(place, job))
    return math.inf if job.limit_s is None else left_s(job, job.limit_s)


def quantile(ascending: Sequence[float], share: float) -> float:
    """The least value that at least this share of the values does not exceed.

    >>> quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.95)
    (2, 4)
    """
    rank = math.ceil(share * len(ascending)) - 1
    return ascending[min(len(ascending) - 1, max(0, rank))]
