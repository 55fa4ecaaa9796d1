"""Copies of the user's code on a node: by the digest of their content, fetched once per node.

    code/DIGEST      a file of code, whatever it is called and whichever job wants it
    jobs/JOB/...     the files of a job, each at the path that it has on the driver's machine

Relative names mean the same in `jobs/JOB` as on the driver's machine, also those that lead out of
the job's folder. What the job does not name (an interpreter, an installed package) is the node's.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sluice.engines.data_plane.access import node_folder_here
from sluice.engines.data_plane.exchange import Exchange
from sluice.engines.mapreduce.errors import PermanentFailure, WorkFailed
from sluice.engines.mapreduce.fingerprints import CodeVersion
from sluice.engines.mapreduce.splits import BLOCK_BYTES
from sluice.engines.mapreduce.task_spec import CodeFile, Plane, Step, TaskSpec
from sluice.store.private import make_private_folder

CODE = "code"  # the name under which the driver serves code
READY = ".ready"


def with_own_code(spec: TaskSpec) -> TaskSpec:
    """The task with its code on this node's disk, where that is not the driver's.

    Raises WorkFailed if the code cannot be fetched, and PermanentFailure if it has changed.
    """
    plane = spec.plane
    if plane is None:
        return spec
    folder = node_folder_here() / "jobs" / spec.job_name
    if not (folder / READY).exists():
        _make(folder, plane)
    here = {file.path: str(folder) + file.path for file in plane.code}
    versions = (_version(file, here[file.path]) for file in plane.code)
    return replace(
        spec, folder=str(folder) + spec.folder, step=_moved(spec.step, here), code=tuple(versions)
    )


def _version(file: CodeFile, path: str) -> CodeVersion:
    found = os.stat(path)  # noqa: PTH116  # for each attempt
    return CodeVersion(path, found.st_size, found.st_mtime_ns, file.sha256)


def _moved(step: Step, here: dict[str, str]) -> Step:
    """The step with the paths of its commands on this node."""

    def moved(argv: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return argv and tuple(_moved_word(word, here) for word in argv)

    return replace(
        step, mapper=moved(step.mapper), combiner=moved(step.combiner), reducer=moved(step.reducer)
    )


def _moved_word(word: str, here: dict[str, str]) -> str:
    option, equals, path = word.rpartition("=")
    return option + equals + here.get(path, path)


def _make(folder: Path, plane: Plane) -> None:
    """Make the folder of a job, by one process at a time."""
    make_private_folder(folder.parent)
    with _locked(folder.with_suffix(".lock")):
        if (folder / READY).exists():
            return
        shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed meanwhile
        driver = Exchange(plane, folder)
        try:
            for file in plane.code:
                _place(file, Path(str(folder) + file.path), driver)
        finally:
            driver.close()
        for wanted in plane.folders:
            Path(str(folder) + wanted).mkdir(parents=True, exist_ok=True)
        (folder / READY).touch()


def _place(file: CodeFile, target: Path, driver: Exchange) -> None:
    known = node_folder_here() / CODE / file.sha256
    if not known.exists():
        make_private_folder(known.parent)
        _fetch(file, driver, known)
    target.parent.mkdir(parents=True, exist_ok=True)
    # A copy, because user code may write to its own files.
    shutil.copyfile(known, target)
    target.chmod(file.mode)


def _fetch(file: CodeFile, driver: Exchange, target: Path) -> None:
    writing = target.with_suffix(f".{os.getpid()}.writing")
    digest, served = hashlib.sha256(), driver.file_of_driver(f"{CODE}/{file.sha256}")
    try:
        with writing.open("wb") as out:
            while data := served.read(BLOCK_BYTES):
                out.write(data)
                digest.update(data)
        if digest.hexdigest() != file.sha256:
            raise PermanentFailure(
                f"file {file.path!r} has changed since the run started: it was modified"
            )
        writing.rename(target)
    except FileNotFoundError as error:
        raise PermanentFailure(
            f"file {file.path!r} has changed since the run started: it is gone"
        ) from error
    except OSError as error:
        raise WorkFailed(f"cannot fetch {file.path!r}: {error.strerror or error}") from error
    finally:
        writing.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
