"""The parts of a job's response, and how much of it running pools can save.

With a cluster by job the response is booting and running; in pools it is waiting and running. On
the same clusters pools can save the part of booting. But both policies run a job on the cheapest
cluster that meets its deadline, and without booting a smaller, slower cluster is enough. So the
second schedule of the pools plans as if each deadline were earlier by the time to boot: it leaves
the time that pools save to the customer. Source: Cura, sections 4.2.1 and 4.2.4; spec section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import NamedTuple

from sluice.planning.pools.baselines import per_job
from sluice.planning.pools.least_servers import on_servers
from sluice.planning.pools.online import vm_aware
from sluice.planning.pools.problem import PoolProblem
from sluice.planning.pools.schedule import PoolSchedule
from sluice.reproductions.cura.figures import EQUAL, matched_shares, problem
from sluice.reproductions.cura.published_size import enough_servers
from sluice.reproductions.cura.workloads import Load
from sluice.reproductions.runner import Cell, Experiment, OnProgress

JOBS = 300
_WITHIN = 0.15  # of the servers, which hardly change the response
_MIX = ("small", "medium", "large")


class _Case(NamedTuple):
    """A load. paper: how much shorter the paper has the response, percent."""

    jobs: str
    mean_s: int
    sizes: tuple[str, ...] = _MIX
    boot_s: float = 80.0
    paper: int | None = None


_CASES = (
    _Case("mixed", 100, paper=65),
    _Case("mixed", 200),
    _Case("mixed", 400),
    _Case("small", 100, ("small",), paper=87),
    _Case("medium", 100, ("medium",), paper=69),
    _Case("large", 100, ("large",), paper=60),
    _Case("mixed", 100, boot_s=160.0),
    _Case("mixed", 100, boot_s=240.0),
)


def response_parts(seeds: int, on_progress: OnProgress) -> Experiment:
    """Booting, waiting and running in the response, and the most that pools can save."""
    return of_jobs(JOBS, seeds, on_progress)


def of_jobs(jobs: int, seeds: int, on_progress: OnProgress) -> Experiment:
    """The experiment with that many jobs of each kind."""
    rows = []
    for place, case in enumerate(_CASES):
        text = f"{case.jobs} jobs, mean deadline {case.mean_s} s, boot {case.boot_s:g} s"
        on_progress(text, place / len(_CASES))
        load = Load(jobs=jobs, mean_deadline_s=case.mean_s, sizes=case.sizes, boot_s=case.boot_s)
        drawn = [problem(load, seed) for seed in range(seeds)]
        rows.append(_row(case, drawn))
    return Experiment(
        rows=tuple(rows),
        name="response-parts",
        title="What the response of a job consists of",
        setup=(
            f"{jobs} light jobs at 1.92 a second, each kind on its own, in matched or equal pools,"
            f" whichever need fewer servers; {seeds} seeds."
        ),
        why=(
            "'Same clusters' is the part of booting in the response of clusters by job: pools could"
            " save it on the same clusters, if no job waited. It is near the figures of the paper."
            " Ours save less, because a job that need not boot has time for a smaller, cheaper"
            " cluster, and for a wait: pools spend the time on fewer servers. With deadlines that"
            " are earlier by the time to boot, the last two columns, they leave it to the customer."
            " The paper gives no boot time (E16). Longer ones raise the deadlines as well, since"
            " each job must be able to boot."
        ),
    )


def _row(case: _Case, drawn: Sequence[PoolProblem]) -> dict[str, Cell]:
    fresh = [per_job(one) for one in drawn]
    ours = [_in_pools(one) for one in drawn]
    quick = [_in_pools(_with_earlier_deadlines(one, case.boot_s)) for one in drawn]
    response_s = case.boot_s + _run_s(fresh)

    def shorter(made: Sequence[PoolSchedule]) -> float:
        return 100 * (1 - (_wait_s(made) + _run_s(made)) / response_s)

    return {
        "jobs": case.jobs,
        "mean deadline s": case.mean_s,
        "boot s": case.boot_s,
        "per-job: run s": _run_s(fresh),
        "ours: wait s": _wait_s(ours),
        "ours: run s": _run_s(ours),
        "paper: shorter %": case.paper,
        "same clusters: shorter %": 100 * case.boot_s / response_s,
        "ours: shorter %": shorter(ours),
        "ours: servers": fmean(one.servers for one in ours),
        "earlier deadlines: shorter %": shorter(quick),
        "earlier deadlines: servers": fmean(one.servers for one in quick),
    }


def _in_pools(drawn: PoolProblem) -> PoolSchedule:
    """The schedule in the better of matched and equal pools: that with fewer servers.

    Matched pools of urgent jobs can be too small for the largest cluster that one of them needs.
    """
    found = [
        (enough_servers(drawn, shares, within=_WITHIN).servers, shares)
        for shares in (matched_shares(drawn), EQUAL)
    ]
    servers, shares = min(found, key=lambda one: one[0])
    return vm_aware(on_servers(drawn, servers, shares))


def _with_earlier_deadlines(drawn: PoolProblem, by_s: float) -> PoolProblem:
    jobs = tuple(replace(job, deadline_at_s=job.deadline_at_s - by_s) for job in drawn.jobs)
    return replace(drawn, jobs=jobs)


def _run_s(schedules: Sequence[PoolSchedule]) -> float:
    return fmean(
        one.finished_at_s - one.started_at_s
        for schedule in schedules
        for one in schedule.outcomes
        if one.finished_at_s is not None and one.started_at_s is not None
    )


def _wait_s(schedules: Sequence[PoolSchedule]) -> float:
    return fmean(
        one.started_at_s - one.job.submitted_at_s
        for schedule in schedules
        for one in schedule.outcomes
        if one.started_at_s is not None
    )
