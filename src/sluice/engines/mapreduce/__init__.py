"""The data plane of real map-reduce jobs: what a node agent's forked child does for one attempt.

`perform` runs one attempt; `preload` readies an interpreter for all attempts of a job on a node.
Planning a job, and committing its output, are in `layout` and `commit`. Files in the order of the
data: splits, commands (or functions, or mrjob_steps), mapping, partition, spill, reducing.
"""

from __future__ import annotations

import contextlib
import errno
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sluice.engines.mapreduce import commands, functions, loading, mrjob_steps
from sluice.engines.mapreduce.environment import enter
from sluice.engines.mapreduce.errors import WorkFailed
from sluice.engines.mapreduce.task_context import TaskContext
from sluice.engines.mapreduce.task_spec import TaskSpec

__all__ = ["WorkFailed", "perform", "preload"]

TRACE_FRAMES_MAX = 10

_RUNNERS = {
    ("commands", "map"): commands.run_map,
    ("commands", "reduce"): commands.run_reduce,
    ("functions", "map"): functions.run_map,
    ("functions", "reduce"): functions.run_reduce,
    ("mrjob", "map"): mrjob_steps.run_map,
    ("mrjob", "reduce"): mrjob_steps.run_reduce,
}


def preload(work: Mapping[str, Any]) -> None:
    """Import the user's Python into this interpreter, once for a job and node.

    It takes over the job's working folder and environment. Nothing is done for commands. What the
    user's module raises goes through: every attempt would fail of it too.
    """
    order = TaskSpec.from_json(work)
    if order.step.python is not None:
        enter(order.folder, dict(order.env), inherits_env=order.inherits_env)
        with contextlib.redirect_stdout(sys.stderr):
            loading.load(order.folder, order.step.python)


def perform(work: Mapping[str, Any], place: Mapping[str, Any]) -> dict[str, Any]:
    """Run one attempt, in a process of its own: working folder and environment become the user's.

    work: what `PreparedJob.work` gave.
    place: attempt_id; scratch, a node-local folder that outlives the attempt; limits (of these
    output_bytes is held here); progress_fd, told {"fraction", "bytes"} as lines of JSON.
    Returns outputs (paths), counters, and shuffled_at_s (seconds since the start, or None).
    Raises WorkFailed. No process, thread or unfinished file of the attempt is left in any case.
    """
    order = TaskSpec.from_json(work)
    context = TaskContext(order, place)
    try:
        with context.at_work():
            try:
                _run(context)
            except BrokenPipeError as error:
                context.processes.finish()  # tells which process left, and why
                raise WorkFailed("a process stopped reading too early") from error
    except WorkFailed:
        raise
    except (Exception, SystemExit) as error:
        raise _told(error, context) from error
    return context.result()


def _run(context: TaskContext) -> None:
    if context.spec.step.python is not None:
        env = context.spec.user_env(context.attempt_id)
        enter(context.spec.folder, env, inherits_env=context.spec.inherits_env)
    # Whatever user code prints is talk: results are what it yields.
    with contextlib.redirect_stdout(sys.stderr):
        _RUNNERS[context.spec.step.style, context.spec.side](context)


def _told(error: BaseException, context: TaskContext) -> WorkFailed:
    order = context.spec
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return WorkFailed(context.watch.too_much)
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return WorkFailed(f"the disk is full: {error.strerror}")
    if order.step.python is None:
        return WorkFailed(f"{type(error).__name__}: {error}")
    user_frames = _tell_user(error)
    where = f" ({user_frames[-1]})" if user_frames else ""
    return WorkFailed(f"{order.side} raised {type(error).__name__}: {error}{where}")


def _tell_user(error: BaseException) -> list[str]:
    """Print the traceback without our own frames; returns the places in the user's files."""
    told = traceback.TracebackException.from_exception(error)
    ours = str(Path(__file__).parent)
    frames = [frame for frame in told.stack if not frame.filename.startswith(ours)]
    told.stack = traceback.StackSummary.from_list(frames[-TRACE_FRAMES_MAX:])
    sys.stderr.write("".join(told.format(chain=False)))
    return [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
