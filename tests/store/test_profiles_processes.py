"""Several processes at one store: none loses what it was shown was kept, none sees half of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests import warm_start
from tests.store.histories import past_run, phase_of
from tests.store.profile_lives import NEW, OLD, SHARED, full

from sluice.store.profiles import Profiles

pytestmark = pytest.mark.slow
HOUSE = Path(__file__).parents[2]
WRITERS = 4


def started(*words, program=None):
    what = ["-m", "tests.store.profile_lives"] if program is None else ["-c", program]
    return warm_start.Popen(
        [sys.executable, *what, *map(str, words)],
        cwd=HOUSE,
        env=os.environ | {"PYTHONPATH": f"{HOUSE}:{HOUSE / 'src'}"},
        stdout=subprocess.PIPE,
        text=True,
    )


def said_by(process):
    said, _ = process.communicate(timeout=120)
    return said


def test_writers_at_once_keep_every_run_once_and_in_full(url):
    """They also make the store at once; each shows every run, one of four in full."""
    writers = [started("write", url, number) for number in range(WRITERS)]
    heard = [tuple(map(int, said_by(writer).split())) for writer in writers]

    assert [0] * WRITERS == [writer.returncode for writer in writers]
    with Profiles.open(url) as profiles:
        assert [full(number) for number in range(SHARED)] == profiles.runs("words")
    assert SHARED == sum(new for new, _, _ in heard), "each run was new to one writer"
    assert SHARED * WRITERS == sum(map(sum, heard)), "every account got an answer"


def test_a_writer_killed_at_any_statement_leaves_all_or_nothing(url):
    """Two runs are to be replaced by longer accounts, and one to be added, in one transaction."""
    lines = [line.split() for line in said_by(started("die", url)).splitlines()]
    before, after = [str(len(OLD))] * 2 + ["0"], [str(len(NEW)), "0", str(len(NEW))]

    assert len(lines) > 5, "it was killed at many places"
    for _, was_killed, *found in lines[:-1]:
        assert "True" == was_killed
        assert found in (before, after)
    assert [before] == [found for _, _, *found in lines[:1]]
    assert ["False", *after] == lines[-1][1:]


ENDLESS = """
import sys
from itertools import count
from sluice.store.profiles import Profiles
from tests.store.histories import past_run, phase_of
with Profiles.open(sys.argv[1]) as profiles:
    for number in count():
        profiles.add([past_run(f"run-{number}", phase_of(*[1.0 + number] * 3), phase_of(2.0))])
        print(number, flush=True)
"""


@pytest.mark.parametrize("runs", [1, 7, 20])
def test_what_was_acknowledged_survives_a_kill(url, runs):
    process = started(url, program=ENDLESS)
    acknowledged = [int(process.stdout.readline()) for _ in range(runs)]
    process.send_signal(signal.SIGKILL)
    # Not `communicate`: it reads past the lines that `readline` has taken in ahead.
    acknowledged += map(int, process.stdout.read().split())
    process.stdout.close()
    process.wait()

    with Profiles.open(url) as profiles:
        found = {run.run_id: run for run in profiles.runs("words")}
    expected = {
        f"run-{number}": past_run(f"run-{number}", phase_of(*[1.0 + number] * 3), phase_of(2.0))
        for number in range(len(acknowledged) + 1)
    }
    assert len(found) in {len(acknowledged), len(acknowledged) + 1}, (
        "one may not have been acknowledged"
    )
    assert found.items() <= expected.items()
