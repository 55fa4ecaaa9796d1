"""The programs of commands, looked up as a shell does: when a run starts, and when it is resumed.

A command keeps the full path of its program. Programs that it starts itself are looked up again by
each of its tasks: the words of `sh -c 'sort | uniq'`, and the interpreter that the first line of a
script names. PATH may have lost them by the time the run is resumed.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from sluice.engines.mapreduce.fingerprints import words_of
from sluice.model.errors import InvalidInput
from sluice.model.job import RunSpec

Command = tuple[str, ...] | None

# Programs that start those in their arguments. A word of another command is mere text.
_STARTERS = frozenset(
    {"sh", "bash", "dash", "ksh", "zsh", "env", "nice", "nohup", "timeout", "xargs"}
)
_SHEBANG_BYTES_MAX = 256  # the kernel reads no more


def found_command(run: RunSpec, part: str, argv: Command, where: str) -> Command:
    """The command with the full path of its program.

    part: the command's key in the workload file. Raises InvalidInput if there is no such program.
    """
    if argv is None:
        return None
    if not argv:
        raise InvalidInput(f"{part} is empty", where=where, hint="give a command line")
    program = argv[0]
    found = _found(run, program)
    if found is None and program in {"python", "python3"}:
        found = sys.executable  # not every machine has both names; this one is a Python too
    if found is None:
        is_in_folder = Path(run.folder, program).is_file()
        raise InvalidInput(
            f"{part} {program!r} is not found, or may not be executed",
            where=where,
            hint=f"write ./{program} and make it executable"
            if is_in_folder
            else "give a program on PATH",
        )
    return (found, *argv[1:])


def programs_of(run: RunSpec, commands: Iterable[Command]) -> tuple[str, ...]:
    """The programs that commands start, each once, as they are looked up.

    commands: with the full paths of their programs. A word that is not found now is not a program.
    """
    programs: dict[str, None] = {}
    for argv in commands:
        for word in _started_words(argv):
            found = _found(run, word)
            if found is not None:
                interpreters = (name for name in _shebang(found) if _found(run, name))
                programs.update(dict.fromkeys((word, *interpreters)))
    return tuple(programs)


def missing_programs(run: RunSpec, programs: Iterable[str]) -> Iterator[str]:
    """Those of the programs that are not found now, or may not be executed."""
    return (program for program in programs if _found(run, program) is None)


def _started_words(argv: Command) -> Iterator[str]:
    if not argv:
        return
    yield argv[0]
    if Path(argv[0]).name in _STARTERS:
        for argument in argv[1:]:
            yield from words_of(argument)


def _found(run: RunSpec, program: str) -> str | None:
    path = dict(run.env).get("PATH", os.environ.get("PATH"))
    # A program named with a folder is relative to the workload file, where it will run.
    named = str(Path(run.folder, program).absolute()) if "/" in program else program
    return shutil.which(named, path=path)


def _shebang(path: str) -> list[str]:
    """The words of a script's first line, if it names an interpreter."""
    try:
        with Path(path).open("rb") as file:
            first = file.readline(_SHEBANG_BYTES_MAX)
    except OSError:
        return []  # it may be executed and not read
    return os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
