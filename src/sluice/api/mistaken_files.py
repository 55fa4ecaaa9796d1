"""A log, or the queues of another scheduler, given where a workload or a table is expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sluice.ingest.reading import STDIN, SourceText
from sluice.model.errors import InvalidInput


@contextmanager
def naming_other_files(text: SourceText) -> Iterator[None]:
    """Where a text cannot be read because it is something else, say so and how it is read."""
    try:
        yield
    except InvalidInput:
        if text.file == STDIN:
            raise
        known = _of_log(text) or _of_queues(text)
        if known is None:
            raise
        raise known from None


def _of_log(text: SourceText) -> InvalidInput | None:
    from sluice.ingest.logs.formats import format_of  # readers of all formats: they take time

    name = format_of(text.file)
    if name is None:
        return None
    return InvalidInput(
        f"it is a log of {name}",
        where=text.name,
        hint="give it by --from-log, as in `sluice simulate --from-log LOG`",
    )


def _of_queues(text: SourceText) -> InvalidInput | None:
    from sluice.ingest.scheduler_configs.reading import queues_without_jobs

    return queues_without_jobs(text.content, text.name)
