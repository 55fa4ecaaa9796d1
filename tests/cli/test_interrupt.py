"""Ctrl-C at any moment: exit 130, one line, no traceback."""

import signal
import subprocess
import sys
import time

import pytest
from tests.cli.terminal import SMALL

# It says when `main` has begun; nothing in Python can catch an interrupt before that.
UP = """
import sys
from sluice import cli

begin = cli._replace_closed_streams
cli._replace_closed_streams = lambda: (begin(), print("up", flush=True))
sys.exit(cli.main(sys.argv[1:]))
"""
LONG = SMALL.replace("tasks: 8, avg_s: 10", "tasks: 900000, avg_s: 10")


def test_nothing_is_imported_before_main_can_catch_an_interrupt():
    """An import takes milliseconds, in which Ctrl-C shows a traceback."""
    code = "import sys; had = set(sys.modules); import sluice.cli; print(*set(sys.modules) - had)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    ).stdout.split()

    assert {"sluice", "sluice.cli"} == set(found) - {"__future__"}


@pytest.mark.parametrize("delay_s", [0.0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
def test_an_interrupt_while_the_command_starts_shows_no_traceback(delay_s, tmp_path):
    (tmp_path / "long.yaml").write_text(LONG)
    words = ["simulate", "long.yaml", "--set", "jitter=0.3"]
    with subprocess.Popen(
        [sys.executable, "-c", UP, *words],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout
        assert "up\n" == process.stdout.readline()
        time.sleep(delay_s)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (130, "", "Stopped.\n") == (process.returncode, out, err)
