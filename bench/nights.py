"""How good are predictions of 40 nightly jobs after ten nights, and how good could they be?

The generator of the tests makes 40 jobs (10-30 s of driver overhead, 16 slots, 5 % of tasks in a
long tail) and ten nights of runs. Each run of the eleventh night is predicted. The same run is also
predicted by a reference that knows the generator's parameters, as no history can tell them: the
median of many drawn nights. What the reference misses is the luck of the night, which cannot be
predicted.

    python -m bench.nights --seeds 200-229
"""

from __future__ import annotations

import argparse
import sys
from statistics import fmean, median
from typing import NamedTuple

from tests.estimate.nightly_jobs import NIGHTS, night_of, nightly_jobs, nights_of, usual_s

from sluice.estimate.job_forecasts import JobForecasts

ERROR_MAX = 0.10


class Night(NamedTuple):
    """The eleventh night of one seed: errors of each job, and the share inside its interval."""

    seed: int
    ours: list[float]
    reference: list[float]
    inside: float


def eleventh_night(seed: int, draws: int) -> Night:
    """Predict the night after ten others. draws: nights behind the reference."""
    jobs = nightly_jobs(seed)
    forecasts = JobForecasts(nights_of(jobs, seed=seed))
    ours, reference, inside = [], [], []
    for job, run in zip(jobs, night_of(jobs, NIGHTS, seed), strict=True):
        found = forecasts.of(run.profile)
        took_s = run.elapsed_s
        if None in (found.predicted_s, found.low_s, found.high_s, took_s):
            raise SystemExit(f"{run.profile} of seed {seed} has no interval: {found.why_not}")
        ours.append(abs(found.predicted_s / took_s - 1))
        reference.append(abs(usual_s(job, draws) / took_s - 1))
        inside.append(found.low_s <= took_s <= found.high_s)
    return Night(seed, ours, reference, fmean(inside))


def main(words: list[str] | None = None) -> int:
    """Print the errors of each seed, and of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="200-229", help="first-last")
    parser.add_argument("--draws", type=int, default=300, help="nights behind the reference")
    given = parser.parse_args(words)
    first, last = map(int, given.seeds.split("-"))
    nights = []
    for seed in range(first, last + 1):
        night = eleventh_night(seed, given.draws)
        nights.append(night)
        shown = f"{median(night.ours):6.1%}  reference {median(night.reference):6.1%}"
        print(f"seed {seed}: median error {shown}  inside {night.inside:6.1%}")
    for name in ("ours", "reference"):
        by_seed: list[list[float]] = [getattr(night, name) for night in nights]
        above = sum(median(errors) >= ERROR_MAX for errors in by_seed)
        pooled = median(error for errors in by_seed for error in errors)
        print(f"{name}: median {pooled:.1%}, {above} of {len(nights)} seeds at 10 % or above")
    inside = [night.inside for night in nights]
    print(f"inside: {fmean(inside):.1%}, by seed {min(inside):.1%} to {max(inside):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
