"""The lives of a run as its journal shows them, read row by row, without the scheduler's help."""

from typing import Any, NamedTuple

from sluice.core.events import NodeLost, TaskFailed, TaskFinished, TaskStarted
from sluice.store.rows import EntryKind, entries


class Lives(NamedTuple):
    """epochs: lives of the core.  finished: (job, phase, task) in order, with repetitions.
    rerun: tasks that started, though they had finished and nothing had taken their output.
    ends: attempts with more than one end.  nodes_lost: times that a node was lost.
    """

    epochs: int
    finished: list[Any]
    rerun: list[Any]
    ends: list[Any]
    nodes_lost: int


def lives_of(folder):
    """Those of the run in a folder."""
    epochs, nodes_lost = {1}, 0
    done: set[Any] = set()
    ended: set[Any] = set()
    finished, rerun, twice = [], [], []
    for entry in entries(folder):
        epochs.add(entry.epoch)
        if entry.kind is not EntryKind.EVENT:
            continue
        event = entry.event()
        if isinstance(event, NodeLost):
            nodes_lost += 1
            done.clear()  # what lay there may be gone, and is made again
        elif isinstance(event, TaskStarted) and event.key[:3] in done:
            rerun.append(event.key)
        elif isinstance(event, TaskFinished):
            finished.append(event.key[:3])
            done.add(event.key[:3])
        if isinstance(event, TaskFinished | TaskFailed):
            if event.key in ended:
                twice.append(event.key)
            ended.add(event.key)
    return Lives(len(epochs), finished, rerun, twice, nodes_lost)
