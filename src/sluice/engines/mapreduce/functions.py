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

from sluice.engines.mapreduce.codec import NotOneLine, decode, output_lines, records_of
from sluice.engines.mapreduce.consumption import ConsumedLines
from sluice.engines.mapreduce.errors import PermanentFailure
from sluice.engines.mapreduce.grouping import Grouping
from sluice.engines.mapreduce.loading import Functions, functions, load
from sluice.engines.mapreduce.reducing import merged_lines
from sluice.engines.mapreduce.splits import whole_lines
from sluice.engines.mapreduce.task_context import TaskContext

CHUNK = 4096  # pairs that are written at once


def run_map(context: TaskContext) -> None:
    """One map task: a split through the mapper, into a spill file or a part file."""
    parts = _loaded(context)
    pairs = _mapped(context, parts)
    if not context.spec.reduces:
        _write_part(context, pairs)
        return
    # Millions of small lists that are all alive give the collector nothing to find, and much to do.
    gc.freeze()
    gc.set_threshold(200_000, 50, 1000)
    grouping = Grouping(context, parts.combiner)
    grouping.take(pairs)
    grouping.spill()


def run_reduce(context: TaskContext) -> None:
    """One reduce task: the merged segments through the reducer, into a part file."""
    parts = _loaded(context)
    _write_part(context, _reduced(merged_lines(context, records_of), parts))


def _loaded(context: TaskContext) -> Functions:
    assert context.spec.step.python is not None
    return functions(load(context.spec.folder, context.spec.step.python))


def _mapped(context: TaskContext, parts: Functions) -> Iterator[tuple[Any, Any]]:
    mapper = parts.mapper
    return chain.from_iterable(mapper(line) or () for line in _lines(context))


def _lines(context: TaskContext) -> Iterator[str]:
    meter = ConsumedLines()
    context.measure_input(meter)
    return meter.lines(whole_lines(context.input_blocks()), _texts)


def _texts(block: bytes) -> list[str]:
    """The lines of a block without their line ends."""
    text = block.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _reduced(records: Iterable[tuple[bytes, Any]], parts: Functions) -> Iterator[tuple[Any, Any]]:
    assert parts.reducer is not None
    for code, group in groupby(records, key=itemgetter(0)):
        yield from parts.reducer(decode(code), map(itemgetter(1), group)) or ()


def _write_part(context: TaskContext, pairs: Iterator[tuple[Any, Any]]) -> None:
    with context.part_file() as part:
        while chunk := list(islice(pairs, CHUNK)):
            part.write(_output(chunk))
            context.watch.check()


def _output(pairs: list[tuple[Any, Any]]) -> bytes:
    """The lines of pairs in the output. Raises PermanentFailure if one is not one line."""
    try:
        return output_lines(pairs).encode("utf-8", "surrogateescape")
    except NotOneLine as error:
        raise PermanentFailure(str(error)) from None
