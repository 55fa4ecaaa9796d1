"""Python functions as mapper, combiner and reducer, in an interpreter that is warm already.

    mapper(line)            line: text without its line end; bytes that are no UTF-8 are kept as
                            surrogate escapes
    combiner(key, values)   may run any number of times, also never
    reducer(key, values)    values: an iterator, in no promised order

Each gives (key, value) pairs, as a generator or in a list; None is taken for no pairs. What a map
gives is grouped and combined in memory (`grouping`), so that a word count writes each word once.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

from sluice.engines.work.codec import decode, output_line
from sluice.engines.work.desk import Desk
from sluice.engines.work.grouping import Grouping
from sluice.engines.work.loading import Functions, functions, load
from sluice.engines.work.reducing import merged
from sluice.engines.work.splits import whole_lines

CHUNK = 4096  # pairs that are written at once


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
    grouping = Grouping(desk, parts.combiner)
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
