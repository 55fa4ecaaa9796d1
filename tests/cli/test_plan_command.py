"""`sluice plan`: the contract's document, exit codes, refusals, and a plan put to work."""

import copy
import json
from functools import reduce
from operator import getitem

import pytest
from defusedxml.ElementTree import parse  # type: ignore[import-untyped]  # it has no types
from tests.cli.terminal import sluice

JOB_A = {
    "id": "A",
    "maps": {"tasks": 5, "avg_s": 600, "max_s": 900},
    "reduces": {"tasks": 4, "avg_s": 1200, "max_s": 1500},
}
JOB_B = {"id": "B", "maps": {"tasks": 3, "avg_s": 900}, "reduces": {"tasks": 1, "avg_s": 600}}
BASE = {
    "version": 1,
    "cluster": {"map_slots_per_vm": 2, "reduce_slots_per_vm": 2},
    "prices": {"vm_hour_usd": 1.0, "billing_s": 3600, "io_op_usd": 5e-8, "io_bytes_per_op": 1},
    "jobs": [JOB_A, JOB_B],
}
OUTPUT = {"bytes": 3e8, "records": 3e6}
ABSENT = object()


def changed(*path, to):
    """The base workload with one place changed, or taken out."""
    document = copy.deepcopy(BASE)
    *steps, last = path
    place = reduce(getitem, steps, document)
    if to is ABSENT:
        del place[last]
    else:
        place[last] = to
    return document


def planned(document, *words, code=0):
    """The JSON document of `sluice plan - WORDS`."""
    answer = sluice("plan", "-", *words, "--json", stdin=json.dumps(document).encode())
    assert code == answer.code, answer.err
    return json.loads(answer.out, parse_constant=pytest.fail)


# --- the document ---------------------------------------------------------------------------------


def test_the_document_is_that_of_the_contract():
    found = planned(BASE)

    assert (found["status"], found["below_budget_min"]) == ("ok", [])
    assert (found["fastest_makespan_s"], found["least_budget_usd"]) == (3000.0, 3.0)
    first, second = found["plans"]
    assert (first["makespan_s"], first["budget_usd"]) == (3000.0, 4.0)
    assert (second["makespan_s"], second["budget_usd"]) == (3300.0, 3.0)
    assert first["jobs"]["A"] == {
        "map_slots": 5, "reduce_slots": 4, "vms": 3, "map_tasks": 5, "reduce_tasks": 4,
        "time_s": 3000.0, "cost_usd": 3.0, "io_usd": 0.0, "buffer": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "status", "code", "plans", "below"),
    [
        ({"deadline_s": 2000}, "deadline_unreachable", 1, 0, 0),
        ({"budget_usd_max": 2.5}, "budget_unreachable", 1, 0, 0),
        ({"deadline_s": 3100, "budget_usd_max": 3.5}, "deadline_and_budget_conflict", 1, 0, 0),
        ({"vms_max": 1}, "vm_cap_unreachable", 1, 0, 0),
        ({"budget_usd_min": 50}, "below_budget_min", 0, 0, 2),
        ({"budget_usd_min": 3.5, "budget_usd_max": None}, "ok", 0, 1, 1),
    ],
)
def test_every_status_has_its_exit_code_and_the_whole_document(limits, status, code, plans, below):
    found = planned({**BASE, "limits": limits}, code=code)

    assert (found["status"], len(found["plans"]), len(found["below_budget_min"])) == (
        status, plans, below,
    )  # fmt: skip
    is_capped = status == "vm_cap_unreachable"
    assert found["fastest_makespan_s"] == (None if is_capped else 3000.0)
    assert found["least_budget_usd"] == (None if is_capped else 3.0)


def test_plans_says_how_many_show_their_jobs():
    said = {
        words: [plan["jobs"] is not None for plan in planned(BASE, "--plans", words)["plans"]]
        for words in ("all", "none", "0", "1", "99")
    }

    assert said == {
        "all": [True, True], "none": [False, False], "0": [False, False], "1": [True, False],
        "99": [True, True],
    }  # fmt: skip


@pytest.mark.parametrize("tune", ["buffers", "buffers-random", "buffers-rrs"])
def test_a_tuned_buffer_moves_no_more_than_the_default(tune):
    document = {**BASE, "jobs": [{**JOB_A, "map_output": OUTPUT}, JOB_B]}
    plain, tuned = (
        planned(document, *words)["plans"][0]["jobs"] for words in ([], ["--tune", tune])
    )

    assert plain["A"]["buffer"] == {
        "bytes": 1e8, "metadata_share": 0.05, "spill_threshold": 0.8, "merge_width": 10,
    }  # fmt: skip
    assert plain["B"]["buffer"] is None
    assert 0 < tuned["A"]["io_usd"] <= plain["A"]["io_usd"]
    assert tuned["A"]["buffer"] != plain["A"]["buffer"]


def test_the_budget_is_rent_and_io_of_all_jobs():
    document = {**BASE, "jobs": [{**JOB_A, "map_output": OUTPUT}, JOB_B]}

    for plan in planned(document)["plans"]:
        parts = [job[name] for job in plan["jobs"].values() for name in ("cost_usd", "io_usd")]
        assert plan["budget_usd"] == pytest.approx(sum(parts), rel=1e-12)
        assert plan["makespan_s"] == max(job["time_s"] for job in plan["jobs"].values())


def test_the_paper_s_searches_go_by_name():
    job = {"id": "J2", "maps": {"tasks": 6, "avg_s": 1500}, "reduces": {"tasks": 2, "avg_s": 1000}}
    slow = {"id": "J1", "maps": {"tasks": 1, "avg_s": 9000}, "reduces": {"tasks": 1, "avg_s": 10}}
    document = {**BASE, "jobs": [slow, job]}
    found = {
        search: planned(document, "--search", search)["plans"][0]["budget_usd"]
        for search in ("exact", "slots-printed", "vms")
    }

    assert found == {"exact": 5.0, "slots-printed": 6.0, "vms": 7.0}


def test_jobs_choose_a_type_of_vm_from_a_price_list():
    found = planned(BASE, "--prices", "example", "--rent", "on-demand,spot")
    jobs = [job for plan in found["plans"] for job in plan["jobs"].values()]

    assert {job["rent"] for job in jobs} == {"on-demand", "spot"}
    assert len({job["vm_type"] for job in jobs}) > 1


def test_waves_let_jobs_wait():
    found = planned({**BASE, "limits": {"vms_max": 1}}, "--waves")

    assert [(plan["makespan_s"], plan["budget_usd"]) for plan in found["plans"]] == [(7500.0, 3.0)]
    assert {name: job["wave"] for name, job in found["plans"][0]["jobs"].items()} == {
        "A": 2, "B": 1,
    }  # fmt: skip


# --- refusals -------------------------------------------------------------------------------------

A, MAPS = ("jobs", 0), ("jobs", 0, "maps")


@pytest.mark.parametrize(
    ("path", "value", "words", "fragments"),
    [
        (("jobs",), [], (), ["jobs"]),
        (("jobs",), ABSENT, (), ["jobs"]),
        ((*MAPS, "tasks"), 0, (), ["maps.tasks", "A"]),
        ((*MAPS, "tasks"), 2.5, (), ["maps.tasks", "A"]),
        (MAPS, ABSENT, (), ["maps", "A"]),
        (("cluster", "map_slots_per_vm"), 0, (), ["map_slots_per_vm"]),
        (("cluster", "map_slots_per_vm"), ABSENT, (), ["map_slots_per_vm"]),
        (("cluster",), ABSENT, (), ["map_slots_per_vm"]),
        ((*MAPS, "avg_s"), 0, (), ["maps.avg_s", "A"]),
        ((*MAPS, "max_s"), 5, (), ["maps.max_s", "A"]),
        (("prices", "vm_hour_usd"), -1, (), ["vm_hour_usd"]),
        (("prices",), ABSENT, (), ["vm_hour_usd"]),
        (("prices", "billing_s"), -1, (), ["billing_s"]),
        (("prices", "io_bytes_per_op"), 0, (), ["io_bytes_per_op"]),
        (("limits",), {"budget_usd_min": 9, "budget_usd_max": 5}, (), ["budget_usd_max"]),
        (("limits",), {"deadline_s": 0}, (), ["deadline_s"]),
        (("limits",), {"vms_max": 0}, (), ["vms_max"]),
        ((*A, "map_output"), {"bytes": 5.0}, (), ["map_output.records", "A"]),
        ((*A, "map_output"), {"records": 5.0}, (), ["map_output.bytes", "A"]),
        ((*A, "map_output"), {"bytes": 0, "records": 5}, (), ["map_output.bytes", "A"]),
        ((*A, "buffer"), {"metadata_share": [0, 0.5]}, (), ["metadata_share", "A"]),
        ((*A, "buffer"), {"spill_threshold": [0.5, 1]}, (), ["spill_threshold", "A"]),
        ((*A, "buffer"), {"bytes": [0, 1e8]}, (), ["bytes", "A"]),
        ((*A, "buffer"), {"bytes": [5e8, 1e8]}, (), ["bytes", "A"]),
        (MAPS, {"tasks": 4, "rows": [[2, 3, 4], [2, 5, 6]]}, (), ["rows", "A"]),
        (("version",), 1, ("--tune", "buffers"), ["map_output"]),
        (("version",), 1, ("--tune", "task"), ["--tune", "tasks"]),
        (("version",), 1, ("--tune", "tasks,tasks-hill"), ["--tune"]),
        (("version",), 1, ("--search", "exat"), ["--search", "exact"]),
        (("version",), 1, ("--plans", "some"), ["--plans"]),
        (("version",), 1, ("--waves",), ["vms_max"]),
        (("version",), 1, ("--rent", "sport", "--prices", "example"), ["--rent", "spot"]),
        (("version",), 1, ("--search", "vms", "--prices", "example"), ["--search"]),
        (("version",), 1, ("--out", "x.yaml"), ["--choose"]),
        (("version",), 1, ("--choose", "1"), ["--out"]),
        (("version",), 1, ("--choose", "0", "--out", "x.yaml"), ["--choose"]),
        (("version",), 1, ("--choose", "3", "--out", "x.yaml"), ["--choose", "1 to 2"]),
        (
            ("version",), 1, ("--choose", "1", "--out", "x.yaml", "--export", "x.xml"),
            ["fair-scheduler.xml"],
        ),
        (
            (*MAPS, "tasks_max"), 10**7, ("--tune", "tasks"), ["maps.tasks_max", "A"],
        ),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_field_and_job(
    path, value, words, fragments, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    document = changed(*path, to=value)
    answer = sluice("plan", "-", *words, "--json", stdin=json.dumps(document).encode())

    assert (answer.code, answer.out) == (2, ""), answer
    assert [] == [fragment for fragment in fragments if fragment not in answer.err], answer.err
    assert [] == list(tmp_path.iterdir())


# --- a plan put to work ---------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.json").write_text(json.dumps(BASE))
    return "jobs.json"


@pytest.mark.parametrize("number", [1, 2])
def test_simulate_obeys_the_chosen_plan(file, number):
    """Tasks are as long as their average there, so it ends where the low estimate says."""
    assert sluice("plan", file, "--choose", number, "--out", "chosen.yaml").code == 0
    answer = sluice("simulate", "chosen.yaml", "--tasks", "fair", "--json")
    jobs = json.loads(answer.out)["jobs"]

    slots = {1: ((5, 4), (2, 1)), 2: ((4, 4), (2, 1))}[number]
    for (name, task_s), (maps, reduces) in zip(
        {"A": (5, 600, 4, 1200), "B": (3, 900, 1, 600)}.items(), slots, strict=True
    ):
        map_tasks, map_s, reduce_tasks, reduce_s = task_s
        low_s = -(-map_tasks // maps) * map_s + -(-reduce_tasks // reduces) * reduce_s
        assert jobs[name]["finished_at_s"] == low_s


def test_choosing_writes_beside_the_file_and_leads_on(file, tmp_path):
    answer = sluice("plan", file, "--choose", 2)

    assert "sluice simulate jobs-plan-2.json --tasks fair" in answer.err
    assert json.loads((tmp_path / "jobs-plan-2.json").read_text())["cluster"]["nodes"] == 3


def test_the_chosen_workload_plans_to_itself(file):
    """It keeps what a VM holds, so that it can be planned again."""
    sluice("plan", file, "--choose", 1, "--out", "chosen.yaml")

    assert (
        planned(BASE)["plans"] == json.loads(sluice("plan", "chosen.yaml", "--json").out)["plans"]
    )


def test_the_workload_itself_is_not_overwritten(file):
    answer = sluice("plan", file, "--choose", 1, "--out", file)

    assert (answer.code, "overwritten" in answer.err) == (2, True)


def test_a_plan_is_exported_for_both_schedulers(file, tmp_path):
    for kind in ("fair", "capacity"):
        words = ("--out", "chosen.yaml", "--export", f"{kind}-scheduler.xml")
        assert sluice("plan", file, "--choose", 1, *words).code == 0

    fair = parsed(tmp_path / "fair-scheduler.xml")
    assert [queue.get("name") for queue in fair.iter("queue")] == ["A", "B"]
    assert fair.find("queue[@name='A']/maxResources").text == "6144 mb, 6 vcores"
    capacity = {
        one.find("name").text.removeprefix("yarn.scheduler.capacity.root."): one.find("value").text
        for one in parsed(tmp_path / "capacity-scheduler.xml").iter("property")
    }
    assert capacity["queues"] == "A,B,default"
    assert [capacity[f"{name}.capacity"] for name in ("A", "B", "default")] == [
        "74.999", "25.000", "0.001",
    ]  # fmt: skip


def test_tuned_buffers_are_exported_for_hadoop_jobs(file, tmp_path):
    """10 MB and 160 kB of metadata in each of 4 maps, and 10 % more, fit into 0.8 of 14 MiB."""
    job = {
        "id": "sort",
        "maps": {"tasks": 4, "avg_s": 60},
        "reduces": {"tasks": 2, "avg_s": 60},
        "map_output": {"bytes": 4e7, "records": 40_000},
        "buffer": {"bytes": [1e6, 2e7], "spill_threshold": [0.8, 0.8]},
    }
    other = {"id": "untouched", "maps": {"tasks": 4, "avg_s": 60}}
    made = BASE | {"jobs": [job, other]}
    (tmp_path / "tuned.json").write_text(json.dumps(made))
    words = ("--tune", "buffers", "--io-model", "merge", "--choose", "1", "--export")
    answer = sluice("plan", "tuned.json", *words, "mapred-options.txt")
    assert answer.code == 0, answer.err
    text = (tmp_path / "mapred-options.txt").read_text()
    comment, options = text.splitlines()[-2:]

    assert options == (
        "-D mapreduce.task.io.sort.mb=14 -D mapreduce.task.io.sort.factor=2"
        " -D mapreduce.map.sort.spill.percent=0.8"
    )
    assert comment == (
        "# sort, 4 maps; predicted: 4 spills, 40,000 spilled records, 38.1 MiB moved"
    )
    assert "untouched" not in text
    made["jobs"][0]["map_output"]["bytes"] = 8e7
    (tmp_path / "tuned.json").write_text(json.dumps(made))
    assert sluice("plan", "tuned.json", *words, "mapred-options.txt").code == 0
    twice = (tmp_path / "mapred-options.txt").read_text()
    assert "predicted: 100 spills, 80,000 spilled records" in twice


@pytest.mark.parametrize("slots", [{"map_slots_per_vm": 2, "reduce_slots_per_vm": 1},
                                   {"containers_per_vm": 2}])  # fmt: skip
def test_maps_without_reduces_and_maps_in_containers_have_their_io_price(slots):
    """Only what reduces read goes through a buffer: 4 maps spill 3 times 4 MB of metadata each,
    which is that of 25 MB of data.
    """
    job = {"id": "sort", "maps": {"tasks": 4, "avg_s": 60}, "map_output": OUTPUT}
    reduces = {"reduces": {"tasks": 2, "avg_s": 60}}
    made = BASE | {"cluster": slots}
    with_reduces = planned(made | {"jobs": [job | reduces]})["plans"][0]["jobs"]["sort"]
    without = planned(made | {"jobs": [job]})["plans"][0]["jobs"]["sort"]

    assert with_reduces["io_usd"] == pytest.approx(4 * 3 * 2.9e7 * 5e-8)
    assert (0.0, None) == (without["io_usd"], without["buffer"])
    refused = sluice(
        "plan", "-", "--tune", "buffers", stdin=json.dumps(made | {"jobs": [job]}).encode()
    )
    assert (2, True) == (refused.code, "no job with reduces has map_output" in refused.err)


def test_buffers_that_were_not_tuned_are_not_exported(file, tmp_path):
    words = ("--choose", 1, "--out", "chosen.yaml", "--export", "mapred-options.txt")
    answer = sluice("plan", file, *words)

    assert (2, True) == (answer.code, "no job of the plan has a tuned buffer" in answer.err)
    assert not (tmp_path / "chosen.yaml").exists()


def parsed(path):
    return parse(path).getroot()


def test_people_get_a_table_and_a_verdict(file):
    answer = sluice("plan", file)

    assert answer.code == 0
    assert "50 m 00 s   $4.00" in answer.out
    assert "2 Pareto-optimal plans" in answer.out


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"deadline_s": 2000}, "no plan meets the deadline of 33 m 20 s"),
        ({"budget_usd_max": 2.5}, "no plan costs $2.50 or less"),
        ({"deadline_s": 3100, "budget_usd_max": 3.5}, "in 51 m 40 s it costs at least $4.00"),
        ({"vms_max": 1}, "the jobs do not fit into 1 VMs"),
        ({"budget_usd_min": 50}, "every plan costs less than $50.00"),
    ],
)
def test_people_are_shown_why_there_is_no_plan(limits, said):
    answer = sluice("plan", "-", stdin=json.dumps({**BASE, "limits": limits}).encode())

    assert said in answer.out


def test_help_ends_in_an_example():
    assert "Example: sluice plan" in sluice("plan", "--help").out
