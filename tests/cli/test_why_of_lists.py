"""Questions about a job that waits in a list of Kueue, YARN, Volcano or Slurm."""

import json
from datetime import UTC, datetime

import pytest
from tests.cli.terminal import sluice as command

T0 = 1_767_600_000


def at(seconds):
    return datetime.fromtimestamp(T0 + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def kueue(name, pods, created, *times, owner="", **spec):
    """A Workload with the instants of its admission and its end, as far as it came."""
    kinds = ("Admitted", "Finished")
    owners = {"ownerReferences": [{"kind": "Job", "name": owner}]} if owner else {}
    about = {"name": name, "namespace": "ml", "creationTimestamp": at(created)}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": about | owners,
        "spec": {"queueName": "q", "podSets": [{"name": "main", "count": pods}], **spec},
        "status": {"conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": at(instant)}
            for kind, instant in zip(kinds, times, strict=False)
        ]},
    }  # fmt: skip


def volcano(name, pods, created, *phases):
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": at(created)},
        "spec": {"queue": "q", "tasks": [{"name": "t", "replicas": pods}]},
        "status": {
            "state": {"phase": phases[-1][0], "lastTransitionTime": at(phases[-1][1])},
            "conditions": [{"status": one, "lastTransitionTime": at(when)} for one, when in phases],
        },
    }  # fmt: skip


def application(number, state, started, elapsed, vcores, **more):
    return {
        "id": f"application_1767599999999_{number:04}", "user": "ann", "name": "etl",
        "queue": "root.q", "state": state, "startedTime": 1000 * (T0 + started),
        "finalStatus": "SUCCEEDED" if state == "FINISHED" else "UNDEFINED", "launchTime": 0,
        "finishedTime": 0, "elapsedTime": 1000 * elapsed, "allocatedVCores": vcores, **more,
    }  # fmt: skip


ENDED = kueue("a", 4, 0, 10, 610, owner="train")
RUNS = kueue("b", 4, 300, 660, owner="train")
WAITS = kueue("c", 4, 360, owner="train")
NEWEST = kueue("d", 1, 720, owner="other")  # at its instant b has run for 60 s
OF_KUEUE = {"kind": "List", "items": [ENDED, RUNS, WAITS, NEWEST]}
OF_VOLCANO = {
    "kind": "List",
    "items": [
        volcano("a", 4, 0, ("Running", 10), ("Completed", 610)),
        volcano("b", 4, 300, ("Running", 660)),
        volcano("c", 4, 360, ("Pending", 360)),
        volcano("d", 1, 720, ("Pending", 720)),
    ],
}
OVER = {"finishedTime": 1000 * (T0 + 610), "vcoreSeconds": 2400}
OF_YARN = {
    "apps": {
        "app": [
            application(1, "FINISHED", 10, 600, -1, **OVER),
            application(2, "RUNNING", 660, 60, 4),
            application(3, "ACCEPTED", 360, 360, -1),
        ]
    }
}


@pytest.mark.parametrize(
    ("listed", "name"),
    [(OF_KUEUE, "ml/c"), (OF_VOLCANO, "ml/c"), (OF_YARN, "application_1767599999999_0003")],
    ids=["kueue", "volcano", "yarn"],
)
def test_a_job_that_waits_says_why_and_what_would_help(tmp_path, listed, name):
    """It needs 4 of 4 slots, which are held for 9 minutes more if the job takes the usual 10."""
    path = tmp_path / "list.json"
    path.write_text(json.dumps(listed))
    words = ("why", name, "--from-log", path)
    answer = command(*words, "--by", "10m", "--json")
    document = json.loads(answer.out)

    assert answer.code == 0
    assert document["started_at_s"] == pytest.approx(540)
    assert [(one["change"], one["starts_at_s"]) for one in document["would_help"]] == [
        ("4 containers more", pytest.approx(0, abs=0.01))
    ]
    shown = command(*words, "--at-s", "60")
    assert f"{name} waits at 1 m 00 s, because" in shown.out
    assert "running jobs hold their slots" in shown.err


def test_a_job_that_ended_is_still_explained_by_its_log(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(OF_KUEUE))

    assert "ml/a ended" in command("why", "ml/a", "--from-log", path).out


def test_the_name_of_the_owner_is_enough_where_one_job_has_it(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(OF_KUEUE))

    assert command("why", "other", "--from-log", path).out.startswith("ml/d ")
    assert "there is no job 'nix'" in command("why", "nix", "--from-log", path).err


def test_what_has_no_known_length_is_refused_until_a_length_is_given(tmp_path):
    path, past = tmp_path / "list.json", tmp_path / "past.json"
    path.write_text(json.dumps({"kind": "List", "items": [RUNS, WAITS, NEWEST]}))
    past.write_text(json.dumps({"kind": "List", "items": [ENDED]}))
    words = ("why", "ml/c", "--from-log", path)
    refused = command(*words)

    assert (refused.code, refused.out) == (2, "")
    assert "the length of ml/b is not known" in refused.err
    assert "it waited 9 m 00 s" in command(*words, "--from-log", past).out
    assert "it waited 9 m 00 s" in command(*words, "--from-log-set", "limit_s=600").out
    wrong = command(*words, "--from-log-set", "limit_s=soon")
    assert (wrong.code, "limit_s is 'soon'" in wrong.err) == (2, True)


def test_manifests_that_wait_are_given_the_slots_that_are_asked_for(tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"kind": "List", "items": [WAITS, NEWEST]}))
    more = ("--from-log-set", "limit_s=60", "--from-log-set", "containers=4")
    answer = command("why", "ml/d", "--from-log", path, *more)

    assert "it waited 1 m 00 s" in answer.out
    assert "slots = 4: as asked for" in answer.err


def test_backfilling_is_that_of_the_scheduler_of_the_list_unless_asked_otherwise(tmp_path):
    """Of 4 slots b holds 2 for 9 minutes; c needs 4, and d takes 1 for a minute."""
    path = tmp_path / "list.json"
    items = [
        kueue("b", 2, 300, 660, maximumExecutionTimeSeconds=600),
        kueue("c", 4, 360, maximumExecutionTimeSeconds=600),
        kueue("d", 1, 720, maximumExecutionTimeSeconds=60),
    ]
    path.write_text(json.dumps({"kind": "List", "items": items}))
    words = ("why", "ml/d", "--from-log", path, "--from-log-set", "pods=4")

    assert "it waited" not in command(*words).out
    assert "it waited 19 m 00 s" in command(*words, "--tasks", "fcfs").out


@pytest.mark.parametrize(("listed", "name"), [(OF_KUEUE, "ml/c"), (OF_VOLCANO, "ml/c")])
def test_what_ended_in_a_list_is_the_history_of_a_forecast(tmp_path, listed, name):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(listed))
    found = json.loads(command("eta", "--queue", path, "--slots", "4", "--json").out)

    assert found["jobs"][name]["basis"]["runs"] == 1
    assert not any("Give --history" in note for note in found["notes"] if name in note)
