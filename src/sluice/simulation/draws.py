"""Random numbers by counter: the value depends on what it is for, not on how many came before.

A generator with a state must be seeded for each attempt, or the order in which attempts start would
change what happens to them. Seeding costs far more than the few numbers that are needed. Here a
number is a function of (stream, task, attempt, draw): the stream is hashed once from the seed and
the phase, and the three counters are mixed into it one after the other.

The mixer is a 32-bit finalizer: two rounds of xor-shift and multiplication by an odd constant. Each
step can be undone, so it permutes the 32-bit words: tasks of one phase never share a state. Both
constants are below 2**31, so that every product fits a signed 64-bit integer, and compiled and
interpreted code give the same numbers. Source: the two-round functions found by search in
C. Wellons, "hash-prospector"; the tests measure uniformity and avalanche of this one.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from mypy_extensions import i64

_MASK: Final = 0xFFFFFFFF
_FIRST_FACTOR: Final = 0x21F0AAAD
_SECOND_FACTOR: Final = 0x735A2D97
_STEP: Final = 0x1E3779B9  # odd, so that counters spread over all bits before they are mixed
_SHARE: Final = 2.0**-32


def stream_of(text: str) -> int:
    """The stream for a text such as "7/mishap/job-1/0": 32 bits, the same on every machine."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest())


def _mixed(word: i64) -> i64:
    word = ((word ^ (word >> 16)) * _FIRST_FACTOR) & _MASK
    word = ((word ^ (word >> 15)) * _SECOND_FACTOR) & _MASK
    return word ^ (word >> 15)


def drawn(stream: int, task: int, attempt: int, draw: int) -> float:
    """A number from 0 up to 1, uniform, with a resolution of 32 bits.

    stream: see `stream_of`.  task, attempt, draw: counters from 0 up, below 2**31.

    >>> drawn(stream_of("7/mishap/a/0"), 3, 1, 0) == drawn(stream_of("7/mishap/a/0"), 3, 1, 0)
    True
    """
    word: i64 = stream
    word = _mixed(word ^ task)
    word = _mixed((word + attempt * _STEP) & _MASK)
    last: int = _mixed((word + (draw + 1) * _STEP) & _MASK)
    return last * _SHARE
