"""How a job's output comes to be: all at once, or not at all.

Next to `output`, so that renaming stays within one file system, a staging folder holds

    attempts/   part files by attempt id; all that attempts ever write to
    committed/  grows into the output: winners' files under their final names, then _SUCCESS

and the last act is to rename `committed` to `output`. Every act may be interrupted and repeated:
renames that were done are found done. A zombie knows only `attempts`, which never becomes the
output, and dies with the staging folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.engines.mapreduce.errors import WorkFailed
from sluice.model.errors import InvalidInput

NAME_BYTES_MAX = 100
SUCCESS = "_SUCCESS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """The staging folder of one job of one run, and the output that it will become."""

    folder: Path
    output: Path

    @classmethod
    def beside(cls, output: Path, job_name: str) -> Staging:
        """The staging folder for `output`, hidden in the folder where that will stand."""
        name = output.name
        if len(os.fsencode(name)) > NAME_BYTES_MAX:
            name = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
        return cls(folder=output.with_name(f".{name}.sluice-{job_name}"), output=output)

    @property
    def attempts(self) -> Path:
        """Where attempts put their part files."""
        return self.folder / "attempts"

    @property
    def committed(self) -> Path:
        """What will be renamed to the output."""
        return self.folder / "committed"

    def begin(self) -> None:
        """Make room for the attempts; before the first launch, and again after a restart."""
        self.attempts.mkdir(parents=True, exist_ok=True)

    def commit(self, winners: Sequence[str], *, phase: int) -> None:
        """Make the output of the winners' part files, in task order.

        Raises InvalidInput if something else has taken the output's place meanwhile, and
        WorkFailed blaming tasks of `phase` whose file is lost. May be repeated after a crash.
        """
        parts = [self.committed / f"part-{task:05}" for task in range(len(winners))]
        if os.path.lexists(self.output):
            if not self._was_committed(winners):
                raise _output_appeared(self.output)
            self.abort()
            return
        self._gather([Path(winner) for winner in winners], parts, phase)
        self._seal(parts)
        # Onto a folder that is not empty, or a file, this fails; nothing is ever overwritten.
        try:
            self.committed.rename(self.output)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise _output_appeared(self.output) from error
        except OSError as error:
            if not os.path.lexists(self.output):
                raise
            raise _output_appeared(self.output) from error
        _sync_folder(self.output.parent)
        self.abort()

    def abort(self) -> None:
        """Remove the staging folder and all that is in it; the output stays as it is."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _was_committed(self, winners: Sequence[str]) -> bool:
        """Whether what stands at `output` is ours: all that it was made of has gone into it."""
        left = [winner for winner in winners if os.path.lexists(winner)]
        return (self.output / SUCCESS).is_file() and not self.committed.exists() and not left

    def _gather(self, winners: Sequence[Path], parts: Sequence[Path], phase: int) -> None:
        self.committed.mkdir(parents=True, exist_ok=True)
        lost = []
        for task, (winner, part) in enumerate(zip(winners, parts, strict=True)):
            try:
                winner.replace(part)
            except FileNotFoundError:
                if not part.exists():  # else: renamed before an interruption
                    lost.append((phase, task))
        if lost:
            raise WorkFailed(f"{len(lost)} part files are lost before they were committed", lost)

    def _seal(self, parts: Sequence[Path]) -> None:
        for part in parts:
            _sync(part, os.O_RDONLY)
        _sync_folder(self.committed)
        _sync(self.committed / SUCCESS, os.O_WRONLY | os.O_CREAT)
        _sync_folder(self.committed)


def output_exists(output: Path, *, where: str) -> InvalidInput:
    """The error for an output folder that exists before the job runs."""
    return InvalidInput(
        f"output {str(output)!r} exists", where=where, hint="remove it, or name another folder"
    )


def _output_appeared(output: Path) -> InvalidInput:
    """The error for something that took the output's place during the run."""
    return InvalidInput(
        f"output {str(output)!r} exists", where="commit", hint="move it away, or remove it"
    )


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags, 0o666)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)
