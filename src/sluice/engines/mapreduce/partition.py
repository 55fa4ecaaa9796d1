"""Cutting a map's output for the reduce tasks, before and after the sort.

Each line gets the number of its partition in front, in digits of one width, so that one `sort`
orders by (partition, key) and the lines of a partition come out together; the number is then taken
off again. Both is done for a megabyte at a time by `join` and `replace`, which run at the speed of
memory; what is left to do line by line is one look into a dictionary of lines seen before.

A key goes to partition crc32(key bytes) mod reduces, the key being the bytes before the first TAB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Protocol
from zlib import crc32

LINES_KEPT = 100_000
LINE_BYTES_KEPT = 200


def prefixes(reduces: int) -> list[bytes]:
    """The prefix of the lines of each partition; empty if there is only one.

    >>> prefixes(11)[9:]
    [b'09', b'10']
    """
    width = len(str(reduces - 1)) if reduces > 1 else 0
    return [b"%0*d" % (width, number) if width else b"" for number in range(reduces)]


class Sink(Protocol):
    """Takes whole lines."""

    def write(self, data: bytes, /) -> object: ...
    def close(self) -> None: ...


class Partitioner:
    """Takes bytes in any cut and writes prefixed, whole lines to `sink`."""

    def __init__(self, reduces: int, sink: Sink) -> None:
        self._sink = sink
        self._started: list[bytes] = []
        self._router = _Router(reduces)
        self._prefixes = prefixes(reduces)

    def write(self, data: bytes) -> None:
        """Some more bytes of the map's output."""
        cut_at = data.rfind(b"\n") + 1
        if not cut_at:
            self._started.append(data)
            return
        self._route(b"".join((*self._started, data[:cut_at])))
        self._started = [data[cut_at:]] if cut_at < len(data) else []

    def close(self) -> None:
        """There is no more; a last line without newline gets one."""
        left = b"".join(self._started)
        if left:
            self._route(left + b"\n")
        self._sink.close()

    def _route(self, block: bytes) -> None:
        if len(self._prefixes) == 1:
            self._sink.write(block)
            return
        lines = block.split(b"\n")
        lines.pop()
        router = self._router
        for line in lines:
            router[line](line)
        for prefix, kept in zip(self._prefixes, router.partitions, strict=True):
            if kept:
                self._sink.write(prefix + (b"\n" + prefix).join(kept) + b"\n")
                kept.clear()
        if len(router) > LINES_KEPT:
            router.clear()


class _Router(dict[bytes, Callable[[bytes], None]]):
    """line -> the `append` of its partition, worked out when a line is seen first."""

    def __init__(self, reduces: int) -> None:
        super().__init__()
        self.partitions: list[list[bytes]] = [[] for _ in range(reduces)]

    def __missing__(self, line: bytes) -> Callable[[bytes], None]:
        key = line.partition(b"\t")[0]
        append = self.partitions[crc32(key) % len(self.partitions)].append
        if len(line) < LINE_BYTES_KEPT:
            self[line] = append
        return append


def partitions(blocks: Iterator[bytes], reduces: int) -> Iterator[tuple[int, Iterator[bytes]]]:
    """Sorted, prefixed lines as (partition, its lines without prefix), partitions rising.

    blocks: whole lines.  A partition without lines is left out.
    """
    for number, group in groupby(_stripped(blocks, reduces), key=itemgetter(0)):
        yield number, (block for _, block in group)


def _stripped(blocks: Iterator[bytes], reduces: int) -> Iterator[tuple[int, bytes]]:
    width = len(prefixes(reduces)[0])
    for block in blocks:
        if not width:
            yield 0, block
            continue
        start = 0
        while start < len(block):
            prefix = block[start : start + width]
            # Newline and prefix together are at line starts only: the last such place in the
            # block begins the last line of this partition, for the partitions come in order.
            last = max(start, block.rfind(b"\n" + prefix, start) + 1)
            end = block.index(b"\n", last) + 1
            yield int(prefix), block[start + width : end].replace(b"\n" + prefix, b"\n")
            start = end
