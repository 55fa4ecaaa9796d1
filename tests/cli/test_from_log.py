"""A log in place of a workload file: every verb takes it, and says what was chosen."""

import json
from pathlib import Path

import pytest
from tests.cli.terminal import sluice

DATA = Path(__file__).resolve().parents[1] / "data" / "logs"
YARN = DATA / "spark" / "application_1516285256255_0012"
FIFTY = next((DATA / "swim").glob("*first50*"))
SLOTS = ("--from-log-set", "map_slots=40", "--from-log-set", "reduce_slots=20")
JHIST = DATA / "jhist"
VERBS = (
    ("simulate",),
    ("compare", "--seeds", "1"),
    ("validate",),
    ("order", "--seconds", "1"),
    ("plan", "--prices", "example"),
    ("why", YARN.name),
    ("story", YARN.name),
)
CLASSES = {
    "penalty_usd": 5,
    "deadline_s": 600,
    "map_slots_per_vm": 2,
    "reduce_slots_per_vm": 1,
    "on_demand_vm_usd": 2,
    "reserved_vm_usd": 1,
    "reserved_vms": 3,
}


_CHOSEN = "containers = 5: cores in the log, for tasks of any stage."


def options(values):
    return [word for name in values for word in ("--from-log-set", f"{name}={values[name]}")]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_verb_takes_a_log_and_notes_what_was_chosen(verb):
    """In the document for programs, beside the tables for people."""
    answer = sluice(*verb, "--from-log", YARN, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["notes"][0] == _CHOSEN

    for_people = sluice(*verb, "--from-log", YARN)
    assert for_people.code == 0
    assert f"note: {_CHOSEN}" in for_people.err


def test_each_answer_from_a_log_has_recorded_and_replayed_times():
    """Next to the answer, the user sees how well the simulator repeats what the log has."""
    simulated = json.loads(sluice("simulate", "--from-log", YARN, "--json").out)["jobs"][YARN.name]
    replay = {name: simulated[name] for name in ("recorded_s", "replayed_s", "replay_error")}
    assert replay["replay_error"] == replay["replayed_s"] / replay["recorded_s"] - 1

    for verb in VERBS[1:2] + VERBS[4:5]:
        document = json.loads(sluice(*verb, "--from-log", YARN, "--json").out)
        jobs = document["plans"][0]["jobs"] if verb[0] == "plan" else document["jobs"]
        assert replay.items() <= jobs[YARN.name].items(), verb
        assert "replay of 1 job alone" in sluice(*verb, "--from-log", YARN).err
    ordered = sluice("order", "--from-log", YARN, "--seconds", "1", "--json").out
    assert json.loads(ordered)["jobs"][YARN.name]["recorded_s"] == replay["recorded_s"]


def test_classes_of_a_log_have_the_medians_of_their_runs():
    answer = sluice("capacity", "--from-log", JHIST, *options(CLASSES), "--bound", "low", "--json")
    simulated = json.loads(sluice("simulate", "--from-log", JHIST, *SLOTS, "--json").out)["jobs"]
    recorded_s = sorted(job["recorded_s"] for job in simulated.values())
    classes = json.loads(answer.out)["classes"].values()

    assert all(one["recorded_s"] in recorded_s for one in classes)
    assert all(abs(one["replay_error"]) < 1 for one in classes)


def test_a_workload_file_has_no_notes():
    workload = b"{version: 1, cluster: {map_slots: 2}, jobs: [{id: a, maps: {tasks: 4, avg_s: 3}}]}"

    assert "notes" not in json.loads(sluice("simulate", "-", "--json", stdin=workload).out)


def test_a_folder_and_a_file_are_one_workload():
    answer = sluice(
        "simulate", "--from-log", DATA / "swim", "--from-log", YARN, *SLOTS, "--json",
        "--from-log-set", "jobs_max=5",
    )  # fmt: skip
    jobs = json.loads(answer.out)["jobs"]

    assert (len(jobs), jobs["application_1516285256255_0012"]["state"]) == (11, "done")
    assert jobs["job0#2"]["submitted_at_s"] == jobs["job0"]["submitted_at_s"]


def test_capacity_is_planned_for_the_profiles_of_a_log():
    answer = sluice("capacity", "--from-log", JHIST, *options(CLASSES), "--bound", "low", "--json")
    said = json.loads(answer.out)

    assert (answer.code, answer.err) == (0, "")
    assert ["QuasiMonteCarlo", "Sleep job", "word count (3.x)"] == sorted(said["classes"])
    assert any("runs, one of each profile" in note for note in said["notes"])


def test_applications_of_stages_become_classes_of_phases():
    given = {key: value for key, value in CLASSES.items() if "slots_per_vm" not in key}
    logs = ("--from-log", DATA / "spark" / "local-1532512550423", "--from-log", JHIST)
    answer = sluice("capacity", *logs, *options(given | {"containers_per_vm": 4}), "--json")
    said = json.loads(answer.out)

    assert (answer.code, answer.err) == (0, "")
    (one,) = said["classes"].values()
    assert one["containers"] > 0
    assert any("in no class (job_" in note for note in said["notes"])


def test_what_classes_lack_is_asked_for_by_name():
    bare = sluice("capacity", "--from-log", JHIST)
    assert (bare.code, "penalty_usd" in bare.err) == (2, True)

    for name in ("deadline_s", "map_slots_per_vm", "reduce_slots_per_vm"):
        given = {key: value for key, value in CLASSES.items() if key != name}
        answer = sluice("capacity", "--from-log", JHIST, *options(given))
        assert (answer.code, answer.out) == (2, "")
        assert f"--from-log-set {name}=" in answer.err


def test_a_plan_asks_for_prices_and_takes_jobs_without_reduces():
    vm = {"map_slots_per_vm": 2, "reduce_slots_per_vm": 1, "vm_hour_usd": 1, "deadline_s": 36000}
    bare = sluice("plan", "--from-log", FIFTY)
    assert (bare.code, "--from-log-set" in bare.err, "--prices" in bare.err) == (2, True, True)
    all_of_them = sluice("plan", "--from-log", FIFTY, *options(vm), "--json")
    assert 50 == len(json.loads(all_of_them.out)["plans"][0]["jobs"])
    both = sluice("plan", "--from-log", FIFTY, *options({**vm, "shape": "map-reduce"}), "--json")

    said = json.loads(both.out)
    kept = sum(bool(float(line.split("\t")[4])) for line in FIFTY.read_text().splitlines())
    assert f"shape = map-reduce: {50 - kept} of 50 are left out." in said["notes"]
    assert kept == len(said["plans"][0]["jobs"])


@pytest.mark.parametrize(
    "words",
    [
        ("validate", "--from-log", YARN),
        ("order", "--from-log", YARN, "--seconds", "1"),
        ("plan", "--from-log", YARN, "--prices", "example", "--choose", "1"),
    ],
    ids=lambda words: words[0],
)
def test_what_was_read_from_a_log_is_written_as_a_file(words, tmp_path):
    out = tmp_path / "out.yaml"
    written = sluice(*words, "--out", out)
    assert written.code == 0, written.err
    assert f"Made by: sluice {words[0]} --from-log" in out.read_text()

    again = sluice("simulate", out, "--tasks", "fair", "--json")
    assert "done" == json.loads(again.out)["jobs"][YARN.name]["state"]


def test_a_log_has_no_name_for_what_is_written_beside_it():
    answer = sluice("plan", "--from-log", YARN, "--prices", "example", "--choose", "1")

    assert (answer.code, "--out" in answer.err) == (2, True)


def test_a_question_is_about_a_run_or_about_a_log():
    for verb in ("why", "story"):
        answer = sluice(verb, "a", "--from-log", YARN, "--run", "1")
        assert (answer.code, "together with --from-log" in answer.err) == (2, True)
        answer = sluice(verb, "a", "--from-log", YARN, "--file", "jobs.yaml")
        assert (answer.code, "together with --file" in answer.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["jobs.yaml", "--from-log", YARN], ["--from-log", "together with FILE", "one of the two"]),
        ([], ["FILE", "--from-log"]),
        (["jobs.yaml", "--from-log-set", "a=1"], ["--from-log-set", "without --from-log"]),
        (["jobs.yaml", "--from-log-format", "swim"], ["--from-log-format", "without --from-log"]),
        (["--from-log", FIFTY], ["cluster is missing", "map_slots", "--from-log-set"]),
        (["--from-log", FIFTY, "--from-log-format", "swin"], ["'swin'", "Did you mean swim?"]),
        (["--from-log", FIFTY, "--from-log-set", "map_slot=4"], ["Did you mean map_slots?"]),
        (["--from-log", FIFTY, "--from-log-set", "map_slots"], ["no = in it", "key=value"]),
        (["--from-log", FIFTY, "--from-log-set", "map_slots=x"], ["map_slots is 'x'"]),
        (["--from-log", "none.log"], ["none.log", "No such file"]),
        (["--from-log", FIFTY, *SLOTS, "--trace", FIFTY], ["--trace", "overwritten"]),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(words, fragments):
    answer = sluice("simulate", *words)

    assert (answer.code, answer.out) == (2, "")
    assert [one for one in fragments if one not in answer.err] == [], answer.err


@pytest.mark.parametrize("verb", ["why", "story"])
def test_a_job_of_a_log_goes_by_the_name_of_its_application(verb):
    by_name = sluice(verb, "Spark shell: collect at <console> [73c1]", "--from-log", YARN)
    by_id = sluice(verb, YARN.name, "--from-log", YARN)
    assert by_name.code == 0
    named = by_name.out.replace(
        f"Spark shell: collect at <console> [73c1] ({YARN.name})", YARN.name
    )
    assert named.split() == by_id.out.split()
    assert sluice(verb, "Spark", "--from-log", YARN).code == 2
