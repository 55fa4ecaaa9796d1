"""The data plane of real map-reduce jobs: the work of an agent's forked child for one attempt.

`perform` runs one attempt; `preload` readies an interpreter for all attempts of a job on a node.
Planning a job, and committing its output, are in `layout` and `commit`. Files in the order of the
data: splits, commands (or functions, or mrjob_steps), mapping, partition, spill, reducing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sluice.engines.mapreduce import commands, functions, mrjob_steps
from sluice.engines.mapreduce.environment import enter
from sluice.engines.mapreduce.errors import NodeFault, PermanentFailure, WorkFailed
from sluice.engines.mapreduce.machine_faults import fault_behind, is_full
from sluice.engines.mapreduce.task_context import TaskContext
from sluice.engines.mapreduce.task_spec import TaskSpec
from sluice.engines.mapreduce.user_errors import cause_of, summary, user_traceback
from sluice.engines.mapreduce.user_state import State, modules_state
from sluice.engines.mapreduce.verified_code import load_verified

__all__ = ["WorkFailed", "perform", "preload", "user_state"]

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

    It takes over the job's working folder and environment. Commands need no import. An exception
    of the user's module goes through: every attempt would raise it too.
    """
    order = _on_this_node(TaskSpec.from_json(work))
    if order.step.python is not None:
        enter(order.folder, dict(order.env), inherits_env=order.inherits_env)
        # A change of the module is reported by each attempt, not by the interpreter's end.
        with contextlib.redirect_stdout(sys.stderr), contextlib.suppress(PermanentFailure):
            load_verified(order)


def user_state(work: Mapping[str, Any]) -> State | None:
    """Return what the user's modules hold in this process, to be compared by `==`.

    None if it cannot be known, or the process can do no other task: only functions can be
    distinguished from what they leave behind.
    """
    if work["step"]["style"] != "functions":
        return None
    try:
        return modules_state(_on_this_node(TaskSpec.from_json(work)).folder)
    except WorkFailed:
        return None


def perform(work: Mapping[str, Any], place: Mapping[str, Any]) -> dict[str, Any]:
    """Run one attempt, in a process of its own: working folder and environment become the user's.

    work: the value of `PreparedJob.work`.
    place: attempt_id; scratch, a node-local folder that outlives the attempt; limits (only
    output_bytes is enforced here); progress_fd, which gets {"fraction", "bytes"} as lines of JSON.
    Returns outputs (paths), counters, and shuffled_at_s (seconds since the start, or None).
    Raises WorkFailed. No process, thread or unfinished file of the attempt is left in any case.
    """
    order = _on_this_node(TaskSpec.from_json(work))
    context = TaskContext(order, place)
    try:
        with context.at_work():
            try:
                _run(context)
            except BrokenPipeError as error:
                context.processes.finish()  # raises with the process that ended, and why
                raise WorkFailed("a process stopped reading too early") from error
            except WorkFailed as error:
                raise _by_machine(error, context) from error
    except WorkFailed:
        raise
    except BaseException as error:  # also sys.exit(), and KeyboardInterrupt by the user's code
        raise _failure(error, context) from error
    return context.result()


def _on_this_node(order: TaskSpec) -> TaskSpec:
    """The task with its code on this node's disk. Raises WorkFailed."""
    if order.plane is None:
        return order
    from sluice.engines.data_plane.code_copies import with_own_code

    return with_own_code(order)


def _run(context: TaskContext) -> None:
    if context.spec.step.python is not None:
        env = context.spec.user_env(context.attempt_id)
        enter(context.spec.folder, env, inherits_env=context.spec.inherits_env)
    # The results are what user code yields; what it prints goes to the log.
    with contextlib.redirect_stdout(sys.stderr):
        if context.spec.step.python is not None:
            load_verified(context.spec)
        _RUNNERS[context.spec.step.style, context.spec.side](context)


def _by_machine(error: WorkFailed, context: TaskContext) -> WorkFailed:
    """The failure of a command, or the fault of the machine that is behind it.

    An exception of Python code has said itself what it was.
    """
    order = context.spec
    if type(error) is not WorkFailed or order.step.python is not None:
        return error
    fault = fault_behind([Path(order.staging), context.scratch])
    return error if fault is None else NodeFault(f"{error}; {fault}")


def _failure(error: BaseException, context: TaskContext) -> WorkFailed:
    order = context.spec
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return WorkFailed(context.watch.too_much)
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return NodeFault(
            f"the disk is full: {error.strerror}, {_disk(error, order, context.scratch)}"
        )
    if order.step.python is None:
        return WorkFailed(f"{type(error).__name__}: {error}")
    sys.stderr.write(user_traceback(error))
    message = f"{order.side} raised {summary(error, order.folder)}{_place(order)}"
    return WorkFailed(message, cause=cause_of(error, order.folder))


def _disk(error: OSError, order: TaskSpec, scratch: Path) -> str:
    """Where there is no room, for a message; a write to an open file does not name it."""
    if error.filename:
        return f"writing {os.fsdecode(error.filename)!r}"
    written = scratch if order.segments or order.plane is not None else Path(order.staging)
    places = [written, *(place for place in (scratch, Path(order.folder)) if place != written)]
    full = [place for place in places if is_full(place)]
    return "in " + " or ".join(repr(str(place)) for place in full or places[:1])


def _place(order: TaskSpec) -> str:
    """The input of a map, for a message."""
    split = order.split
    if split is None:
        return ""
    end = "the end" if split.end is None else split.end
    return f", reading {split.path!r} from byte {split.start} to {end}"
