"""A log in place of a workload file: every verb takes it, and says what was chosen."""

import json
from pathlib import Path

import pytest
from tests.cli.terminal import sluice

DATA = Path(__file__).resolve().parents[1] / "data" / "logs"
YARN = DATA / "spark" / "application_1516285256255_0012"
FIFTY = next((DATA / "swim").glob("*first50*"))
SLOTS = ("--from-log-set", "map_slots=40", "--from-log-set", "reduce_slots=20")
VERBS = (("simulate",), ("compare", "--seeds", "1"), ("validate",))


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_verb_takes_a_log_and_notes_what_was_chosen(verb):
    """In the document for programs, beside the tables for people."""
    answer = sluice(*verb, "--from-log", YARN, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["notes"][0] == "map_slots = 5: as the log tells."

    for_people = sluice(*verb, "--from-log", YARN)
    assert for_people.code == 0
    assert "note: map_slots = 5: as the log tells." in for_people.err


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


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["jobs.yaml", "--from-log", YARN], ["--from-log", "beside FILE", "one of the two"]),
        ([], ["FILE", "--from-log"]),
        (["jobs.yaml", "--from-log-set", "a=1"], ["--from-log-set", "no --from-log"]),
        (["jobs.yaml", "--from-log-format", "swim"], ["--from-log-format", "no --from-log"]),
        (["--from-log", FIFTY], ["cluster is missing", "map_slots", "--from-log-set"]),
        (["--from-log", FIFTY, "--from-log-format", "swin"], ["'swin'", "swim was meant"]),
        (["--from-log", FIFTY, "--from-log-set", "map_slot=4"], ["map_slots was meant"]),
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
