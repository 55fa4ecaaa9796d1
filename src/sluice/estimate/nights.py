"""Nights: a history of periodic jobs, cut into periods of a day, to draw the next one from.

A night begins at the time of day at which the history is quiet: the middle of the longest part of
the day in which no job was ever submitted. Runs of one night share its luck, such as a large input
or a slow disk, so a night that is drawn as a whole keeps the correlation between its jobs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from statistics import median

from sluice.model.history import PastRun

DAY_S = 86_400.0
GAP_DAYS_MIN = 30.0  # longer gaps between runs are always mentioned


class OneNight(Enum):
    """Which jobs a night has, and when they are submitted.

    NEWEST: each profile once, at the time of day of its newest run.
    TYPICAL: the profiles that ran in at least half of the nights, at their median time of day.
    DRAWN: all runs of a night, as they came.
    """

    NEWEST = "newest"
    TYPICAL = "typical"
    DRAWN = "drawn"


@dataclass(frozen=True, slots=True)
class NightJob:
    """A job of a night: what it is called, when it is submitted (seconds into the night), its run.

    deadline_s: after submission; None without one.  after: the jobs that it runs after.
    """

    name: str
    at_s: float
    run: PastRun
    deadline_s: float | None = None
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nights:
    """The runs of a history by night, oldest first; each with its seconds into the night.

    began_at_s: time of day at which nights begin.
    """

    by_night: tuple[tuple[tuple[float, PastRun], ...], ...]
    began_at_s: float
    _by_profile: dict[str, list[tuple[float, PastRun]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def draw(self, mode: OneNight, rng: random.Random) -> list[NightJob]:
        """A night; in the order of submission, from 0 s on.

        The run behind each job is drawn: with DRAWN all from one night, else each on its own from
        all runs of its profile.
        """
        if mode is OneNight.DRAWN:
            night = self.by_night[rng.randrange(len(self.by_night))]
            return _from_zero([NightJob(run.profile, at_s, run) for at_s, run in night])
        runs = self.by_profile()
        return _from_zero(
            [
                NightJob(name, at_s, runs[name][rng.randrange(len(runs[name]))][1])
                for name, at_s in self._schedule(mode, runs)
            ]
        )

    def _schedule(
        self, mode: OneNight, runs: Mapping[str, Sequence[tuple[float, PastRun]]]
    ) -> Iterator[tuple[str, float]]:
        for name, past in runs.items():
            if mode is OneNight.NEWEST:
                yield name, past[-1][0]
            elif 2 * self._nights_with(name) >= len(self.by_night):
                yield name, median(at_s for at_s, _ in past)

    def _nights_with(self, name: str) -> int:
        return sum(any(run.profile == name for _, run in night) for night in self.by_night)

    def by_profile(self) -> dict[str, list[tuple[float, PastRun]]]:
        """The runs of each profile, oldest first."""
        if not self._by_profile:
            for night in self.by_night:
                for at_s, run in night:
                    self._by_profile.setdefault(run.profile, []).append((at_s, run))
        return self._by_profile


def _from_zero(jobs: Sequence[NightJob]) -> list[NightJob]:
    first_s = min((job.at_s for job in jobs), default=0.0)
    seen: dict[str, int] = {}
    named = []
    for job in sorted(jobs, key=lambda job: (job.at_s, job.name)):
        seen[job.name] = seen.get(job.name, 0) + 1
        name = job.name if seen[job.name] == 1 else f"{job.name} #{seen[job.name]}"
        named.append(NightJob(name, job.at_s - first_s, job.run))
    return named


def nights_of(runs: Sequence[PastRun]) -> Nights:
    """The nights of these runs. Runs without an instant of submission are one night at 0 s."""
    timed = sorted(
        ((run.submitted_at_s, run) for run in runs if run.submitted_at_s is not None),
        key=lambda one: (one[0], one[1].run_id),
    )
    others = tuple((0.0, run) for run in runs if run.submitted_at_s is None)
    began_at_s = _quiet_s([at_s % DAY_S for at_s, _ in timed])
    by_day: dict[int, list[tuple[float, PastRun]]] = {}
    for at_s, run in timed:
        day, into_s = divmod(at_s - began_at_s, DAY_S)
        by_day.setdefault(int(day), []).append((into_s, run))
    nights = [tuple(night) for night in by_day.values()]
    return Nights(by_night=tuple([others, *nights] if others else nights), began_at_s=began_at_s)


def _quiet_s(times_of_day_s: Sequence[float]) -> float:
    """Middle of the longest part of the day without a submission, seconds after midnight.

    >>> _quiet_s([3600.0, 7200.0]) == (7200.0 + 82_800.0 / 2) % 86_400.0
    True
    """
    rising = sorted(set(times_of_day_s))
    if not rising:
        return 0.0
    nexts = [*rising[1:], rising[0] + DAY_S]
    gap_s, start_s = max(
        ((after - before, before) for before, after in zip(rising, nexts, strict=True)),
        key=lambda gap: gap[0],
    )
    return (start_s + gap_s / 2) % DAY_S


def gaps_days(runs: Sequence[PastRun], least_days: float = GAP_DAYS_MIN) -> list[float]:
    """Lengths of the gaps between submissions that are at least that long, in days."""
    times_s = sorted(run.submitted_at_s for run in runs if run.submitted_at_s is not None)
    return [days for a, b in pairwise(times_s) if (days := (b - a) / DAY_S) >= least_days]


def after_last_gap(runs: Sequence[PastRun], gap_days: float) -> list[PastRun]:
    """The runs since the last gap of at least that many days; those without an instant stay."""
    times_s = sorted(run.submitted_at_s for run in runs if run.submitted_at_s is not None)
    since_s = times_s[0] if times_s else 0.0
    for before_s, at_s in pairwise(times_s):
        if at_s - before_s >= gap_days * DAY_S:
            since_s = at_s
    return [run for run in runs if run.submitted_at_s is None or run.submitted_at_s >= since_s]
