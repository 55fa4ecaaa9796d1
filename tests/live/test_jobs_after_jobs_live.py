"""Jobs that run after others, on real processes: they read what those made, also after a kill."""

import json
from collections import Counter

import pytest
from tests.effort import first_of
from tests.live.command_line import Place, awaited
from tests.live.recorded_decisions import checks_out
from tests.live.recorded_lives import lives_of

WORDS = ("the cat\nthe dog\n", "a cat\n", "the end\n")


def jobs_of(mapper="sh split.sh"):
    return [
        {
            "id": "count",
            "reduces": {"tasks": 3},
            "run": {"input": ["in"], "output": "out/count", "mapper": mapper, "reducer": "uniq -c"},
        },
        {
            "id": "by-number",
            "after": ["count"],
            "run": {"input": ["out/count", "more"], "output": "out/by-number",
                    "mapper": "sh turn.sh", "reducer": "cat"},
        },
        {
            "id": "lines",
            "after": ["by-number"],
            "deadline_s": 90,
            "run": {"input": ["out/by-number/part-*"], "output": "out/lines", "mapper": "wc -l"},
        },
    ]  # fmt: skip


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    (tmp_path / "split.sh").write_text("sleep 0.2\ntr -s ' ' '\\n'\n")
    (tmp_path / "turn.sh").write_text("sleep 0.2\nawk '{print $1, $2}'\n")
    place.write_input("in", *WORDS)
    place.write_input("more", "9 nine\n")
    place.write(jobs_of())
    yield place
    place.end()


def check_result(place):
    counts = Counter(" ".join(WORDS).split())
    found = [line.split() for line in place.lines("out/by-number")]
    assert sorted((int(number), word.decode()) for number, word in found) == sorted(
        [*((number, word) for word, number in counts.items()), (9, "nine")]
    )
    assert sum(int(line) for line in place.lines("out/lines")) == len(counts) + 1
    assert place.remains() == []
    assert place.processes_left() == {}
    assert checks_out(place.runs[-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "--tasks fair",
        "--order ltrf --slots lent --copies late",
        "--tasks fifo --set run.data_plane=network",
    ],
)
def test_a_job_reads_what_the_jobs_before_it_made(place, words):
    code, document = place.document(*words.split())

    assert code == 0
    rows = document["jobs"]
    for before, after in (("count", "by-number"), ("by-number", "lines")):
        assert rows[after]["submitted_at_s"] == rows[before]["finished_at_s"]
        assert rows[after]["started_at_s"] > rows[before]["finished_at_s"]
    assert rows["count"]["deadline_at_s"] is None
    assert rows["lines"]["deadline_met"] is True
    check_result(place)
    assert "waits" in place.sluice("why", "lines", "--at-s", "0.1")[1]


@pytest.mark.slow
@pytest.mark.parametrize("tasks_done", first_of([4, 8, 1, 6], 2))
def test_a_run_that_was_killed_goes_on_with_the_jobs_after(place, tasks_done):
    process = place.started("run", str(place.file))
    awaited(lambda: place.runs and len(lives_of(place.runs[-1]).finished) >= tasks_done, "tasks")
    process.kill()
    process.communicate()

    code, document = place.document("--resume")

    assert code == 0
    assert {"done"} == {job["state"] for job in document["jobs"].values()}
    check_result(place)


@pytest.mark.slow
def test_jobs_after_one_that_failed_do_not_run(place):
    place.write(jobs_of("sh -c 'exit 3'"), settings={"failures_max": 1})
    code, printed, complained = place.run("--json")

    rows = json.loads(printed)["jobs"]
    assert code == 1
    assert [rows[name]["state"] for name in ("count", "by-number", "lines")] == [
        "failed", "killed", "killed"
    ]  # fmt: skip
    assert rows["by-number"]["reason"] == "it runs after count, which failed"
    assert "job 'lines' did not run: it runs after by-number, which was killed" in complained
    assert not (place.folder / "out").exists() or place.outputs() == {}
    assert place.remains() == []


def test_the_output_of_a_job_that_may_not_be_done_is_no_input(place):
    jobs = jobs_of()
    del jobs[1]["after"]
    place.write(jobs)
    code, _, complained = place.run()

    assert code == 2
    assert "input 'out/count' is the output of job 'count', which may not be done" in complained
    assert "Add `after: [count]`" in complained
