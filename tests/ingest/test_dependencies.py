"""Jobs that name other jobs under `after`: what is read, and what is refused."""

import json

import pytest

import sluice
from sluice.model.errors import InvalidInput
from sluice.reporting.exports.job_document import job_document


def parsed(*jobs):
    cluster = {"map_slots": 2, "reduce_slots": 1}
    return sluice.parse_workload(json.dumps({"version": 1, "cluster": cluster, "jobs": jobs})).jobs


def job(name, **more):
    return {"id": name, "maps": {"tasks": 1, "avg_s": 1}} | more


def test_a_job_is_submitted_no_earlier_than_those_before_it_and_its_deadline_moves_along():
    jobs = parsed(
        job("c", after=["b"], deadline_s=5),
        job("b", after=["a", "a"]),
        job("a", submitted_at_s=7),
        job("d", after=["a"], submitted_at_s=9, deadline_at_s=12),
    )

    found = {str(one.job_id): (one.after, one.submitted_at_s, one.deadline_at_s) for one in jobs}
    assert found == {
        "a": ((), 7, None),
        "b": (("a",), 7, None),
        "c": (("b",), 7, 12),
        "d": (("a",), 9, 12),
    }


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([job("a", after=["a"])], 'job "a": after[0] names the job itself. Remove it'),
        ([job("alpha"), job("b", after=["alhpa"])], "names the unknown job 'alhpa'"),
        (
            [job("a", after=["c"]), job("b", after=["a"]), job("c", after=["b"])],
            'job "a": after forms a circle: ',
        ),
        (
            [job("a", submitted_at_s=9), job("b", after=["a"], deadline_at_s=4)],
            "is 4, and job 'a' before it can be submitted at 9 at the earliest",
        ),
        ([job("a", after="b"), job("b")], "after is 'b', not a list"),
        ([job("a", after=[1]), job("b")], "after[0] is 1, not text"),
    ],
)
def test_names_that_cannot_be_are_refused_with_the_place(jobs, said):
    with pytest.raises(InvalidInput) as error:
        parsed(*jobs)
    assert said.replace('"', "'") in str(error.value).replace('"', "'")


def test_a_long_chain_is_read_quickly_and_written_back():
    jobs = parsed(*(job(f"j{n}", after=[f"j{n - 1}"] if n else []) for n in range(5000)))

    assert jobs[-1].after == ("j4998",)
    assert job_document(jobs[-1])["after"] == ["j4998"]
    assert "after" not in job_document(jobs[0])
