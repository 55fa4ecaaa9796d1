"""Published results of first come first served and EASY backfilling on logs of parallel machines.

Sources: Gaussier, Glesser, Reis and Trystram, "Improving Backfilling by using Machine Learning to
predict Running Times", SC 2015, with the results that their repository publishes
(github.com/dinesh121991/predictsim, experiments/data/KTH-SP2/sim_analysis/metrics); Zhang, Dai, He,
Bao and Xie, "RLScheduler: An Automated HPC Batch Job Scheduler Using Reinforcement Learning", SC
2020, Table V, with the sequences that their repository draws (github.com/DIR-LAB/
deep-batch-scheduler, make_table_script.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sluice.api.simulate import Scheduling
from sluice.model.errors import InvalidInput
from sluice.reproductions.backfill.greedy import greedy_starts
from sluice.reproductions.backfill.logs import KTH_PROCESSORS, RigidJob, kth_sp2, widest_jobs
from sluice.reproductions.backfill.schedules import (
    mean_bounded_slowdown,
    measures,
    simulated_starts,
    starts_by_event,
)
from sluice.reproductions.runner import Cell, Evaluation, Experiment, Maker, OnProgress

# By estimates: what the repository publishes, in the order of `measures`.
KTH_PUBLISHED = {
    "limits": (
        15696.7981812436, 309231, 31651.8146296885, 198.001775521565, 124477, 2014.70734059169,
        92.5765397336295, 14805.2, 476.260314538994,
    ),
    "exact": (
        15187.6077033812, 356843, 30879.0284673628, 139.004275796457, 50408, 1394.79406340383,
        71.7223851124418, 10017.2, 368.666676974225,
    ),
}  # fmt: skip
_ESTIMATES = {"limits": "users' limits", "exact": "true run times"}
_DIGITS = 13  # the published figures have 15, the last of which are rounding errors of the sums


def _kth(estimates: str) -> Maker:
    def make(_seeds: int, on_progress: OnProgress) -> Experiment:
        jobs = kth_sp2()
        how = Scheduling(tasks="easy", settings=(f"backfill.estimates={estimates}",))
        on_progress(f"{estimates}: Sluice's simulator")
        simulated = measures(jobs, simulated_starts(jobs, KTH_PROCESSORS, how))
        by_event = simulated
        if estimates == "limits":
            on_progress(f"{estimates}: a decision after each event")
            by_event = measures(jobs, starts_by_event(jobs, KTH_PROCESSORS, how))
        rows = tuple(
            _kth_row(name, published, by_event[name], simulated[name])
            for name, published in zip(simulated, KTH_PUBLISHED[estimates], strict=True)
        )
        agree = sum(row["agrees"] == "yes" for row in rows)
        return Experiment(
            name=f"kth-{estimates}",
            title=f"EASY with {_ESTIMATES[estimates]} on KTH-SP2",
            setup=f"{len(jobs)} jobs of an IBM SP2 with {KTH_PROCESSORS} processors, 1996 to 1997.",
            rows=rows,
            why=f"{agree} of {len(rows)} figures agree to {_DIGITS} digits. {_KTH_WHY[estimates]}",
        )

    make.__doc__ = f"EASY with {_ESTIMATES[estimates]}, on the whole log of KTH-SP2."
    return make


_KTH_WHY = {
    "limits": (
        "The published simulator decides after each event, and `ours` is our scheduler under that"
        " rule. Sluice's simulator first learns everything that happens at an instant: when two"
        " jobs end together, the first in line can have the processors of both."
    ),
    "exact": (
        "All ends are known in advance, so that it makes no difference whether a scheduler decides"
        " after each event or after each instant: `ours` is Sluice's simulator."
    ),
}


def _kth_row(name: str, published: float, ours: float, simulated: float) -> Mapping[str, Cell]:
    texts = [f"{figure:.{_DIGITS}g}" for figure in (published, ours)]
    return {
        "measure": name,
        "published": texts[0],
        "ours": texts[1],
        "agrees": "yes" if texts[0] == texts[1] else "no",
        "Sluice's simulator": f"{simulated:.{_DIGITS}g}",
        "off, %": round(100 * (simulated / published - 1), 3),
    }


# --- Table V -----------------------------------------------------------------------------------

_SEQUENCE_JOBS = 1024
# The first jobs of ten sequences, counted from 0: the draws of the repository with its seed 1.
_SEQUENCES = (1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085)


@dataclass(frozen=True, slots=True)
class _PublishedLog:
    """A log of the table. run_s: of its first 10,000 jobs together, by which it is recognised.

    fcfs, backfilled: mean bounded slowdowns without and with backfilling.
    """

    name: str
    processors: int
    run_s: int
    fcfs: float
    backfilled: float


_LOGS = (
    _PublishedLog("Lublin-1", 256, 48_627_667, 7273.77, 235.82),
    _PublishedLog("SDSC-SP2", 128, 70_467_415, 1727.54, 1595.12),
    _PublishedLog("Lublin-2", 256, 16_959_554, 7842.47, 247.61),
)


def _table_5(path: Path) -> Maker:
    """First come first served without and with backfilling, on a log given as --log."""

    def make(_seeds: int, on_progress: OnProgress) -> Experiment:
        jobs = widest_jobs(path)
        return _on_log(_recognised(path, jobs), jobs, on_progress)

    return make


def _on_log(log: _PublishedLog, jobs: tuple[RigidJob, ...], on_progress: OnProgress) -> Experiment:
    sequences = [jobs[first : first + _SEQUENCE_JOBS] for first in _SEQUENCES]
    found: dict[str, list[float]] = {"fcfs": [], "easy": [], "greedy": []}
    for number, sequence in enumerate(sequences, start=1):
        on_progress(f"sequence {number} of {len(sequences)}")
        for tasks in ("fcfs", "easy"):
            starts = simulated_starts(sequence, log.processors, Scheduling(tasks=tasks))
            found[tasks].append(mean_bounded_slowdown(sequence, starts))
        starts = greedy_starts(sequence, log.processors)
        found["greedy"].append(mean_bounded_slowdown(sequence, starts))
    fcfs, easy, greedy = (math.fsum(each) / len(each) for each in found.values())
    rows: tuple[Mapping[str, Cell], ...] = (
        _row("none", log.fcfs, fcfs, None),
        _row("yes", log.backfilled, easy, greedy),
    )
    return Experiment(
        name="table-5",
        title=f"Table V of RLScheduler, FCFS on {log.name}",
        setup=(
            f"Mean bounded slowdown of {len(sequences)} sequences of {_SEQUENCE_JOBS} jobs, on"
            f" {log.processors} processors; the sequences of the published script."
        ),
        rows=rows,
        why=_TABLE_5_WHY,
    )


_TABLE_5_WHY = (
    "Without backfilling both are first come first served. The published backfilling is not EASY: a"
    " job may pass only if its limit ends before the reservation, even on processors that the head"
    " will not need, and the reservation is not computed again when jobs end early. With that rule"
    " the published figure comes out."
)


def _row(backfilling: str, published: float, ours: float, by_rule: float | None) -> dict[str, Cell]:
    agrees = [round(each, 2) == published for each in (ours, by_rule or ours)]
    return {
        "backfilling": backfilling,
        "published": f"{published:.2f}",
        "ours": f"{ours:.2f}",
        "by the published rule": None if by_rule is None else f"{by_rule:.2f}",
        "agrees": "yes" if agrees[0] else "by the rule" if agrees[1] else "no",
    }


def _recognised(path: Path, jobs: tuple[RigidJob, ...]) -> _PublishedLog:
    run_s = sum(one.run_s for one in jobs[:10_000])
    for log in _LOGS:
        if log.run_s == run_s:
            return log
    names = ", ".join(log.name for log in _LOGS)
    raise InvalidInput(
        f"{path} is not a log of the table",
        where="--log",
        hint=f"give {names} in the Standard Workload Format, such as SDSC-SP2-1998-4.2-cln.swf.gz",
    )


EVALUATION = Evaluation(
    name="backfill",
    title="Backfilling: first come first served and EASY on logs of parallel machines",
    timed={"kth-limits": (_kth("limits"), 0.8), "kth-exact": (_kth("exact"), 0.4)},
    on_log={"table-5": (_table_5, None)},
    left_out={
        "table-5": (
            "Table V of RLScheduler needs a log whose terms do not allow us to ship it. Give it as"
            " --log: SDSC-SP2-1998-4.2-cln.swf.gz of the Parallel Workloads Archive, or"
            " lublin_256.swf or lublin_256_new2 of the authors' repository."
        ),
        "learned": "Schedulers that a neural network decides for, and predictions by regression.",
        "predictions": (
            "EASY with the mean of a user's last two runs: the published simulator predicts once,"
            " at the submission; Sluice predicts again at each decision."
        ),
    },
)
