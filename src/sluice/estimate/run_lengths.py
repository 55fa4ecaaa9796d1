"""How long a queued job may run: lengths of past runs of the same kind, drawn at random.

A job is compared with past runs of its user and name, or else of less; the first group that has
enough of them counts, and of that the newest. Where limits are known, shares of the limit are
drawn, because users ask for more time where they need more. A job that runs already is compared
with those that had run for as long. No job is expected to run longer than its limit.

Jobs of one user and name are drawn at the same place of their past runs as often as these runs were
alike: of a batch all are short, or all are long. With a place for each, intervals of 90 % held in
65 % of a log of batches; with one place for all, they are too wide where jobs are independent.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from statistics import correlation
from typing import Final, NamedTuple

GROUP_MIN: Final = 8  # past runs; with fewer, a wider group counts
_RARE: Final = 8  # runs of a group for each of all, because what is rare in a group happens, too
NEWEST: Final = 60  # of a group
_BEYOND: Final = 2.0  # how much longer than all past runs one without a limit may be
_ALMOST: Final = 1 - 1e-9
_NEARLY: Final = 0.01  # of its limit; a job that runs has that much left at least
# Neighbours of a history straddle batches, and batches interleave: jobs that wait at the same time
# are about twice as alike. By the correlation alone, intervals of 90 % of HPC2N hold in 84 %.
_TOGETHER: Final = 2.0
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
        """As many times as long."""
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
    """Lengths by what jobs have in common. past: from the oldest to the newest."""

    def __init__(self, past: Iterable[PastLength]) -> None:
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
            self._newest[key] = _Group(self._groups.get(key, ())[-NEWEST:])
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

    def __init__(self, runs: Sequence[PastLength]) -> None:
        self.runs = runs
        limited = [(run.run_s, run.limit_s) for run in runs if run.limit_s is not None]
        # Runs may be more alike in the share of their limit than in their length.
        shares = [run_s / limit_s for run_s, limit_s in limited]
        self._by_share = bool(limited) and _spread(shares) < _spread([one for one, _ in limited])

    def lengths_s(self, job: OpenJob) -> list[float]:
        """How long the job would run like each of them, ascending; but not less than it has."""
        lengths_s = []
        for run in self.runs:
            length_s = run.run_s
            if job.limit_s is not None:
                if self._by_share and run.limit_s is not None:
                    length_s = run.run_s / run.limit_s * job.limit_s
                length_s = min(length_s, job.limit_s)
            if length_s > job.ran_s:
                lengths_s.append(length_s)
        return sorted(lengths_s)


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
    """Of each job, where each replication is among its possible lengths, from 0 to 1.

    They are spread evenly over the replications, in a random order. Two jobs of a user and name
    have one place in as many of them as their past runs were alike, and else a place of their own.
    """
    shared: dict[tuple[str, str], tuple[list[float], float]] = {}
    found = []
    for job in jobs:
        key = (job.user, job.name)
        if key not in shared:
            # A place that each of two jobs takes over with p is common to both with p * p.
            shared[key] = _spread_places(replications, draw), math.sqrt(past.likeness(*key))
        places, taken_over = shared[key]
        if taken_over < 1:
            own = _spread_places(replications, draw)
            places = [
                of_all if draw.random() < taken_over else mine
                for of_all, mine in zip(places, own, strict=True)
            ]
        found.append(places)
    return found


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
