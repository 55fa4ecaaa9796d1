"""How long a job will take at a setting that it may never have run at, from runs at others.

Each phase's task length is fitted (`fits`), its tasks are played on the slots (`greedy`), one
phase after another, and what remains of the elapsed time is fitted as overhead (`overhead`). Runs
that are unlike the others (`outliers`) are fitted once, found, and left aside.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from sluice.estimate.fits import LengthCurve, ModelFit, Sample, fitted_curve
from sluice.estimate.list_scheduling import LengthSpread, mean_concurrency, phase_s
from sluice.estimate.outliers import outliers
from sluice.estimate.overhead import Overhead, UnexplainedTime, fitted_overhead
from sluice.estimate.run_setting import (
    MeasuredRun,
    NotEnoughData,
    PhaseSetting,
    RunSetting,
    timed_runs,
)
from sluice.model.history import PastRun

REPETITIONS_MIN = 3  # of a setting, from which on its own median tells what is usual there


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePrediction:
    """Average and longest task, and the time of the whole phase, in seconds."""

    name: str
    tasks: int
    slots: int
    avg_s: float
    max_s: float
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a run should take, and of what it consists.

    beyond: in what the setting lies outside all that was measured, a sentence each.
    """

    elapsed_s: float
    overhead_s: float
    phases: tuple[PhasePrediction, ...]
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseModel:
    """Task lengths of one phase: their average, and how they spread about it."""

    name: str
    average: ModelFit[LengthCurve]
    spread: LengthSpread

    def predict(self, phase: PhaseSetting, input_bytes: int) -> PhasePrediction:
        """The phase with so many tasks on so many slots."""
        beside = mean_concurrency(phase.tasks, phase.slots)
        avg_s = self.average.model.length_s(phase.tasks, input_bytes, beside)
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
    """What the runs of one profile tell about the next.

    settings: what each setting's repetitions took, seconds.
    left_aside: runs that were unlike the others and that nothing was learned from, by id.
    """

    phases: tuple[PhaseModel, ...]
    overhead: ModelFit[Overhead]
    settings: Mapping[RunSetting, tuple[float, ...]]
    runs: int
    left_aside: tuple[str, ...] = ()

    def predict(self, setting: RunSetting) -> Prediction | NotEnoughData:
        """The run at a setting, which must have the phases that were measured.

        Where the very setting was measured its own median counts, the more the more often.
        """
        known = tuple(phase.name for phase in self.phases)
        if setting.names != known:
            return NotEnoughData(f"no run had the phases {', '.join(setting.names)}")
        composed = self.composed(setting)
        took_s = self.settings.get(setting)
        if not took_s:
            return composed
        weight = len(took_s) / (len(took_s) + 1)
        elapsed_s = composed.elapsed_s ** (1 - weight) * median(took_s) ** weight
        overhead_s = composed.overhead_s + elapsed_s - composed.elapsed_s
        return replace(composed, elapsed_s=elapsed_s, overhead_s=overhead_s)

    def composed(self, setting: RunSetting) -> Prediction:
        """From task lengths, slots and overhead alone."""
        phases = tuple(
            model.predict(phase, setting.input_bytes)
            for model, phase in zip(self.phases, setting.phases, strict=True)
        )
        busy_s = math.fsum(phase.time_s for phase in phases)
        # However much phases overlap, the longest of them has to be sat through.
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
    return f"{what} is {here}, measured was {span}"


def predictor(runs: Iterable[PastRun]) -> Predictor | NotEnoughData:
    """What these runs of one profile tell. Runs that failed or tell no time are passed over."""
    return predictor_of(comparable(timed_runs(runs)))


def comparable(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """Those that have the phases and the commands which most of them have; the last of equals."""
    shapes = Counter(_shape(one) for one in runs)
    newest_first = [_shape(one) for one in reversed(runs)]
    if not newest_first:
        return []
    usual = max(newest_first, key=lambda shape: shapes[shape])
    return [one for one in runs if _shape(one) == usual]


def _shape(one: MeasuredRun) -> tuple[tuple[str, ...], str | None]:
    return one.setting.names, one.run.configuration.get("work")


def predictor_of(runs: Sequence[MeasuredRun]) -> Predictor | NotEnoughData:
    """As `predictor`, of runs that have the same phases."""
    if not runs:
        return NotEnoughData("no run that ended well tells how long it took")
    first = _fitted(runs)
    unlike = {found.run_id for found in outliers(_log_ratios(first, runs))}
    kept = [one for one in runs if one.run.run_id not in unlike]
    return replace(_fitted(kept), left_aside=tuple(sorted(unlike))) if unlike else first


def _log_ratios(model: Predictor, runs: Sequence[MeasuredRun]) -> dict[str, float]:
    """By run, the logarithm of its time over what is usual at its setting."""
    usual_s = {setting: _usual_s(model, setting) for setting in model.settings}
    return {one.run.run_id: math.log(one.elapsed_s / usual_s[one.setting]) for one in runs}


def _usual_s(model: Predictor, setting: RunSetting) -> float:
    """What its repetitions took where there are enough to tell, else what the model makes of it.

    That all runs at a setting lie off the curves is a fault of the curves, not of the runs.
    """
    took_s = model.settings[setting]
    if len(took_s) >= REPETITIONS_MIN:
        return median(took_s)
    return model.composed(setting).elapsed_s


def _fitted(runs: Sequence[MeasuredRun]) -> Predictor:
    models = tuple(_phase_model(runs, index) for index in range(len(runs[0].phases)))
    return Predictor(
        phases=models,
        overhead=fitted_overhead(_unexplained(runs, models)),
        settings=_repetitions(runs),
        runs=len(runs),
    )


def _repetitions(runs: Sequence[MeasuredRun]) -> dict[RunSetting, tuple[float, ...]]:
    took_s: dict[RunSetting, list[float]] = defaultdict(list)
    for one in runs:
        took_s[one.setting].append(one.elapsed_s)
    return {setting: tuple(found) for setting, found in took_s.items()}


def _phase_model(runs: Sequence[MeasuredRun], index: int) -> PhaseModel:
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
        average=fitted_curve(samples),
        spread=LengthSpread.of(phase for _, phase, _ in pairs),
    )


def _unexplained(
    runs: Sequence[MeasuredRun], models: Sequence[PhaseModel]
) -> Iterator[UnexplainedTime]:
    """What is left of each run's time when its own measured tasks are played on its slots."""
    for one in runs:
        busy_s = math.fsum(
            phase_s(phase.tasks, place.slots, phase.avg_s, model.spread)
            for phase, place, model in zip(one.phases, one.setting.phases, models, strict=True)
        )
        yield UnexplainedTime(one.setting, one.elapsed_s - busy_s, one.elapsed_s)
