"""The states of attempts and jobs, with the transitions as tables. The diagrams in the docs are
drawn from these tables.

An event that has no row for the present state is stale: it is counted and nothing changes.
"""

from __future__ import annotations

from enum import Enum


class AttemptState(Enum):
    """The state of one attempt of one task."""

    LAUNCHED = "launched"
    RUNNING = "running"
    KILLING = "killing"
    DONE = "done"
    FAILED = "failed"
    KILLED = "killed"
    LOST = "lost"

    __hash__ = object.__hash__  # see SlotKind


class AttemptInput(Enum):
    """All that can happen to an attempt."""

    STARTED = "started"
    FINISHED = "finished"
    FAILED = "failed"
    KILL_ASKED = "kill asked"
    KILL_CONFIRMED = "killed"
    NODE_LOST = "node lost"

    __hash__ = object.__hash__  # see SlotKind


class JobState(Enum):
    """The state of a job."""

    DEFERRED = "deferred"
    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    KILLED = "killed"
    REFUSED = "refused"

    __hash__ = object.__hash__  # see SlotKind


class JobInput(Enum):
    """All that can happen to a job."""

    ADMITTED = "admitted"
    REFUSED = "refused"
    RELEASED = "released"
    TASK_STARTED = "task started"
    ALL_DONE = "all tasks done"
    TASK_GAVE_UP = "a task failed too often"
    KILLED = "killed"

    __hash__ = object.__hash__  # see SlotKind


_A, _I = AttemptState, AttemptInput

ATTEMPT_TRANSITIONS: dict[AttemptInput, dict[AttemptState, AttemptState]] = {
    _I.STARTED: {_A.LAUNCHED: _A.RUNNING},
    # A finish may overtake the report of the start, and may cross a kill on its way: work that is
    # done is done.
    _I.FINISHED: {_A.LAUNCHED: _A.DONE, _A.RUNNING: _A.DONE, _A.KILLING: _A.DONE},
    _I.FAILED: {_A.LAUNCHED: _A.FAILED, _A.RUNNING: _A.FAILED, _A.KILLING: _A.KILLED},
    _I.KILL_ASKED: {_A.LAUNCHED: _A.KILLING, _A.RUNNING: _A.KILLING},
    # An attempt may also be killed by its engine's own limits, without being asked.
    _I.KILL_CONFIRMED: {_A.LAUNCHED: _A.KILLED, _A.RUNNING: _A.KILLED, _A.KILLING: _A.KILLED},
    _I.NODE_LOST: {_A.LAUNCHED: _A.LOST, _A.RUNNING: _A.LOST, _A.KILLING: _A.LOST},
}

_J, _K = JobState, JobInput

JOB_TRANSITIONS: dict[JobInput, dict[JobState, JobState]] = {
    _K.ADMITTED: {_J.DEFERRED: _J.WAITING},
    _K.REFUSED: {_J.DEFERRED: _J.REFUSED},
    _K.RELEASED: {_J.WAITING: _J.QUEUED},
    _K.TASK_STARTED: {_J.QUEUED: _J.RUNNING, _J.RUNNING: _J.RUNNING},
    _K.ALL_DONE: {_J.RUNNING: _J.DONE},
    _K.TASK_GAVE_UP: {_J.QUEUED: _J.FAILED, _J.RUNNING: _J.FAILED},
    _K.KILLED: {
        _J.DEFERRED: _J.KILLED,
        _J.WAITING: _J.KILLED,
        _J.QUEUED: _J.KILLED,
        _J.RUNNING: _J.KILLED,
    },
}

ATTEMPT_ENDS = frozenset({_A.DONE, _A.FAILED, _A.KILLED, _A.LOST})
JOB_ENDS = frozenset({_J.DONE, _J.FAILED, _J.KILLED, _J.REFUSED})
