"""Jobs that the driver has forgotten are answered as before, also after a crash."""

import time

import pytest
from tests.service.services import AFTER, CONFIG, PATIENCE_S, TEXT, killed, serving

from sluice.bootstrap.service.messages import ask
from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.store.rows import EntryKind, entries

SHORT = CONFIG.replace("30}", "30, forget_s: 1}")


def forgotten(service):
    """The jobs that the journal says are forgotten, in order."""
    segment = max((service.folder / "home").rglob("segment-*"))
    events = [row.event() for row in entries(segment) if row.kind is EntryKind.EVENT]
    return [job_id for event in events for job_id in getattr(event, "job_ids", ())]


def wait_for_forgotten(service, job_ids):
    """Wait until the driver has forgotten these jobs."""
    until_s = time.monotonic() + PATIENCE_S
    while not set(job_ids) <= set(forgotten(service)):
        assert time.monotonic() < until_s, "the driver does not forget"
        time.sleep(0.2)


def asked(service, process, **message):
    """The answer of the driver or the follower, as the page gets it."""
    return ask(service.folder / "home" / "service" / f"{process}.sock", message)


def answers(service, job_ids):
    """Return the answers to the questions of users about jobs that are over."""
    return [
        _of_any_time(asked(service, "follower", do=question, job_id=job_id, tenant=None))
        for job_id in job_ids
        for question in ("job", "why", "story", "attempts")
    ]


def _of_any_time(answer):
    """The answer without the instant at which it was given."""
    return {name: value for name, value in answer.items() if name not in {"at_s", "as_of_seq"}}


def test_jobs_that_are_forgotten_are_answered_as_before(tmp_path):
    with serving(tmp_path, config=SHORT) as service:
        both = (tmp_path / service.nap("first", 1)).read_text() + AFTER
        (tmp_path / "both.yaml").write_text(both)
        sent = ("submit", "both.yaml", "--idempotency-key", "once")
        made = service.document(*sent)["jobs"]
        long = service.document("submit", service.nap("long", 60))["job_id"]
        service.run("kill", long)
        rows = service.settled()
        assert [row["state"] for row in rows.values()] == ["killed", "done", "done"]
        before = answers(service, rows)
        first = next(one["job_id"] for one in made if one["name"] == "first")
        written = (tmp_path / "out" / first).stat().st_mtime_ns
        wait_for_forgotten(service, rows)

        assert answers(service, rows) == before
        first_life = asked(service, "driver", do="status")
        killed(first_life["pid"])
        assert restarted(service)["epoch"] == first_life["epoch"] + 1
        assert service.document(*sent)["jobs"] == made
        service.document("submit", service.nap("more", 0.1))
        assert len(service.settled()) == 4  # a job that was over has not come again

        assert answers(service, rows) == before
        assert (tmp_path / "out" / first).stat().st_mtime_ns == written
        assert all(service.output(one["job_id"]) == TEXT for one in made)
        end = asked(service, "driver", do="kill", job_id=long)
        assert (end["state"], end["was_over"]) == ("killed", True)
        with pytest.raises(InvalidInput, match="the job is killed, and only a job that has"):
            asked(service, "driver", do="change", job_id=long, by="me", changes={"weight": 2.0})
        with pytest.raises(InvalidInput, match="no job 'job-000099'"):
            asked(service, "driver", do="kill", job_id="job-000099")


def restarted(service):
    """The status of the next driver, once it answers."""
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return asked(service, "driver", do="status")
        except EngineUnavailable:
            assert time.monotonic() < until_s
            time.sleep(0.2)


PAIR = """version: 1
jobs:
  - id: first
    maps: {tasks: 2, avg_s: 0.1, max_s: 0.1}
    run: {input: [in/*.txt], output: 'out/pair-first', mapper: cat}
  - id: then
    after: [first]
    maps: {tasks: 1, avg_s: 0.1, max_s: 0.1}
    run: {input: ['out/pair-first/part*'], output: 'out/{job_id}', mapper: sh -c 'sleep 3; cat'}
"""


def test_a_job_that_reads_the_output_of_another_survives_a_crash(tmp_path):
    """It has as many tasks as that left files, which is not what its file says."""
    with serving(tmp_path, config=SHORT) as service:
        (tmp_path / "in" / "two.txt").write_bytes(TEXT)
        (tmp_path / "pair.yaml").write_text(PAIR)
        then = service.document("submit", "pair.yaml")["jobs"][1]["job_id"]
        until_s = time.monotonic() + PATIENCE_S
        while asked(service, "driver", do="status")["tasks_running"] < 2 or not list(
            (tmp_path / "out").glob(f".{then}*")
        ):
            assert time.monotonic() < until_s
            time.sleep(0.1)
        killed(asked(service, "driver", do="status")["pid"])
        assert restarted(service)["epoch"] > 2
        assert service.settled()[then]["state"] == "done"
        assert service.output(then) == TEXT + TEXT
