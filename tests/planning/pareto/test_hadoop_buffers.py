"""The spills of Hadoop's maps, against a map that collects and merges record by record."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.model.buffers import BufferSetting
from sluice.model.job import MapOutput
from sluice.planning.pareto.hadoop_buffers import HadoopBuffer, merged_times
from sluice.planning.pareto.spills import METADATA_BYTES, MapShare, spills

MIB = 1 << 20


def collected(records, record_bytes, limit_bytes):
    """Records of each spill of a map."""
    made, held = [], 0
    for _ in range(records):
        held += 1
        if held * (record_bytes + METADATA_BYTES) >= limit_bytes:
            made.append(held)
            held = 0
    return [*made, held] if held else made


def merged(made, factor):
    """Records that are written by spills and merges; a single spill is the output."""
    written = sum(made)
    if len(made) == 1:
        return written
    left = sorted(made)
    is_first = True
    while True:
        width = factor
        if is_first and len(left) > factor and (len(left) - 1) % (factor - 1):
            width = (len(left) - 1) % (factor - 1) + 1
        is_first = False
        taken, left = left[:width], left[width:]
        written += sum(taken)
        if not left:
            return written
        left = sorted([*left, sum(taken)])


@given(
    records=st.integers(1, 40_000),
    record_bytes=st.sampled_from([84, 240, 1000]),
    factor=st.integers(2, 12),
    maps=st.integers(1, 3),
)
def test_spills_and_records_are_those_of_a_map_that_collects(records, record_bytes, factor, maps):
    """Up to the records that a spill holds beyond the threshold, and its last, smaller one."""
    buffer = HadoopBuffer(sort_mb=1, sort_factor=factor, spill_percent=0.5)
    output = MapOutput(bytes=maps * records * record_bytes, records=maps * records)
    found = buffer.spills(output, maps)
    made = collected(records, record_bytes, 0.5 * MIB)

    assert maps * len(made) <= found.spills <= maps * (len(made) + 1)
    if found.spills == maps * len(made):
        assert found.records == pytest.approx(maps * merged(made, factor), rel=0.25)
        if len(made) <= factor:
            assert found.records == maps * merged(made, factor)


@given(st.integers(2, 300), st.integers(2, 40))
def test_equal_spills_are_merged_as_hadoop_does(count, factor):
    assert merged_times(count, factor) == pytest.approx(merged([1] * count, factor) / count - 1)


def test_very_many_spills_have_a_figure_too():
    assert merged_times(10**9, 10) == pytest.approx(9)
    assert merged_times(100_001, 10) == pytest.approx(merged_times(100_000, 10), rel=0.05)


@given(
    st.floats(1e6, 2e9),
    st.floats(0.01, 0.5),
    st.floats(0.5, 0.95),
    st.floats(1e5, 1e10),
    st.floats(1e3, 1e7),
)
def test_hadoop_spills_no_more_often_than_the_plan_says(size, metadata, threshold, data, records):
    setting = BufferSetting(bytes=size, metadata_share=metadata, spill_threshold=threshold)
    planned = spills(MapShare(data, records), setting).times
    found = HadoopBuffer.of(setting).spills(MapOutput(bytes=data, records=records), 1)

    assert found.spills <= planned


@pytest.mark.parametrize(
    "wrong",
    [{"io.sort.mb": "x"}, {"io.sort.mb": "0"}, {"io.sort.factor": "1"}, {"io.sort.factor": "1.5"}],
)
def test_a_configuration_that_hadoop_would_refuse_has_no_buffer(wrong):
    configuration = {f"mapreduce.task.{name}": value for name, value in wrong.items()}

    assert HadoopBuffer.configured(configuration) is None
    assert HadoopBuffer.configured({}) == HadoopBuffer()
    assert HadoopBuffer.configured({"mapreduce.map.sort.spill.percent": "nan"}) is None
    assert math.isclose(HadoopBuffer.of(BufferSetting(bytes=1e12)).sort_mb, 2047)
