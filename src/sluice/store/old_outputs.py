"""Outputs of earlier runs that stepped aside for a new run: folders `.NAME.old-TOKEN`.

Who replaces an output holds a lock on the folder that stepped aside. The lock ends with the
process, so a folder that can be locked was left by a process that died or was interrupted. Such a
folder is removed once a new output is in its place; else it can be put back. What is being removed
is renamed first, so that half of an output is never put back.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_TOKEN_BYTES = 4
_ASIDE = re.compile(r"\.(?P<name>.+)\.old-[0-9a-f]{8}(?P<removed>\.removed)?", re.DOTALL)
_GLOB = ".*.old-*"
_SUCCESS = "_SUCCESS"  # as the engine writes it into each output


@dataclass(frozen=True, slots=True)
class OldOutput:
    """An output that stepped aside. output: its own place, which may be taken by now."""

    path: Path
    output: Path

    @property
    def is_replaced(self) -> bool:
        """Whether a new output is in its place, or a part of it has been removed already."""
        return os.path.lexists(self.output) or self.path.suffix == ".removed"

    def settle(self) -> None:
        """Remove it if it is replaced, else put it back. Raises OSError."""
        if not self.is_replaced:
            self.path.rename(self.output)
            return
        doomed = self.path
        if doomed.suffix != ".removed":
            doomed = doomed.with_name(f"{doomed.name}.removed")
            self.path.rename(doomed)
        shutil.rmtree(doomed)


class HeldOutputs:
    """Outputs that this process has moved aside, with their locks."""

    def __init__(self) -> None:
        self._held: list[tuple[OldOutput, int]] = []

    def step_aside(self, output: Path) -> None:
        """Move an output away and hold it. Raises OSError."""
        aside = output.with_name(f".{output.name}.old-{secrets.token_hex(_TOKEN_BYTES)}")
        lock = os.open(output, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            output.rename(aside)
        except BaseException:
            os.close(lock)
            raise
        self._held.append((OldOutput(aside, output), lock))

    def settle(self) -> None:
        """Remove those that are replaced, put back the others, and let go of all.

        Raises the first OSError, after all others are settled.
        """
        failures: list[OSError] = []
        for old, _ in self._held:
            try:
                old.settle()
            except OSError as error:
                failures.append(error)
        self.let_go()
        if failures:
            raise failures[0]

    def let_go(self) -> None:
        """Leave them where they are, for a resumed run to settle."""
        while self._held:
            os.close(self._held.pop()[1])


def old_outputs(folder: Path) -> Iterator[OldOutput]:
    """Old outputs in a folder that no process holds, in order of their names."""
    with suppress(OSError):
        for path in sorted(folder.glob(_GLOB)):
            found = _ASIDE.fullmatch(path.name)
            if found is None or path.is_symlink() or not path.is_dir():
                continue
            with _locked(path) as is_free:
                is_left = is_free and bool(found["removed"] or (path / _SUCCESS).is_file())
            if is_left:
                yield OldOutput(path, path.with_name(found["name"]))


def settle_old_output(old: OldOutput) -> None:
    """Settle an old output that was left; nothing happens if a process holds it by now.

    Raises OSError.
    """
    with _locked(old.path) as is_free:
        if is_free:
            old.settle()


def settle_left(output: Path) -> None:
    """Settle what dead processes have left of earlier outputs at this place. Raises OSError."""
    for old in list(old_outputs(output.parent)):
        if old.output.name == output.name:
            settle_old_output(old)


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold the lock of a folder within; False if another holds it, or the folder is gone."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(lock)
