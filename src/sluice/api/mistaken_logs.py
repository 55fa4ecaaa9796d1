"""A log that was given where a workload or a table is expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sluice.ingest.reading import STDIN, SourceText
from sluice.model.errors import InvalidInput


@contextmanager
def naming_logs(text: SourceText) -> Iterator[None]:
    """Where a text cannot be read because it is a log, say so instead of where reading ended."""
    try:
        yield
    except InvalidInput:
        from sluice.ingest.logs.formats import format_of  # readers of all formats: they take time

        name = None if text.file == STDIN else format_of(text.file)
        if name is None:
            raise
        raise InvalidInput(
            f"it is a log of {name}",
            where=text.name,
            hint="give it by --from-log, as in `sluice simulate --from-log LOG`",
        ) from None
