"""The leftovers of runs on the disk that no resume needs, and how they are removed.

* Of a run that finished: its scratch folder and its staging folders. A process that dies between
  the last row of the journal and the clean-up leaves them.
* Of a run that died before its journal was made: its folder.
* Of the making of a journal: `journal.db.new` and its companions.
* Of a run that is gone from this state folder: staging folders next to the outputs of other runs.
  `run.json` in a staging folder says which run, and which state folder, it belongs to.
* Of a run that replaced an output: the old output, if the process died before it was removed.

Scratch and staging folders of an unfinished run are needed to resume it; they go with the run.
Nothing is removed while another process drives the run. An old output whose place is still free
goes back to it when its run is removed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from sluice.model.errors import SluiceError
from sluice.store.database import store_errors
from sluice.store.head import FILE_NAME as HEAD_NAME
from sluice.store.old_outputs import OldOutput, old_outputs, settle_old_output
from sluice.store.rows import FILE_NAME, EntryKind, entries
from sluice.store.run_counter import counter_lock, home_id
from sluice.store.run_info import (
    RunInfo,
    UnreadableRun,
    driver_of,
    folder_bytes,
    has_journal,
    info_of,
)
from sluice.store.run_lock import RunLock
from sluice.store.run_record import RunRecord
from sluice.store.runs import Runs

SCRATCH_NAME = "scratch"
_STAGING = ".*.sluice-*"


class LeftoverKind(Enum):
    """The kind of a leftover."""

    SCRATCH = "scratch"
    STAGING = "staging"
    DRAFT = "draft of a journal"
    UNSTARTED = "run without a journal"
    OLD_OUTPUT = "replaced output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """run_id: the run that made it, which may be gone."""

    kind: LeftoverKind
    path: Path
    run_id: str

    @property
    def bytes(self) -> int:
        """Size of everything in it."""
        return folder_bytes(self.path)

    def document(self) -> dict[str, object]:
        """The content as JSON values."""
        return {
            "kind": self.kind.value,
            "path": str(self.path),
            "run": self.run_id,
            "bytes": self.bytes,
        }


def leftovers(runs: Runs) -> tuple[Leftover, ...]:
    """Everything in and around a state folder that no resume needs, run by run."""
    found = [one for folder in runs.run_folders() for one in _of_run(folder)]
    known = {one.path for one in found}
    listed = runs.listed()
    found += [one for one in _of_lost_runs(runs, listed) if one.path not in known]
    return (*found, *_replaced(listed))


def _of_run(folder: Path) -> Iterator[Leftover]:
    if not has_journal(folder):
        yield Leftover(kind=LeftoverKind.UNSTARTED, path=folder, run_id=folder.name)
        return
    if driver_of(folder) is None:
        yield from _of_resting_run(folder)


def _of_resting_run(folder: Path) -> Iterator[Leftover]:
    """Leftovers of a run that began and that no process drives."""
    drafts = (*folder.glob(f"{FILE_NAME}.new*"), *folder.glob(f"{HEAD_NAME}.new"))
    found = [(LeftoverKind.DRAFT, path) for path in sorted(drafts)]
    run = info_of(folder)
    if isinstance(run, RunInfo) and run.is_finished:
        if (folder / SCRATCH_NAME).is_dir():
            found.append((LeftoverKind.SCRATCH, folder / SCRATCH_NAME))
        found += [(LeftoverKind.STAGING, path) for path in staging_left(run)]
    for kind, path in found:
        yield Leftover(kind=kind, path=path, run_id=folder.name)


def _of_lost_runs(runs: Runs, listed: Sequence[RunInfo | UnreadableRun]) -> Iterator[Leftover]:
    """Staging folders of runs of this state folder whose own folder is gone."""
    home = home_id(runs.folder)
    places = {path.parent for run in listed for path in _staging_of(run)}
    for place in sorted(places):
        for record, path in _marked(place):
            if record.home == home and not (runs.folder / record.run_id).exists():
                yield Leftover(kind=LeftoverKind.STAGING, path=path, run_id=record.run_id)


def _replaced(listed: Sequence[RunInfo | UnreadableRun]) -> Iterator[Leftover]:
    """Old outputs, each with the newest run that has written to its place.

    While that run can be resumed, an old output that is not replaced yet is needed.
    """
    newest = {old.path: (old, run) for run in listed for old in _old_outputs_of(run)}
    for path in sorted(newest):
        old, run = newest[path]
        if old.is_replaced or _is_finished(run):
            yield Leftover(kind=LeftoverKind.OLD_OUTPUT, path=path, run_id=run.run_id)


def _is_finished(run: RunInfo | UnreadableRun) -> bool:
    return isinstance(run, RunInfo) and run.is_finished


def _old_outputs_of(run: RunInfo | UnreadableRun) -> Iterator[OldOutput]:
    """Old outputs next to the staging folders of a run that stepped aside for the same output."""
    for staging in _staging_of(run):
        for old in old_outputs(staging.parent):
            if staging.name.startswith(f".{old.output.name}.sluice-"):
                yield old


def _marked(place: Path) -> Iterator[tuple[RunRecord, Path]]:
    """Staging folders in a folder that say which run they belong to."""
    with suppress(OSError):
        for path in sorted(place.glob(_STAGING)):
            record = RunRecord.read(path)
            if record is not None:
                yield record, path


def staging_left(run: RunInfo | UnreadableRun) -> list[Path]:
    """The staging folders of a run that are there now."""
    return [path for path in _staging_of(run) if path.is_dir()]


def _staging_of(run: RunInfo | UnreadableRun) -> list[Path]:
    record = RunRecord.read(run.folder)
    recorded = record.staging if record else _staging_in_journal(run)
    # Only what looks like a staging folder is ever removed, whatever a damaged file says.
    return [
        Path(path) for path in recorded if Path(path).is_absolute() and Path(path).match(_STAGING)
    ]


def _staging_in_journal(run: RunInfo | UnreadableRun) -> list[str]:
    """For runs of releases without `run.json`."""
    found: list[str] = []
    if isinstance(run, RunInfo):
        with suppress(SluiceError):
            for entry in entries(run.folder):
                if entry.kind is EntryKind.PREPARED:
                    found.append(str(entry.prepared()[1].get("staging", "")))
                elif entry.kind is not EntryKind.RUN:
                    break
    return found


def living_writer(runs: Runs, output: Path) -> tuple[str, int] | None:
    """The run that will put its output there, and the process that drives it; None if none lives.

    Only runs of this state folder are known.
    """
    for record, staging in _marked(output.parent):
        if staging.name.startswith(f".{output.name}.sluice-"):
            process = driver_of(runs.folder / record.run_id)
            if process is not None:
                return record.run_id, process
    return None


# --- removing -------------------------------------------------------------------------------------


def remove_leftover(runs: Runs, leftover: Leftover) -> None:
    """Remove it; nothing happens if it is needed by now.

    Raises EngineUnavailable while a process drives its run, StoreUnavailable if the disk refuses.
    """
    folder = runs.folder / leftover.run_id
    if leftover.kind is LeftoverKind.OLD_OUTPUT:
        _settle(old for old in old_outputs(leftover.path.parent) if old.path == leftover.path)
    elif leftover.kind is LeftoverKind.UNSTARTED:
        with counter_lock(runs.folder):  # a run is made under this lock
            if not has_journal(folder):
                _remove([folder])
    elif folder.exists():
        lock = RunLock(folder)
        try:
            if leftover in _of_resting_run(folder):
                _remove([leftover.path])
        finally:
            lock.release()
    else:
        _remove([leftover.path])


def remove_run(run: RunInfo | UnreadableRun) -> None:
    """Remove a run with everything that it left; its outputs stay, and old ones come back.

    Raises EngineUnavailable while a process drives it, StoreUnavailable if the disk refuses.
    """
    lock = RunLock(run.folder)
    try:
        old = [] if _is_finished(run) else list(_old_outputs_of(run))
        # The journal goes before the rest of the folder: what is left without it can be removed
        # later, and cannot be resumed.
        _remove([*staging_left(run), run.folder / FILE_NAME, run.folder])
        _settle(old)
    finally:
        lock.release()


def _settle(old_ones: Iterable[OldOutput]) -> None:
    for old in old_ones:
        with store_errors(old.path):
            settle_old_output(old)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with store_errors(path):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
