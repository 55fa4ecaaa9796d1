"""The second half of every map of lines: partition, sort, combine, spill."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from subprocess import PIPE, Popen
from typing import IO, BinaryIO
from zlib import crc32

from sluice.engines.mapreduce.partition import Partitioner, partitions
from sluice.engines.mapreduce.sort_buffer import SortBuffer
from sluice.engines.mapreduce.spill import Segment
from sluice.engines.mapreduce.splits import blocks_of, whole_lines
from sluice.engines.mapreduce.task_context import TaskContext

PIPE_BYTES = 1 << 16  # what a pipe holds

Combine = Callable[[TaskContext, Iterator[bytes], IO[bytes]], None]
Produce = Callable[[Partitioner], None]


def spill_sorted(context: TaskContext, produce: Produce, combine: Combine | None) -> None:
    """Sort the lines of `produce`, combine each partition's run, and hand the spill over."""
    if context.buffer is not None:
        buffer = SortBuffer(context, context.buffer)
        produce(partitioner := Partitioner(context.spec.segments, buffer))
        partitioner.close()
        sorted_segments(context, blocks_of(buffer.sorted()), combine=combine)
        return
    sorter = context.start_sort(stdin=PIPE, stdout=PIPE)
    assert sorter.stdin is not None
    assert sorter.stdout is not None
    partitioner = Partitioner(context.spec.segments, sorter.stdin)
    produce(partitioner)
    partitioner.close()
    sorted_segments(context, blocks_of(sorter.stdout), combine=combine)


def sorted_segments(
    context: TaskContext,
    blocks: Iterator[bytes],
    *,
    combine: Combine | None = None,
    mark: bytes = b"\n",
) -> None:
    """Sorted, prefixed lines into a spill that is handed over; a record is one `mark`."""
    with context.open_spill() as file:
        segments = [Segment(0, 0, 0)] * context.spec.segments
        for number, run in partitions(whole_lines(blocks), context.spec.segments):
            lines = run if combine is None else _combined(context, run, combine)
            segments[number] = _write_segment(file, lines, mark)
            context.watch.check()
        context.processes.finish()
        context.hand_over_spill(file, _placed(segments))


def _write_segment(file: BinaryIO, run: Iterator[bytes], mark: bytes) -> Segment:
    start, records, crc = file.tell(), 0, 0
    for block in run:
        file.write(block)
        records += block.count(mark)
        crc = crc32(block, crc)
    return Segment(start, file.tell() - start, records, crc)


def _combined(context: TaskContext, run: Iterator[bytes], combine: Combine) -> Iterator[bytes]:
    """The combiner's output for a run, sorted again: it need not keep the order."""
    sorter = context.start_sort(stdin=PIPE, stdout=PIPE)
    assert sorter.stdin is not None
    assert sorter.stdout is not None
    combine(context, run, sorter.stdin)
    sorter.stdin.close()
    yield from blocks_of(sorter.stdout)
    context.processes.finish(sorter)


def _placed(segments: list[Segment]) -> list[Segment]:
    """The segments with an offset for the empty ones too."""
    placed, end = [], 0
    for segment in segments:
        placed.append(segment if segment.length else Segment(end, 0, 0))
        end += segment.length
    return placed


class Feed(threading.Thread):
    """Writes blocks to a process that may exit early, while its output is read elsewhere.

    written_bytes: how many bytes the pipe has taken so far.
    """

    def __init__(self, process: Popen[bytes], blocks: Iterator[bytes]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._blocks = blocks
        self._failure: BaseException | None = None
        self.written_bytes = 0
        self.start()

    def run(self) -> None:
        """The thread's work."""
        assert self._process.stdin is not None
        try:
            with self._process.stdin as stdin:
                for block in self._blocks:
                    view = memoryview(block)
                    # A pipe takes no more at once, and what it took is counted.
                    for start in range(0, len(block), PIPE_BYTES):
                        stdin.write(view[start : start + PIPE_BYTES])
                        stdin.flush()
                        self.written_bytes += min(PIPE_BYTES, len(block) - start)
        except BrokenPipeError:
            return  # it needs no more; its exit code says whether that was a failure
        except BaseException as failure:  # noqa: BLE001  # raised again where the thread is awaited
            self._failure = failure

    def finish(self) -> None:
        """Wait for the last byte. Raises the error that kept the blocks from being read."""
        self.join()
        if self._failure is not None:
            raise self._failure
