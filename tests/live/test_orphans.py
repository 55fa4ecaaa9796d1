"""However a run ends, no process of it stays: not of commands, Python or what they have started."""

import contextlib
import os
import signal
import time

import pytest
from tests.live.chaos import name_of
from tests.live.command_line import GONE_WITHIN_S, Place, all_pids, awaited, words_of

# A length of sleep that is this process's own, so that nobody else's sleep is taken for ours.
LONG_S = f"{80_000_000 + os.getpid()}"
SLEEPERS = 9

SLEEPER_SH = f"""\
setsid sleep {LONG_S} &
(sleep {LONG_S} &)
env -i sleep {LONG_S} >&- 2>&- <&- &
touch begun-$SLUICE_TASK
exec sleep {LONG_S}
"""
SLEEPER_PY = f"""\
import pathlib, subprocess, threading, time


def mapper(line):
    subprocess.Popen(["setsid", "sleep", "{LONG_S}"])
    threading.Thread(target=time.sleep, args=({LONG_S},)).start()
    pathlib.Path("begun-python").touch()
    time.sleep({LONG_S})
"""
BEGUN = {"begun-0", "begun-1", "begun-python"}


@pytest.fixture
def place(tmp_path):
    """Jobs that sleep for ever, in commands and in Python, and have others do so."""
    place = Place(tmp_path)
    place.write_input("in", "one\n", "two\n")
    (tmp_path / "sleeper.sh").write_text(SLEEPER_SH)
    (tmp_path / "sleeper.py").write_text(SLEEPER_PY)
    command = {"input": ["in"], "output": "out/sh", "mapper": "sh sleeper.sh"}
    python = {"input": ["in/file-0"], "output": "out/python", "python": "sleeper.py"}
    place.write([{"id": "commands", "run": command}, {"id": "python", "run": python}])
    yield place
    place.end()
    end(sleepers())


def sleeping(place):
    """A run all of whose mappers sleep."""
    process = place.started("run", str(place.file))
    awaited(lambda: {path.name for path in place.folder.glob("begun-*")} == BEGUN, "all maps")
    awaited(lambda: len(sleepers()) == SLEEPERS, "all sleepers")
    return process


def sleepers():
    return [pid for pid in all_pids() if LONG_S.encode() in words_of(pid, "cmdline")]


def sleepers_of_nodes(place):
    """Those that have kept the environment they were given, and so can be shown from strangers."""
    return set(place.processes()) & set(sleepers())


def end(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def check_nothing_is_left(place):
    assert place.processes_left() == {}
    until_s = time.monotonic() + GONE_WITHIN_S
    while (left := sleepers()) and time.monotonic() < until_s:
        time.sleep(0.02)
    assert left == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL"])
def test_no_signal_to_the_command_line_leaves_a_process(place, name):
    process = sleeping(place)
    process.send_signal(signal.Signals[name])
    _, complained = process.communicate()

    check_nothing_is_left(place)
    assert "Traceback" not in complained
    if name in {"SIGINT", "SIGTERM"}:
        assert process.returncode == 130


def test_impatient_ctrl_c_leaves_no_process(place):
    """Pressed again and again, also while the first is being answered."""
    process = sleeping(place)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    process.communicate()

    check_nothing_is_left(place)


def test_a_stopped_command_line_that_is_killed_leaves_no_process(place):
    process = sleeping(place)
    process.send_signal(signal.SIGSTOP)
    process.kill()
    process.communicate()

    check_nothing_is_left(place)


def agents(place):
    return [pid for pid in place.processes() if name_of(pid) == "sluice-agent"]


def test_what_agents_had_started_is_swept_when_they_are_killed(place):
    """And the run goes on with fresh ones. Who shed his environment is not found: no parent of his
    is left that would have known him.
    """
    process = sleeping(place)
    before = sleepers_of_nodes(place)
    end(agents(place))
    awaited(lambda: not before & set(sleepers()), "the end of what the agents had started")
    awaited(lambda: sleepers_of_nodes(place), "another try")
    process.kill()
    process.communicate()

    assert place.processes_left() == {}


def test_what_outlives_engine_and_agents_is_swept_by_the_next_life(place):
    """All that could clean up is killed at once; what is left bears its node's mark."""
    process = sleeping(place)
    at_once = [process.pid, *agents(place)]
    for pid in at_once:
        os.kill(pid, signal.SIGSTOP)
    end(at_once)
    process.communicate()
    before = sleepers_of_nodes(place)
    assert before

    process = place.started("run", str(place.file), "--resume")
    awaited(lambda: not before & set(sleepers()), "the sweep")
    process.send_signal(signal.SIGINT)
    process.communicate()

    assert place.processes_left() == {}


def test_a_job_that_fails_leaves_no_process(tmp_path):
    """Its other tasks are ended with it, while other jobs go on."""
    place = Place(tmp_path)
    place.write_input("in", "one\n", "two\n")
    (tmp_path / "sleeper.sh").write_text(SLEEPER_SH)
    (tmp_path / "mapper.sh").write_text(
        'if [ "$SLUICE_TASK" = 0 ]; then exec sh sleeper.sh; fi\n'
        "while [ ! -e begun-0 ]; do sleep 0.02; done\n"
        "exit 1\n"
    )
    failing = {"input": ["in"], "output": "out/failing", "mapper": "sh mapper.sh"}
    good = {"input": ["in"], "output": "out/good", "mapper": "cat"}
    jobs = [{"id": "failing", "run": failing}, {"id": "good", "run": good}]
    place.write(jobs, settings={"failures_max": 1})
    code, document = place.document()

    assert code == 1
    assert document["states"] == {"failed": 1, "done": 1}
    assert place.lines("out/good") == [b"one", b"two"]
    assert place.remains() == []
    check_nothing_is_left(place)


def test_a_run_under_nohup_survives_the_end_of_its_terminal(tmp_path):
    place = Place(tmp_path)
    place.write_input("in", "one\n")
    waits = "touch begun; while [ ! -e go ]; do sleep 0.02; done; cat"
    run = {"input": ["in"], "output": "out", "mapper": f"sh -c '{waits}'"}
    place.write([{"id": "patient", "run": run}])
    process = place.started("run", str(place.file), before=["nohup"])
    awaited((tmp_path / "begun").exists, "the map")

    process.send_signal(signal.SIGHUP)
    (tmp_path / "go").touch()
    _, complained = process.communicate()

    assert process.returncode == 0, complained
    assert place.lines("out") == [b"one"]
    assert place.processes_left() == {}
