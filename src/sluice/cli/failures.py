"""Whatever goes wrong, as one message on stderr and an exit code; never a traceback.

SLUICE_DEBUG=1 in the environment shows where an error of our own came from.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

import typer

from sluice.ingest.nearest import suggestion
from sluice.model.errors import Infeasible, InvalidInput, SluiceError

DONE, NO, BAD_INPUT, OUTSIDE_FAILED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141

# Of click's or Typer's own copy of it, whichever this Typer is built on.
_BAD_PARAMETER: type[Exception] = typer.BadParameter
_USAGE_ERROR = _BAD_PARAMETER.__mro__[1]


def guarded(work: Callable[[], int]) -> int:
    """The exit code of `work`, whatever it raises."""
    try:
        code = work()
        sys.stdout.flush()
    except typer.Exit as told:
        return int(told.exit_code)
    except KeyboardInterrupt:
        return _told(f"Stopped.{_resume_hint()}", INTERRUPTED)
    except BrokenPipeError:
        _abandon_stdout()
        return PIPE_CLOSED
    except MemoryError:
        return _told("There is not enough memory for this.", OUTSIDE_FAILED)
    except OSError as error:
        _abandon_stdout()
        return _told(_outside(error), OUTSIDE_FAILED)
    except SluiceError as error:
        return _told(str(error), code_of(error))
    except Exception as error:  # noqa: BLE001  # the last resort: whoever runs it gets a message
        return _unexpected(error)
    return code


def code_of(error: SluiceError) -> int:
    """The exit code that an error of the house stands for."""
    from sluice.engines.interruption import RunInterrupted

    if isinstance(error, InvalidInput):
        return BAD_INPUT
    if isinstance(error, Infeasible):
        return NO
    return INTERRUPTED if isinstance(error, RunInterrupted) else OUTSIDE_FAILED


def _unexpected(error: Exception) -> int:
    if isinstance(error, _USAGE_ERROR):
        return _told(_usage_complaint(error), BAD_INPUT)
    if os.environ.get("SLUICE_DEBUG"):
        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _told(
        f"Sluice has met an error of its own, {what}. Please report it;"
        " with SLUICE_DEBUG=1 in the environment it shows where it came from.",
        OUTSIDE_FAILED,
    )


def _usage_complaint(error: Exception) -> str:
    """What, where and the mend of a wrong option or argument."""
    context = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    where = context.command_path if context is not None else "sluice"
    mend = f"see {where} --help"
    known = [name for one in context.command.params for name in one.opts] if context else []
    if option is not None and option not in known:
        what = f"there is no option {option}"
        near = suggestion(option, known)
        mend = f"{near}; {mend}" if near.startswith("perhaps") else mend
    else:
        message: str = getattr(error, "format_message", error.__str__)()
        what = message.rstrip(".")
        what = what[:1].lower() + what[1:]
    return str(InvalidInput(what, where=where, mend=mend))


def _outside(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}."


def _resume_hint() -> str:
    if sys.argv[1:2] != ["run"]:
        return ""
    return " If the run had begun, run it again with --resume to continue where it was."


def _told(message: str, code: int) -> int:
    """Say it, with whatever a terminal might obey made visible."""
    shown = "".join(
        character if character.isprintable() or character == "\n" else f"\\x{ord(character):02x}"
        for character in message
    )
    sys.stderr.write(f"{shown}\n")
    return code


def _abandon_stdout() -> None:
    """Let nothing more be written there, also not when the interpreter ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return  # stdout is no file: nothing will be flushed to it
