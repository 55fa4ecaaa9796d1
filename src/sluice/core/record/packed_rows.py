"""The packed rows of the record of attempts, as 32-bit words and back."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from struct import Struct
from typing import Final

# phase, task, number of the attempt, node, slot, ending; start, end, end of fetching in seconds
ROW: Final = Struct("<IIIIIIddd")
ROW_WORDS: Final = 12
TASK: Final = 1  # words of a row
NODE_PLACE: Final = 3
SLOT: Final = 4


def phases_in(rows: bytes) -> set[int]:
    """The numbers of the phases that rows are of."""
    phases = array("I", rows)[::ROW_WORDS]
    if sys.byteorder == "big":
        phases.byteswap()
    return set(phases)


def notes_within(
    spans: Sequence[range], rows: array[int], notes: array[int]
) -> tuple[array[int], array[int]]:
    """Of notes that hold from their row to that of the next: those that hold in one of the spans.

    spans: of rows, ascending; the last one has the last row.
    """
    left_rows, left = array("I"), array("I")
    at = 0
    for number, row in enumerate(rows):
        while spans[at].stop <= row:
            at += 1
        if number + 1 == len(rows) or rows[number + 1] > spans[at].start:
            left_rows.append(row)
            left.append(notes[number])
    return left_rows, left


def for_each_task(row: bytes, slots: list[int]) -> bytes:
    """The row of an attempt of several tasks as one row for each task, in the slot of the task."""
    task: int = ROW.unpack_from(row)[TASK]
    words = array("I", row * len(slots))
    words[TASK::ROW_WORDS] = words_of(list(range(task, task + len(slots))))
    words[SLOT::ROW_WORDS] = words_of(slots)
    return words.tobytes()


def with_places(rows: bytes, places: list[int]) -> bytes:
    """The rows with other numbers of their nodes."""
    words = array("I", rows)
    nodes = words[NODE_PLACE::ROW_WORDS]
    if sys.byteorder == "big":
        nodes.byteswap()
    words[NODE_PLACE::ROW_WORDS] = words_of([places[node] for node in nodes])
    return words.tobytes()


def words_of(numbers: list[int]) -> array[int]:
    """Numbers in the byte order of rows."""
    words = array("I", numbers)
    if sys.byteorder == "big":
        words.byteswap()
    return words
