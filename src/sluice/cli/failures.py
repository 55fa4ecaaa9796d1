"""Every error as one message on stderr and an exit code; never a traceback.

SLUICE_DEBUG=1 in the environment prints the traceback of an internal error.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

from sluice.cli.answers import abandon, talk
from sluice.ingest.suggestions import suggestion
from sluice.model.arguments import speaks_of_options
from sluice.model.errors import Infeasible, InvalidInput, SluiceError, sentence

DONE, NO, BAD_INPUT, OUTSIDE_FAILED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141

_ONE_TOO_MANY = "unexpected extra argument"  # in Click's words


def guarded(work: Callable[[], int]) -> int:
    """The exit code of `work`, whatever it raises."""
    before = speaks_of_options.set(True)
    try:
        return _guarded(work)
    finally:
        speaks_of_options.reset(before)


def _guarded(work: Callable[[], int]) -> int:
    try:
        code = work()
        sys.stdout.flush()
    except SystemExit as ended:
        # Rich exits with 1 if the reader of stdout has gone; that is not a true "no".
        return PIPE_CLOSED if ended.code == 1 else int(ended.code or 0)
    except BrokenPipeError:
        abandon(sys.stdout)
        return PIPE_CLOSED
    except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001  # the last resort: a message
        if (end := _end_of_command(error)) is not None:
            return end
        if isinstance(error, OSError):
            abandon(sys.stdout)
        message, code = _verdict(error)
        talk(message)
    return code


def _end_of_command(error: BaseException) -> int | None:
    """The exit code of a command that Typer ended before its time, as after its help."""
    import typer  # where nothing is raised, as in the help of all commands, it is not needed

    return int(error.exit_code) if isinstance(error, typer.Exit) else None


def _is_wrong_usage(error: BaseException) -> bool:
    """Whether Typer refused the command line."""
    import typer

    # Of click's or Typer's own copy of it, whichever this Typer is built on.
    refusal: type[Exception] = typer.BadParameter
    return isinstance(error, refusal.__mro__[1])


def _verdict(error: BaseException) -> tuple[str, int]:
    """The message and the exit code."""
    if isinstance(error, InvalidInput):
        from sluice.cli.provenance import flag_of

        flag = flag_of(error.where)  # a function of the API names its parameter
        error = InvalidInput(error.what, where=flag, hint=error.hint) if flag else error
    if isinstance(error, SluiceError):
        return str(error), code_of(error)
    if _is_wrong_usage(error):
        return _usage_complaint(error), BAD_INPUT
    if isinstance(error, KeyboardInterrupt):
        return f"Stopped.{_resume_hint()}", INTERRUPTED
    if isinstance(error, MemoryError):
        return "There is not enough memory for this.", OUTSIDE_FAILED
    if isinstance(error, OSError):
        return _outside(error), OUTSIDE_FAILED
    return _unexpected(error), OUTSIDE_FAILED


def code_of(error: SluiceError) -> int:
    """The exit code of a Sluice error."""
    from sluice.engines.interruption import RunInterrupted

    if isinstance(error, InvalidInput):
        return BAD_INPUT
    if isinstance(error, Infeasible):
        return NO
    return INTERRUPTED if isinstance(error, RunInterrupted) else OUTSIDE_FAILED


def _unexpected(error: BaseException) -> str:
    if os.environ.get("SLUICE_DEBUG"):
        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"Internal error in Sluice: {sentence(what)} Please report it;"
        " with SLUICE_DEBUG=1 in the environment Sluice prints the traceback."
    )


def _usage_complaint(error: BaseException) -> str:
    """The message for a wrong option or argument: what, where and a hint."""
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "sluice"
    hint = f"see {where} --help"
    known = [name for one in context.command.params for name in one.opts] if context else []
    if hasattr(error, "possibilities") and hasattr(error, "option_name") and context is not None:
        option: str = error.option_name
        what = f"there is no option {option}"
        near = suggestion(option, known)
        hint = f"{near} See {where} --help" if near.startswith("did you mean") else hint
    else:
        message: str = getattr(error, "format_message", error.__str__)()
        what = message.rstrip(".")
        what = what[:1].lower() + what[1:]
        if _ONE_TOO_MANY in what and "--file" in known:
            hint = f"name a file with --file, as in --file jobs.yaml; {hint}"
    return str(InvalidInput(what, where=where, hint=hint))


def _outside(error: OSError) -> str:
    place = error.filename or "Reading or writing failed"
    return f"{place}: {error.strerror or error}."


def _resume_hint() -> str:
    if sys.argv[1:2] != ["run"]:
        return ""
    return " If the run had begun, run it again with --resume to continue where it was."
