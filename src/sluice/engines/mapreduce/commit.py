"""How the output of a job is made: all at once, or not at all.

A staging folder next to `output`, so that renaming stays within one file system, holds

    attempts/   part files by attempt id; attempts write nowhere else
    committed/  grows into the output: winners' files under their final names, the mark, _SUCCESS

The last step renames `committed` to `output`. Each step may be interrupted and repeated: a rename
that is done is found done. An attempt that comes late knows only `attempts`, which never becomes
the output and is removed with the staging folder.

The mark is the hidden file `.sluice`, which names the run and job that made the output. The journal
can miss that a job was committed: after a crash between the rename and its row, or after damage.
The mark then distinguishes an output of the job's own, which is complete, from one that another
program made, which is never touched.

The staging folder is private while the job runs. What becomes the output (`committed` and the part
files) gets the modes that the user's umask gives to any new folder and file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.engines.mapreduce.errors import RUN_AGAIN, WorkFailed
from sluice.engines.mapreduce.spill import file_crc
from sluice.model.errors import InvalidInput

NAME_BYTES_MAX = 100
SUCCESS = "_SUCCESS"
MARK = ".sluice"
ATTEMPTS = "attempts"
STAGING_MODE = 0o700
CRC_OF = re.compile(r".*-([0-9a-f]{8})\.part")  # the name of a part file


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """The staging folder of one job of one run, and the output that it becomes.

    The name of the folder is unique to the job and run, and is what the mark of the output says.
    """

    folder: Path
    output: Path

    @classmethod
    def beside(cls, output: Path, job_name: str) -> Staging:
        """The staging folder for `output`: hidden, and in the same folder as the output."""
        name = output.name
        if len(os.fsencode(name)) > NAME_BYTES_MAX:
            name = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
        return cls(folder=output.with_name(f".{name}.sluice-{job_name}"), output=output)

    @property
    def attempts(self) -> Path:
        """Where attempts put their part files."""
        return self.folder / ATTEMPTS

    @property
    def committed(self) -> Path:
        """The folder that will be renamed to the output."""
        return self.folder / "committed"

    def refuse_foreign_output(self, where: str = "commit") -> None:
        """Raise InvalidInput if an output that is not of this job and run exists."""
        if os.path.lexists(self.output) and not self._is_own_output():
            raise output_appeared(self.output, where)

    def begin(self) -> None:
        """Make the folder for attempts; before the first launch, and again after a restart."""
        # The mode goes with `mkdir`, without a `chmod` after it: that would take away the setgid
        # bit, by which a shared folder gives its group to the output.
        self.folder.mkdir(mode=STAGING_MODE, parents=True, exist_ok=True)
        self.attempts.mkdir(exist_ok=True)

    def commit(self, winners: Sequence[str], *, phase: int) -> None:
        """Make the output of the winners' part files, in task order.

        Safe to repeat after any interruption, and if the job was committed and ran again since.
        Raises InvalidInput if an output that is not of this job and run exists, and WorkFailed
        blaming tasks of `phase` whose file is lost.
        """
        self.refuse_foreign_output()
        if os.path.lexists(self.output):
            _sync_folder(self.output.parent)  # the crash may have come before this
            self.abort()
            return
        parts = [self.committed / f"part-{task:05}" for task in range(len(winners))]
        self._gather([Path(winner) for winner in winners], parts, phase)
        self._seal(parts)
        # Onto a folder that is not empty, or a file, this fails; nothing is ever overwritten.
        try:
            self.committed.rename(self.output)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise output_appeared(self.output) from error
        except OSError as error:
            if not os.path.lexists(self.output):
                raise
            raise output_appeared(self.output) from error
        _sync_folder(self.output.parent)
        self.abort()

    def abort(self) -> None:
        """Remove the staging folder with everything in it; the output stays as it is."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _is_own_output(self) -> bool:
        """Whether the existing output bears the mark of this job and run."""
        try:
            mark = (self.output / MARK).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return False
        return mark == self._mark and (self.output / SUCCESS).is_file()

    @property
    def _mark(self) -> bytes:
        return os.fsencode(self.folder.name) + b"\n"

    def _gather(self, winners: Sequence[Path], parts: Sequence[Path], phase: int) -> None:
        self.folder.mkdir(mode=STAGING_MODE, parents=True, exist_ok=True)
        self.committed.mkdir(exist_ok=True)
        lost, broken = [], []
        for task, (winner, part) in enumerate(zip(winners, parts, strict=True)):
            try:
                winner.replace(part)
            except FileNotFoundError:
                if not part.exists():  # else: renamed before an interruption
                    lost.append((phase, task))
                    continue
            if not _is_whole(part, winner.name):
                broken.append((phase, task))
        if lost:
            what = f"{len(lost)} part files are lost before they were committed; {RUN_AGAIN}"
            raise WorkFailed(what, lost)
        if broken:
            tasks = ", ".join(str(task) for _, task in broken[:10])
            what = f"the part files of tasks {tasks} are not what their tasks wrote"
            why = f"the disk or another program has changed them; {RUN_AGAIN}"
            raise WorkFailed(f"{what}: {why}", broken)

    def _seal(self, parts: Sequence[Path]) -> None:
        for part in parts:
            _sync(part, os.O_RDONLY)
        (self.committed / MARK).write_bytes(self._mark)
        _sync(self.committed / MARK, os.O_RDONLY)
        _sync_folder(self.committed)
        _sync(self.committed / SUCCESS, os.O_WRONLY | os.O_CREAT)
        _sync_folder(self.committed)


def _is_whole(part: Path, name: str) -> bool:
    """Whether a part file has the checksum in the name that its task gave to it."""
    found = CRC_OF.fullmatch(name)
    return found is None or file_crc(part) == int(found[1], 16)


def why_broken(part: Path) -> str:
    """Why a part file is not what its task wrote; "" if it is."""
    try:
        return "" if _is_whole(part, part.name) else f"{part.name} is not what the task wrote"
    except OSError as error:
        return f"{part.name}: {error.strerror}"


def output_exists(output: Path | str, *, where: str) -> InvalidInput:
    """The error for a file or folder that exists at the place of the output."""
    return InvalidInput(
        f"output {str(output)!r} exists",
        where=where,
        hint="remove it, or name another folder; `run` replaces it with --overwrite",
    )


def output_appeared(output: Path | str, where: str = "commit") -> InvalidInput:
    """The error for something that took the output's place since the run started."""
    return InvalidInput(
        f"output {str(output)!r} exists", where=where, hint="move it away, or remove it"
    )


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags, 0o666)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)
