"""A recorded live run can be replayed: the same events give the same decisions."""

import os
import subprocess
import sys

import pytest
from tests.effort import first_of
from tests.live.chaos import name_of
from tests.live.command_line import Place, awaited, environment
from tests.live.recorded_decisions import checks_out, decisions, events_of
from tests.live.recorded_lives import lives_of

from sluice.core.events import FailureKind, NodeLost, TaskFailed

LINES = "one two\nthree four\n"
# Its first attempt at every task fails; each takes a moment.
SECOND_TRY_SH = """\
case $SLUICE_ATTEMPT in *-1-e?) sleep 0.2; echo not yet >&2; exit 5 ;; esac
cat
"""


def job(name, mapper, reducer=None, **more):
    run = {"input": ["in"], "output": f"out/{name}", "mapper": mapper}
    return {"id": name, "run": run | ({"reducer": reducer} if reducer else {}), **more}


def write_eventful(place, **more):
    """Jobs that succeed, succeed late, and fail."""
    place.write_input("in", *[LINES] * 4)
    (place.folder / "second.sh").write_text(SECOND_TRY_SH)
    jobs = [
        job("late", "sh second.sh", "sort", reduces={"tasks": 2}),
        job("hopeless", "sh -c 'exit 1'"),
        job("quick", "sh -c 'sleep 0.1; cat'", "sort", pool="other"),
        job("later", "cat", "sort", submitted_at_s=0.5, pool="other"),
    ]
    place.write(jobs, settings={"failures_max": 2}, **more)


def check_outputs(place, document):
    """The good jobs have theirs, the failed one none."""
    lines = sorted(LINES.encode().splitlines() * 4)
    assert document["jobs"]["hopeless"]["state"] == "failed"
    assert not (place.folder / "out" / "hopeless").exists()
    for name in ("late", "quick", "later"):
        assert document["jobs"][name]["state"] == "done"
        assert sorted(place.lines(f"out/{name}")) == lines
    assert place.remains() == []
    assert place.processes_left() == {}


def check_decisions(run):
    """Live and simulation rules decide alike on what was recorded, and as it was noted."""
    as_live = decisions(run, is_live=True)
    assert decisions(run, is_live=False, heartbeat_s=0) == as_live
    assert any(as_live)
    assert checks_out(run)


@pytest.fixture(scope="module")
def eventful(tmp_path_factory):
    """A run with failures, a lost node and a second life; its place."""
    place = Place(tmp_path_factory.mktemp("eventful"))
    write_eventful(place)
    process = place.started("run", str(place.file))
    awaited(lambda: place.runs and (place.runs[0] / "journal.db").exists(), "a run")
    awaited(lambda: lives_of(place.runs[0]).finished, "a task that is done")
    process.kill()
    process.communicate()
    assert place.processes_left() == {}
    process = place.started("run", str(place.file), "--resume")
    agents = awaited(
        lambda: [pid for pid in place.processes() if name_of(pid) == "sluice-agent"], "an agent"
    )
    os.kill(agents[0], 9)
    process.communicate()
    assert process.returncode == 1
    return place


def test_what_was_recorded_is_eventful(eventful):
    """Else the tests below would compare little."""
    (run,) = eventful.runs
    events = events_of(run)
    kinds = {event.kind for event in events if isinstance(event, TaskFailed)}
    assert FailureKind.EXIT in kinds
    assert lives_of(run).epochs == 2
    assert any(isinstance(event, NodeLost) for event in events)


def test_simulator_and_live_engine_decide_alike_on_the_same_events(eventful):
    check_decisions(eventful.runs[0])


def test_decisions_do_not_depend_on_the_hash_seed(eventful):
    heard = set()
    for seed in "012":
        answer = subprocess.run(
            [sys.executable, "-m", "tests.live.recorded_decisions", eventful.runs[0]],
            env=environment(eventful.home) | {"PYTHONHASHSEED": seed},
            capture_output=True, check=True, text=True,
        )  # fmt: skip
        heard.add(answer.stdout)
    assert len(heard) == 1


@pytest.mark.parametrize("now", ["gone", "changed", "broken"])
def test_what_is_shown_of_a_run_does_not_depend_on_what_became_of_its_file(tmp_path, now):
    """Settings and pools of the file decide; what counts is what they were then."""
    place = Place(tmp_path)
    write_eventful(place, pools=[{"id": "other", "weight": 3, "order": "fifo"}])
    assert place.run("--tasks", "fair")[0] == 1
    if now == "gone":
        place.file.unlink()
    elif now == "changed":
        place.write([job("other", "cat")], settings={"failures_max": 3})
    else:
        place.file.write_text("{")

    assert "failed 2 times, last: mapper exited with 1" in place.story("hopeless")


POLICIES = ["fifo", "fair", "static", "yarn-like"]
# Each policy once, and then with the other numbers of nodes.
PAIRS = [(tasks, (n + more) % 3 + 1) for more in range(3) for n, tasks in enumerate(POLICIES)]


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "nodes"), first_of(PAIRS, len(POLICIES)))
def test_jobs_side_by_side_end_well_under_every_policy(tmp_path, tasks, nodes):
    place = Place(tmp_path)
    write_eventful(place)
    code, document = place.document("--tasks", tasks, "--nodes", str(nodes))

    assert code == 1
    check_outputs(place, document)
    check_decisions(place.runs[0])
