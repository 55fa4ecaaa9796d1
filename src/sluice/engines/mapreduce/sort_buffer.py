"""Map output in a bounded buffer: full buffers become sorted runs, and runs are merged.

As in Hadoop, a buffer is full when its data or its metadata have filled their share. Each full one
is sorted and written as a run. At the end, runs that lie next to each other are merged, as many at
once as the merge width says, until one merge is left; that one writes the output. All of it is
stable, so no setting changes a byte of the output. An output that fits into the buffer is written
once.

Counted are the bytes that are written and read again because of the buffer, and the output itself.
"""

from __future__ import annotations

from pathlib import Path
from subprocess import PIPE, Popen
from typing import IO

from sluice.engines.mapreduce.partition import prefixes
from sluice.engines.mapreduce.reducing import merge_files
from sluice.engines.mapreduce.splits import blocks_of
from sluice.engines.mapreduce.task_context import TaskContext
from sluice.model.buffers import BufferSetting

METADATA_BYTES = 16  # of each record, as in Hadoop
_SORT_LINE_BYTES = 32  # that `sort` keeps of each line, on 64-bit machines
_SORT_SPARE_BYTES = 1 << 16
UNFILLED = {"spills": 1, "spilled_bytes": 0, "merge_passes": 0}  # the output is the only spill


class SortedRuns:
    """The sorted runs of one attempt, in the order in which their lines were written."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._paths: list[Path] = []
        self._files = 0

    def __len__(self) -> int:
        return len(self._paths)

    def next_path(self) -> Path:
        """A new file's name; sorted lines are to be written there before the next call."""
        self._paths.append(path := self._new_path())
        return path

    def merged(self) -> IO[bytes]:
        """All lines of the runs, sorted, from the last merge.

        Without a buffer `sort` merges as many at once as it can, and nothing is counted.
        """
        buffer = self._context.buffer
        if buffer is not None:
            self._merge_until_few(buffer.merge_width)
        return _output(merge_files(self._context, self._paths))

    def _merge_until_few(self, width: int) -> None:
        """Merge runs until the last merge can take all of them, and count for it too."""
        count = self._context.counters
        count["spills"] = len(self._paths)
        count["spilled_bytes"] = sum(map(_size, self._paths))
        count["merge_passes"] = 1
        while len(self._paths) > width:
            starts = range(0, len(self._paths), width)
            self._paths = [self._merge(self._paths[at : at + width]) for at in starts]
            count["merge_passes"] += 1
        count["spilled_bytes"] += sum(map(_size, self._paths))  # read by the last merge

    def _merge(self, paths: list[Path]) -> Path:
        """These runs as one; a single one stays as it is."""
        if len(paths) == 1:
            return paths[0]
        target = self._new_path()
        written_bytes = _write(self._context, merge_files(self._context, paths), target)
        self._context.counters["spilled_bytes"] += 2 * written_bytes  # what is written was read
        for path in paths:
            path.unlink()
        return target

    def _new_path(self) -> Path:
        self._files += 1
        return self._context.folder / f"run-{self._files:06}"


class SortBuffer:
    """A sink for prefixed, whole lines, which holds as many of them as a buffer setting allows."""

    def __init__(self, context: TaskContext, setting: BufferSetting) -> None:
        self._context = context
        self._runs = SortedRuns(context)
        self._prefix_bytes = len(prefixes(context.spec.segments)[0])
        self._bytes_max = setting.spill_bytes
        self._records_max = max(1, int(setting.spill_metadata_bytes / METADATA_BYTES))
        line_bytes = self._prefix_bytes + _SORT_LINE_BYTES
        self._memory_bytes = int(self._bytes_max) + line_bytes * self._records_max
        self._bytes = self._records = 0
        self._sorter: Popen[bytes] | None = None

    def write(self, data: bytes) -> None:
        """Some more lines."""
        while data:
            end = self._end_of_room(data)
            if not end:
                self._spill()
                continue
            stdin = self._started().stdin
            assert stdin is not None
            stdin.write(data[:end])
            records = data.count(b"\n", 0, end)
            self._records += records
            self._bytes += end - records * self._prefix_bytes
            data = data[end:]

    def close(self) -> None:
        """There are no more lines."""

    def sorted(self) -> IO[bytes]:
        """All lines, sorted. What the reader writes of them is counted as the output."""
        if not self._runs:
            sorter = self._started()
            self._context.counters |= UNFILLED
            return _output(sorter)
        self._spill()
        return self._runs.merged()

    def _end_of_room(self, data: bytes) -> int:
        """Where the lines end that have room; an empty buffer takes any line."""
        records = data.count(b"\n")
        size = len(data) - records * self._prefix_bytes
        if self._bytes + size <= self._bytes_max and self._records + records <= self._records_max:
            return len(data)
        end, size, records = 0, self._bytes, self._records
        while end < len(data):
            after = data.index(b"\n", end) + 1
            size += after - end - self._prefix_bytes
            records += 1
            if records > 1 and (size > self._bytes_max or records > self._records_max):
                break
            end = after
        return end

    def _started(self) -> Popen[bytes]:
        if self._sorter is None:
            memory_bytes = self._memory_bytes + _SORT_SPARE_BYTES
            self._sorter = self._context.start_sort(
                stdin=PIPE, stdout=PIPE, memory_bytes=memory_bytes
            )
        return self._sorter

    def _spill(self) -> None:
        """Write a full buffer as a run."""
        if self._sorter is not None:
            _write(self._context, self._sorter, self._runs.next_path())
        self._sorter = None
        self._bytes = self._records = 0


def _output(process: Popen[bytes]) -> IO[bytes]:
    """The output of a process that gets no more input."""
    if process.stdin is not None:
        process.stdin.close()
    assert process.stdout is not None
    return process.stdout


def _write(context: TaskContext, process: Popen[bytes], target: Path) -> int:
    """All output of a process, in a file; how many bytes that is."""
    with target.open("wb") as file:
        for block in blocks_of(_output(process)):
            file.write(block)
            context.watch.check()
    context.processes.finish(process)
    return _size(target)


def _size(path: Path) -> int:
    return path.stat().st_size
