"""A reduce that starts before the tasks that it reads from have ended: it fetches as they end.

Its order names the outputs that are there. News of the others comes through the agent, the last of
it with the word that this is all. A task whose output was lost runs again, and the news of it names
another file; what was fetched whole before that is kept. The reduce merges when it has everything,
in the order of the tasks, so that its output is that of a reduce that starts late.

While tasks are still to end, a node that does not answer may be one that is lost. The driver will
know, so the fetch is tried again until there is news of another file, or all tasks have ended.
Any other failure to read is final at once, so that the task that wrote the file runs again now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sluice.engines.mapreduce.errors import WorkFailed
from sluice.engines.mapreduce.spill import Segment
from sluice.engines.mapreduce.task_context import TaskContext
from sluice.engines.mapreduce.task_spec import Source

Fetched = tuple[Source, Path, Segment | Exception]
Copies = Callable[[TaskContext, Sequence[tuple[Source, Path]]], Iterator[Fetched]]

NEWS_S = 0.2  # an attempt that waits shows this often that it is alive
RETRY_S = 1.0  # a node that did not answer is asked again after this


def fetched_early(context: TaskContext, copies: Copies) -> Iterator[Fetched]:
    """The segments of a reduce as they come, each once; or why one cannot be had.

    copies: fetches some of them.  Raises WorkFailed if the agent is gone.
    """
    wanted = _Wanted(context)
    has_failed = False
    while not (has_failed or wanted.is_over):
        for source, target, segment in copies(context, wanted.due()):
            is_failure = isinstance(segment, Exception)
            if is_failure and wanted.may_come_yet(segment):
                wanted.put_off(source)
                continue
            has_failed = has_failed or is_failure
            wanted.drop(source)
            yield source, target, segment
        if not has_failed:
            wanted.hear()


class _Wanted:
    """The segments that are not fetched yet, and where they are as far as that is known."""

    def __init__(self, context: TaskContext) -> None:
        assert context.orders is not None
        self._context = context
        self._orders = context.orders
        self._is_all = False
        self._retry_at_s = 0.0
        self._left: dict[tuple[int, int, int], tuple[Source, Path]] = {}
        self._put_off: set[tuple[int, int, int]] = set()
        for number, source in enumerate(context.spec.sources):
            self._left[_place(source)] = (source, context.folder / f"segment-{number:06}")

    @property
    def is_over(self) -> bool:
        return self._is_all and not self._left

    def due(self) -> list[tuple[Source, Path]]:
        """The segments to fetch now, in the order of the tasks."""
        if self._is_all or time.monotonic() >= self._retry_at_s:
            self._put_off.clear()
        return [
            pair
            for place, pair in self._left.items()
            if pair[0].path and place not in self._put_off
        ]

    def may_come_yet(self, failure: object) -> bool:
        """Whether a failure to fetch may be that of a node whose loss the driver will hear of."""
        return not self._is_all and isinstance(failure, ConnectionError | TimeoutError)

    def put_off(self, source: Source) -> None:
        """The node of a segment did not answer."""
        self._put_off.add(_place(source))
        self._retry_at_s = time.monotonic() + RETRY_S

    def drop(self, source: Source) -> None:
        """A segment is fetched."""
        del self._left[_place(source)]

    def hear(self) -> None:
        """Take in news, or wait a moment for it. When all has been heard there is nothing to do."""
        if self._is_all:
            return
        context = self._context
        try:
            message = self._orders.news(NEWS_S)
        except EOFError as error:
            raise WorkFailed("the agent has ended") from error
        context.watch.waits += 1
        context.watch.check()
        self._is_all = message.get("is_all", False)
        paths = {(phase, task): path for phase, task, path in message.get("news", ())}
        for place, (source, target) in self._left.items():
            path = paths.get(place[:2])
            if path is not None and path != source.path:
                self._put_off.discard(place)
                moved = Source(phase=place[0], task=place[1], path=path, segment=place[2])
                self._left[place] = (moved, target)


def _place(source: Source) -> tuple[int, int, int]:
    return source.phase, source.task, source.segment
