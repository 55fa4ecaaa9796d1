"""Forecasts stored with runs come back as they were, and are judged by what the runs took."""

from dataclasses import replace

import pytest
from tests.estimate.nightly_jobs import nightly_jobs, nights_of

from sluice.estimate.forecast_record import forecast_history, recorded_forecasts, with_forecast
from sluice.estimate.job_forecasts import JobForecast

RUN = nights_of(nightly_jobs(0, jobs=1), nights=1)["nightly-00"][0]


def forecast(predicted_s, low_s=None, high_s=None):
    return JobForecast(profile="x", level=0.9, predicted_s=predicted_s, low_s=low_s, high_s=high_s)


def test_a_stored_forecast_comes_back_exactly():
    (found,) = recorded_forecasts([with_forecast(RUN, forecast(1 / 3, 0.1, 200.0))])

    assert (1 / 3, 0.1, 200.0, 0.9) == (
        found.predicted_s, found.low_s, found.high_s, found.level
    )  # fmt: skip
    assert (RUN.elapsed_s, True) == (found.actual_s, found.is_inside)


def test_a_run_without_a_forecast_stays_as_it_is():
    assert with_forecast(RUN, None) is RUN
    assert with_forecast(RUN, forecast(None)) is RUN
    assert recorded_forecasts([RUN]) == ()


@pytest.mark.parametrize("damaged", ["", "nan", "-3", "-0.5", "0", "inf", "soon"])
def test_a_damaged_number_is_no_forecast(damaged):
    run = replace(RUN, configuration={"forecast.predicted_s": damaged})

    assert recorded_forecasts([run]) == ()


@pytest.mark.parametrize("lost", ["forecast.low_s", "forecast.high_s"])
def test_an_interval_that_lost_an_end_is_none(lost):
    kept = dict(with_forecast(RUN, forecast(1.0, 0.1, 200.0)).configuration)
    del kept[lost]
    (found,) = recorded_forecasts([replace(RUN, configuration=kept)])

    assert found.is_inside is None


def test_the_history_has_error_bias_and_coverage():
    took_s = RUN.elapsed_s
    runs = [
        with_forecast(RUN, forecast(took_s * 1.2, took_s * 0.9, took_s * 1.5)),
        with_forecast(RUN, forecast(took_s * 0.9, took_s * 0.5, took_s * 0.95)),
        with_forecast(RUN, forecast(took_s * 1.3)),
    ]
    found = forecast_history(recorded_forecasts(runs))

    assert (3, 2, 0.5) == (found.runs, found.intervals, found.coverage)
    assert found.error_median == pytest.approx(0.2)
    assert found.bias == pytest.approx(0.2)
    assert forecast_history(()).coverage is None
