"""The supervisor of a service knows which of its processes run."""

import subprocess
import sys
import time

from sluice.bootstrap.service.supervisor import _Child

LIVES = [sys.executable, "-c", "input()"]


def _runs(child):
    return child.is_alive


def test_a_process_that_was_not_reaped_is_not_taken_for_one_that_runs(tmp_path):
    """One that was taken over has another parent, which may be the first of a container."""
    with subprocess.Popen(LIVES, stdin=subprocess.PIPE) as process:
        child = _Child("other", tmp_path / "log", lambda: {"pid": process.pid})
        child.attach()
        assert _runs(child)
        process.kill()
        until_s = time.monotonic() + 20
        while _runs(child):
            assert time.monotonic() < until_s
            time.sleep(0.02)
        assert process.returncode is None, "no one has asked for its status"
        child.stop()
