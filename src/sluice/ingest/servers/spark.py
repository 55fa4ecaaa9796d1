"""The history server of Spark: it hands out the event logs of applications, packed."""

from __future__ import annotations

import urllib.parse
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

from sluice.ingest.logs.hadoop_values import items, members, text
from sluice.ingest.logs.report import Unreadable
from sluice.ingest.servers.web import WebServer

PROBE = "/api/v1/version"
_APPLICATIONS = "/api/v1/applications"
LOG_BYTES_MAX = 1 << 36
_CHUNK_BYTES = 1 << 20


def event_logs(
    server: WebServer, known: Collection[str], folder: Path
) -> Iterator[Path | tuple[str, str]]:
    """The event logs of applications that are not known yet, one after the other in a folder.

    Each is removed when the next one is asked for. For one that cannot be had: its id, and why.
    """
    found = server.json_value(f"{_APPLICATIONS}?status=completed")
    for app_id in sorted(text(members(row).get("id")) for row in items(found)):
        if not app_id or app_id in known:
            continue
        try:
            logs = _unpacked(server, app_id, folder)
        except (Unreadable, zipfile.BadZipFile, OSError) as error:
            yield app_id, str(error)
            continue
        for log in logs:
            yield log
            log.unlink(missing_ok=True)


def _unpacked(server: WebServer, app_id: str, folder: Path) -> list[Path]:
    packed = folder / "logs.zip"
    server.download(f"{_APPLICATIONS}/{urllib.parse.quote(app_id)}/logs", packed)
    found: list[Path] = []
    with zipfile.ZipFile(packed) as archive:
        for number, member in enumerate(archive.infolist()):
            if member.is_dir() or member.file_size > LOG_BYTES_MAX:
                continue
            # Names in an archive may lead anywhere: only the last part is used.
            path = folder / f"{number}-{Path(member.filename).name}"
            with archive.open(member) as source, path.open("wb") as target:
                _copy(source, target)
            found.append(path)
    packed.unlink()
    return found


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy a log up to a limit, because the size that an archive gives may be wrong."""
    left = LOG_BYTES_MAX
    while left > 0 and (chunk := source.read(min(_CHUNK_BYTES, left))):
        target.write(chunk)
        left -= len(chunk)
