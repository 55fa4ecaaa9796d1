"""Processes that simulate: the one that starts them, and the loop of those that it starts.

A child runs `worker` for a comparison, or another module that calls `answer_tasks`. It is a
fresh interpreter, not a fork: the parent has threads, and a script that calls `sluice.compare` must
not be imported again. Tasks and results are pickled through its pipes. A child ends when its
input ends, so that none outlives the parent.
"""

from __future__ import annotations

import os
import pickle  # what it reads comes from processes that this module started, or from their parent
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import IO, Any

_COMPARES = "sluice.bootstrap.simulations.worker"
_PATIENCE_S = 5.0  # for a child to end by itself


class SimulationProcess:
    """One child. packed: what it works on, as `ComparedRuns.packed` gives it.  module: it runs."""

    def __init__(self, packed: bytes, module: str = _COMPARES) -> None:
        path = os.pathsep.join(folder or "." for folder in sys.path)
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
        )
        self._packed: bytes | None = packed

    def result_of(self, task: tuple[Any, ...]) -> Any:  # noqa: ANN401  # a TaskResult, which bootstrap knows
        """The result of a task; None if it failed, or if the child has died."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            if self._packed is not None:
                pickle.dump(self._packed, self._child.stdin)
                self._packed = None
            pickle.dump(tuple(task), self._child.stdin)
            self._child.stdin.flush()
            return pickle.load(self._child.stdout)  # noqa: S301  # from our own child
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            return None

    def end(self) -> None:
        """End the child, also in the middle of a task."""
        self._child.terminate()
        try:
            self._child.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                _close(pipe)


def answer_tasks(answers_of: Callable[[Any], Callable[[Any], object]]) -> None:
    """Answer tasks from stdin on stdout, until stdin ends or no process reads the answers.

    answers_of: makes what answers a task, from what the parent packed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a policy prints must not mix with the answers
    tasks = sys.stdin.buffer
    try:
        answer = answers_of(pickle.load(tasks))  # noqa: S301  # from the parent
        while True:
            pickle.dump(answer(pickle.load(tasks)), answers)  # noqa: S301  # as above
            answers.flush()
    except (EOFError, BrokenPipeError):
        return


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except OSError:
        return  # what was still to be written has no reader
