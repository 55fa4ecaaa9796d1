"""The main facts about a run, in a small file next to its journal: `run.json`.

The journal has the same facts, and more. This copy stays readable if the journal is damaged, and it
is cheap to read: a search through all runs opens only the journals that matter. Each staging folder
of the run gets a copy, too, so that a folder left next to an output can be traced to its run. What
is removed is named in it, so it has a checksum; one that does not fit is as if it was not there.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from sluice.store.private import open_private_file
from sluice.store.rows import RunHeader

RECORD_NAME = "run.json"
_CHECK = "sha256"  # of all other values


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """The facts that make two runs runs of the same workload: the source of its text, and the text.

    source: the real path of the workload file, or "-" for standard input.
    folder: where relative paths in it start. For a file it follows from the path; for standard
    input it is the working directory, and so part of the identity.
    sha256: of the text, in hex.
    """

    source: str
    folder: str
    sha256: str

    @classmethod
    def of(cls, header: RunHeader) -> Self:
        """The identity in a journal's header. Headers of older releases have no folder."""
        folder = header.folder
        if not folder and header.source != "-":
            folder = str(Path(header.source).parent)
        return cls(source=header.source, folder=folder, sha256=header.sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """home: id of the state folder that the run belongs to.
    staging: folders outside the state folder that the run may leave behind.
    """

    home: str
    run_id: str
    identity: RunIdentity
    started_at: str
    staging: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Put the record into a folder, whole or not at all. Raises OSError."""
        draft = folder / f"{RECORD_NAME}.new"
        file = open_private_file(draft, os.O_WRONLY | os.O_TRUNC)
        with os.fdopen(file, "w", encoding="utf-8") as text:
            text.write(json.dumps({**asdict(self), _CHECK: _checksum(asdict(self))}))
        draft.rename(folder / RECORD_NAME)

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The record in a folder; None if there is none that can be read."""
        try:
            recorded: dict[str, Any] = json.loads((folder / RECORD_NAME).read_text("utf-8"))
            # Records of older releases have no checksum.
            if recorded.pop(_CHECK, None) not in {None, _checksum(recorded)}:
                return None
            identity = RunIdentity(**recorded.pop("identity"))
            staging = tuple(str(path) for path in recorded.pop("staging"))
            return cls(**recorded, identity=identity, staging=staging)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None


def _checksum(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def mark(folder: Path, run: Path) -> None:
    """Put a copy of a run's record into a folder that the run made elsewhere. Raises OSError."""
    record = RunRecord.read(run)
    if record is not None:
        record.write(folder)
