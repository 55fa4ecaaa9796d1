"""Steps of an mrjob class, run in a forked child of an interpreter that has loaded it already.

The class reads and writes lines through its own protocols, which decide the wire format; the lines
are partitioned, sorted and merged like those of commands. Source: mrjob 0.7.4, `MRJob.run_mapper`,
`run_combiner` and `run_reducer`, which are what its own runners call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from sluice.engines.mapreduce.consumption import ConsumedLines, lines_of
from sluice.engines.mapreduce.loading import load
from sluice.engines.mapreduce.mapping import spill_sorted
from sluice.engines.mapreduce.partition import Partitioner
from sluice.engines.mapreduce.reducing import merged_lines
from sluice.engines.mapreduce.splits import BLOCK_BYTES, whole_lines
from sluice.engines.mapreduce.task_context import TaskContext


def run_map(context: TaskContext) -> None:
    """One map task of a step."""
    if not context.spec.segments:
        with context.part_file() as part:
            _map(context, part.write)
        return
    combine = _combine if context.spec.step.has_combiner else None
    spill_sorted(context, lambda partitioner: _produce(context, partitioner), combine)


def run_reduce(context: TaskContext) -> None:
    """One reduce task of a step."""
    lines = merged_lines(context, lines_of)
    with context.part_file() as part:
        _run(context, "reducer", lines, part.write)


def _produce(context: TaskContext, partitioner: Partitioner) -> None:
    _map(context, partitioner.write)


def _map(context: TaskContext, write: Callable[[bytes], object]) -> None:
    if context.spec.step.has_mapper:
        meter = ConsumedLines()
        context.measure_input(meter)
        lines = meter.lines(whole_lines(context.input_blocks()), lines_of)
        _run(context, "mapper", lines, write)
    else:
        for block in context.input_blocks():
            write(block)


def _combine(context: TaskContext, run: Iterator[bytes], sink: IO[bytes]) -> None:
    lines = (line for block in whole_lines(run) for line in lines_of(block))
    _run(context, "combiner", lines, sink.write)
    for _ in run:  # lines that the combiner left unread belong to this partition, not the next
        pass


def _run(
    context: TaskContext, part: str, lines: Iterable[bytes], write: Callable[[bytes], object]
) -> None:
    step = context.spec.step
    assert step.python is not None
    job: Any = load(context.spec.folder, step.python)([f"--step-num={step.number}", f"--{part}"])
    out = _Gathered(write)
    job.sandbox(stdin=lines, stdout=out, stderr=sys.stderr.buffer)
    getattr(job, f"run_{part}")(step.number)
    out.flush()


class _Gathered:
    """Takes the small pieces that a job writes, and passes them on a megabyte at a time."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write_on = write
        self._pieces: list[bytes] = []
        self._bytes = 0

    def write(self, piece: bytes) -> None:
        """The method of a file."""
        self._pieces.append(piece)
        self._bytes += len(piece)
        if self._bytes > BLOCK_BYTES:
            self.flush()

    def flush(self) -> None:
        """The method of a file."""
        self._write_on(b"".join(self._pieces))
        self._pieces.clear()
        self._bytes = 0
