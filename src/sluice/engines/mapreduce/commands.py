"""Commands as mapper, combiner and reducer: the interface of Hadoop Streaming.

Wherever nothing has to be done to the lines on their way, one process writes straight into the
next; only lines that must be cut for several reduces, or by the ends of a split, pass through here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import IO

from sluice.engines.mapreduce.consumption import PipedBytes, pipe_inode, written_bytes
from sluice.engines.mapreduce.mapping import Combine, Feed, spill_sorted
from sluice.engines.mapreduce.partition import Partitioner
from sluice.engines.mapreduce.reducing import FETCH_SHARE, merged
from sluice.engines.mapreduce.spill import Segment, checked_lines
from sluice.engines.mapreduce.splits import blocks_of
from sluice.engines.mapreduce.task_context import TaskContext


def run_map(context: TaskContext) -> None:
    """One map task: a split through the mapper, into a spill file or a part file."""
    step = context.spec.step
    if not context.spec.segments:
        _write_part(context)
    elif context.spec.segments == 1 and not (step.combiner or context.spec.buffer) and step.mapper:
        _spill_straight(context)
    else:
        spill_sorted(
            context, lambda partitioner: _produce(context, partitioner), _combiner(context)
        )


def run_reduce(context: TaskContext) -> None:
    """One reduce task: the merged segments through the reducer, into a part file or a spill."""
    merge = merged(context)
    if context.spec.segments:
        spill_sorted(
            context, lambda partitioner: _reduce(context, merge, partitioner), _combiner(context)
        )
        return
    with context.part_file() as part:
        _start_reducer(context, merge, part)
        context.processes.finish()


def _reduce(context: TaskContext, merge: Popen[bytes] | None, partitioner: Partitioner) -> None:
    reducer = _start_reducer(context, merge, PIPE)
    assert reducer.stdout is not None
    for block in blocks_of(reducer.stdout):
        partitioner.write(block)
        context.watch.check()
    context.processes.finish(reducer)


def _start_reducer(
    context: TaskContext, merge: Popen[bytes] | None, stdout: int | IO[bytes]
) -> Popen[bytes]:
    """The reducer, which reads the merged lines, or nothing if there are none."""
    reducer = context.spec.step.reducer
    assert reducer is not None
    if merge is None:
        return context.start_user("reducer", reducer, stdin=DEVNULL, stdout=stdout)
    total_bytes = context.counters["input_bytes"]
    inode = pipe_inode(merge.stdout)  # our end of it is closed when the reducer has started
    process = context.start_user("reducer", reducer, stdin=merge.stdout, stdout=stdout)
    meter = PipedBytes(process, inode, lambda: written_bytes(merge, total_bytes))
    context.measure_merge(meter, FETCH_SHARE)
    return process


def _start_mapper(context: TaskContext, stdout: int | IO[bytes]) -> tuple[Popen[bytes], Feed]:
    assert context.spec.step.mapper is not None
    mapper = context.start_user("mapper", context.spec.step.mapper, stdin=PIPE, stdout=stdout)
    inode = pipe_inode(mapper.stdin)
    feed = Feed(mapper, context.input_blocks())
    context.measure_input(PipedBytes(mapper, inode, lambda: feed.written_bytes))
    return mapper, feed


def _write_part(context: TaskContext) -> None:
    with context.part_file() as part:
        _, feed = _start_mapper(context, part)
        feed.finish()
        context.processes.finish()


def _spill_straight(context: TaskContext) -> None:
    """One partition, nothing to combine: the mapper writes into `sort`, and that is the spill."""
    with context.open_spill() as file:
        mapper, feed = _start_mapper(context, PIPE)
        context.start_sort(stdin=mapper.stdout, stdout=file)
        feed.finish()
        context.processes.finish()
        size_bytes = file.seek(0, os.SEEK_END)
        lines = checked_lines(Path(file.name))
        context.hand_over_spill(file, [Segment(0, size_bytes, lines.total, lines.crc)])


def _produce(context: TaskContext, partitioner: Partitioner) -> None:
    if context.spec.step.mapper is None:
        for block in context.input_blocks():
            partitioner.write(block)
        return
    mapper, feed = _start_mapper(context, PIPE)
    assert mapper.stdout is not None
    for block in blocks_of(mapper.stdout):
        partitioner.write(block)
    feed.finish()
    context.processes.finish(mapper)


def _combiner(context: TaskContext) -> Combine | None:
    return _combine if context.spec.step.combiner else None


def _combine(context: TaskContext, run: Iterator[bytes], sink: IO[bytes]) -> None:
    assert context.spec.step.combiner is not None
    process = context.start_user("combiner", context.spec.step.combiner, stdin=PIPE, stdout=PIPE)
    feed = Feed(process, run)
    assert process.stdout is not None
    for block in blocks_of(process.stdout):
        sink.write(block)
    feed.finish()
    context.processes.finish(process)
    # Lines that the combiner did not read belong to this partition, not to the next.
    for _ in run:
        pass
