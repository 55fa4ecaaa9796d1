"""Runs of the four queues, and what is measured of them over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sluice.api import simulate as api
from sluice.api.simulate import Scheduling
from sluice.core.entries import Attempt
from sluice.planning.sharing.fairness import benefit, loss
from sluice.planning.sharing.use_curves import Numbers, UseCurve
from sluice.reproductions.ltyarn.workload import QUEUES, FourQueues

START_UP_S = 650.0  # the end of the start-up phase in the thesis's run (erratum E14)
STEP_S = 5.0
TICK_S = 1.0  # containers are handed out at whole seconds (spec, section 5.3), as by YARN's nodes


@dataclass(frozen=True, slots=True)
class QueueRun:
    """One run up to an instant. used: by queue.  responses_s: of the jobs that have ended."""

    used: Mapping[str, UseCurve]
    responses_s: Mapping[str, tuple[float, ...]]
    probes: Mapping[str, Any]


def run(
    load: FourQueues,
    tasks: str,
    until_s: float,
    settings: Mapping[str, Any] | None = None,
    *,
    is_static: bool = False,
) -> QueueRun:
    """The four queues under a task policy. is_static: each queue has its share and no more."""
    given = {"heartbeat_s": TICK_S, **(settings or {})}
    how = Scheduling(tasks=tasks, release=load.scripts(), settings=given)
    scheduler, result = api.simulated(load.workload(is_static=is_static), how, until_s=until_s)
    state = scheduler.state
    spans: dict[str, list[tuple[float, float, float]]] = {name: [] for name in QUEUES}
    for attempt in (*state.closed, *state.running.values()):
        spans[str(attempt.phase.job.pool.pool_id)].append(_span(attempt, until_s))
    responses: dict[str, list[float]] = {name: [] for name in QUEUES}
    for job in state.jobs.values():
        if job.has_ended:
            responses[str(job.pool.pool_id)].append(job.finished_at_s - job.released_at_s)
    return QueueRun(
        used={name: UseCurve.of_spans(one) for name, one in spans.items()},
        responses_s={name: tuple(one) for name, one in responses.items()},
        probes=dict(result.extra.get("probes", {})),  # type: ignore[call-overload]  # a mapping
    )


def _span(attempt: Attempt, until_s: float) -> tuple[float, float, float]:
    """A container is held until the tick at which the end of its task is noticed."""
    end_s = attempt.finished_at_s if math.isfinite(attempt.finished_at_s) else until_s
    return attempt.started_at_s, math.ceil(end_s / TICK_S - 1e-9) * TICK_S, float(attempt.tasks)


@dataclass(frozen=True, slots=True)
class FairnessSeries:
    """Benefit and loss (Psi, Omega) at instants, against the static partition of the same load."""

    at_s: Numbers
    benefit: tuple[float, ...]
    loss: tuple[float, ...]

    def mean_loss(self, from_s: float, until_s: float = math.inf) -> float:
        """The mean of the loss over a time."""
        chosen = [
            one for at_s, one in zip(self.at_s, self.loss, strict=True) if from_s <= at_s < until_s
        ]
        return math.fsum(chosen) / len(chosen) if chosen else 0.0

    def last_loss_at_s(self) -> float:
        """The last instant at which the loss is worse than 0.01; 0 if it never is."""
        lossy = [at for at, one in zip(self.at_s, self.loss, strict=True) if one < -0.01]  # noqa: PLR2004  # as above
        return float(lossy[-1]) if lossy else 0.0


def fairness_series(shared: QueueRun, static: QueueRun, until_s: float) -> FairnessSeries:
    """Fairness of a run over time; queues without static use count nothing. Section 5.5."""
    at_s = np.arange(STEP_S, until_s + 1e-9, STEP_S)
    used = [shared.used[name].integral(at_s) for name in QUEUES]
    entitled = [static.used[name].integral(at_s) for name in QUEUES]
    degrees = [
        [
            float(mine[k] / fixed[k]) if fixed[k] > 0 else None
            for mine, fixed in zip(used, entitled, strict=True)
        ]
        for k in range(len(at_s))
    ]
    return FairnessSeries(
        at_s,
        tuple(float(benefit(one)) for one in degrees),
        tuple(float(loss(one)) for one in degrees),
    )
