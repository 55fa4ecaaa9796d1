"""Python functions as mapper, combiner and reducer, in an interpreter that is warm already.

    mapper(line)            line: text without its line end; bytes that are no UTF-8 are kept as
                            surrogate escapes
    combiner(key, values)   may run any number of times, also never
    reducer(key, values)    values: an iterator, in no promised order

Each gives (key, value) pairs, as a generator or in a list; None is taken for no pairs. A map groups
the values of its split by key in memory and combines them there, so that a word count writes each
word once; when that grows too big, it is written out as a sorted run, and runs are merged at the
end. Keys that are not text stand in the groups encoded, because to a dictionary 1, 1.0 and True
would be one key.
"""

from __future__ import annotations

import gc
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any
from zlib import crc32

from sluice.engines.work.codec import decode, encode, encode_str, encode_values, output_line
from sluice.engines.work.desk import Desk
from sluice.engines.work.loading import Functions, Pairs, functions, load
from sluice.engines.work.mapping import blocks_of, sorted_segments
from sluice.engines.work.partition import prefixes
from sluice.engines.work.reducing import merge_files, merged
from sluice.engines.work.spill import Segment
from sluice.engines.work.splits import whole_lines

CHUNK = 4096  # pairs that are taken at once, between looks at how big things have grown
LONG = 64  # values of one key that are worth combining before the end
VALUES_PER_LINE = 1000
COMBINE_BYTES = 64 << 20
SPILL_BYTES = 256 << 20
KEY_BYTES = 250  # of a dictionary entry, a short key and a list

Key = str | bytes


def run_map(desk: Desk) -> None:
    """One map task: a split through the mapper, into a spill file or a part file."""
    parts = _loaded(desk)
    pairs = _mapped(desk, parts)
    if not desk.order.reduces:
        _write_part(desk, pairs)
        return
    # Millions of small lists that are all alive give the collector nothing to find, and much to do.
    gc.freeze()
    gc.set_threshold(200_000, 50, 1000)
    grouping = _Grouping(desk, parts)
    grouping.take(pairs)
    grouping.spill()


def run_reduce(desk: Desk) -> None:
    """One reduce task: the merged segments through the reducer, into a part file."""
    parts = _loaded(desk)
    merge = merged(desk)
    lines: Iterable[bytes] = ()
    if merge is not None:
        assert merge.stdout is not None
        lines = merge.stdout
    _write_part(desk, _reduced(lines, parts))


def _loaded(desk: Desk) -> Functions:
    assert desk.order.step.python is not None
    return functions(load(desk.order.folder, desk.order.step.python))


def _mapped(desk: Desk, parts: Functions) -> Iterator[tuple[Any, Any]]:
    mapper = parts.mapper
    return chain.from_iterable(mapper(line) or () for line in _lines(desk))


def _lines(desk: Desk) -> Iterator[str]:
    for block in whole_lines(desk.input_blocks()):
        text = block.decode("utf-8", "surrogateescape")
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        yield from [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _reduced(lines: Iterable[bytes], parts: Functions) -> Iterator[tuple[Any, Any]]:
    assert parts.reducer is not None
    records = (line[:-1].split(b"\t") for line in lines)
    for code, group in groupby(records, key=itemgetter(0)):
        values = (decode(value) for record in group for value in record[1:])
        yield from parts.reducer(decode(code), values) or ()


def _write_part(desk: Desk, pairs: Iterator[tuple[Any, Any]]) -> None:
    with desk.part_file() as part:
        while chunk := list(islice(pairs, CHUNK)):
            text = "".join([output_line(key, value) for key, value in chunk])
            part.write(text.encode("utf-8", "surrogateescape"))
            desk.watch.check()


class _Grouping:
    """The values of a split by key, kept small by combining, and by sorted runs on disk."""

    def __init__(self, desk: Desk, parts: Functions) -> None:
        self._desk = desk
        self._combiner = parts.combiner
        self._groups: defaultdict[Key, list[Any]] = defaultdict(list)
        self._runs: list[Path] = []
        self._value_bytes = 0.0
        self._combine_at_bytes = COMBINE_BYTES

    def take(self, pairs: Pairs) -> None:
        """Group all pairs."""
        groups = self._groups
        pairs = iter(pairs)
        while chunk := list(islice(pairs, CHUNK)):
            for key, value in chunk:
                groups[key if type(key) is str else encode(key)].append(value)
            self._value_bytes += CHUNK * _value_bytes(chunk)
            if self._value_bytes > self._combine_at_bytes and self._combiner is not None:
                self._combine_long()
            if self._value_bytes + KEY_BYTES * len(groups) > SPILL_BYTES:
                self._write_run()
                self._desk.watch.check()

    def spill(self) -> None:
        """Hand over everything, one segment for each reduce."""
        if self._runs:
            self._write_run()
            merge = merge_files(self._desk, self._runs)
            assert merge.stdout is not None
            sorted_segments(self._desk, blocks_of(merge.stdout), mark=b"\t")
            return
        with self._desk.spill_path.open("w+b") as file:
            segments = []
            for data in self._sorted_partitions():
                segments.append(Segment(file.tell(), len(data), data.count(b"\t")))
                file.write(data)
                self._desk.watch.moved_bytes += len(data)
            self._desk.hand_over_spill(file, segments)

    def _combine_long(self) -> None:
        """Combine where it pays; what stays is weighed again by how many values there were."""
        groups = self._groups
        before = sum(map(len, groups.values()))
        for key in [key for key, values in groups.items() if len(values) > LONG]:
            for other, value in self._combined(key, groups.pop(key)):
                groups[other].append(value)
        self._value_bytes *= sum(map(len, groups.values())) / before
        # A combiner that makes nothing smaller is not asked again at every turn.
        self._combine_at_bytes = max(COMBINE_BYTES, int(2 * self._value_bytes))

    def _combined(self, key: Key, values: list[Any]) -> Iterator[tuple[Key, Any]]:
        assert self._combiner is not None
        pairs = self._combiner(key if isinstance(key, str) else decode(key), iter(values)) or ()
        for other, value in pairs:
            yield other if type(other) is str else encode(other), value

    def _records(self) -> Iterator[tuple[Key, list[Any]]]:
        groups = self._groups
        if self._combiner is None:
            yield from groups.items()
            return
        for key, values in groups.items():
            if len(values) == 1:  # a combiner may also run not at all
                yield key, values
                continue
            for other, same in groupby(self._combined(key, values), key=itemgetter(0)):
                yield other, [value for _, value in same]

    def _sorted_partitions(self) -> Iterator[bytes]:
        """For each reduce its lines, sorted; the groups are empty then."""
        partitions: list[list[bytes]] = [[] for _ in range(self._desk.order.reduces)]
        for key, values in self._records():
            code = encode_str(key) if isinstance(key, str) else key
            lines = partitions[crc32(code) % len(partitions)]
            if len(values) <= VALUES_PER_LINE:
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

    def _write_run(self) -> None:
        path = self._desk.folder / f"run-{len(self._runs):06}"
        with path.open("wb") as file:
            for prefix, data in zip(
                prefixes(self._desk.order.reduces), self._sorted_partitions(), strict=True
            ):
                _write_prefixed(file, prefix, data)
        self._runs.append(path)
        self._value_bytes = 0.0


def _write_prefixed(file: IO[bytes], prefix: bytes, data: bytes) -> None:
    if data:
        file.write(prefix + data[:-1].replace(b"\n", b"\n" + prefix) + b"\n")


def _value_bytes(chunk: list[tuple[Any, Any]]) -> float:
    """What one value of these takes, judged by some; containers by their encoded text."""
    sample = chunk[:: 1 + len(chunk) // 8]
    sizes = [
        sys.getsizeof(value)
        if isinstance(value, str | bytes | int | float)
        else 8 * len(encode(value))
        for _, value in sample
    ]
    return 8 + sum(sizes) / len(sizes)
