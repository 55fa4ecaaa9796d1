"""The formats by name: those of Sluice, and those that other packages offer.

A package offers one as an entry point of the group `sluice.formats`: the format's name, and the
module (or object) that is its `Importer`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, TypeVar, cast

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Contents, Importer, NoOptions, Report
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput

AUTO = "auto"
_GROUP = "sluice.formats"
_Answer = TypeVar("_Answer")

# In the order in which they are asked: those that are sure of themselves first.
BUILT_IN = {
    "jhist": "sluice.ingest.logs.jhist",
    "mr1": "sluice.ingest.logs.mr1",
    "spark": "sluice.ingest.logs.spark",
    "sluice": "sluice.ingest.logs.trace",
    "rumen": "sluice.ingest.logs.rumen",
    "sls": "sluice.ingest.logs.sls",
    "batsim": "sluice.ingest.logs.batsim",
    "sacct": "sluice.ingest.logs.sacct",
    "squeue": "sluice.ingest.logs.squeue",
    "sinfo": "sluice.ingest.logs.sinfo",
    "airflow": "sluice.ingest.logs.airflow",
    "dbt": "sluice.ingest.logs.dbt",
    "ray": "sluice.ingest.logs.ray",
    "tez": "sluice.ingest.logs.tez",
    "philly": "sluice.ingest.logs.philly",
    "alibaba": "sluice.ingest.logs.alibaba",
    "wfformat": "sluice.ingest.logs.wfformat",
    "kueue": "sluice.ingest.logs.kueue",
    "volcano": "sluice.ingest.logs.volcano",
    "rm-apps": "sluice.ingest.logs.rm_apps",
    "swf": "sluice.ingest.logs.swf",
    "swim": "sluice.ingest.logs.swim",
}


def format_names() -> tuple[str, ...]:
    """All formats in the order in which they are asked: Sluice's own, then those of packages."""
    return (*BUILT_IN, *(name for name in _offered(tuple(sys.path)) if name not in BUILT_IN))


def importer_of(name: str) -> Importer:
    """The importer of a format. Raises InvalidInput with the nearest name."""
    if name in BUILT_IN:
        return cast("Importer", import_module(BUILT_IN[name]))
    offered = _offered(tuple(sys.path))
    if name in offered:
        return _Outside(offered[name])
    raise InvalidInput(
        f"unknown format {name[:80]!r}",
        where="format",
        hint=suggestion(name, (AUTO, *format_names())),
    )


@functools.cache
def _offered(_: tuple[str, ...]) -> dict[str, metadata.EntryPoint]:
    # To find them, the files of each package are read; the path seldom changes.
    return {one.name: one for one in sorted(metadata.entry_points(group=_GROUP))}


class _Outside:
    """The importer of another package: its mistakes become one clear message."""

    def __init__(self, entry: metadata.EntryPoint) -> None:
        self._entry = entry
        self.FORMAT = entry.name
        self._importer: Importer = self._checked(entry.load)
        self.Options: type[Any] = getattr(self._importer, "Options", NoOptions)

    def recognises(self, path: Path, head: bytes) -> bool:
        """Ask the importer, see `Importer`."""
        return bool(self._checked(lambda: self._importer.recognises(path, head)))

    def read(self, path: Path, report: Report, options: Any, limits: Limits) -> Contents:  # noqa: ANN401  # each format has its own
        """Ask the importer, see `Importer`."""
        found = self._checked(lambda: self._importer.read(path, report, options, limits))
        if not isinstance(found, Contents):
            raise self._error(f"`read` gave {type(found).__name__}, not Contents")
        return found

    def _checked(self, work: Callable[[], _Answer]) -> _Answer:
        try:
            return work()
        except InvalidInput:
            raise
        except Exception as error:
            raise self._error(f"{type(error).__name__}: {error}") from error

    def _error(self, what: str) -> InvalidInput:
        package = "" if self._entry.dist is None else f" of package {self._entry.dist.name}"
        return InvalidInput(
            f"its reader{package} failed: {what[:200]}", where=f"format {self.FORMAT}",
            hint="correct the package, or remove it",
        )  # fmt: skip
