"""Applications of YARN: containers, times and states, and what has not ended."""

import json
import random

import pytest
from tests.cli.terminal import sluice as command

from sluice.ingest.logs.formats import read_log
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind

T0 = 1_767_600_000_000


def app(number, submitted, launched, ended, vcore_s, queue="root.etl", status="SUCCEEDED"):
    """One application with the fields of Hadoop 3.3. Instants: milliseconds after T0, or None."""
    over = "FINISHED" if status in {"SUCCEEDED", "UNDEFINED"} else status
    return {
        "id": f"application_1767599999999_{number:04}", "user": "ann", "name": f"query {number}",
        "queue": queue, "state": over if ended is not None else "RUNNING",
        "finalStatus": status if ended is not None else "UNDEFINED", "progress": 100.0,
        "trackingUI": "History", "diagnostics": "", "clusterId": 1767599999999,
        "applicationType": "SPARK", "priority": 0, "startedTime": T0 + submitted,
        "launchTime": 0 if launched is None else T0 + launched,
        "finishedTime": 0 if ended is None else T0 + ended,
        "elapsedTime": 0 if ended is None else ended - submitted,
        "allocatedMB": -1, "allocatedVCores": -1, "runningContainers": -1,
        "memorySeconds": vcore_s * 1536, "vcoreSeconds": vcore_s, "preemptedResourceMB": 0,
    }  # fmt: skip


APPS = [
    app(1, 0, 2_000, 102_000, 400),
    app(2, 1_000, 5_500, 66_000, 91, queue="root.ads"),
    app(3, 9_000, 10_000, 20_000, 21, status="FAILED"),
    app(4, 9_500, 10_000, None, 7),
    app(5, 9_600, None, 9_900, 0, status="KILLED"),
    app(6, 9_700, None, 19_700, 10),
]


@pytest.fixture
def file(tmp_path):
    def of(apps, wrap=lambda apps: {"apps": {"app": apps}}):
        path = tmp_path / "apps.json"
        path.write_text(json.dumps(wrap(apps)))
        return path

    return of


def test_an_application_holds_its_average_containers_while_it_runs(file):
    log = read_log(file(APPS))
    jobs = {str(job.job_id)[-1]: job for job in log.workload.jobs}

    assert log.format == "rm-apps"
    assert {key: (job.tasks, job.gang, job.submitted_at_s) for key, job in jobs.items()} == {
        "1": (4, 0, 0), "2": (2, 0, 1), "3": (2, 0, 9), "6": (1, 0, 9.7),
    }  # fmt: skip
    assert [job.phases[0].lengths.avg_s(1) for job in jobs.values()] == [100, 60.5, 10, 10]
    assert [str(job.pool) for job in jobs.values()] == [
        "root.etl", "root.ads", "root.etl", "root.etl",
    ]  # fmt: skip
    assert log.workload.cluster.slots(SlotKind.CONTAINER) == 9
    assert [run.succeeded for run in log.runs] == [True, True, False, True]
    assert [run.elapsed_s for run in log.runs] == [102, 65, 11, 10]
    assert any("launchTime" in note for note in log.notes)


def test_what_is_left_out_is_listed_with_its_reason(file):
    assert [one.why for one in read_log(file(APPS)).skipped] == [
        "application number 4: application_1767599999999_0004 is running",
        "application number 5: application_1767599999999_0005 never held a container",
    ]
    twice = read_log(file([APPS[0], APPS[0]]))
    assert "is given twice" in twice.skipped[0].why


def test_options_choose_the_size_and_leave_out_what_failed(file):
    log = read_log(file(APPS), options={"failed": "skip", "vcores": 50})

    assert [str(job.job_id)[-1] for job in log.workload.jobs] == ["1", "2", "6"]
    assert log.workload.cluster.slots(SlotKind.CONTAINER) == 50


@pytest.mark.parametrize(
    "wrap", [lambda apps: {"app": apps[0]}, lambda apps: apps, lambda apps: {"app": apps}]
)
def test_one_application_and_a_bare_list_are_read_too(file, wrap):
    assert read_log(file(APPS[:1], wrap)).workload.jobs[0].tasks == 4


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_a_second_reader(file, seed):
    draw = random.Random(seed)
    apps = [app(0, 0, 1, 5_001, 10)]
    for number in range(1, draw.randint(2, 60)):
        submitted = draw.randrange(1_000_000)
        launched = submitted + draw.randrange(60_000)
        ended = launched + draw.randrange(1, 900_000) if draw.random() < 0.8 else None
        status = draw.choice(["SUCCEEDED", "SUCCEEDED", "FAILED", "KILLED"])
        apps.append(app(number, submitted, launched, ended, draw.randrange(3_000), status=status))
    path = file(apps)
    known = [
        one
        for one in json.loads(path.read_text())["apps"]["app"]
        if one["finishedTime"] and one["vcoreSeconds"]
    ]

    log = read_log(path)

    assert [str(job.job_id) for job in log.workload.jobs] == [one["id"] for one in known]
    assert log.skipped_count == len(apps) - len(known)
    for job, one in zip(log.workload.jobs, known, strict=True):
        held_s = (one["finishedTime"] - one["launchTime"]) / 1000
        assert job.phases[0].lengths.avg_s(1) == held_s
        assert job.tasks == 1 or abs(job.tasks - one["vcoreSeconds"] / held_s) <= 0.5


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"startedTime": "x"}, "startedTime is x"),
        ({"finishedTime": 1}, "ends before it begins"),
        ({"finishedTime": 0}, "has no start or end"),
        ({"vcoreSeconds": None}, "has no vcoreSeconds"),
        ({"vcoreSeconds": -1}, "vcoreSeconds is -1"),
        ({"vcoreSeconds": 10**14}, "held 1000000000000 vcores"),
        ({"id": "a\nb"}, "control character"),
        ({"id": None}, "it has no id"),
        ({"state": None}, "is none"),
    ],
)
def test_an_application_that_is_wrong_is_named(file, wrong, why):
    with pytest.raises(InvalidInput, match=why):
        read_log(file([APPS[0] | wrong]), "rm-apps")


@pytest.mark.parametrize("content", ['{"apps":null}', '{"apps":{}}\n'])
def test_the_answer_of_an_idle_cluster_is_known(tmp_path, content):
    path = tmp_path / "apps.json"
    path.write_text(content)
    answer = command("import", path)
    assert answer.code == 2
    assert "it holds no application that ran and ended" in answer.err


@pytest.mark.parametrize("content", ['{"apps": null}', "[]", "7", '{"apps": {"app": [1]}}'])
def test_a_list_without_an_application_is_refused(tmp_path, content):
    path = tmp_path / "apps.json"
    path.write_text(content)
    answer = command("import", path, "--format", "rm-apps")
    assert answer.code == 2
    assert "it holds no application that ran and ended" in answer.err


def test_from_a_list_to_a_sentence(file):
    path = file(APPS)
    assert command("import", path, "--format", "rm-apps", "--json").code == 0
    assert command("validate", "--from-log", path).code == 0
    assert command("simulate", "--from-log", path).code == 0
    answer = command("compare", "--from-log", path, "--schedulers", "fifo,fair", "--seeds", "1")
    assert answer.code == 0
    assert "fair" in answer.out


def as_xml(apps):
    """The answer of the ResourceManager to a client that accepts XML."""
    listed = "".join(
        f"<app>{''.join(f'<{key}>{value}</{key}>' for key, value in one.items())}</app>"
        for one in apps
    )
    return f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><apps>{listed}</apps>'


def test_xml_is_read_as_json_is(file, tmp_path):
    path = tmp_path / "apps.xml"
    path.write_text(as_xml([*APPS, APPS[0] | {"id": "application_1_0007", "name": "2026"}]))
    log, same = read_log(path), read_log(file(APPS))

    assert log.format == "rm-apps"
    assert log.workload.jobs[: len(same.workload.jobs)] == same.workload.jobs
    assert log.runs[-1].profile == "2026", "a name of digits is a name"
    assert log.skipped_count == same.skipped_count


@pytest.mark.parametrize(
    "text", ["<apps><app>", "<!DOCTYPE a><apps/>", "<apps/>", "<apps>&x;</apps>"]
)
def test_damaged_xml_is_refused(tmp_path, text):
    path = tmp_path / "apps.xml"
    path.write_text(text)
    with pytest.raises(InvalidInput):
        read_log(path, "rm-apps")
