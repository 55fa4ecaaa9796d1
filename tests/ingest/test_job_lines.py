"""Jobs as lines of five fields. Source: ordering spec, sections 2 and 11."""

import pytest

import sluice
from sluice.ingest.job_lines import are_job_lines
from sluice.model.lengths import ConstantLengths


def phases(job):
    return [(phase.kind.value, phase.tasks, phase.lengths) for phase in job.phases]


def test_a_line_is_a_job():
    workload = sluice.parse_workload("# name m r tm tr\nJ1 10 2 4 8\n\nJ2,\t4 , 3,2.5e1, .5\r\n")

    assert ["J1", "J2"] == [job.job_id for job in workload.jobs]
    assert phases(workload.jobs[0]) == [
        ("map", 10, ConstantLengths(4.0, 4.0)), ("reduce", 2, ConstantLengths(8.0, 8.0)),
    ]  # fmt: skip
    assert phases(workload.jobs[1])[1] == ("reduce", 3, ConstantLengths(0.5, 0.5))
    assert workload.cluster is None


def test_the_length_of_a_phase_without_tasks_is_not_looked_at():
    workload = sluice.parse_workload("maps-only 3 0 2 0\nreduces-only 0 3 - 2\n")

    assert [["map"], ["reduce"]] == [[phase.name for phase in job.phases] for job in workload.jobs]


def test_a_first_line_may_name_the_fields():
    assert 1 == len(sluice.parse_workload("name m r tm tr\nJ1 10 2 4 8\n").jobs)


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("J1 10 2 4 8\n", True),
        ("# a comment\n\n  J1\t10\t2\t4\t8", True),
        ("J1,10,2,4\n", True),  # four fields: a line of the kind, with a mistake
        ("J1 ten 2 4 8\n", True),
        ("etl:7 10 2 4 8\n", True),
        ("version: 1\n", False),
        ("jobs:\n", False),
        ("{version: 1}", False),
        ("--- \nversion: 1", False),
        ("- 1 2 3 4", False),
        ("hello\n", False),
        ("", False),
        ("# nothing but this\n", False),
    ],
)
def test_the_content_decides(text, is_shown):
    assert is_shown == are_job_lines(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("J1 10 2 4\n", r"line 1, column 1: it has 4 fields"),
        ("J1 10 2 4 8\n\nJ2 1 2 3 4 5\n", r"line 3, column 1: it has 6 fields"),
        ("J1 10 2 4 8\nJ1 1 1 1 1\n", r'line 2, job "J1": id is given twice'),
        ("J1 10 2 4 8\nJ2 1.5 2 4 8\n", r'line 2, job "J2": maps.tasks is 1.5'),
        ("J1 -1 2 4 8\n", r'line 1, job "J1": maps.tasks is -1'),
        ("J1 true 2 4 8\n", r'job "J1": maps.tasks is "true"'),
        ("J1 10 2 0 8\n", r'job "J1": maps.avg_s is 0'),
        ("J1 10 2 -4 8\n", r'job "J1": maps.avg_s is -4'),
        ("J1 10 2 4 nan\n", r'job "J1": reduces.avg_s is "nan"'),
        ("J1 10 2 4 1e999\n", r'job "J1": reduces.avg_s is inf'),
        ("J1 0 0 4 8\n", r'job "J1": this job has no task'),
        (",1 2 3 4\nJ2 1 2 3 4", r"line 1, job number 1: id has 0 characters"),
        ("J1 999999999999 2 4 8\n", r'job "J1": maps.tasks'),
    ],
)
def test_a_bad_line_is_shown_by_number_job_and_field(text, said):
    with pytest.raises(sluice.InvalidInput, match=said):
        sluice.parse_workload(text)


def test_bytes_that_are_no_text_are_shown_too():
    with pytest.raises(sluice.InvalidInput, match=r"line 2.*UTF-8"):
        sluice.parse_workload(b"J1 10 2 4 8\n\xff 1 1 1 1\n")
