"""`sluice capacity`: the document that other programs read, exit codes, files and tables."""

import json
import re
from textwrap import dedent
from xml.etree import ElementTree as ET

import pytest
from tests.cli.terminal import result_of, sluice

import sluice as package

CLASSES = """\
version: 1
prices: {on_demand_vm_usd: 20, reserved_vm_usd: 8, reserved_vms: 13}
classes:
  - {id: q1, penalty_usd: 30, jobs_min: 3, jobs_max: 10, vms_per_job: 2}
"""

PROFILED = """\
version: 1
prices: {on_demand_vm_usd: 20, reserved_vm_usd: 8, reserved_vms: 50}
classes:
  - {id: q1, penalty_usd: 10, jobs_min: 3, jobs_max: 10, deadline_s: 1800, maps_per_vm: 2, reduces_per_vm: 3,
     maps: {tasks: 100, avg_s: 40, max_s: 50}, reduces: {tasks: 40, avg_s: 24, max_s: 30},
     first_shuffle: {avg_s: 16, max_s: 20}, shuffle: {avg_s: 80, max_s: 100}}
  - {id: q2, penalty_usd: 30, jobs_min: 0, jobs_max: 4, vms_per_job: 0.3}
"""  # noqa: E501  # as the contract writes it

FIELDS = {
    "jobs", "rejected", "vms_per_job", "map_containers", "reduce_containers", "share", "time_s",
}  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    """One file with the golden example G4, one with profiles."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g4.yaml").write_text(CLASSES)
    (tmp_path / "profiled.yaml").write_text(PROFILED)
    return tmp_path


def document(*words, code=0):
    answer = sluice("capacity", *words, "--json")
    assert (code, 1) == (answer.code, answer.out.count("\n")), answer
    return json.loads(answer.out, parse_constant=pytest.fail)


def test_the_document_has_what_programs_read(files):
    said = document("g4.yaml")

    assert {
        "status": "ok", "reserved_vms": 13.0, "on_demand_vms": 0.0, "objective_usd": -91.0,
        "cost_usd": 209.0, "next_vm_usd": 15.0, "gap_usd": 0.0,
    }.items() <= said.items()  # fmt: skip
    q1 = said["classes"]["q1"]
    assert {"jobs": 6.5, "rejected": 3.5, "vms_per_job": 2.0, "share": 1.0}.items() <= q1.items()
    assert [None] * 3 == [q1[name] for name in ("map_containers", "reduce_containers", "time_s")]


def test_whole_answers_show_their_gap(files):
    said = document("g4.yaml", "--integer")

    assert (-86.0, 5.0) == (said["objective_usd"], said["gap_usd"])
    assert (7.0, 13.0, 1.0) == (
        said["classes"]["q1"]["jobs"], said["reserved_vms"], said["on_demand_vms"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("bound", "gamma"), [("low", 3.603719), ("avg", 4.004867), ("up", 4.531223)]
)
def test_the_bound_says_how_long_jobs_are_taken_to_be(files, bound, gamma):
    said = document("profiled.yaml", "--bound", bound)["classes"]["q1"]

    assert FIELDS <= said.keys()
    assert said["vms_per_job"] == pytest.approx(gamma, abs=5e-7)
    assert said["time_s"] == pytest.approx(1800.0)


def test_many_classes_are_shown_with_what_the_solver_leaves_open(files):
    """More classes than are solved exactly: the gap is a bound then, no proof of the optimum."""
    classes = [
        {
            "id": f"c{n}",
            "penalty_usd": 7 + n % 31,
            "jobs_max": 3 + n % 5,
            "vms_per_job": 0.3 + n / 90,
        }
        for n in range(80)
    ]
    prices = {"on_demand_vm_usd": 20, "reserved_vm_usd": 8, "reserved_vms": 61}
    (files / "many.json").write_text(
        json.dumps({"version": 1, "prices": prices, "classes": classes})
    )
    said = document("many.json", "--integer")

    assert not said["proved_optimal"]
    assert 0 <= said["gap_usd"] < 1e-2 * said["cost_usd"]
    assert "above any other whole plan" in sluice("capacity", "many.json", "--integer").out


def test_the_bound_is_up_unless_shown_otherwise(files):
    assert document("profiled.yaml") == document("profiled.yaml", "--bound", "up")


def test_an_infeasible_deadline_is_exit_1_with_the_least_that_would_do(files):
    (files / "late.yaml").write_text(PROFILED.replace("deadline_s: 1800", "deadline_s: 300"))
    said = document("late.yaml", code=1)
    people = sluice("capacity", "late.yaml")

    assert ("infeasible_deadline", {"q1": {"least_deadline_s": 380.0}}) == (
        said["status"], said["classes"],
    )  # fmt: skip
    assert 1 == people.code
    assert ["class  deadline must exceed", "q1                    380 s"] == [
        line.strip() for line in people.out.splitlines() if "deadline" in line or "380" in line
    ]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("penalty_usd: 30, jobs_min: 0", "penalty_usd: -30, jobs_min: 0", "penalty_usd"),
        ("on_demand_vm_usd: 20", "on_demand_vm_usd: 2", "on_demand_vm_usd"),
        ("tasks: 100, avg_s: 40", "tasks: 2, avg_s: 40", "maps.tasks"),
        ("jobs_min: 3", "jobs_min: 30", "jobs_max"),
        ("vms_per_job: 0.3", "vms_per_job: 1e400", "vms_per_job"),
    ],
)
def test_bad_input_is_exit_2_with_an_empty_stdout(files, old, new, field):
    (files / "bad.yaml").write_text(PROFILED.replace(old, new))
    answer = sluice("capacity", "bad.yaml", "--json")

    assert (2, "") == (answer.code, answer.out)
    assert field in answer.err


def test_an_unknown_bound_is_refused(files):
    answer = sluice("capacity", "g4.yaml", "--bound", "high")

    assert (2, "") == (answer.code, answer.out)
    assert "low, avg, up" in answer.err


def test_a_deadline_beyond_the_hour_is_shown_on_both_streams(files):
    (files / "long.yaml").write_text(PROFILED.replace("deadline_s: 1800", "deadline_s: 4000"))
    answer = sluice("capacity", "long.yaml", "--json")

    assert 0 == answer.code
    assert "deadline_s is 4000" in answer.err
    assert "deadline_s is 4000" in json.loads(answer.out)["warnings"][0]


def test_the_document_has_the_curve(files):
    said = document("g4.yaml")["curve"]

    assert [0.0, 6.0, 20.0] == [corner["reserved_vms"] for corner in said]
    assert [330.0, 258.0, 160.0] == [corner["cost_usd"] for corner in said]
    assert said == document("g4.yaml", "--curve")["curve"]


def test_people_get_tables_in_eighty_columns(files):
    answer = sluice("capacity", "profiled.yaml", "--integer", "--curve")

    assert 0 == answer.code
    assert max(map(len, answer.out.splitlines())) <= 80
    assert "q2" in answer.out


def test_people_are_shown_what_it_costs_and_what_to_contract(files):
    said = sluice("capacity", "g4.yaml").out

    assert "13 reserved, 0 on demand" in said
    assert "$209.00: rent $104.00, refusals $105.00" in said
    assert "would avoid $15.00 of cost: net $7.00 if reserved" in said
    assert "Best: reserve 20 VMs (saves $49.00)" in said


def test_queues_are_exported_for_hadoop(files):
    answer = sluice("capacity", "profiled.yaml", "--export", "capacity-scheduler.xml", "--json")
    root = ET.parse(files / "capacity-scheduler.xml").getroot()  # noqa: S314  # ours
    said = {one.findtext("name"): one.findtext("value") for one in root.iter("property")}
    prefix = "yarn.scheduler.capacity.root"

    assert 0 == answer.code
    assert "q1,q2,default" == said[f"{prefix}.queues"]
    shares = [float(said[f"{prefix}.{queue}.capacity"]) for queue in ("q1", "q2", "default")]
    assert 100.0 == pytest.approx(sum(shares), abs=1e-9)
    assert shares[0] == pytest.approx(
        100 * json.loads(answer.out)["classes"]["q1"]["share"], abs=2e-3
    )


def test_a_class_with_less_than_one_job_has_a_queue_too(files):
    """A tenth of a job at once still has a deadline, and its queue still needs machines."""
    small = CLASSES.replace("jobs_min: 3, jobs_max: 10", "jobs_min: 0, jobs_max: 10")
    tiny = "  - {id: q2, penalty_usd: 900, jobs_min: 0, jobs_max: 0.01, vms_per_job: 0.1}\n"
    (files / "tiny.yaml").write_text(small + tiny)
    answer = sluice("capacity", "tiny.yaml", "--export", "capacity-scheduler.xml")
    root = ET.parse(files / "capacity-scheduler.xml").getroot()  # noqa: S314  # ours
    said = {one.findtext("name"): one.findtext("value") for one in root.iter("property")}
    prefix = "yarn.scheduler.capacity.root"

    assert 0 == answer.code, answer.err
    assert float(said[f"{prefix}.q2.capacity"]) > 0
    assert "10000" == said[f"{prefix}.q2.maximum-applications"]
    assert "1" == said[f"{prefix}.q2.max-parallel-apps"]


def test_the_chart_shows_the_figures_of_the_table(files):
    said = sluice("capacity", "profiled.yaml", "--plot", "out.json").out
    spec = json.loads((files / "out.json").read_text())
    _, reserved, _, on_demand = re.search(
        r"(VMs +)(\S+)( reserved, )(\S+) on demand", said
    ).groups()

    (note,) = spec["title"]["subtitle"]
    assert f"{reserved} reserved and {on_demand} on-demand VMs" in note
    assert "$" + re.search(r"cost +\$(\S+):", said)[1] not in ("$0.00", "$")


def test_a_plot_is_written(files):
    assert 0 == sluice("capacity", "g4.yaml", "--plot", "out.json").code
    assert "vega-lite" in (files / "out.json").read_text()


def test_the_export_may_not_overwrite_the_workload(files):
    assert 2 == sluice("capacity", "g4.yaml", "--export", "g4.yaml").code


def test_python_gives_what_the_command_line_shows(files):
    result = package.capacity("g4.yaml", integer=True)

    by_words = result_of(document("g4.yaml", "--integer"))
    assert json.loads(json.dumps(result.document())) == by_words
    assert [7.0] == list(result.to_frame()["jobs"])


def test_jobs_of_a_class_take_its_penalty_and_deadline():
    """A job in a pool that is a class asks for admission as one of that class."""
    (job,) = package.parse_workload(
        "{version: 1, classes: [{id: q1, penalty_usd: 7, jobs_max: 3, vms_per_job: 1,"
        " deadline_s: 60}], jobs: [{id: a, pool: q1, submitted_at_s: 5, maps: {tasks: 2,"
        " avg_s: 3}}]}"
    ).jobs

    assert (7.0, 65.0) == (job.penalty_usd, job.deadline_at_s)


def test_admission_is_a_policy_of_simulate(files):
    """Also where the prices of the file are its settings."""
    (files / "jobs.yaml").write_text(
        dedent("""\
            version: 1
            cluster: {containers: 8}
            prices: {on_demand_vm_usd: 20, reserved_vm_usd: 8, reserved_vms: 1}
            jobs:
              - {id: fits, deadline_s: 100, penalty_usd: 9, maps: {tasks: 16, avg_s: 10}}
              - {id: poor, deadline_s: 100, penalty_usd: 0.1, maps: {tasks: 16, avg_s: 10}}
            """)
    )
    words = ("simulate", "jobs.yaml", "--tasks", "yarn-like", "--admission", "capacity", "--json")
    said = json.loads(sluice(*words).out)
    free = json.loads(sluice(*words, "--set", "capacity.reserved_vm_usd=none").out)

    assert ("done", True) == (said["jobs"]["fits"]["state"], said["jobs"]["fits"]["deadline_met"])
    assert "refusing it costs $0.10" in said["jobs"]["poor"]["reason"]
    assert "done" == free["jobs"]["poor"]["state"]
    assert ["fits"] == said["admission_rounds"][0]["taken"]


@pytest.mark.parametrize(
    "setting", ["capacity.interval_s=-1", "capacity.bound=high", "capacity.interval=5"]
)
def test_wrong_settings_of_admission_are_refused(files, setting):
    (files / "jobs.yaml").write_text(
        "{version: 1, cluster: {containers: 1}, jobs: [{id: a, maps: {tasks: 1, avg_s: 1}}]}"
    )
    answer = sluice("simulate", "jobs.yaml", "--admission", "capacity", "--set", setting)

    assert (2, "") == (answer.code, answer.out)
    assert "capacity." in answer.err or "bound" in answer.err
