"""The program of a process that simulates for a comparison: tasks from stdin, results to stdout.

It ends when stdin ends, or when no process reads its results any more.
"""

from __future__ import annotations

import os
import pickle  # what it reads comes from the process that started this one
import signal
import sys
from typing import IO

from sluice.bootstrap.simulations.compared_runs import ComparedRuns, Task, TaskResult


def main() -> None:
    """Answer tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a policy prints must not mix with the answers
    try:
        _answer(sys.stdin.buffer, answers)
    except (EOFError, BrokenPipeError):
        return


def _answer(tasks: IO[bytes], answers: IO[bytes]) -> None:
    runs = ComparedRuns.unpacked(pickle.load(tasks))  # noqa: S301  # from the parent
    while True:
        task = Task(*pickle.load(tasks))  # noqa: S301  # from the parent
        pickle.dump(_result_of(runs, task), answers)
        answers.flush()


def _result_of(runs: ComparedRuns, task: Task) -> TaskResult | None:
    try:
        return runs.result_of(task)
    except Exception:  # noqa: BLE001  # the parent meets the same error, and reports it
        return None


if __name__ == "__main__":
    main()
