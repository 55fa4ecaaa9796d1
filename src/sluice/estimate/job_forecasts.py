"""Forecasts of jobs by the name of their profile: the one estimator behind every command.

A forecast is the predicted time with its overhead, an interval, and what both rest on. Runs from
before a change of level are left out (`level_changes`), runs of a trend are scaled to the level of
the next one (`trends`), and recent runs weigh more. A job that cannot be predicted has no times
and a reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sluice.estimate.forecast import Forecast, Forecaster
from sluice.estimate.future_setting import future_setting
from sluice.estimate.interruptions import Interruptions
from sluice.estimate.lenders import NO_LENDERS, Lenders
from sluice.estimate.length_spread import LengthSpread, length_spread
from sluice.estimate.level_changes import Change, current_runs
from sluice.estimate.prediction import Prediction, Predictor
from sluice.estimate.run_setting import WHOLE, NotEnoughData
from sluice.estimate.uncertainty import LEVEL, PredictionInterval
from sluice.model.history import SHARED_SLOTS, PastRun
from sluice.model.machines import time_at_speed_s

Slots = int | Mapping[str, int] | None
_STAGES_NAMED_MAX = 4  # with more, stages of the same model are counted
UNKNOWN_PROFILE = "no profile of this name is stored"
_ANY_SLOTS = "its runs do not show how many slots they had: the time is the same for any number"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobForecast:
    """Predicted time of a job with its interval, seconds; None where it cannot be predicted.

    slots: the most slots that a stage of it has.  overhead_s: part of the time outside tasks.
    runs: number of runs that the prediction rests on.
    why_not: why there is no time, or no interval; None if there are both.
    fit: the models, in one line.  notes: sentences about what it rests on.
    change: the change of level since which runs count, or the trend that they follow.
    time_factor: of the forecast's own times, on VMs of another speed.
    task_s: length of a task as a moment of slot time sees it.
    spread: how far the lengths of tasks differ from run to run; None where there is no time.
    """

    profile: str
    level: float
    slots: int | None = None
    predicted_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    overhead_s: float | None = None
    runs: int = 0
    why_not: str | None = None
    fit: str | None = None
    notes: tuple[str, ...] = ()
    change: Change | None = None
    forecast: Forecast | None = field(default=None, repr=False)
    time_factor: float = 1.0
    task_s: float | None = None
    spread: LengthSpread | None = None

    def interrupted(self, per_hour: float, boot_s: float, vms: int) -> JobForecast:
        """The forecast where each VM is taken back so often. See `Interruptions`."""
        if self.predicted_s is None or self.task_s is None:
            return self
        hit = Interruptions(per_hour=per_hour, task_s=self.task_s, boot_s=boot_s, vms=vms)
        tail = (1 - self.level) / 2
        expected_s = hit.expected_s(self.predicted_s)
        if math.isinf(expected_s):
            why = f"a task of {self.task_s:.0f} s does not end before its VM is taken back"
            return replace(self, predicted_s=None, low_s=None, high_s=None, why_not=why)
        return replace(
            self,
            predicted_s=expected_s,
            low_s=None if self.low_s is None else hit.low_s(self.low_s, tail),
            high_s=None
            if self.high_s is None
            else max(expected_s, hit.high_s(self.high_s, 1 - tail)),
            time_factor=self.time_factor * expected_s / self.predicted_s,
        )

    def probability_within(self, limit_s: float) -> float | None:
        """Probability that the job takes at most `limit_s` once it may use its slots."""
        if self.forecast is None:
            return None
        return self.forecast.probability_within(limit_s / self.time_factor)


class JobForecasts:
    """Forecasts from the runs of profiles, each oldest first.

    lenders: other profiles, which are not predicted, see `Forecaster`.
    """

    def __init__(
        self, histories: Mapping[str, Sequence[PastRun]], lenders: Lenders = NO_LENDERS
    ) -> None:
        current, self.changes = current_runs(histories)
        at_present = partial(_at_present, lenders.runs)
        self._forecaster = Forecaster(current, lenders=lenders._replace(runs=at_present))

    def of(
        self,
        profile: str,
        *,
        slots: Slots = None,
        input_bytes: int | None = None,
        level: float = LEVEL,
        speed: float = 1.0,
    ) -> JobForecast:
        """Forecast the next run of a profile.

        slots, input_bytes: as for `Forecaster.estimate`.
        speed: how many times faster tasks run than in the past runs, see `time_at_speed_s`.
        """
        runs = self._forecaster.runs.get(profile)
        if runs is None:
            return JobForecast(profile=profile, level=level, why_not=UNKNOWN_PROFILE)
        if not runs:
            why = "no successful run has a time"
            return JobForecast(profile=profile, level=level, why_not=why)
        setting = future_setting(runs, _shared(slots, runs[-1].run), input_bytes)
        if any(phase.tasks and phase.slots < 1 for phase in setting.phases):
            why = "the cluster has no fixed number of slots for it"
            return JobForecast(profile=profile, level=level, why_not=why)
        found = self._forecaster.transferred(profile, setting, level=level)
        most = max(phase.slots for phase in setting.phases)
        if isinstance(found.prediction, NotEnoughData):
            return JobForecast(
                profile=profile, level=level, slots=most, why_not=found.prediction.why
            )
        made = self._forecast(profile, found, found.prediction, level, most, speed)
        is_whole = setting.phases[0].name == WHOLE
        return replace(made, notes=(*made.notes, _ANY_SLOTS)) if slots and is_whole else made

    def _forecast(
        self,
        profile: str,
        found: Forecast,
        prediction: Prediction,
        level: float,
        slots: int,
        speed: float,
    ) -> JobForecast:
        busy_s = prediction.elapsed_s - prediction.overhead_s
        factor = time_at_speed_s(busy_s, prediction.overhead_s, speed) / prediction.elapsed_s
        interval = found.interval
        has_interval = isinstance(interval, PredictionInterval)
        model = self._forecaster.model(profile)
        assert isinstance(model, Predictor), "it made the prediction"
        return JobForecast(
            profile=profile,
            level=level,
            slots=slots,
            predicted_s=prediction.elapsed_s * factor,
            low_s=interval.low_s * factor if isinstance(interval, PredictionInterval) else None,
            high_s=interval.high_s * factor if isinstance(interval, PredictionInterval) else None,
            overhead_s=prediction.overhead_s,
            runs=found.runs,
            why_not=None if has_interval else f"no interval: {interval.why}",  # type: ignore[union-attr]  # has_interval says which it is
            fit=_fit(model),
            notes=tuple(_notes(found, prediction)),
            change=self.changes.get(profile),
            forecast=found,
            time_factor=factor,
            task_s=_task_s(prediction) * factor,
            spread=length_spread(self._forecaster.runs[profile]),
        )


def _at_present(read: Callable[[str], Sequence[PastRun]], name: str) -> tuple[PastRun, ...]:
    """The runs of a profile that is read, at its present level."""
    current, _ = current_runs({name: read(name)})
    return current[name]


def _task_s(prediction: Prediction) -> float:
    """The mean length of tasks, each weighted by its own: what a moment of slot time sees."""
    slot_s = sum(phase.tasks * phase.avg_s for phase in prediction.phases)
    squares = sum(phase.tasks * phase.avg_s**2 for phase in prediction.phases)
    return squares / slot_s if slot_s else 0.0


def _shared(slots: Slots, newest: PastRun) -> Slots:
    """The slots; for Spark the larger kind, because its cores run tasks of all stages."""
    if newest.source in SHARED_SLOTS and isinstance(slots, Mapping) and slots:
        return max(slots.values())
    return slots


def _fit(model: Predictor) -> str:
    models = {phase.average.model.name for phase in model.phases}
    parts = [f"{phase.name}: {phase.average.model.name}" for phase in model.phases]
    if len(parts) > 1 and models == {"constant"}:
        parts = ["all stages: constant length"]
    elif len(parts) > _STAGES_NAMED_MAX:
        names = Counter(phase.average.model.name for phase in model.phases)
        parts = [
            f"{count} stage{'s' if count > 1 else ''}: {name}"
            for name, count in names.most_common()
        ]
    return f"{', '.join(parts)}; overhead: {model.overhead.model.name}"


def _about_slots(found: Forecast) -> str:
    """Return what other profiles show of other numbers of slots."""
    longer = 2 ** (found.slot_exponent or 0.0) - 1
    jobs = "1 other job" if found.slot_profiles == 1 else f"{found.slot_profiles} other jobs"
    checked = "; too few of them to check it" if found.is_transferred else ""
    return f"as in {jobs}, twice the tasks at once take {longer:.0%} longer each{checked}".replace(
        "%", " %"
    )


def _notes(found: Forecast, prediction: Prediction) -> Iterator[str]:
    yield from prediction.beyond
    if found.slot_exponent is not None:
        yield _about_slots(found)
    elif found.is_transferred:
        yield "no job ran with other slot counts, so task lengths are assumed unchanged"
    if (
        isinstance(found.interval, PredictionInterval)
        and found.interval.pooled
        and found.slot_exponent is None
    ):
        own = found.interval.units - found.interval.pooled
        others = found.interval.pooled
        yield f"the interval is based on {own} of its own runs and {others} of others"
    if found.outliers:
        yield f"outliers left out: {', '.join(found.outliers)}"
