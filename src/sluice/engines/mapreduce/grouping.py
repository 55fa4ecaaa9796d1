"""The pairs of a split, grouped by key in memory, combined there, and cut for the reduces.

When groups grow too big, they are written out as a run that is sorted and prefixed like a map's
output on its way to `sort`; runs are merged at the end. Keys that are not text are encoded in the
groups, because 1, 1.0 and True are one key in a dictionary.

The cost of a distinct key matters most, because most words of a language are rare. So text keys are
encoded thousands at a time, and there is no generator between a group and its line.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import IO, Any
from zlib import crc32

from sluice.engines.mapreduce.codec import decode, encode, encode_texts, encode_values
from sluice.engines.mapreduce.loading import Pairs
from sluice.engines.mapreduce.mapping import sorted_segments
from sluice.engines.mapreduce.partition import prefixes
from sluice.engines.mapreduce.sort_buffer import UNFILLED, SortedRuns
from sluice.engines.mapreduce.spill import Segment
from sluice.engines.mapreduce.splits import blocks_of
from sluice.engines.mapreduce.task_context import TaskContext

TAKEN = 256  # pairs at once, between two checks of the size: few enough to stay in the cache
ENCODED = 4096  # keys at once
LONG = 64  # values of one key that are worth combining before the end
VALUES_PER_LINE = 1000
COMBINE_BYTES = 64 << 20
SPILL_BYTES = 320 << 20
KEY_BYTES = 200  # of a dictionary entry, a short key and a list
SHARED_INTS = range(-5, 257)  # of which Python keeps one each

Key = str | bytes
Combiner = Callable[[Any, Iterable[Any]], Pairs | None]


class Grouping:
    """The values of a split by key, kept small by combining, and by sorted runs on disk."""

    def __init__(self, context: TaskContext, combiner: Combiner | None) -> None:
        self._context = context
        self._combiner = combiner
        self._groups: defaultdict[Key, list[Any]] = defaultdict(list)
        self._runs = SortedRuns(context)
        self._value_bytes = 0.0
        buffer = context.buffer
        # A group has no metadata of its own, so the whole buffer is for keys and values.
        self._full_bytes = SPILL_BYTES if buffer is None else buffer.bytes * buffer.spill_threshold
        self._combine_from_bytes = min(COMBINE_BYTES, self._full_bytes / 2)
        self._combine_at_bytes = self._combine_from_bytes

    def take(self, pairs: Pairs) -> None:
        """Group all pairs."""
        groups = self._groups
        pairs = iter(pairs)
        while chunk := list(islice(pairs, TAKEN)):
            for key, value in chunk:
                groups[key if type(key) is str else encode(key)].append(value)
            self._value_bytes += len(chunk) * _value_bytes(chunk)
            if self._value_bytes > self._combine_at_bytes and self._combiner is not None:
                self._combine_long()
            if self._value_bytes + KEY_BYTES * len(groups) > self._full_bytes:
                self._write_run()
                self._context.watch.check()

    def spill(self) -> None:
        """Hand over all groups, with one segment for each reduce."""
        if self._runs:
            self._write_run()
            sorted_segments(self._context, blocks_of(self._runs.merged()), mark=b"\t")
            return
        if self._context.spec.buffer is not None:
            self._context.counters |= UNFILLED
        with self._context.open_spill() as file:
            segments = []
            for data in self._sorted_partitions():
                records = data.count(b"\t")
                segments.append(Segment(file.tell(), len(data), records, crc32(data)))
                file.write(data)
                self._context.watch.moved_bytes += len(data)
            self._context.hand_over_spill(file, segments)

    def _combine_long(self) -> None:
        """Combine long groups; the size of the rest is estimated by the number of values."""
        before = sum(map(len, self._groups.values()))
        self._combine(LONG)
        self._value_bytes *= sum(map(len, self._groups.values())) / before
        # A combiner that makes nothing smaller is not called again for every chunk.
        self._combine_at_bytes = max(self._combine_from_bytes, 2 * self._value_bytes)

    def _combine(self, values_min: int) -> None:
        """Combine each group of at least `values_min` values in place; new keys get a group."""
        combiner = self._combiner
        assert combiner is not None
        strays: list[tuple[Key, Any]] = []
        for code, values in self._groups.items():
            if len(values) < values_min:
                continue
            key = code if isinstance(code, str) else decode(code)
            combined = []
            for other, value in combiner(key, iter(values)) or ():
                if other is key:
                    combined.append(value)
                else:
                    strays.append((other if type(other) is str else encode(other), value))
            values[:] = combined
        for other, value in strays:
            self._groups[other].append(value)

    def _sorted_partitions(self) -> Iterator[bytes]:
        """For each reduce its lines, sorted; the groups are empty then."""
        if self._combiner is not None:
            self._combine(2)  # a combiner may also not run, so a single value is left as it is
        partitions: list[list[bytes]] = [[] for _ in range(self._context.spec.segments)]
        for code, values in self._encoded():
            lines = partitions[crc32(code) % len(partitions)]
            if 0 < len(values) <= VALUES_PER_LINE:
                lines.append(code + b"\t" + encode_values(values))
                continue
            for start in range(0, len(values), VALUES_PER_LINE):
                some = values[start : start + VALUES_PER_LINE]
                lines.append(code + b"\t" + encode_values(some))
        self._groups.clear()
        for lines in partitions:
            lines.sort()
            yield b"\n".join(lines) + b"\n" if lines else b""
            lines.clear()

    def _encoded(self) -> Iterator[tuple[bytes, list[Any]]]:
        keys, groups = iter(self._groups), iter(self._groups.values())
        while some := list(islice(keys, ENCODED)):
            texts = [key for key in some if isinstance(key, str)]
            if len(texts) == len(some):
                yield from zip(encode_texts(texts), groups, strict=False)
            else:
                codes = (encode(key) if isinstance(key, str) else key for key in some)
                yield from zip(codes, groups, strict=False)

    def _write_run(self) -> None:
        path = self._runs.next_path()
        numbers = prefixes(self._context.spec.segments)
        with path.open("wb") as file:
            for prefix, data in zip(numbers, self._sorted_partitions(), strict=True):
                _write_prefixed(file, prefix, data)
        self._value_bytes = 0.0


def _write_prefixed(file: IO[bytes], prefix: bytes, data: bytes) -> None:
    if data:
        file.write(prefix + data[:-1].replace(b"\n", b"\n" + prefix) + b"\n")


def _value_bytes(chunk: list[tuple[Any, Any]]) -> float:
    """Mean size of a value of these, estimated from a sample."""
    sample = chunk[:: 1 + len(chunk) // 8]
    return 8 + sum(_object_bytes(value) for _, value in sample) / len(sample)


def _object_bytes(value: Any) -> int:  # noqa: ANN401  # any value of the user's
    """Size of a value; that of a container is estimated from its encoded text."""
    if isinstance(value, int) and value in SHARED_INTS:
        return 0
    if isinstance(value, str | bytes | int | float):
        return sys.getsizeof(value)
    return 8 * len(encode(value))
