"""The program of a process that simulates for a race: pairs from stdin, runs to stdout.

It ends when stdin ends, or when no process reads its results any more.
"""

from __future__ import annotations

import os
import pickle  # what it reads comes from the process that started this one
import signal
import sys

from sluice.bootstrap.advising.day_runs import result_of


def main() -> None:
    """Answer pairs until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a policy prints must not mix with the answers
    pairs = sys.stdin.buffer
    try:
        days = pickle.loads(pickle.load(pairs))  # noqa: S301  # from the parent
        while True:
            pickle.dump(result_of(days, pickle.load(pairs)), answers)  # noqa: S301  # as above
            answers.flush()
    except (EOFError, BrokenPipeError):
        return


if __name__ == "__main__":
    main()
