"""The formats by name: those of Sluice, and those that other packages offer.

A package offers one as an entry point of the group `sluice.formats`: the format's name, and the
module (or object) that is its `Importer`.
"""

from __future__ import annotations

from importlib import import_module, metadata
from pathlib import Path
from typing import Any, cast

from sluice.ingest.entry_points import all_names, guarded, offered, refused
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Contents, Importer, NoOptions, Report
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput

AUTO = "auto"
_GROUP = "sluice.formats"

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
    return all_names(_GROUP, BUILT_IN)


def importer_of(name: str) -> Importer:
    """The importer of a format. Raises InvalidInput with the nearest name."""
    if name in BUILT_IN:
        return cast("Importer", import_module(BUILT_IN[name]))
    if (entry := offered(_GROUP).get(name)) is not None:
        return _Outside(entry)
    raise InvalidInput(
        f"unknown format {name[:80]!r}",
        where="format",
        hint=suggestion(name, (AUTO, *format_names())),
    )


class _Outside:
    """The importer of another package: its mistakes become one clear message."""

    def __init__(self, entry: metadata.EntryPoint) -> None:
        self._entry = entry
        self.FORMAT = entry.name
        self._importer: Importer = guarded(entry, entry.load)
        self.Options: type[Any] = getattr(self._importer, "Options", NoOptions)

    def recognises(self, path: Path, head: bytes) -> bool:
        """Ask the importer, see `Importer`."""
        return bool(guarded(self._entry, lambda: self._importer.recognises(path, head)))

    def read(self, path: Path, report: Report, options: Any, limits: Limits) -> Contents:  # noqa: ANN401  # each format has its own
        """Ask the importer, see `Importer`."""
        found = guarded(self._entry, lambda: self._importer.read(path, report, options, limits))
        if not isinstance(found, Contents):
            raise refused(self._entry, f"gave {type(found).__name__} to `read`, not Contents")
        return found
