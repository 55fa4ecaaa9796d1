"""The sweep of a node's processes: it ends all of them, also those that change their program."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sluice.engines.agent import kernel
from sluice.engines.local.agents import NODE_MARK, sweep

EXECS = 'exec sh -c "$0" "$0"'  # a shell that replaces itself by a shell, again and again


@pytest.fixture
def started():
    """Start shells with an environment; those that a failed test leaves are ended."""
    processes = []

    def start(script, **environment):
        words = ["sh", "-c", script, script]
        env = {"PATH": os.environ["PATH"]} | environment
        processes.append(subprocess.Popen(words, env=env))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


# Its first thread ends, by the system call, and another one goes on.
GOES_ON = """
import ctypes, os, platform, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("begun", flush=True)
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""


def has_ended(process):
    """Whether the kernel has ended it; it may still wait to be reaped."""
    try:
        text = Path(f"/proc/{process.pid}/stat").read_text()
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] in "ZX"


def test_a_process_in_the_middle_of_an_exec_has_its_mark(started):
    """The kernel shows no environment then; 1 look in 20 met that moment."""
    process = started(EXECS, MARK="here")
    time.sleep(0.05)

    looks = [kernel.has_mark(process.pid, "MARK=here") for _ in range(2000)]

    assert looks.count(False) == 0
    assert not kernel.has_mark(process.pid, "MARK=elsewhere")


def test_a_process_without_an_environment_has_no_mark():
    process = subprocess.Popen(["sleep", "60"], env={})
    try:
        began_s = time.monotonic()
        assert not kernel.has_mark(process.pid, "MARK=here")
        assert time.monotonic() - began_s < kernel.EXEC_S_MAX
    finally:
        process.kill()
        process.wait()
    assert not kernel.has_mark(process.pid, "MARK=here")


def test_the_sweep_leaves_no_process_that_changes_its_program(started, tmp_path):
    for _ in range(5):
        processes = [started(EXECS, **{NODE_MARK: str(tmp_path)}) for _ in range(8)]
        stranger = started("sleep 60", **{NODE_MARK: "elsewhere"})
        time.sleep(0.05)

        sweep(tmp_path)

        assert all(map(has_ended, processes))
        assert not has_ended(stranger)


def test_the_sweep_ends_a_process_whose_first_thread_has_ended(tmp_path):
    """The kernel shows neither memory nor environment of such a process, only of its threads."""
    argv, env = [sys.executable, "-c", GOES_ON], {NODE_MARK: str(tmp_path)}
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        while not has_ended(process):
            time.sleep(0.001)
        assert process.poll() is None

        sweep(tmp_path)

        try:
            assert process.wait(10) == -signal.SIGKILL
        finally:
            process.kill()
