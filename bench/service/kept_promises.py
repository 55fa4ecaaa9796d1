"""Are promises kept as often as they say? A month of a service, in made-up time.

Three teams submit jobs of twelve profiles, more by day than by night, and the lengths of runs are
drawn: the truth is known, and stationary. The service's own code makes each promise from the state
of the cluster and from what past runs have measured, learns of each job that ends, and judges the
promise. Users give lengths until a job of the profile has ended; all others rest on past runs.
It asserts that the share kept at each level is within 3 points of it, as far as chance lets so many
jobs show; and prints the share of each team and profile, too.
Arguments: days, seed, task policy, how far the tasks of a phase differ (0.3: by 30 %).
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sluice.bootstrap.history.profiles import learn, with_past_lengths
from sluice.bootstrap.live.run_options import RunOptions
from sluice.bootstrap.service.config import ServiceConfig
from sluice.bootstrap.service.forecasts import REPLICATIONS, Forecaster
from sluice.bootstrap.service.futures import Future, draws_of, instant
from sluice.bootstrap.service.kept_promises import KeptPromises
from sluice.bootstrap.service.promises import promises_of, stamped
from sluice.bootstrap.service.readable import KnownJob
from sluice.bootstrap.service.views import Views
from sluice.core.record.opening import opening_of
from sluice.estimate.proportions import wilson_interval
from sluice.estimate.uncertainty import LEVEL
from sluice.ingest.reading import SourceText
from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings
from sluice.store.service.submissions import JobChange, SubmittedJob, SubmittedWorkload

LEVELS = (0.5, 0.8, LEVEL)  # a higher one needs twice as many futures
DAYS = 30
POINTS = 0.03  # the share kept may be off by so much
DAY_S = 86_400.0
BEGAN_S = 1_767_225_600.0  # 2026-01-01, the wall clock at the start of the month
TEAMS = ("ads", "reports", "search")
PROFILES_EACH = 4
JOBS_A_DAY = 48.0
SWING = 0.8  # of the rate, by day and night
TASK_CV = 0.3
_NO_END = 10**9  # jobs that are still to come: the month is a part of a longer life
_CONFIG = """version: 1
cluster: {nodes: 3, node: {map_slots: 4, reduce_slots: 2}}
queues: [{id: ads}, {id: reports}, {id: search}]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Jobs of one profile. sigma: of the logarithm of the factor by which its runs differ."""

    profile: str
    team: str
    tasks: tuple[int, int]
    means_s: tuple[float, float]
    sigma: float


def kinds(draw: random.Random) -> list[Kind]:
    """The profiles of all teams."""
    return [
        Kind(
            profile=f"{team}-{number}",
            team=team,
            tasks=(draw.randint(4, 36), draw.randint(1, 6)),
            means_s=(draw.uniform(60, 420), draw.uniform(60, 300)),
            sigma=draw.choice((0.1, 0.2, 0.35, 0.5)),
        )
        for team in TEAMS
        for number in range(PROFILES_EACH)
    ]


def submissions(days: float, draw: random.Random) -> Iterator[tuple[float, Kind]]:
    """When jobs of which kind come: a Poisson process whose rate swings with the day."""
    known, at_s = kinds(draw), 0.0
    rate_max = JOBS_A_DAY / DAY_S * (1 + SWING)
    while True:
        at_s += draw.expovariate(rate_max)
        if at_s > days * DAY_S:
            return
        rate = 1 - SWING * math.cos(2 * math.pi * at_s / DAY_S)
        if draw.random() * (1 + SWING) < rate:
            yield at_s, draw.choice(known)


class AllFutures(Forecaster):
    """Draws as many futures as on an idle machine, once for each instant, and without a fork:
    each in a scheduler that goes on from an opening.
    """

    _kept: tuple[float, list[Mapping[JobId, Future]]] = (-1.0, [])

    def stop_clock(self) -> None:
        """No time passes while it simulates."""

    def futures(
        self, new: Sequence[Job] = (), *, replications: int = REPLICATIONS, **_: object
    ) -> list[Mapping[JobId, Future]]:
        """So many futures of this instant."""
        if self._kept[0] != self.now_s:
            self._kept = self.now_s, list(self._drawn(new))
        return self._kept[1][:replications]

    def _drawn(self, new: Sequence[Job]) -> Iterator[Mapping[JobId, Future]]:
        replica, scheduler = self.replica, self.replica.scheduler
        opening = opening_of(scheduler)
        for number in range(max(map(draws_of, LEVELS))):
            replica.scheduler = replica.config.scheduler(opening)
            plain = self._one(self.now_s, new, (), number)
            yield {JobId(job_id): Future(**each) for job_id, each in plain.items()}
        replica.scheduler = scheduler


class Month:
    """A cluster in made-up time, as the service's questions read it (a `Readable`)."""

    def __init__(self, config: ServiceConfig, seed: int, task_cv: float = TASK_CV) -> None:
        self.config = config
        self._task_sigma = math.sqrt(math.log1p(task_cv**2))
        self.scheduler = config.scheduler()
        self.state = self.scheduler.state
        self.jobs: dict[JobId, KnownJob] = {}
        self.submitted: list[JobId] = []
        self.changes: dict[JobId, list[JobChange]] = {}
        self.settled: dict[JobId, None] = {}
        self.capacity: list[tuple[float, int]] = []
        self.segment = Path("month")
        self.always_gives_lengths = False  # users, also of a job whose profile is known
        self.now_s = self.at_s = 0.0
        self.seq = 0
        self._draw = random.Random(f"lengths {seed}")
        self._truth_s: dict[tuple[JobId, str], list[float]] = {}
        self._open: dict[JobId, None] = {}
        self._profiles: set[str] = set()
        self._rows: dict[JobId, list[int]] = {}  # of attempts of jobs that are open
        self._rows_read = 0
        self._forecaster = AllFutures(self)
        self._simulation = Simulation(
            self.scheduler, config.cluster, (), settings=SimulationSettings(heartbeat_s=0.0),
            seed=seed, recorded=lambda job_id, name, task: self._truth_s[job_id, name][task],
        )  # fmt: skip
        # A month of users is not known in advance, as the jobs of a simulation are.
        self._simulation._arrivals.left = _NO_END  # noqa: SLF001
        self.promised: dict[float, dict[JobId, KnownJob]] = {level: {} for level in LEVELS}

    @property
    def open_jobs(self) -> list[JobId]:
        """In the order of their submission."""
        return list(self._open)

    def wall_s(self, at_s: float) -> float:
        """Seconds since 1970."""
        return BEGAN_S + at_s

    def pass_until(self, at_s: float) -> None:
        """What happens until then, and what the service learns of it."""
        self._simulation.run(until_s=at_s)
        ended = [one for one in self._open if self.state.jobs[one].has_ended]
        for job_id in ended:
            del self._open[job_id]
            self._profiles.add(self.jobs.pop(job_id).submitted.name)
            self.settled[job_id] = None
        self._forecaster.forget(ended)
        if ended:
            learn(
                self.state, run_id="service-month", cluster=self.config.cluster, on_message=print,
                header=replace(self.config.header(), started_at=instant(BEGAN_S)),
                only=self._rows_of(ended),
            )  # fmt: skip
        self.now_s = min(at_s, DAY_S * 1e6)

    def _rows_of(self, ended: Sequence[JobId]) -> dict[JobId, list[int]]:
        """The rows that the attempts of these jobs have in the record."""
        record = self.state.closed
        for row in range(self._rows_read, len(record)):
            self._rows.setdefault(record[row].phase.job_id, []).append(row)
        self._rows_read = len(record)
        return {job_id: self._rows.pop(job_id, []) for job_id in ended}

    def submit(self, kind: Kind, at_s: float) -> None:
        """A user submits a job of a kind, and gets a promise at each level."""
        self.pass_until(at_s)
        job_id = JobId(f"job-{len(self.submitted):06d}")
        [job] = with_past_lengths([self._job(job_id, kind)], print)
        made_at_s = self.wall_s(at_s)
        draft = SubmittedJob(job=replace(job, submitted_at_s=0.0), name=kind.profile,
                             prepared={"output": ""}, promise={})  # fmt: skip
        workload = SubmittedWorkload(
            tenant=kind.team, key=None, digest="", made_at_s=made_at_s, at_s=at_s, jobs=(draft,)
        )
        self._forecaster.learn_of(
            [*(self.jobs[one].submitted.job for one in self._open), draft.job]
        )
        for level in LEVELS:
            [[promise]] = promises_of(self._forecaster, [workload], level=level)
            known = replace(draft, job=job, promise=stamped(promise, made_at_s))
            self.promised[level][job_id] = KnownJob(known, workload)
        self.jobs[job_id] = self.promised[LEVELS[0]][job_id]
        self.submitted.append(job_id)
        self._open[job_id] = None
        self._simulation._submit(job, at_s)  # noqa: SLF001
        self._simulation._complete(at_s)  # noqa: SLF001

    def _job(self, job_id: JobId, kind: Kind) -> Job:
        """The job as a user gives it, its truth drawn; with lengths until one of its kind ended."""
        factor, sigma = math.exp(self._draw.gauss(0, kind.sigma)), self._task_sigma
        phases = []
        for number, slots in enumerate((SlotKind.MAP, SlotKind.REDUCE)):
            mean_s, tasks = kind.means_s[number], kind.tasks[number]
            self._truth_s[job_id, slots.value] = [
                mean_s * factor * self._draw.lognormvariate(-sigma * sigma / 2, sigma)
                for _ in range(tasks)
            ]
            is_given = self.always_gives_lengths or kind.profile not in self._profiles
            given = ConstantLengths(mean_s, 2 * mean_s) if is_given else None
            after = (0,) if number else ()
            phases.append(
                Phase(name=slots.value, kind=slots, tasks=tasks, lengths=given, after=after)
            )
        return Job(job_id=job_id, pool=PoolId(kind.team), phases=tuple(phases),
                   submitted_at_s=self.now_s, profile=kind.profile)  # fmt: skip

    def judged(self, level: float, by: str) -> list[Mapping[str, Any]]:
        """The calibration of a level, as the service answers it."""
        self.jobs = self.promised[level]
        return list(KeptPromises(self, Views(self)).calibration(by, None)["groups"])


def begun(seed: int, tasks: str = "fair", task_cv: float = TASK_CV) -> Month:
    """The first instant of a month; the profile store is that of SLUICE_HOME."""
    source = SourceText(content=_CONFIG.encode(), name="serve.yaml", file="serve.yaml", folder="/")
    options = RunOptions(tasks=tasks, release="input", admission="all")
    return Month(ServiceConfig.read(source, options), seed, task_cv)


def lived(days: float, seed: int, tasks: str = "fair", task_cv: float = TASK_CV) -> Month:
    """A month until its last job has ended."""
    month, day = begun(seed, tasks, task_cv), 0
    for at_s, kind in submissions(days, random.Random(f"arrivals {seed}")):
        if at_s >= (day + 1) * DAY_S:
            day = int(at_s / DAY_S)
            print(
                f"day {day} of {days:g}: {len(month.submitted)} jobs", file=sys.stderr, flush=True
            )
        month.submit(kind, at_s)
    month.pass_until(math.inf)
    return month


def share_kept(month: Month, level: float) -> tuple[int, int]:
    """How many promises of a level were kept, and of how many."""
    groups = month.judged(level, "tenant")
    return sum(one["kept"] for one in groups), sum(one["outcomes"] for one in groups)


def check(kept: int, outcomes: int, level: float) -> None:
    """The share is within 3 points of the level, or chance may have made the rest."""
    low, high = wilson_interval(kept, outcomes)
    assert low - POINTS <= level <= high + POINTS, (level, kept, outcomes)


def main(days: float = DAYS, seed: int = 1, tasks: str = "fair", task_cv: float = TASK_CV) -> None:
    """Live a month, and print the shares."""
    began_s = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        os.environ["SLUICE_HOME"] = home
        month = lived(days, seed, tasks, task_cv)
        took_s = time.perf_counter() - began_s
        print(f"{len(month.submitted)} jobs in {days:g} days under {tasks}; {took_s:.0f} s")
        by = {level: share_kept(month, level) for level in LEVELS}
        for level, (kept, outcomes) in by.items():
            print(f"  {level:.0%}: {kept} of {outcomes} kept, {kept / outcomes:.1%}")
        for group in ("tenant", "profile"):
            for rows in zip(*(month.judged(level, group) for level in LEVELS), strict=True):
                shares = "  ".join(f"{one['share']:5.0%}" for one in rows)
                print(f"    {rows[0]['group']:12} {rows[0]['outcomes']:5} outcomes  {shares}")
        for level, (kept, outcomes) in by.items():
            check(kept, outcomes, level)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*map(float, given[:1]), *map(int, given[1:2]), *given[2:3], *map(float, given[3:4]))
