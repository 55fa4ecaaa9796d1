"""The forecasts from before a run, stored with it: a record that no later knowledge changes.

`calibrate` compares these forecasts with the times of the runs. Its other figures predict each run
from all others, also later ones; this is the history of what users were shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median

from sluice.estimate.job_forecasts import JobForecast
from sluice.estimate.run_setting import elapsed_s
from sluice.model.history import PastRun

_NUMBERS = ("predicted_s", "low_s", "high_s", "level")
_PREDICTED, _LOW, _HIGH, _LEVEL = (f"forecast.{name}" for name in _NUMBERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedForecast:
    """A forecast that was made before a run, and what the run took. Seconds.

    low_s, high_s: None if there was no interval.
    """

    run_id: str
    predicted_s: float
    low_s: float | None
    high_s: float | None
    level: float | None
    actual_s: float

    @property
    def error(self) -> float:
        """Error as a share of the actual time; above 0 if the prediction was too long."""
        return self.predicted_s / self.actual_s - 1

    @property
    def is_inside(self) -> bool | None:
        """Whether the run took a time inside the interval; None without one."""
        if self.low_s is None or self.high_s is None:
            return None
        return self.low_s <= self.actual_s <= self.high_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastHistory:
    """How good recorded forecasts were.

    error_median: of the absolute errors.  bias: median of the signed errors.
    coverage: share of the intervals that held, of `intervals`; None without intervals.
    """

    runs: int
    error_median: float | None
    bias: float | None
    coverage: float | None
    intervals: int


def with_forecast(run: PastRun, forecast: JobForecast | None) -> PastRun:
    """The run with the forecast that was made before it."""
    recorded = {} if forecast is None else forecast_numbers(forecast)
    named = {f"forecast.{name}": repr(number) for name, number in recorded.items()}
    return replace(run, configuration={**run.configuration, **named}) if named else run


def forecast_numbers(forecast: JobForecast) -> dict[str, float]:
    """Return what is stored of a forecast: its time and level, and its interval if it has one."""
    if forecast.predicted_s is None:
        return {}
    numbers = {name: getattr(forecast, name) for name in _NUMBERS}
    return {name: number for name, number in numbers.items() if number is not None}


def forecast_of_numbers(profile: str, numbers: Mapping[str, float]) -> JobForecast:
    """The forecast with these numbers; it no longer has probabilities."""
    return JobForecast(
        profile=profile,
        level=numbers["level"],
        predicted_s=numbers["predicted_s"],
        low_s=numbers.get("low_s"),
        high_s=numbers.get("high_s"),
    )


def recorded_forecasts(runs: Iterable[PastRun]) -> tuple[RecordedForecast, ...]:
    """The forecasts stored with these runs, for runs that succeeded."""
    found = []
    for run in runs:
        predicted_s, took_s = _number(run, _PREDICTED), elapsed_s(run)
        if predicted_s is not None and took_s is not None and run.succeeded:
            found.append(
                RecordedForecast(
                    run_id=run.run_id,
                    predicted_s=predicted_s,
                    low_s=_number(run, _LOW),
                    high_s=_number(run, _HIGH),
                    level=_number(run, _LEVEL),
                    actual_s=took_s,
                )
            )
    return tuple(found)


def forecast_history(recorded: Iterable[RecordedForecast]) -> ForecastHistory:
    """How good these forecasts were, together."""
    every = list(recorded)
    inside = [one.is_inside for one in every if one.is_inside is not None]
    return ForecastHistory(
        runs=len(every),
        error_median=median(abs(one.error) for one in every) if every else None,
        bias=median(one.error for one in every) if every else None,
        coverage=sum(inside) / len(inside) if inside else None,
        intervals=len(inside),
    )


def _number(run: PastRun, name: str) -> float | None:
    """A positive number of the configuration; None if it is missing or damaged."""
    try:
        number = float(run.configuration[name])
    except (KeyError, ValueError):
        return None
    return number if 0 < number < math.inf else None
