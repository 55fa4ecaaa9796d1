"""Steps of an mrjob class, run in a forked child of an interpreter that has loaded it already.

The class reads and writes lines through its own protocols, which decide the wire format; the lines
are partitioned, sorted and merged like those of commands. Source: mrjob 0.7.4, `MRJob.run_mapper`,
`run_combiner` and `run_reducer`, which are what its own runners call.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from sluice.engines.work.desk import Desk
from sluice.engines.work.loading import load
from sluice.engines.work.mapping import spill_sorted
from sluice.engines.work.partition import Partitioner
from sluice.engines.work.reducing import merged
from sluice.engines.work.splits import BLOCK_BYTES, whole_lines


def run_map(desk: Desk) -> None:
    """One map task of a step."""
    if not desk.order.reduces:
        with desk.part_file() as part:
            _map(desk, part.write)
        return
    combine = _combine if desk.order.step.has_combiner else None
    spill_sorted(desk, lambda partitioner: _produce(desk, partitioner), combine)


def run_reduce(desk: Desk) -> None:
    """One reduce task of a step."""
    merge = merged(desk)
    lines = merge.stdout if merge is not None else io.BytesIO()
    assert lines is not None
    with desk.part_file() as part:
        _run(desk, "reducer", lines, part.write)


def _produce(desk: Desk, partitioner: Partitioner) -> None:
    _map(desk, partitioner.write)


def _map(desk: Desk, write: Callable[[bytes], object]) -> None:
    if desk.order.step.has_mapper:
        _run(desk, "mapper", _lines(desk.input_blocks()), write)
    else:
        for block in desk.input_blocks():
            write(block)


def _combine(desk: Desk, run: Iterator[bytes], sink: IO[bytes]) -> None:
    _run(desk, "combiner", _lines(run), sink.write)
    for _ in run:  # lines that the combiner left unread belong to this partition, not the next
        pass


def _run(desk: Desk, part: str, lines: Iterable[bytes], write: Callable[[bytes], object]) -> None:
    step = desk.order.step
    assert step.python is not None
    job: Any = load(desk.order.folder, step.python)([f"--step-num={step.number}", f"--{part}"])
    out = _Gathered(write)
    job.sandbox(stdin=lines, stdout=out, stderr=sys.stderr.buffer)
    getattr(job, f"run_{part}")(step.number)
    out.flush()


def _lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    for block in whole_lines(blocks):
        yield from io.BytesIO(block)  # cuts at newlines only, unlike `splitlines`


class _Gathered:
    """Takes the small pieces that a job writes, and passes them on a megabyte at a time."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write_on = write
        self._pieces: list[bytes] = []
        self._bytes = 0

    def write(self, piece: bytes) -> None:
        """As of a file."""
        self._pieces.append(piece)
        self._bytes += len(piece)
        if self._bytes > BLOCK_BYTES:
            self.flush()

    def flush(self) -> None:
        """As of a file."""
        self._write_on(b"".join(self._pieces))
        self._pieces.clear()
        self._bytes = 0
