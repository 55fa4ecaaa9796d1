"""Processes that write to one profile store, to be raced and to be killed. Run as a script.

profile_lives.py write URL NUMBER      add many runs, shared with other writers, in an own order
profile_lives.py die URL               add three runs again and again, killed ever later
"""

import os
import random
import signal
import sys

from sqlalchemy import event
from tests.store.histories import cut_short, past_run, phase_of

from sluice.store.profiles import Added, Profiles

SHARED = 60
OLD = [past_run(f"run-{n}", phase_of(*[1.0 + n] * 3), succeeded=False) for n in range(2)]
NEW = [past_run(f"run-{n}", phase_of(*[1.0 + n] * 5), phase_of(4.0)) for n in range(3)]


def full(number):
    """A run as the longest log shows it."""
    return past_run(f"run-{number:03}", phase_of(*[1.0 + number] * 5), submitted_at_s=number)


def accounts(writer):
    """Return the runs that a writer shows: every fourth in full, the others cut short somewhere."""
    chance = random.Random(writer)
    said = [
        full(number) if number % 4 == writer % 4 else cut_short(full(number), 1 + writer % 4)
        for number in range(SHARED)
    ]
    chance.shuffle(said)
    return said


def say(*words):
    """Send a line to the process that started this one."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def write(url, writer):
    """Add them a few at a time, and show what came of it."""
    added = Added()
    said = accounts(writer)
    for start in range(0, SHARED, 5):
        with Profiles.open(url) as profiles:
            added = added.plus(profiles.add(said[start : start + 5]))
    say(*added)


def die(url):
    """Lives of which the nth is killed at its nth statement, until one lives through."""
    with Profiles.open(url) as profiles:
        profiles.add(OLD)
    statement = 0
    while True:
        statement += 1
        child = os.fork()
        if not child:
            _live(url, statement)
        _, status = os.waitpid(child, 0)
        say(statement, os.WIFSIGNALED(status), *_found(url))
        if not os.WIFSIGNALED(status):
            return


def _live(url, statements):
    """Replace two runs and add one, and die before the statement of that number."""
    left = [statements]

    def count(*_arguments):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    with Profiles.open(url) as profiles:
        event.listen(profiles._engine, "before_cursor_execute", count)
        event.listen(profiles._engine, "commit", count)
        profiles.add(NEW)
    os._exit(0)


def _found(url):
    """How many runs are there as they were before, and as they should be after."""
    with Profiles.open(url) as profiles:
        found = profiles.runs("words")
    return len(found), sum(run in OLD for run in found), sum(run in NEW for run in found)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]))
    else:
        die(sys.argv[2])
