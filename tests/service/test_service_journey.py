"""Users of a service submit jobs, look, ask why, kill, and come back tomorrow."""

import json
import os
import signal
import subprocess
import time
from datetime import UTC, datetime

import pytest
from tests.service.services import CONFIG, PATIENCE_S, TEXT, Service, killed, serving

from sluice.model.errors import InvalidInput
from sluice.store.runs import Runs


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with two nodes of two map slots each."""
    # Started as users start it.
    with serving(tmp_path_factory.mktemp("service"), popen=subprocess.Popen) as made:
        yield made


def test_a_job_is_promised_runs_and_is_there(service):
    promise = service.document("submit", service.nap("first"))
    assert promise["decision"] == "accepted", promise["why_not"]
    assert promise["name"] == "first"
    assert promise["ends_at"]["low"] <= promise["ends_at"]["expected"] <= promise["ends_at"]["high"]
    assert promise["level"] == 0.9
    code, out, _ = service.run("submit", service.nap("second"), "--wait")
    assert code == 0
    assert "is accepted and ends at" in out
    assert "done" in out
    rows = service.settled()
    row = rows[promise["job_id"]]
    assert row["state"] == "done"
    assert row["tasks"] == {"waiting": 0, "running": 0, "done": 1, "failed": 0}
    assert service.output(promise["job_id"]) == TEXT
    said = service.run("why", promise["job_id"])[1].rstrip().split("\n")
    assert said[1] == "  map: 1 of 1 done, 0 running"


def test_the_promise_is_never_changed(service):
    promise = service.document("submit", service.nap("kept", 0.4), "--deadline", "30")
    assert promise["deadline_probability"] == 1.0
    assert not promise["deadline_guaranteed"]
    service.settled()
    row = next(
        row for row in service.document("jobs")["jobs"] if row["job_id"] == promise["job_id"]
    )
    assert row["deadline_at"] == promise["deadline_at"]
    assert row["deadline_probability"] == 1.0
    ended = datetime.fromisoformat(row["ends_at"]["expected"])
    off_s = (ended - datetime.fromisoformat(promise["ends_at"]["expected"])).total_seconds()
    assert row["promise"]["off_s"] == pytest.approx(off_s)


def test_a_job_that_waits_says_why_and_is_killed(service):
    jobs = [service.folder / service.nap(f"long{number}", 300) for number in range(5)]
    texts = [path.read_text().partition("jobs:\n")[2] for path in jobs]
    (service.folder / "five.yaml").write_text("version: 1\njobs:\n" + "".join(texts))
    found = service.document("submit", "five.yaml")
    first = [each["job_id"] for each in found["jobs"]]
    until_s = time.monotonic() + PATIENCE_S
    while service.document("queue")["used"] < 4:  # until four of them run
        assert time.monotonic() < until_s
    code, out, _ = service.run("why", first[-1])
    assert code == 0
    assert "All 4 map slots are busy" in out
    assert "came before it" in out
    why = service.document("why", first[-1])
    assert why["job"] == first[-1]
    rows = {row["job_id"]: row for row in service.document("jobs", "--state", "waiting")["jobs"]}
    assert rows[first[-1]]["position"] == 1
    queue = service.document("queue")
    assert queue["used"] == 4
    assert queue["nodes_up"] == 2
    for job_id in first:
        assert service.document("kill", job_id)["state"] == "killed"
    rows = service.settled()
    assert {rows[job_id]["state"] for job_id in first} == {"killed"}
    code, out, _ = service.run("kill", first[0])
    assert code == 0
    assert "had ended already" in out


def test_a_key_makes_a_repetition_harmless(service):
    file = service.nap("once")
    first = service.document("submit", file, "--idempotency-key", "k1")
    again = service.document("submit", file, "--idempotency-key", "k1")
    assert again == first | {"provenance": again["provenance"]}
    code, out, err = service.run("submit", service.nap("other"), "--idempotency-key", "k1")
    assert (code, out) == (2, "")
    assert "key was used for other jobs" in err
    assert service.run("submit", file, "--idempotency-key", "two words")[0] == 2
    # A time of day is the same when it is sent again, although fewer seconds are left.
    by = ("submit", file, "--idempotency-key", "k2", "--deadline", "23:59")
    assert service.document(*by)["job_id"] == service.document(*by)["job_id"]
    service.settled()


def test_a_quote_submits_nothing(service):
    last = service.document("submit", service.nap("last", 0.1))["job_id"]
    before = service.document("jobs")["total"]
    quote = service.document("submit", service.nap("asked", 5), "--quote", "--deadline", "1")
    assert quote["job_id"] is None
    assert quote["deadline_probability"] <= 0.3
    (offer,) = [each for each in quote["counter_offers"] if each["kind"] == "later_deadline"]
    assert offer["change"]["deadline_s"] > 1
    assert offer["deadline_probability"] >= 0.9
    assert service.document("jobs")["total"] == before
    accepted = str(offer["change"]["deadline_s"])
    again = service.document("submit", service.nap("asked", 5), "--deadline", accepted)
    assert again["job_id"] == f"job-{int(last[4:]) + 1:06d}"  # the quote has taken no number
    # Drawn again, and a moment later: about as likely.
    assert again["deadline_probability"] >= 0.7
    assert service.settled()[again["job_id"]]["state"] == "done"


def test_jobs_after_jobs_of_one_file(service):
    (service.folder / "pair.yaml").write_text("""version: 1
jobs:
  - id: first
    maps: {tasks: 1, avg_s: 0.1, max_s: 0.1}
    run: {input: [in/*.txt], output: 'out/pair-first', mapper: cat}
  - id: then
    after: [first]
    maps: {tasks: 1, avg_s: 0.1, max_s: 0.1}
    run: {input: ['out/pair-first/part*'], output: 'out/{job_id}', mapper: cat}
""")
    found = service.document("submit", "pair.yaml")
    first, then = (each["job_id"] for each in found["jobs"])
    rows = service.settled()
    assert rows[first]["state"] == rows[then]["state"] == "done"
    assert service.output(then) == TEXT
    assert service.run("submit", "pair.yaml")[0] == 2  # its output is there


def test_an_output_that_an_open_job_makes_is_refused(service):
    file = service.nap("same", 60)  # it must be open when the second comes
    path = service.folder / file
    path.write_text(path.read_text().replace("{job_id}", "same-place"))
    first = service.document("submit", file)["job_id"]
    code, _, err = service.run("submit", file)
    assert code == 2
    assert f"is also the output of {first}" in err
    service.run("kill", first)


def test_an_output_of_a_run_or_around_an_open_job_is_refused(service):
    """A run and the jobs of a service never work on one place, nor inside each other."""
    path = service.folder / service.nap("place", 60)
    text = path.read_text()
    run = Runs(service.folder / "home").locked_outputs([str(service.folder / "out/shared")])
    for place, reason in (("shared", "another run"), ("shared/x", "is inside")):
        path.write_text(text.replace("{job_id}", place))
        code, _, err = service.run("submit", path.name)
        assert (code, reason in err) == (2, True), err
    run.release()

    path.write_text(text.replace("{job_id}", "shared"))
    first = service.document("submit", path.name)["job_id"]
    with pytest.raises(InvalidInput, match="another run or job"):
        Runs(service.folder / "home").locked_outputs([str(service.folder / "out/shared")])
    path.write_text(text.replace("{job_id}", "shared/x"))
    code, _, err = service.run("submit", path.name)
    assert (code, "is inside" in err) == (2, True), err
    service.run("kill", first)
    service.settled()
    Runs(service.folder / "home").locked_outputs([str(service.folder / "out/shared")]).release()


def test_bad_jobs_get_one_message(service):
    (service.folder / "bad.yaml").write_text("version: 1\njobs:\n  - {id: a, run: {input: 3}}\n")
    code, out, err = service.run("submit", "bad.yaml")
    assert (code, out) == (2, "")
    assert "bad.yaml line 3" in err
    (service.folder / "table.csv").write_text("name,tasks,seconds\na,2,3\n")
    code, _, err = service.run("submit", "table.csv")
    assert code == 2
    assert "run is missing" in err
    code, _, err = service.run("kill", "job-999999")
    assert code == 2
    assert "there is no job" in err
    assert service.run("jobs", "--state", "sleeping")[0] == 2
    assert "No job is like this" in service.run("jobs", "--name", "no-job")[1]
    for text, why in (
        ("nan", "cannot be read"), ("25:00", "cannot be read"), ("yesterday", "cannot be read"),
        ("-1", "before the submission"), ("2020-01-31T17:00", "before the submission"),
        ("inf", "too far"), ("9999-01-31", "too far"),
    ):  # fmt: skip
        code, _, err = service.run("submit", service.nap("late"), "--deadline", text)
        assert code == 2
        assert f"{text!r} " in err
        assert why in err


def test_why_says_what_a_job_has_failed_of(service):
    text = (service.folder / service.nap("broken")).read_text()
    (service.folder / "broken.yaml").write_text(text.replace("; cat'", "; exit 3'"))
    code, out, _ = service.run("submit", "broken.yaml", "--wait", "--deadline", "1h")
    assert code == 1
    assert "keeps its deadline of " in out
    (row,) = service.document("jobs", "--name", "broken")["jobs"]
    said = " ".join(service.run("why", row["job_id"])[1].split())  # long lines are folded
    assert "failed. It has ended: map task 0 failed 4 times" in said
    assert said.endswith(" map: 0 of 1 done, 0 running")


def test_variables_reach_the_tasks_and_no_journal(service):
    (service.folder / "secret.yaml").write_text("""version: 1
jobs:
  - id: secret
    run:
      input: [in/*.txt]
      output: 'out/{job_id}'
      mapper: sh -c 'cat > /dev/null; echo $PASSWORD_HERE'
      env: {PASSWORD_HERE: hunter2-0815}
""")
    job_id = service.document("submit", "secret.yaml")["job_id"]
    service.settled()
    assert service.output(job_id) == b"hunter2-0815\n"
    for path in (service.folder / "home" / "service").rglob("*"):
        assert not path.is_file() or b"hunter2-0815" not in path.read_bytes(), path


def test_keys_of_the_file_without_effect_are_named(service):
    file = service.folder / service.nap("noted")
    file.write_text(f"{file.read_text()}cluster: {{containers: 3}}\n")
    code, _, err = service.run("submit", "noted.yaml")
    assert code == 0
    assert "`cluster` has no effect" in err


def test_a_second_service_is_refused(service):
    code, out, err = service.run("serve", *service.options)
    assert (code, out) == (3, "")
    assert "serves from" in err


def test_the_journal_verifies(service):
    service.document("submit", service.nap("verified"))
    service.settled()
    found = service.document("serve", "verify")
    assert found["segments"][0]["jobs"] >= 1
    code, out, _ = service.run("serve", "verify")
    assert code == 0
    assert "The journal is whole" in out


def test_a_learned_job_is_promised_without_lengths(service):
    (service.folder / "learned.yaml").write_text("""version: 1
jobs:
  - id: learned
    run: {input: [in/*.txt], output: 'out/{job_id}', mapper: cat}
""")
    first = service.document("submit", "learned.yaml")
    assert first["decision"] == "accepted_without_promise"
    assert first["ends_at"]["expected"] is None
    service.settled()
    second = service.document("submit", "learned.yaml")
    assert second["decision"] == "accepted"
    assert second["basis"]["profile"] == "learned"
    service.settled()


def test_no_command_waits_for_a_service_that_was_stopped(tmp_path):
    """A socket that is left means that the service starts again."""
    with serving(tmp_path) as service:
        service.run("serve", "stop")
        service.process.wait(30)
        service.process.stderr.close()

        code, _, err = service.run("jobs")

        assert code == 3
        assert "No service answers" in err
        assert not list((tmp_path / "home" / "service").glob("*.sock"))


@pytest.mark.slow  # over 20 s of CPU: five starts of the service
def test_it_comes_back_with_its_jobs_and_another_policy_waits(tmp_path):
    with serving(tmp_path) as service:
        long = service.document("submit", service.nap("long", 3))["job_id"]
        service.run("serve", "stop")
        service.process.wait(30)
        service.process.stderr.close()
        other = Service(tmp_path, ("--tasks", "fair", "--listen", "none"))
        code, _, err = other.run("serve", *other.options)
        assert code == 2
        assert "1 job is open" in err
        service.start()
        rows = service.settled()
        assert rows[long]["state"] == "done"
        assert service.output(long) == TEXT
    other.start()
    try:
        # A new segment goes on with the numbers.
        assert other.document("submit", other.nap("more"))["job_id"] == "job-000002"
    finally:
        other.stop()


@pytest.mark.slow
def test_a_promise_that_a_restart_breaks_says_so(tmp_path):
    """It was made before the service was away, and that is why it was not kept."""
    with serving(tmp_path) as service:
        answer = service.document("submit", service.nap("long", 15))
        long, ends_at = answer["job_id"], answer["ends_at"]["high"]
        service.run("serve", "stop")
        service.process.wait(30)
        service.process.stderr.close()
        left = datetime.fromisoformat(ends_at) - datetime.now(UTC)
        time.sleep(max(10.0, left.total_seconds() - 8.0))  # the nap of 15 s cannot be in time now
        service.start()
        code, _, err = service.run("submit", service.nap("next", 0.1), "--wait")
        assert code == 0, err
        assert service.run("why", long)[0] == 0
        found = service.settled()[long]["promise"]
        assert found["kept"] is False
        assert found["off_s"] > 5.0
        assert found["off_s"] == pytest.approx(found["off_wait_s"] + found["off_run_s"])
        assert found["cause"]["code"] == "service_down"
        assert "service down" in service.run("jobs")[1]
        assert "promise: the service was down for" in service.run("why", long)[1]


def test_without_a_service(tmp_path):
    service = Service(tmp_path)
    for arguments in (
        ("jobs",),
        ("queue",),
        ("eta",),
        ("kill", "job-000001"),
        ("submit", service.nap()),
    ):
        code, out, err = service.run(*arguments)
        assert (code, out) == (3, "")
        assert "sluice serve" in err
    assert service.run("serve", "stop")[0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 1\njobs: [{id: a, maps: {tasks: 1, avg_s: 1}}]\n", "it has jobs"),
        ("version: 1\nservice: {pages: 3}\n", "unknown key 'pages'"),
        ("version: 1\nservice: {open_jobs_max: 0}\n", "open_jobs_max is 0"),
        ("version: 1\nscheduler: {release: mrorder, settings: {mrorder.policy: pnj}}\n",
         "waits until enough jobs have come"),
        ("- 1\n", "no mapping"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_served(tmp_path, text, message):
    service = Service(tmp_path)
    (tmp_path / "serve.yaml").write_text(text)
    for command in (("serve", "check"), ("serve",)):
        code, out, err = service.run(*command, "--config", "serve.yaml")
        assert (code, out) == (2, "")
        assert message in err


def test_check_says_what_would_be_served(tmp_path):
    service = Service(tmp_path)
    (tmp_path / "serve.yaml").write_text(
        "version: 1\ncluster: {nodes: 3, node: {map_slots: 2, reduce_slots: 1}}\n"
        "scheduler: {tasks: fair}\n"
    )
    code, out, _ = service.run("serve", "check", "--config", "serve.yaml")
    assert code == 0
    assert "3 nodes with 9 slots, tasks fair" in out
    assert (
        json.loads(service.run("serve", "check", "--config", "serve.yaml", "--json")[1])["slots"]
        == 9
    )


def test_lines_of_a_wrong_file_are_its_own(tmp_path):
    service = Service(tmp_path)
    (tmp_path / "serve.yaml").write_text(
        "version: 1\nservice: {open_jobs_max: 5}\ncluster:\n  nodes: 0\n"
    )
    code, _, err = service.run("serve", "check", "--config", "serve.yaml")
    assert code == 2
    assert "serve.yaml line 4" in err


def test_nodes_that_share_no_disk_are_refused(tmp_path):
    service = Service(tmp_path)
    code, out, err = service.run("serve", "--engine", "ray", "--address", "127.0.0.1:1")
    assert (code, out) == (2, "")
    assert "data_plane=shared" in err


def test_many_jobs_of_one_file_are_listed_with_what_is_left_out(service):
    text = (service.folder / service.nap("many", 0.1)).read_text().partition("jobs:\n")[2]
    jobs = "".join(text.replace("id: many", f"id: many{number}") for number in range(30))
    (service.folder / "thirty.yaml").write_text(f"version: 1\njobs:\n{jobs}")
    found = service.document("submit", "thirty.yaml")
    assert len(found["jobs"]) == 30
    assert len({each["job_id"] for each in found["jobs"]}) == 30
    code, out, _ = service.run("jobs", "--limit", "5")
    assert code == 0
    assert "--json has all" in out
    assert len(service.document("jobs", "--limit", "5")["jobs"]) == 5
    service.settled()


def test_a_promise_that_comes_too_late_names_the_setting_that_waits_longer(tmp_path):
    with serving(tmp_path, config=CONFIG.replace("_wait_s: 30", "_wait_s: 1")) as service:
        follower = service.pid("follower")
        os.kill(follower, signal.SIGSTOP)
        try:
            code, out, err = service.run("submit", service.nap())
        finally:
            os.kill(follower, signal.SIGCONT)
        assert code == 0, err
        assert "no forecast was ready within 1 s (service.promise_wait_s)" in " ".join(out.split())
        service.settled()


def test_a_node_is_spared_for_the_time_of_a_repair(service):
    code, out, err = service.run("cordon", "node-1", "--reason", "new disk")
    assert (code, out) == (0, "node-1 gets no more work.\n"), err
    code, _, err = service.run("cordon", "nowhere")
    assert code == 2
    assert "node-1, node-2" in err
    code, out, _ = service.run("cordon", "node-1", "--undo")
    assert out == "node-1 gets work again.\n"


def test_the_queue_is_shown_while_the_driver_starts_again(service):
    killed(service.pid("driver"))
    found = service.document("queue")
    assert [one["code"] for one in found["conditions"]] in (["no_driver"], [])
    assert found["nodes_up"] > 0


def test_an_eta_of_the_queue_is_what_the_service_expects(service):
    jobs = [service.folder / service.nap(f"queued{number}", 120) for number in range(5)]
    texts = [path.read_text().partition("jobs:\n")[2] for path in jobs]
    (service.folder / "queued.yaml").write_text("version: 1\njobs:\n" + "".join(texts))
    found = service.document("submit", "queued.yaml")
    ids = [each["job_id"] for each in found["jobs"]]
    while len(service.document("jobs", "--state", "running")["jobs"]) < 4:
        time.sleep(0.1)

    answer = service.document("eta")

    assert list(answer["jobs"]) == ids
    assert [one["state"] for one in answer["jobs"].values()] == [*["running"] * 4, "waiting"]
    last = answer["jobs"][ids[-1]]
    assert 0 <= last["ends_in_s"]["low"] <= last["ends_in_s"]["expected"]
    assert last["starts_in_s"]["expected"] <= last["ends_in_s"]["expected"]
    assert "busy" in last["reason"]["text"]
    row = next(one for one in service.document("jobs")["jobs"] if one["job_id"] == ids[-1])
    as_of = datetime.fromisoformat(answer["as_of"])
    ends_s = (datetime.fromisoformat(row["ends_at"]["expected"]) - as_of).total_seconds()
    assert last["ends_in_s"]["expected"] == pytest.approx(ends_s, abs=10)
    code, out, _ = service.run("eta")
    assert code == 0
    assert out.startswith("1 job waits: the first starts in ")
    code, _, err = service.run("eta", "--slots", "4")
    assert code == 2
    assert "--slots: it has no effect for the queue of the service" in err
    for job_id in ids:
        service.document("kill", job_id)
    service.settled()
