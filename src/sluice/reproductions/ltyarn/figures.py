"""Figures 5.4 to 5.7 on the simulated four queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from sluice.planning.sharing.use_curves import Numbers
from sluice.reproductions.charts import lines_chart
from sluice.reproductions.ltyarn.runs import (
    START_UP_S,
    FairnessSeries,
    QueueRun,
    fairness_series,
    run,
)
from sluice.reproductions.ltyarn.workload import (
    CONTAINERS,
    QUEUES,
    SHARE,
    FourQueues,
    four_queues,
    four_queues_of_short_tasks,
)
from sluice.reproductions.runner import Cell, Experiment, OnProgress

LOSS_UNTIL_S = 1800.0
_EARLY_S = 300.0
_END_S = 40_000.0
_PAPER_GAINS = {"facebook": "+14 to 19, +10 to 23", "purdue": "+14 to 19, +10 to 23",
                "hive": "not slower", "spark": "not slower"}  # fmt: skip
SETUP = f"{CONTAINERS} containers, {SHARE:g} for each of four queues; lengths of our choice."


def allocation(_seeds: int, _on_progress: OnProgress) -> Experiment:
    """Figure 5.4: containers of each queue in the first minutes under LTRF."""
    found = run(four_queues(0), "ltrf", _EARLY_S)
    edges_s = np.arange(0.0, _EARLY_S + 1, 20.0)
    means = {name: found.used[name].means(edges_s) for name in QUEUES}
    rows = tuple(
        {"until (s)": float(edges_s[k + 1]), **{n: float(means[n][k] / SHARE) for n in QUEUES}}
        for k in range(len(edges_s) - 1)
    )
    most = max(float(means[name].max() / SHARE) for name in QUEUES)
    return Experiment(
        name="fig-5.4",
        title="Containers of each queue under LTRF, as multiples of its share",
        setup=SETUP,
        rows=rows,
        why=(
            "A queue that was idle receives nearly everything until it has caught up, in the"
            f" thesis up to 3.85 shares and here up to {most:.2f}; the instants depend on lengths"
            " that the thesis does not give."
        ),
        chart=lines_chart(
            "Containers of each queue under LTRF",
            "As multiples of its share.",
            ("seconds", "shares"),
            {
                name: _points(edges_s[1:], means[name] / SHARE)
                for name in QUEUES
            },
        ),
    )  # fmt: skip


def _points(at_s: Numbers, values: Numbers) -> list[tuple[float, float]]:
    return [(float(one_s), float(one)) for one_s, one in zip(at_s, values, strict=True)]


def losses(load: FourQueues) -> dict[str, FairnessSeries]:
    """Benefit and loss over time under both rules."""
    static = run(load, "mlrf", LOSS_UNTIL_S, is_static=True)
    return {
        tasks: fairness_series(run(load, tasks, LOSS_UNTIL_S), static, LOSS_UNTIL_S)
        for tasks in ("mlrf", "ltrf")
    }


def sharing_loss(seeds: int, on_progress: OnProgress) -> Experiment:
    """Figure 5.5: the sharing loss over time."""
    found: list[dict[str, FairnessSeries]] = []
    for seed in range(seeds):
        on_progress(f"fig-5.5, seed {seed}")
        found.append(losses(four_queues(seed)))
    on_progress("fig-5.5, short tasks")
    short = losses(four_queues_of_short_tasks(0))
    rows = (
        *(_loss_row(tasks, [one[tasks] for one in found]) for tasks in ("mlrf", "ltrf")),
        *(_loss_row(f"{tasks}, short tasks", [short[tasks]]) for tasks in ("mlrf", "ltrf")),
    )
    lines = {
        tasks: list(zip(map(float, found[0][tasks].at_s), found[0][tasks].loss, strict=True))[::4]
        for tasks in ("mlrf", "ltrf")
    }
    return Experiment(
        name="fig-5.5",
        title="Sharing loss (Omega) under the memoryless and the long-term rule",
        setup=f"{SETUP} {seeds} seeds, up to {LOSS_UNTIL_S:g} s.",
        rows=rows,
        why=(
            "The memoryless rule loses because tasks are not preempted: a queue that wakes up waits"
            " for the tasks of others. The long-term rule pays the loss back. With tasks of at most"
            " 25 s for Purdue, and of 11 s on average for Facebook, neither loses after the start;"
            " -0.5 did not appear together with a cured long-term rule."
        ),
        chart=lines_chart("Sharing loss", "Seed 0.", ("seconds", "loss (Omega)"), lines),
    )


def _loss_row(name: str, found: Sequence[FairnessSeries]) -> Mapping[str, Cell]:
    return {
        "rule": name,
        "paper, after 650 s": {"mlrf": "about -0.5", "ltrf": "0"}.get(name, ""),
        "before 650 s": fmean(one.mean_loss(0.0, START_UP_S) for one in found),
        "after 650 s": fmean(one.mean_loss(START_UP_S) for one in found),
        "worst seed": min(one.mean_loss(START_UP_S) for one in found),
        "last loss (s)": fmean(one.last_loss_at_s() for one in found),
    }


def speed_ups(seeds: int, on_progress: OnProgress) -> Experiment:
    """Figure 5.6: mean response times against the static partition."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for seed in range(seeds):
        on_progress(f"fig-5.6, seed {seed}")
        load = four_queues(seed)
        static = _means(run(load, "mlrf", _END_S, is_static=True))
        for tasks in ("mlrf", "ltrf"):
            for name, mean_s in _means(run(load, tasks, _END_S)).items():
                ratios.setdefault((name, tasks), []).append(static[name] / mean_s)
    rows: tuple[Mapping[str, Cell], ...] = tuple(
        {
            "queue": name,
            "paper, gain (%)": _PAPER_GAINS[name],
            "mlrf": fmean(ratios[name, "mlrf"]),
            "ltrf": fmean(ratios[name, "ltrf"]),
        }
        for name in QUEUES
    )
    return Experiment(
        name="fig-5.6",
        title="Mean response time with fixed shares, divided by that with sharing",
        setup=f"{SETUP} {seeds} seeds, all jobs to their end.",
        rows=rows,
        why=(
            "Sharing is faster for every queue; the long-term rule takes from the queues that used"
            " most. The gain of Purdue in the thesis did not appear."
        ),
    )


def _means(found: QueueRun) -> Mapping[str, float]:
    return {name: fmean(times) for name, times in found.responses_s.items()}


def quantum(_seeds: int, _on_progress: OnProgress) -> Experiment:
    """Figure 5.7: the counted use of the Facebook queue with a fixed and an adaptive quantum."""
    until_s, step_s = 1000.0, 5.0
    instants = [step_s * k for k in range(1, int(until_s / step_s))]
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, is_adaptive in (("fixed, 600 s", False), ("adaptive", True)):
        settings = {"quantum_s": 600.0, "adaptive": is_adaptive, "probe_s": instants}
        probes = run(four_queues(0), "ltrf", until_s, settings).probes
        lines[name] = [
            (float(at), float(one["f"]["facebook"])) for at, one in probes.items() if "f" in one
        ]
    rows: tuple[Mapping[str, Cell], ...] = tuple(
        {
            "quantum": name,
            "mean change in 5 s": fmean(
                abs(after[1] - before[1]) for before, after in pairwise(line)
            ),
        }
        for name, line in lines.items()
    )
    return Experiment(
        name="fig-5.7",
        title="Counted use of the Facebook queue, container-seconds",
        setup=f"{SETUP} Use every {step_s:g} s up to {until_s:g} s.",
        rows=rows,
        why=(
            "With a fixed quantum of 600 s each start adds 600 and each end takes most of it back,"
            " as the swings of the thesis (1019 to 630); the adaptive quantum is smooth."
        ),
        chart=lines_chart(
            "Counted use", "Facebook queue.", ("seconds", "container-seconds"), lines
        ),
    )
