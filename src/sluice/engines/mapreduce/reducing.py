"""The first half of every reduce: fetch its segment of each map's output, and merge them.

`sort` merges the fetched copies, so the checksum of a segment is compared with that of its copy. A
copy that was just written is still in memory: reading it costs little, and finds damage on either
disk.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import PIPE, Popen
from typing import IO, BinaryIO

from sluice.engines.mapreduce.consumption import ConsumedLines, ConsumedTogether, Cut, Line
from sluice.engines.mapreduce.early_fetch import Fetched, fetched_early
from sluice.engines.mapreduce.errors import WorkFailed
from sluice.engines.mapreduce.spill import Segment, SpillBroken, file_crc, read_index
from sluice.engines.mapreduce.splits import BLOCK_BYTES, whole_lines
from sluice.engines.mapreduce.task_context import TaskContext
from sluice.engines.mapreduce.task_spec import Source

FETCH_SHARE = 1 / 3  # of a reduce's progress, as in Hadoop
PIPE_BYTES = 1 << 16  # what a pipe holds
OUR_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def fetch(context: TaskContext) -> dict[int, list[Path]]:
    """Copies of all segments of this reduce that are not empty, by phase, in task order.

    Raises WorkFailed blaming every task whose output is missing or damaged.
    """
    sources = context.spec.sources
    whole: dict[tuple[int, int, int], Path] = {}
    lost: list[tuple[Source, Exception]] = []
    for number, (source, target, segment) in enumerate(_segments(context)):
        if isinstance(segment, Exception):
            if isinstance(segment, OSError) and segment.errno in OUR_DISK:
                raise segment
            lost.append((source, segment))
        elif segment.length:
            whole[source.phase, source.task, source.segment] = target
            context.counters["shuffle_bytes"] += segment.length
            context.counters["input_bytes"] += segment.length
            context.counters["input_records"] += segment.records
        context.watch.fraction = FETCH_SHARE * (number + 1) / len(sources)
    if lost:
        first, reason = lost[0]
        blames = list(dict.fromkeys((source.phase, source.task) for source, _ in lost))
        outputs = "1 map output is" if len(blames) == 1 else f"{len(blames)} map outputs are"
        raise WorkFailed(f"{outputs} lost or damaged: {first.path!r}: {reason}", blames)
    context.fetched()
    fetched: dict[int, list[Path]] = {source.phase: [] for source in sources}
    for source in sources:  # early ones came in another order
        path = whole.get((source.phase, source.task, source.segment))
        if path is not None:
            fetched[source.phase].append(path)
    return fetched


def _segments(context: TaskContext) -> Iterator[Fetched]:
    """For each map: the file for its segment, and what was copied there, or why it cannot be."""
    if context.spec.is_early:
        return fetched_early(context, _copies)
    wanted = [
        (source, context.folder / f"segment-{number:06}")
        for number, source in enumerate(context.spec.sources)
    ]
    return _copies(context, wanted)


def _copies(context: TaskContext, wanted: Sequence[tuple[Source, Path]]) -> Iterator[Fetched]:
    """Copies of some segments, in order."""
    if context.exchange is None:
        for source, target in wanted:
            yield source, target, copied_segment(context, source.path, source.segment, target)
        return

    def copied(path: str, number: int, target: Path) -> Segment | Exception:
        return copied_segment(context, path, number, target)

    found = context.exchange.segments(wanted, copied, context.count_moved)
    yield from ((*pair, segment) for pair, segment in zip(wanted, found, strict=True))


def copied_segment(
    context: TaskContext, path: str, number: int, target: Path
) -> Segment | Exception:
    """A segment of a spill file of this machine, copied; or why it cannot be."""
    try:
        return _copied(context, Path(path), number, target)
    except (OSError, SpillBroken, ValueError) as error:
        return error


def _copied(context: TaskContext, path: Path, number: int, target: Path) -> Segment:
    with path.open("rb") as file:
        segments = read_index(file)
        if number >= len(segments):
            raise SpillBroken("it has no such segment")
        segment = segments[number]
        if not segment.length:
            return segment
        with target.open("wb") as copy:
            _copy(context, file, segment, copy)
    if file_crc(target) != segment.crc:
        raise SpillBroken("its bytes do not have the checksum that its index gives")
    return segment


def _copy(context: TaskContext, file: BinaryIO, segment: Segment, copy: BinaryIO) -> None:
    position, left = segment.offset, segment.length
    while left:
        copied = os.sendfile(copy.fileno(), file.fileno(), position, min(left, 16 * BLOCK_BYTES))
        if not copied:
            raise SpillBroken("it was cut short while it was read")
        position, left = position + copied, left - copied
        context.watch.moved_bytes += copied
        context.watch.check()


def merged(context: TaskContext) -> Popen[bytes] | None:
    """A process that writes all lines of this reduce, sorted; None if there are no lines.

    Lines of one key come in the order of the phases, and of the tasks, that wrote them.
    """
    segments = [path for paths in fetch(context).values() for path in paths]
    if not segments:
        return None
    return merge_files(context, segments)


def merged_lines(context: TaskContext, cut: Cut[Line]) -> Iterator[Line]:
    """All lines of this reduce, sorted, for Python code; its progress is what it takes of them.

    cut: makes of some lines what the code takes one by one.
    """
    meter = ConsumedLines()
    lines = _lines_of(merged(context), meter, cut)
    context.measure_merge(meter, FETCH_SHARE)
    return lines


def merged_by_phase(context: TaskContext, cut: Cut[Line]) -> list[Iterator[Line]]:
    """The lines of this reduce, sorted, apart for each phase that it reads. cut: as above."""
    fetched = fetch(context)
    merges = [merge_files(context, paths) if paths else None for paths in fetched.values()]
    meters = [ConsumedLines() for _ in merges]
    context.measure_merge(ConsumedTogether(meters), FETCH_SHARE)
    return [_lines_of(process, meter, cut) for process, meter in zip(merges, meters, strict=True)]


def _lines_of(process: Popen[bytes] | None, meter: ConsumedLines, cut: Cut[Line]) -> Iterator[Line]:
    if process is None:
        return iter(())
    assert process.stdout is not None
    return meter.lines(whole_lines(_pieces(process.stdout)), cut)


def _pieces(pipe: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a pipe as they come, so that `sort` goes on while they are worked on."""
    while piece := os.read(pipe.fileno(), PIPE_BYTES):
        yield piece


def merge_files(context: TaskContext, paths: Sequence[Path]) -> Popen[bytes]:
    """A process that writes the lines of files that are sorted already, sorted."""
    merge_list = paths[0].with_name(f"{paths[0].name}.merge-list")  # others may be merged as well
    merge_list.write_bytes(b"".join(os.fsencode(path) + b"\0" for path in paths))
    return context.start_sort(stdin=None, stdout=PIPE, merge_list=merge_list)
