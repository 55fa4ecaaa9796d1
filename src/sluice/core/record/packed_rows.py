"""The packed rows of the record of attempts, as 32-bit words and back."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Final

# phase, task, number of the attempt, node, slot, ending; start, end, end of fetching in seconds
ROW: Final = Struct("<IIIIIIddd")
ROW_WORDS: Final = 12
PHASE: Final = 0  # words of a row
TASK: Final = 1
NODE_PLACE: Final = 3
SLOT: Final = 4


def column(rows: bytes, word: int) -> array[int]:
    """One word of each row."""
    words = array("I", rows)[word::ROW_WORDS]
    if sys.byteorder == "big":
        words.byteswap()
    return words


def notes_within(
    spans: Sequence[range], rows: array[int], notes: array[int]
) -> tuple[array[int], array[int]]:
    """The notes that hold in one of the spans. A note holds from its row to that of the next.

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


def without_groups(
    chunks: Sequence[bytes], groups: Iterator[int], slots_of: Callable[[int], list[int]]
) -> Iterator[bytes]:
    """All rows, with a row for each task in place of one for several.

    groups: the rows for several, ascending.  slots_of: the slot of each task of such a row.
    """
    first, group = 0, next(groups, -1)
    for chunk in chunks:
        start, after = 0, first + len(chunk) // ROW.size
        while 0 <= group < after:
            end = (group - first) * ROW.size
            yield chunk[start:end]
            start = end + ROW.size
            yield for_each_task(chunk[end:start], slots_of(group))
            group = next(groups, -1)
        yield chunk[start:]
        first = after


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
    nodes = column(rows, NODE_PLACE)
    words[NODE_PLACE::ROW_WORDS] = words_of([places[node] for node in nodes])
    return words.tobytes()


def words_of(numbers: list[int]) -> array[int]:
    """Numbers in the byte order of rows."""
    words = array("I", numbers)
    if sys.byteorder == "big":
        words.byteswap()
    return words
