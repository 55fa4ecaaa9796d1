"""Curves of task lengths: each law is recovered from its own samples."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.estimate.made_runs import MB, draws

from sluice.estimate import fits
from sluice.estimate.fits import fitted_curve, kept_by_fold
from sluice.estimate.length_curves import LengthCurve, Sample, SlowDown

LAWS = {
    "constant": LengthCurve(form="constant", fixed_s=4.0),
    "work": LengthCurve(form="work", fixed_s=1.0, work_s=300.0),
    "size": LengthCurve(form="size", fixed_s=0.5, rate_s_per_byte=2e-7),
}
SLOW_DOWNS = {"alone": SlowDown(), "two have room": SlowDown(threshold=2.0, slowness=1.0)}


def samples(law, slow_down, noise=0.0, seed=1):
    """Samples of the law at three task counts, two sizes and four slot counts."""
    rng = draws(seed)
    return [
        Sample(
            tasks,
            size * MB,
            concurrency,
            law.length_s(tasks, size * MB, concurrency=1.0)
            * slow_down.factor(concurrency)
            * math.exp(rng.gauss(0.0, noise)),
        )
        for tasks in (10, 20, 40)
        for size in (100, 400)
        for concurrency in (1.0, 2.0, 3.0, 4.0)
    ]


@pytest.mark.parametrize("form", LAWS)
@pytest.mark.parametrize("slow", SLOW_DOWNS)
def test_a_law_is_recovered(form, slow):
    """The check is at a task count, size and concurrency that were not sampled."""
    law, slow_down = LAWS[form], SLOW_DOWNS[slow]
    found = fitted_curve(samples(law, slow_down)).model
    truth_s = law.length_s(30, 200 * MB, 1.0) * slow_down.factor(6.0)

    assert math.isclose(truth_s, found.length_s(30, 200 * MB, 6.0), rel_tol=0.01)


@pytest.mark.parametrize("form", LAWS)
def test_the_right_law_is_chosen_through_noise(form):
    fit = fitted_curve(samples(LAWS[form], SLOW_DOWNS["two have room"], noise=0.05))

    assert form == fit.model.form
    assert fit.model.slow_down.threshold == 2.0
    assert fit.error == fit.alternatives[fit.model.name]
    assert {"constant", "work", "size", "table"} <= fit.alternatives.keys()


def test_a_richer_law_needs_a_clear_gain():
    """Constant plus noise: one of many richer models always fits slightly better."""
    chosen = [
        fitted_curve(samples(LAWS["constant"], SLOW_DOWNS["alone"], 0.2, seed)).model.name
        for seed in range(20)
    ]

    assert chosen.count("constant") >= 14


def test_a_table_fits_what_no_formula_does():
    """Tasks are twice as long at exactly 20 tasks, as with one badly split input."""
    odd = [
        Sample(tasks, 0, 1.0, length_s)
        for tasks, length_s in [(10, 5.0), (19, 5.0), (20, 11.0), (21, 11.0), (40, 5.0), (41, 5.0)]
    ]
    fit = fitted_curve(odd)

    assert "table" == fit.model.form
    assert 11.0 == fit.model.length_s(20, 0, 1.0)


def test_one_setting_gives_a_constant_and_says_so():
    fit = fitted_curve(
        [Sample(10, MB, 2.0, 4.0), Sample(10, MB, 2.0, 6.0), Sample(10, MB, 2.0, 5.0)]
    )

    assert (5.0, None) == (fit.model.length_s(99, 0, 9.0), fit.error)
    assert "one setting only" == fit.why


def test_one_bad_repetition_of_three_changes_nothing():
    good = samples(LAWS["work"], SLOW_DOWNS["alone"])
    bad = [one._replace(length_s=10 * one.length_s) for one in good]

    assert fitted_curve(good).model == fitted_curve([*good, *good, *bad]).model


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 10**9), st.floats(1.0, 8.0),
                          st.floats(1e-6, 1e6)), min_size=1, max_size=12))  # fmt: skip
def test_predicted_lengths_are_always_positive(drawn):
    """This includes settings far outside the measured range."""
    curve = fitted_curve(Sample(*one) for one in drawn).model

    for tasks, size, concurrency in [(1, 0, 1.0), (10**6, 10**12, 64.0)]:
        assert 0 <= curve.length_s(tasks, size, concurrency) < math.inf


@given(st.integers(2, 40))
def test_every_setting_is_left_out_exactly_once(settings):
    *folds, everything = kept_by_fold(settings)

    assert [1] * settings == [sum(fold[at] == 0 for fold in folds) for at in range(settings)]
    assert [1] * settings == everything.tolist()


@pytest.mark.parametrize(
    ("predicted_s", "error"),
    [(0.0, None), (-1.0, None), (math.inf, None), (math.nan, None), (6.0, math.log(2) / 2)],
)
def test_a_curve_that_predicts_no_positive_length_has_no_error(predicted_s, error):
    """Of two settings of 3 s, each predicted by another curve, the first is predicted right."""
    curves = [SimpleNamespace(length_s=lambda *_, one=one: one) for one in (3.0, predicted_s)]

    assert fits._left_out_error(curves, [Sample(1, MB, 1.0, 3.0)] * 2) == error
