"""Commands as mapper, combiner and reducer: the interface of Hadoop Streaming.

Wherever nothing has to be done to the lines on their way, one process writes straight into the
next; only what must be cut for several reduces, or by the ends of a split, passes through here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from subprocess import DEVNULL, PIPE, Popen
from typing import IO

from sluice.engines.work.desk import Desk
from sluice.engines.work.mapping import Combine, Feed, blocks_of, spill_sorted
from sluice.engines.work.partition import Partitioner
from sluice.engines.work.reducing import merged
from sluice.engines.work.spill import Segment, count_lines


def run_map(desk: Desk) -> None:
    """One map task: a split through the mapper, into a spill file or a part file."""
    step = desk.order.step
    if not desk.order.reduces:
        _write_part(desk)
    elif desk.order.reduces == 1 and not step.combiner and step.mapper:
        _spill_straight(desk)
    else:
        spill_sorted(desk, lambda partitioner: _produce(desk, partitioner), _combiner(desk))


def run_reduce(desk: Desk) -> None:
    """One reduce task: the merged segments through the reducer, into a part file."""
    merge = merged(desk)
    reducer = desk.order.step.reducer
    assert reducer is not None
    with desk.part_file() as part:
        stdin = merge.stdout if merge is not None else DEVNULL
        desk.start_user("reducer", reducer, stdin=stdin, stdout=part)
        desk.crew.finish()


def _start_mapper(desk: Desk, stdout: int | IO[bytes]) -> tuple[Popen[bytes], Feed]:
    assert desk.order.step.mapper is not None
    mapper = desk.start_user("mapper", desk.order.step.mapper, stdin=PIPE, stdout=stdout)
    return mapper, Feed(mapper, desk.input_blocks())


def _write_part(desk: Desk) -> None:
    with desk.part_file() as part:
        _, feed = _start_mapper(desk, part)
        feed.finish()
        desk.crew.finish()


def _spill_straight(desk: Desk) -> None:
    """One partition, nothing to combine: the mapper writes into `sort`, and that is the spill."""
    with desk.spill_path.open("w+b") as file:
        mapper, feed = _start_mapper(desk, PIPE)
        desk.start_sort(stdin=mapper.stdout, stdout=file)
        feed.finish()
        desk.crew.finish()
        size_bytes = file.seek(0, os.SEEK_END)
        desk.hand_over_spill(file, [Segment(0, size_bytes, count_lines(desk.spill_path))])


def _produce(desk: Desk, partitioner: Partitioner) -> None:
    if desk.order.step.mapper is None:
        for block in desk.input_blocks():
            partitioner.write(block)
        return
    mapper, feed = _start_mapper(desk, PIPE)
    assert mapper.stdout is not None
    for block in blocks_of(mapper.stdout):
        partitioner.write(block)
    feed.finish()
    desk.crew.finish(mapper)


def _combiner(desk: Desk) -> Combine | None:
    return _combine if desk.order.step.combiner else None


def _combine(desk: Desk, run: Iterator[bytes], sink: IO[bytes]) -> None:
    assert desk.order.step.combiner is not None
    process = desk.start_user("combiner", desk.order.step.combiner, stdin=PIPE, stdout=PIPE)
    feed = Feed(process, run)
    assert process.stdout is not None
    for block in blocks_of(process.stdout):
        sink.write(block)
    feed.finish()
    desk.crew.finish(process)
    # A combiner that left early leaves lines unread; they belong to this partition, not the next.
    for _ in run:
        pass
