"""Documents that programs give: numbers of other libraries, and what no file could have."""

from decimal import Decimal

import pytest
from tests import skips

import sluice


def load(**maps):
    jobs = [{"id": "a", "maps": {"tasks": 8, "avg_s": 2} | maps}]
    return {"version": 1, "cluster": {"map_slots": 4}, "jobs": jobs}


def test_numbers_of_other_libraries_are_numbers():
    numpy = skips.required("numpy")
    plain = sluice.simulate(load()).document()["makespan_s"]
    for tasks, avg_s in ((numpy.int64(8), numpy.float32(2)), (8, Decimal(2)), (8, numpy.array(2))):
        assert sluice.simulate(load(tasks=tasks, avg_s=avg_s)).document()["makespan_s"] == plain


def test_what_no_file_could_have_is_refused_in_one_message():
    endless = load()
    endless["jobs"] = [endless]
    for document, said in (
        (load(avg_s={1, 2}), "of the type set"),
        (endless, "Circular reference"),
        ({}, "version is missing"),
    ):
        with pytest.raises(sluice.InvalidInput, match=said):
            sluice.simulate(document)


def test_a_result_counts_tasks_and_not_launches():
    assert "1 job, 8 attempts" in repr(sluice.simulate(load()))
