"""The logs of tasks on the nodes of this machine, in the folders of a service's segments.

No link is followed, and nothing else in these folders is touched.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.store.private import open_private_file
from sluice.store.service.segments import PREFIX

_SCRATCH, _LOG, _ENDING = "scratch", "log", ".log"
_DEPTH_MAX = 2  # of a folder of nodes in a segment: those of Ray are one deeper
_REMOVED = "removed-logs.json"  # of a segment


@dataclass(frozen=True, slots=True)
class TaskLog:
    """One log. folder, name: where it is.  written_at_s: seconds since 1970, as are all here."""

    segment: str
    folder: str
    name: str
    size_bytes: int
    written_at_s: float


def task_logs(journal: Path) -> Iterator[TaskLog]:
    """All logs of tasks, in no order."""
    for segment, folder, names, descriptor in _folders(journal):
        for name in names:
            with suppress(FileNotFoundError):  # an empty log goes with the end of its task
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if name.endswith(_ENDING) and stat.S_ISREG(found.st_mode):
                    yield TaskLog(segment, folder, name, found.st_size, found.st_mtime)


def remove_task_logs(journal: Path, logs: Collection[TaskLog]) -> None:
    """Remove these logs."""
    chosen = {(log.folder, log.name) for log in logs}
    for _, folder, names, descriptor in _folders(journal):
        for name in names:
            if (folder, name) in chosen:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=descriptor)


def keep_removed(segment: Path, record: Mapping[str, Any]) -> None:
    """Note up to which end of a job logs were removed, and why."""
    draft = segment / f"{_REMOVED}.new"
    with os.fdopen(open_private_file(draft, os.O_WRONLY | os.O_TRUNC), "w") as file:
        json.dump(record, file)
    draft.replace(segment / _REMOVED)


def removed(segment: Path) -> Mapping[str, Any] | None:
    """The last note of `keep_removed`; None if no log was removed."""
    with suppress(FileNotFoundError):
        found: Mapping[str, Any] = json.loads((segment / _REMOVED).read_text("utf-8"))
        return found
    return None


def _folders(journal: Path) -> Iterator[tuple[str, str, list[str], int]]:
    """The folders of logs: segment, path, names of the files, and a descriptor for now."""
    for path, folders, names, descriptor in os.fwalk(journal):
        segment, *parts = Path(path).relative_to(journal).parts or ("",)
        if not segment:
            folders[:] = [one for one in folders if one.startswith(PREFIX)]
        elif not parts:
            folders[:] = [_SCRATCH] if _SCRATCH in folders else []
        elif parts[-1] == _LOG:
            folders.clear()
            yield segment, path, names, descriptor
        elif _LOG in folders:
            folders[:] = [_LOG]  # next to it is the data of the node
        elif len(parts) >= _DEPTH_MAX:
            folders.clear()
