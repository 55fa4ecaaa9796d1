"""A command that is forked from the host finds what one finds that is truly started."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests import warm_start
from tests.live.command_line import words_of

OWN = "tests.test_warm_start"


def show():
    """Print what a process can see of its own start."""
    signals = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
    seen = {
        "argv": sys.argv,
        "main": sys.modules["__main__"].__name__,
        "path": sys.path,
        "cwd": str(Path.cwd()),
        "env": {**os.environ},
        "umask": os.umask(0),
        "streams": [
            (one.name, one.encoding, one.errors, one.line_buffering)
            for one in (sys.stdin, sys.stdout, sys.stderr)
        ],
        "files": [one.name for one in Path("/proc/self/fd").iterdir()],
        "threads": threading.active_count(),
        "parent": os.getppid(),
        "leads": [os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid()],
        "handlers": [str(signal.getsignal(number)) for number in signals],
        "blocked": [*map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))],
        "read": sys.stdin.read(),
    }
    sys.stdout.write(json.dumps(seen))


WAYS = {
    "show": show,
    "say no": lambda: sys.exit("no"),
    "a large code": lambda: sys.exit(300),
    "an error": lambda: {}["no"],
    "an interrupt": lambda: signal.raise_signal(signal.SIGINT),
    "a kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "a thread": lambda: threading.Timer(0.05, sys.stdout.write, ["later"]).start(),
}


@pytest.fixture
def ends(monkeypatch, tmp_path):
    """(exit code, stdout, last line of stderr) of both starts of this module."""
    monkeypatch.setattr(warm_start, "MODULES", [OWN])
    path = os.pathsep.join([str(warm_start.SOURCE), str(warm_start.HOUSE)])

    def both(way, **more):
        env = {**os.environ, "PYTHONPATH": path, "OWN": "ä", **more.pop("env", {})}
        words = [sys.executable, *more.pop("flags", []), "-m", OWN, way]
        options = {"cwd": tmp_path, "env": env, "capture_output": True, "text": True, **more}
        done = [start(words, check=False, **options) for start in (subprocess.run, warm_start.run)]
        return [(one.returncode, one.stdout, one.stderr.splitlines()[-1:]) for one in done]

    return both


def test_a_command_sees_its_own_surroundings(ends):
    for more in ({}, {"start_new_session": True}, {"flags": ["-P"]}):
        truly, warm = (json.loads(out) for _, out, _ in ends("show", input="given", **more))

        assert truly == warm
        assert ("given", os.getpid()) == (warm["read"], warm["parent"])


@pytest.mark.parametrize("way", [way for way in WAYS if way != "show"])
def test_a_command_ends_as_it_would(ends, way):
    truly, warm = ends(way)

    assert truly == warm


def test_another_interpreter_is_truly_started(ends):
    hashes = [
        json.loads(out)["env"]["PYTHONHASHSEED"]
        for _, out, _ in ends("show", env={"PYTHONHASHSEED": "7"}, input="")
    ]

    assert ["7", "7"] == hashes


def test_what_asyncio_starts_is_forked_from_the_host(monkeypatch):
    """The words come as a tuple there: so does a service start what it calculates."""
    monkeypatch.setattr(subprocess, "Popen", warm_start.Popen)
    words = (sys.executable, "-P", "-m", "sluice", "validate", "-")

    async def started():
        child = await asyncio.create_subprocess_exec(*words, stdin=subprocess.PIPE, stderr=-1)
        shown = words_of(child.pid, "cmdline")
        _, said = await child.communicate(b"version: 2")
        return shown, child.returncode, said

    shown, code, said = asyncio.run(started())

    assert b"tests.warm_start" in b" ".join(shown)
    assert (2, True) == (code, b"version" in said)


def test_a_command_ends_when_the_process_that_asked_is_killed(tmp_path):
    program = (
        "import sys, time; from tests import warm_start\n"
        "one = warm_start.Popen([sys.executable, '-m', 'sluice', 'validate', '-'], stdin=-1)\n"
        "print(one.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=warm_start.HOUSE, stdout=subprocess.PIPE, text=True,
    ) as asking:  # fmt: skip
        pid = int(asking.stdout.readline())
        waiting = os.pidfd_open(pid)
        asking.kill()

    assert select.select([waiting], [], [], 60)[0]
    os.close(waiting)


if __name__ == "__main__":
    WAYS[sys.argv[1]]()
