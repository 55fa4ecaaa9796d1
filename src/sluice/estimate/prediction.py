"""Predicts the time of a job at a setting, from its runs at other settings.

The task length of each phase is fitted (`fits`). Its tasks are scheduled on the slots
(`list_scheduling`), one phase after another. The rest of the elapsed time is fitted as overhead
(`overhead`). Outliers (`outliers`) are found with a first fit, and the second fit leaves them out.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from sluice.estimate.fit_memory import EVERY_FIT, FitMemory
from sluice.estimate.fits import ModelFit
from sluice.estimate.length_curves import LengthCurve, Sample
from sluice.estimate.list_scheduling import LengthSpread, mean_concurrency, phase_s
from sluice.estimate.outliers import outliers
from sluice.estimate.overhead import Overhead, UnexplainedTime
from sluice.estimate.redrawn_times import task_pools, usual_s
from sluice.estimate.run_setting import (
    MeasuredRun,
    NotEnoughData,
    PhaseSetting,
    RunSetting,
    timed_runs,
)
from sluice.model.history import PastRun

REPETITIONS_MIN = 3  # with at least this many, the median of a setting is its usual time


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePrediction:
    """Average and longest task, and time of the whole phase, in seconds."""

    name: str
    tasks: int
    slots: int
    avg_s: float
    max_s: float
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Predicted time of a run, and its parts.

    beyond: one sentence for each value of the setting that is outside the measured range.
    """

    elapsed_s: float
    overhead_s: float
    phases: tuple[PhasePrediction, ...]
    beyond: tuple[str, ...] = ()

    def scaled(self, factor: float) -> Prediction:
        """Return the same prediction, with all times multiplied."""
        phases = (
            replace(
                one, avg_s=one.avg_s * factor, max_s=one.max_s * factor, time_s=one.time_s * factor
            )
            for one in self.phases
        )
        return replace(
            self,
            elapsed_s=self.elapsed_s * factor,
            overhead_s=self.overhead_s * factor,
            phases=tuple(phases),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseModel:
    """Model of the task lengths of one phase: their average and distribution."""

    name: str
    average: ModelFit[LengthCurve]
    spread: LengthSpread

    def predict(self, phase: PhaseSetting, input_bytes: int) -> PhasePrediction:
        """Predict the phase with its task count on its slots."""
        concurrency = mean_concurrency(phase.tasks, phase.slots)
        avg_s = self.average.model.length_s(phase.tasks, input_bytes, concurrency)
        return PhasePrediction(
            name=self.name,
            tasks=phase.tasks,
            slots=phase.slots,
            avg_s=avg_s,
            max_s=avg_s * self.spread.longest_ratio(phase.tasks),
            time_s=phase_s(phase.tasks, phase.slots, avg_s, self.spread),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """Model of one profile, fitted to its runs.

    settings: the repetitions of each setting, oldest first.
    left_aside: ids of the outliers, which are not part of the fit.
    """

    phases: tuple[PhaseModel, ...]
    overhead: ModelFit[Overhead]
    settings: Mapping[RunSetting, tuple[MeasuredRun, ...]]
    runs: int
    left_aside: tuple[str, ...] = ()
    _by_setting_s: dict[RunSetting, float] = field(default_factory=dict, repr=False, compare=False)

    def predict(self, setting: RunSetting) -> Prediction | NotEnoughData:
        """Predict the run at a setting, which must have the measured phases.

        If exactly this setting was measured, the usual time of its runs is mixed in. Its weight,
        n / (n + 1), grows with the number n of runs: with few runs the model knows more than they,
        with many runs it knows less.
        """
        known = tuple(phase.name for phase in self.phases)
        if setting.names != known:
            return NotEnoughData(f"no run had the phases {', '.join(setting.names)}")
        composed = self.composed(setting)
        repetitions = self.settings.get(setting)
        if not repetitions:
            return composed
        if setting not in self._by_setting_s:
            every = [one for each in self.settings.values() for one in each]
            self._by_setting_s[setting] = usual_s(repetitions, task_pools(every, len(known)))
        weight = len(repetitions) / (len(repetitions) + 1)
        elapsed_s = composed.elapsed_s ** (1 - weight) * self._by_setting_s[setting] ** weight
        overhead_s = composed.overhead_s + elapsed_s - composed.elapsed_s
        return replace(composed, elapsed_s=elapsed_s, overhead_s=overhead_s)

    def composed(self, setting: RunSetting) -> Prediction:
        """Predict from task lengths, slots and overhead alone."""
        phases = tuple(
            model.predict(phase, setting.input_bytes)
            for model, phase in zip(self.phases, setting.phases, strict=True)
        )
        busy_s = math.fsum(phase.time_s for phase in phases)
        # Phases may overlap, but the run takes at least as long as its longest phase.
        least_s = max(phase.time_s for phase in phases)
        elapsed_s = max(busy_s + self.overhead.model.at_s(setting), least_s)
        return Prediction(
            elapsed_s=elapsed_s,
            overhead_s=elapsed_s - busy_s,
            phases=phases,
            beyond=tuple(self._beyond(setting)),
        )

    def _beyond(self, setting: RunSetting) -> Iterable[str]:
        seen = [known.input_bytes for known in self.settings]
        if not min(seen) <= setting.input_bytes <= max(seen):
            yield _outside("input_bytes", setting.input_bytes, seen)
        for index, phase in enumerate(setting.phases):
            for what in ("tasks", "slots"):
                counts = [getattr(known.phases[index], what) for known in self.settings]
                if not min(counts) <= getattr(phase, what) <= max(counts):
                    yield _outside(f"{phase.name} {what}", getattr(phase, what), counts)


def _outside(what: str, here: int, seen: Sequence[int]) -> str:
    low, high = min(seen), max(seen)
    span = f"only {low}" if low == high else f"{low} to {high}"
    return f"{what}: {here} is outside what was measured ({span})"


def predictor(runs: Iterable[PastRun]) -> Predictor | NotEnoughData:
    """Fit a predictor to the runs of one profile. Failed runs and runs without time are skipped."""
    return predictor_of(comparable(timed_runs(runs)))


def comparable(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """Return the runs with the most frequent phases and commands; on a tie, the newest kind."""
    shapes = Counter(_shape(one) for one in runs)
    newest_first = [_shape(one) for one in reversed(runs)]
    if not newest_first:
        return []
    usual = max(newest_first, key=lambda shape: shapes[shape])
    return [one for one in runs if _shape(one) == usual]


def _shape(one: MeasuredRun) -> tuple[tuple[str, ...], str | None]:
    return one.setting.names, one.run.configuration.get("work")


def predictor_of(
    runs: Sequence[MeasuredRun], fits: FitMemory = EVERY_FIT
) -> Predictor | NotEnoughData:
    """Fit a predictor to measured runs that have the same phases."""
    if not runs:
        return NotEnoughData("no successful run has a time")
    first = _fitted(runs, fits)
    unlike = {found.run_id for found in outliers(_log_ratios(first, runs))}
    kept = [one for one in runs if one.run.run_id not in unlike]
    return replace(_fitted(kept, fits), left_aside=tuple(sorted(unlike))) if unlike else first


def _log_ratios(model: Predictor, runs: Sequence[MeasuredRun]) -> dict[str, float]:
    """By run, the logarithm of its time over the usual time at its setting."""
    usual_s = {setting: _usual_s(model, setting) for setting in model.settings}
    return {one.run.run_id: math.log(one.elapsed_s / usual_s[one.setting]) for one in runs}


def _usual_s(model: Predictor, setting: RunSetting) -> float:
    """Median of the setting's repetitions if there are enough, else the model's prediction.

    If all runs at a setting are far from the curves, the curves are wrong and not the runs.
    """
    repetitions = model.settings[setting]
    if len(repetitions) >= REPETITIONS_MIN:
        return median(one.elapsed_s for one in repetitions)
    return model.composed(setting).elapsed_s


def _fitted(runs: Sequence[MeasuredRun], fits: FitMemory) -> Predictor:
    models = tuple(_phase_model(runs, index, fits) for index in range(len(runs[0].phases)))
    return Predictor(
        phases=models,
        overhead=fits.overhead(_unexplained(runs, models)),
        settings=_repetitions(runs),
        runs=len(runs),
    )


def _repetitions(runs: Sequence[MeasuredRun]) -> dict[RunSetting, tuple[MeasuredRun, ...]]:
    found: dict[RunSetting, list[MeasuredRun]] = defaultdict(list)
    for one in runs:
        found[one.setting].append(one)
    return {setting: tuple(each) for setting, each in found.items()}


def _phase_model(runs: Sequence[MeasuredRun], index: int, fits: FitMemory) -> PhaseModel:
    pairs = [(one.setting, one.phases[index], one.setting.phases[index]) for one in runs]
    samples = (
        Sample(
            phase.tasks,
            setting.input_bytes,
            mean_concurrency(phase.tasks, place.slots),
            phase.avg_s,
        )
        for setting, phase, place in pairs
    )
    return PhaseModel(
        name=pairs[0][2].name,
        average=fits.curve(samples),
        spread=LengthSpread.of(phase for _, phase, _ in pairs),
    )


def _unexplained(
    runs: Sequence[MeasuredRun], models: Sequence[PhaseModel]
) -> Iterator[UnexplainedTime]:
    """Yield each run's elapsed time minus the simulated schedule of its own measured tasks."""
    for one in runs:
        busy_s = math.fsum(
            phase_s(phase.tasks, place.slots, phase.avg_s, model.spread)
            for phase, place, model in zip(one.phases, one.setting.phases, models, strict=True)
        )
        yield UnexplainedTime(one.setting, one.elapsed_s - busy_s, one.elapsed_s)
