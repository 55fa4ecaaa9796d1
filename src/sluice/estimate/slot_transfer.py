"""How task lengths change with the number of slots, learned from all profiles of one engine.

A job that has only run with one number of slots does not show what its tasks do on more: share
memory, disks and network, and get slower. Other jobs of the same engine do, where they ran with
several numbers. Task length is taken to grow with a power of the number of tasks at once; the
exponent is the median over those jobs, so that one odd job does not decide it.

The errors of such a transfer are measured as well: each job that ran with several numbers of slots
is predicted at each of them from its runs at one other number, with the exponent of the other jobs.
They are the units of the interval of a transferred prediction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from statistics import median

from sluice.estimate.length_curves import NO_SLOW_DOWN, SlowDown
from sluice.estimate.list_scheduling import mean_concurrency
from sluice.estimate.prediction import Prediction, Predictor
from sluice.estimate.run_setting import MeasuredRun, NotEnoughData, RunSetting
from sluice.estimate.uncertainty import Fitter

RATIO_MIN = 1.2  # numbers of tasks at once that are nearer than this show more noise than trend
EXPONENT_MAX = 1.0  # twice the tasks at once never do less work together
PAIRS_MAX = 12  # of the settings of one profile, for each of which a model is fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSlowDown(SlowDown):
    """Task length grows with (tasks at once / reference) ** exponent."""

    reference: float
    exponent: float

    def factor(self, concurrency: float) -> float:
        """How many times longer a task takes than with `reference` tasks at once."""
        return float((max(1.0, concurrency) / self.reference) ** self.exponent)

    @property
    def name(self) -> str:
        """Part of the model's name."""
        return f", at once ** {self.exponent:.2f} as other jobs"


class SlotTransfer:
    """The facts on other numbers of slots that profiles of one engine show.

    runs: comparable runs by profile.  fit: makes a predictor.
    """

    def __init__(self, runs: Mapping[str, Sequence[MeasuredRun]], fit: Fitter) -> None:
        self._runs = {name: of for name, of in runs.items() if has_several_slots(of)}
        self._fit = fit
        found = {name: _exponent(of) for name, of in self._runs.items()}
        self._exponents = {name: one for name, one in found.items() if one is not None}
        self._errors: dict[str, tuple[tuple[float, ...], ...]] = {}

    def exponent(self, without: str = "") -> float | None:
        """The median over all profiles but `without`; None if there are none."""
        others = [one for name, one in self._exponents.items() if name != without]
        return median(others) if others else None

    def profiles(self, without: str = "") -> int:
        """Number of profiles behind the exponent."""
        return sum(name != without for name in self._exponents)

    def predictor(self, model: Predictor, name: str) -> Predictor | None:
        """The model of a profile that ran with one number of slots, for other numbers."""
        exponent = self.exponent(without=name)
        return None if exponent is None else _transferred(model, exponent)

    def errors(self, without: str) -> Iterator[tuple[float, ...]]:
        """Log-ratios of actual to transferred times: a unit for each profile and setting."""
        for name in self._runs:
            if name != without:
                if name not in self._errors:
                    self._errors[name] = tuple(self._errors_of(name))
                yield from self._errors[name]

    def _errors_of(self, name: str) -> Iterator[tuple[float, ...]]:
        exponent = self.exponent(without=name)
        if exponent is None:
            return
        by_target: dict[RunSetting, list[float]] = {}
        for known, target in _pairs(self._runs[name]):
            model = self._fit(known)
            if isinstance(model, NotEnoughData):
                continue
            predicted = _transferred(model, exponent).predict(target[0].setting)
            if isinstance(predicted, Prediction):
                ratios = (math.log(one.elapsed_s / predicted.elapsed_s) for one in target)
                by_target.setdefault(target[0].setting, []).extend(ratios)
        yield from map(tuple, by_target.values())


def has_several_slots(runs: Sequence[MeasuredRun]) -> bool:
    """Whether runs of the same work had different numbers of slots."""
    return any(True for _ in combinations(_by_slots(runs), 2))


def is_new_slots(runs: Sequence[MeasuredRun], setting: RunSetting) -> bool:
    """Whether a setting has a number of slots that no run had, and all runs had the same."""
    known = {_slots(one.setting) for one in runs}
    return len(known) == 1 and _slots(setting) not in known


def _slots(setting: RunSetting) -> tuple[int, ...]:
    return tuple(phase.slots for phase in setting.phases)


def _by_slots(runs: Sequence[MeasuredRun]) -> list[list[MeasuredRun]]:
    """Runs of the most frequent work (input and tasks), apart by their slots."""
    work: dict[tuple[int, tuple[int, ...]], dict[tuple[int, ...], list[MeasuredRun]]] = {}
    for one in runs:
        setting = one.setting
        same = setting.input_bytes, tuple(phase.tasks for phase in setting.phases)
        work.setdefault(same, {}).setdefault(_slots(setting), []).append(one)
    most = max(work.values(), key=len, default={})
    return list(most.values())


def _pairs(runs: Sequence[MeasuredRun]) -> Iterator[tuple[list[MeasuredRun], list[MeasuredRun]]]:
    """Runs to predict from, and runs to predict, with other slots."""
    pairs = list(permutations(_by_slots(runs), 2))
    step = max(1, -(-len(pairs) // PAIRS_MAX))
    yield from pairs[::step]


def _exponent(runs: Sequence[MeasuredRun]) -> float | None:
    """The median over pairs of settings and phases; None without one that is far enough apart."""
    found = []
    for one, other in combinations(_by_slots(runs), 2):
        for index in range(len(one[0].phases)):
            farther = math.log(_concurrency(other, index) / _concurrency(one, index))
            if abs(farther) >= math.log(RATIO_MIN):
                longer = math.log(_usual_s(other, index) / _usual_s(one, index))
                found.append(longer / farther)
    return min(EXPONENT_MAX, max(0.0, median(found))) if found else None


def _concurrency(runs: Sequence[MeasuredRun], index: int) -> float:
    phase = runs[0].setting.phases[index]
    return mean_concurrency(phase.tasks, phase.slots)


def _usual_s(runs: Sequence[MeasuredRun], index: int) -> float:
    return median(one.phases[index].avg_s for one in runs)


def _transferred(model: Predictor, exponent: float) -> Predictor:
    """The model of one number of slots, with the slow-down of the exponent around it."""
    setting = list(model.settings)[-1]
    phases = []
    for phase, known in zip(model.phases, setting.phases, strict=True):
        curve = phase.average.model
        if curve.slow_down == NO_SLOW_DOWN:  # else its own runs show how tasks slow down
            reference = mean_concurrency(known.tasks, known.slots)
            slow_down = PowerSlowDown(reference=reference, exponent=exponent)
            curve = replace(curve, slow_down=slow_down)
        phases.append(replace(phase, average=replace(phase.average, model=curve)))
    return replace(model, phases=tuple(phases))
