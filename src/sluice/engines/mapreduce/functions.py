"""Python functions as mapper, combiner and reducer, in an interpreter that is warm already.

    mapper(line)            line: text without its line end; bytes that are no UTF-8 are kept as
                            surrogate escapes
    combiner(key, values)   may run any number of times, also never
    reducer(key, values)    values: an iterator, in no promised order

    reducer(key, some, other)   of a graph: a list of values for each phase that it follows

Each gives (key, value) pairs, as a generator or in a list; None is taken for no pairs. What a map
gives is grouped and combined in memory (`grouping`), so that a word count writes each word once.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import chain, count, groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from sluice.engines.mapreduce.codec import NotOneLine, decode, output_lines, records_of
from sluice.engines.mapreduce.consumption import ConsumedLines
from sluice.engines.mapreduce.errors import PermanentFailure
from sluice.engines.mapreduce.grouping import Combiner, Grouping
from sluice.engines.mapreduce.loading import Functions, Pairs, functions, load
from sluice.engines.mapreduce.mapping import spill_sorted
from sluice.engines.mapreduce.reducing import merged_by_phase, merged_lines
from sluice.engines.mapreduce.splits import whole_lines
from sluice.engines.mapreduce.task_context import TaskContext

CHUNK = 4096  # pairs that are written at once


def run_map(context: TaskContext) -> None:
    """One map task: a split through the mapper, into a spill file or a part file."""
    parts = _loaded(context)
    mapper = parts.mapper
    assert mapper is not None
    pairs = chain.from_iterable(mapper(line) or () for line in _lines(context))
    _write(context, pairs, parts.combiner)


def run_reduce(context: TaskContext) -> None:
    """One reduce task: the merged segments through the reducer, into a part file or a spill."""
    parts = _loaded(context)
    assert parts.reducer is not None
    wire = TYPED if context.spec.keeps_types else TEXT
    if context.spec.step.joins:
        pairs = _joined(context, wire, parts.reducer)
    else:
        pairs = _reduced(merged_lines(context, wire.cut), wire, parts.reducer)
    # A combiner is for what a mapper gives: the values of a reducer may mean something else.
    _write(context, pairs, None)


def _loaded(context: TaskContext) -> Functions:
    assert context.spec.step.python is not None
    return functions(load(context.spec.folder, context.spec.step.python), context.spec.side)


def _write(
    context: TaskContext, pairs: Iterator[tuple[Any, Any]], combiner: Combiner | None
) -> None:
    """The output of a task, as those need it who read it."""
    if not context.spec.segments:
        with context.part_file() as part:
            _write_lines(context, pairs, part.write)
    elif not context.spec.keeps_types:
        spill_sorted(context, lambda sink: _write_lines(context, pairs, sink.write), None)
    else:
        # Millions of small lists, all alive, give the collector nothing to find, and much to do.
        gc.freeze()
        gc.set_threshold(200_000, 50, 1000)
        grouping = Grouping(context, combiner)
        grouping.take(pairs)
        grouping.spill()


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


def _reduced(
    records: Iterable[tuple[Any, Any]], wire: Wire, reducer: Callable[..., Pairs | None]
) -> Iterator[tuple[Any, Any]]:
    for code, group in groupby(records, key=itemgetter(0)):
        yield from reducer(wire.key(code), map(itemgetter(1), group)) or ()


def _joined(
    context: TaskContext, wire: Wire, reducer: Callable[..., Pairs | None]
) -> Iterator[tuple[Any, Any]]:
    """Give the reducer each key with a list of its values in each phase that it reads."""
    streams = map(_marked, merged_by_phase(context, wire.cut), count())
    together = merge(*streams, key=lambda record: (wire.order(record[0]), record[2]))
    for code, group in groupby(together, key=itemgetter(0)):
        values: list[list[Any]] = [[] for _ in range(context.spec.step.joins)]
        for _, value, place in group:
            values[place].append(value)
        yield from reducer(wire.key(code), *values) or ()


def _marked(records: Iterable[tuple[Any, Any]], place: int) -> Iterator[tuple[Any, Any, int]]:
    return ((code, value, place) for code, value in records)


def _text_records(block: bytes) -> list[tuple[str, str]]:
    """The lines of a block as key and value, which commands wrote, or functions for commands."""
    pairs = (line.partition("\t") for line in _texts(block))
    return [(key, value) for key, _, value in pairs]


class Wire(NamedTuple):
    """How tasks exchange pairs: `cut` makes records of lines, `key` makes the key of a record's
    first field, and `order` makes of that what is compared when lines are sorted.
    """

    cut: Callable[[bytes], list[tuple[Any, Any]]]
    key: Callable[[Any], Any]
    order: Callable[[Any], bytes]


def _bytes_of(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")


TYPED = Wire(records_of, decode, bytes)
TEXT = Wire(_text_records, str, _bytes_of)


def _write_lines(
    context: TaskContext, pairs: Iterator[tuple[Any, Any]], write: Callable[[bytes], object]
) -> None:
    while chunk := list(islice(pairs, CHUNK)):
        write(_output(chunk))
        context.watch.check()


def _output(pairs: list[tuple[Any, Any]]) -> bytes:
    """The lines of pairs in the output. Raises PermanentFailure if one is not one line."""
    try:
        return output_lines(pairs).encode("utf-8", "surrogateescape")
    except NotOneLine as error:
        raise PermanentFailure(str(error)) from None
