"""Logs as a bad disk, a full disk or an enemy would leave them.

`mutated(content, seed)` is one of them, always the same for one seed; `SEEDS` hold every kind of
damage several times.
"""

from __future__ import annotations

import functools
import gzip
import random
from collections.abc import Callable

from tests.effort import share_of

SEEDS = range(share_of(400))
_BOMB_BYTES = 48 * 1024 * 1024
_LONG_LINE_BYTES = 1024 * 1024


def mutated(content: bytes, seed: int) -> bytes:
    """The content damaged in one way. Seeds 0, 1, 2, .. go through all ways in turn."""
    draw = random.Random(seed)
    return WAYS[seed % len(WAYS)](content, draw)


def way(seed: int) -> str:
    """The damage that `mutated` does for a seed, for the name of a test."""
    return WAYS[seed % len(WAYS)].__name__.strip("_")


def _cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _beheaded(content: bytes, draw: random.Random) -> bytes:
    return content[draw.randrange(len(content) + 1) :]


def _flipped(content: bytes, draw: random.Random) -> bytes:
    """A bit here and there, from one to a thousand."""
    found = bytearray(content)
    for _ in range(10 ** draw.randrange(4)):
        found[draw.randrange(len(found))] ^= 1 << draw.randrange(8)
    return bytes(found)


def _holed(content: bytes, draw: random.Random) -> bytes:
    """Zeros where a block of the disk was not written."""
    start = draw.randrange(len(content))
    length = min(4096, len(content) - start)
    return content[:start] + bytes(length) + content[start + length :]


def _shuffled(content: bytes, draw: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    draw.shuffle(lines)
    return b"".join(lines)


def _thinned(content: bytes, draw: random.Random) -> bytes:
    return b"".join(line for line in content.splitlines(keepends=True) if draw.random() < 0.8)


def _doubled(content: bytes, draw: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join(line * draw.randint(1, 3) for line in lines)


def _wide(content: bytes, draw: random.Random) -> bytes:
    """Another encoding."""
    encoding = draw.choice(("utf-16", "utf-16-be", "utf-32", "cp037"))
    return content.decode("latin-1").encode(encoding)


def _latin(content: bytes, draw: random.Random) -> bytes:
    """Bytes that are no UTF-8, in words and between them."""
    at = draw.randrange(len(content))
    return content[:at] + b"\xe9\xff\xfe" + content[at:].replace(b"e", b"\xe9", 50)


def _huge(content: bytes, draw: random.Random) -> bytes:
    """A line longer than any log has, among the others."""
    lines = content.splitlines(keepends=True)
    filler = draw.choice((b"x", b'{"a":', b"[", b"9", b" ", b"\t")) * _LONG_LINE_BYTES
    lines.insert(draw.randrange(len(lines) + 1), filler + b"\n")
    return b"".join(lines)


def _bomb(content: bytes, draw: random.Random) -> bytes:
    """Much out of little, after an honest beginning."""
    honest = gzip.compress(content[: draw.randrange(len(content) + 1)], 1)
    return honest + _filled(draw.choice((b"\n", b" ", b"[", b"{}\n")))


@functools.cache
def _filled(filler: bytes) -> bytes:
    return gzip.compress(filler * (_BOMB_BYTES // len(filler)), 9)


def _packed_and_cut(content: bytes, draw: random.Random) -> bytes:
    packed = gzip.compress(content, 1)
    return packed[: draw.randrange(1, len(packed))]


def _packed_and_flipped(content: bytes, draw: random.Random) -> bytes:
    return _flipped(gzip.compress(content, 1), draw)


def _numbers(content: bytes, draw: random.Random) -> bytes:
    """Numbers that no honest log holds, in place of some that it does."""
    odd = (
        b"-1",
        b"1e308",
        b"-0",
        b"99999999999999999999999",
        b"null",
        b'"7"',
        b"NaN",
        b"1e999",
        b"[]",
    )
    found, rest = [], content
    for _ in range(draw.randint(1, 200)):
        at = draw.randrange(max(1, len(rest) // 20))
        while at < len(rest) and not rest[at : at + 1].isdigit():
            at += 1
        end = at
        while end < len(rest) and rest[end : end + 1].isdigit():
            end += 1
        if end == len(rest):
            break
        found += [rest[:at], draw.choice(odd)]
        rest = rest[end:]
    return b"".join([*found, rest])


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut,
    _flipped,
    _numbers,
    _beheaded,
    _holed,
    _shuffled,
    _thinned,
    _doubled,
    _wide,
    _latin,
    _huge,
    _packed_and_cut,
    _packed_and_flipped,
    _bomb,
)
