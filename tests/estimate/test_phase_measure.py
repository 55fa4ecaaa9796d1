"""Phase measurements, aggregated from measured tasks."""

import math
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from sluice.estimate.phase_matching import stage_name
from sluice.estimate.phase_measure import TaskMeasure, phase_measure, relative_error
from sluice.model.attempts import Usage

usages = st.builds(Usage, cpu_s=st.floats(0, 1e9))
measures = st.builds(TaskMeasure, st.floats(1e-3, 1e6), st.none() | usages, st.integers(1, 5))


def test_no_task_gives_no_measurement():
    assert phase_measure([]) is None


def test_sizes_are_summed_and_memory_is_the_maximum():
    used = [
        Usage(cpu_s=1.5, rss_bytes_max=70, input_bytes=10),
        Usage(rss_bytes_max=90, input_bytes=5),
    ]
    measure = phase_measure([TaskMeasure(2.0, one) for one in used])

    assert (1.5, 90, 15, 0) == (
        measure.cpu_s, measure.rss_bytes_max, measure.input_bytes, measure.shuffle_bytes,
    )  # fmt: skip


def test_unmeasured_sizes_are_unknown_and_not_zero():
    assert phase_measure([TaskMeasure(2.0)]).input_bytes is None


def test_any_object_with_these_fields_is_accepted():
    used = SimpleNamespace(**Usage(output_records=7)._asdict())

    assert 7 == phase_measure([TaskMeasure(1.0, used)]).output_records


@given(st.lists(measures, min_size=1), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_the_mean_is_never_above_the_longest(some, random):
    """A profile with a mean above its longest task would be refused as a workload."""
    mixed = random.sample(some, len(some))

    assert phase_measure(some) == phase_measure(mixed)
    assert phase_measure(some).avg_s <= phase_measure(some).max_s


def test_a_relative_error_is_a_share_of_the_measured_value():
    assert math.isclose(-0.5, relative_error(5.0, 10.0))
    assert relative_error(None, 10.0) is None
    assert relative_error(5.0, 0.0) is None


def test_rounding_does_not_raise_the_mean_above_the_longest():
    """Three times 0.1 is slightly above 0.3 in binary."""
    measure = phase_measure([TaskMeasure(0.1, tasks=3)])

    assert (0.1, 0.1) == (measure.avg_s, measure.max_s)


def test_only_the_number_of_a_stage_is_left_out_of_its_name():
    assert stage_name("stage 3: join of stage 1 and stage 2") == "join of stage 1 and stage 2"
