"""The lines on failed jobs are bounded, safe for a terminal, and hold commands to copy."""

import shlex

import pytest

from sluice import parse_workload, simulate
from sluice.model.ids import JobId, NodeId
from sluice.reporting.run.failures import JobFailure, failure_lines, visible


def failure(message="mapper exited with 1", tail=()):
    return JobFailure(
        phase="map",
        task=3,
        attempt=4,
        attempts=4,
        node=NodeId("node-1"),
        reason="map task 3 failed 4 times",
        message=message,
        stderr_tail=tuple(tail),
    )


def lines_of(failures):
    return list(failure_lines(failures, run_id="run-1"))


@pytest.mark.parametrize("job_id", ["a", "-a", "it's", 'say "so"', "a b/c", "$(rm -rf x)", "é`"])
def test_the_command_names_the_task_whatever_the_job_is_called(job_id):
    command = lines_of({JobId(job_id): failure()})[-1].removeprefix("  more: ")

    words = shlex.split(command)
    assert words[:3] == ["sluice", "story", "--run=run-1"]
    assert words[-1] == f"{job_id}/map/3"
    assert ("--" in words) == job_id.startswith("-")


def test_a_job_takes_at_most_twenty_lines_of_bounded_length():
    said = lines_of({JobId("a"): failure("m" * 9000, ["x" * 9000] * 900)})

    assert len(said) <= 20
    assert max(map(len, said)) < 520
    assert "(885 earlier lines left out)" in "\n".join(said)


def test_thousands_of_failed_jobs_with_as_many_causes_are_bounded():
    said = lines_of({JobId(f"job-{n}"): failure(f"exited with {n}") for n in range(5000)})

    assert len(said) < 50
    assert said[-1].startswith("4990 more jobs failed: 'job-10', ")
    assert len(said[-1]) < 500


def test_jobs_of_one_cause_are_reported_once():
    said = lines_of({JobId("a"): failure(tail=["why"]), JobId("b"): failure(tail=["why"])})

    assert sum("why" in line for line in said) == 1
    assert "  1 more job failed for this reason: 'b'" in said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\tb", "a   b"),
        ("\u202edlrow", r"\u202edlrow"),
        ("plain é ☃", "plain é ☃"),
        ("\x00\x9b31m", r"\x00\x9b31m"),
    ],
)
def test_nothing_that_a_terminal_obeys_is_printed(text, shown):
    assert visible(text) == shown


def test_a_simulated_failure_has_its_attempt_too():
    workload = parse_workload(
        "{version: 1, cluster: {map_slots: 1, reduce_slots: 1},"
        " jobs: [{id: a, maps: {tasks: 1, avg_s: 1}}], settings: {task_failure: 1}}"
    )

    (job,) = simulate(workload).jobs
    assert job.failure is not None
    assert (job.failure.attempt, job.failure.attempts) == (4, 4)
    assert (job.failure.reason, job.failure.message) == (
        "map task 0 failed 4 times",
        "failed by chance",
    )
