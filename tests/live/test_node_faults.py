"""Faults of the machine in a real run: they are not the tasks' failures, and the run can go on."""

import json
import os
import signal

import pytest
from tests.live.chaos import name_of
from tests.live.command_line import PATIENCE_S, Place, awaited
from tests.live.recorded_lives import lives_of

pytestmark = pytest.mark.slow


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.end()


def test_without_a_node_left_the_run_stops_and_can_be_resumed(place):
    """The first map removes the folders of the logs. What then starts has no log."""
    place.write_input("in", *(f"line {number}\n" for number in range(4)))
    mapper = 'sh -c "[ -e fixed ] || rm -rf home/runs/*/scratch/*/log; cat"'
    job = {"id": "a", "run": {"input": ["in"], "output": "out", "mapper": mapper}}
    one_at_a_time = {"map_slots": 1, "reduce_slots": 1}
    place.write([job], cluster=one_at_a_time, settings={"node_faults_max": 2, "failures_max": 1})

    code, _, complained = place.run()
    (place.folder / "fixed").touch()
    resumed, document = place.document("--resume")

    assert code == 3
    assert "was set aside after 2 faults in a row (last: the log " in complained
    assert complained.endswith("Fix the machine, then continue with --resume.\n")
    assert resumed == 0
    assert document["jobs"]["a"]["state"] == "done"
    assert sorted(place.lines("out")) == [f"line {number}".encode() for number in range(4)]


OPENS = """\
import sys
files = [open("/dev/null") for _ in range(100)]
print(sys.stdin.read(), end="")
"""
UNTIL_FIXED = "sh -c '[ -e fixed ] && exec cat; exec {}'"


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        ("cat > /dev/full", "a disk is full, as the command says"),
        ('sh -c "ulimit -n 20; exec python3 opens.py"', None),
    ],
)
def test_a_command_that_meets_a_full_disk_is_not_to_blame(place, failing, said):
    """A limit that the command gives itself is its own, and fails the job."""
    place.write_input("in", "line 0\n")
    (place.folder / "opens.py").write_text(OPENS)
    job = {"id": "a", "run": {"input": ["in"], "output": "out"}}
    job["run"]["mapper"] = UNTIL_FIXED.format(failing)
    one_at_a_time = {"map_slots": 1, "reduce_slots": 1}
    place.write([job], cluster=one_at_a_time, settings={"node_faults_max": 2, "failures_max": 1})

    code, _, complained = place.run()

    assert code == (1 if said is None else 3), complained
    if said is not None:
        assert said in complained
        (place.folder / "fixed").touch()
        assert place.document("--resume")[0] == 0
        assert place.lines("out") == [b"line 0"]


def test_a_low_limit_of_open_files_is_the_machines_fault(place):
    place.write_input("in", "line 0\n")
    (place.folder / "opens.py").write_text(OPENS)
    job = {"id": "a", "run": {"input": ["in"], "output": "out", "mapper": "python3 opens.py"}}
    one_at_a_time = {"map_slots": 1, "reduce_slots": 1}
    place.write([job], cluster=one_at_a_time, settings={"node_faults_max": 2, "failures_max": 1})
    code, _, complained = place.run(before=("prlimit", "--nofile=80"), is_warm=False)

    assert code == 3, complained
    assert "only 80 files may be open here (ulimit -n)" in complained
    assert place.document("--resume")[0] == 0
    assert place.lines("out") == [b"line 0"]


BUG = """\
def mapper(line):
    yield int(line), 1
"""


def test_an_exception_that_every_task_meets_fails_the_job_fast(place):
    place.write_input("in", *(f"word {number}\n" for number in range(8)))
    (place.folder / "bug.py").write_text(BUG)
    job = {"id": "a", "run": {"input": ["in"], "output": "out", "python": "bug.py"}}
    place.write([job], settings={"failures_max": 100})

    code, out, complained = place.run("--json")
    failure = json.loads(out)["jobs"]["a"]["failure"]

    assert code == 1
    assert failure["reason"] == (
        "3 map tasks failed with the same exception at their first attempt"
    )
    assert failure["message"].startswith("map raised ValueError: invalid literal for int()")
    assert "bug.py:2" in complained


def test_the_work_of_a_frozen_agent_is_done_elsewhere(place):
    place.write_input("in", *(f"line {number}\n" for number in range(6)))
    mapper = 'sh -c "touch begun-$SLUICE_TASK; while [ ! -e go ]; do sleep 0.05; done; cat"'
    job = {"id": "a", "run": {"input": ["in"], "output": "out", "mapper": mapper}}
    place.write([job], settings={"node_lease_s": 3})
    process = place.started("run", str(place.file))
    awaited(lambda: len(list(place.folder.glob("begun-*"))) == 4, "four maps on two nodes")

    agents = [pid for pid in place.processes() if name_of(pid) == "sluice-agent"]
    os.kill(agents[0], signal.SIGSTOP)
    (place.folder / "go").touch()
    _, complained = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 0, complained
    assert sorted(place.lines("out")) == [f"line {number}".encode() for number in range(6)]
    assert lives_of(place.runs[0]).nodes_lost == 1
    assert lives_of(place.runs[0]).ends == []
    assert place.processes_left() == {}
