"""The command line: verbs, options, exit codes.

Theory of operation. `main` runs one verb and turns its outcome into an exit code: 0 done, 1 a true
no, 2 bad input, 3 the outside failed, 130 interrupted. Results go to stdout, other messages
(progress, hints, errors) to stderr. A verb prints its result only when nothing after it can fail,
so stdout is empty if the code is 2 or 3. Modules of this folder import what is heavy (parsers, the
simulator, engines, Rich) inside functions. The help of `sluice` as a whole, and its version, are
printed without Typer and without a command: see `overview_help.py`.

Ctrl-C. While modules are imported, an interrupt ends the process at once: nothing has begun, and a
KeyboardInterrupt in an import could be printed with a traceback or lost in a callback. Afterwards
KeyboardInterrupt is raised as usual, and `guarded` reports it. Before `main` nothing can catch it:
this module imports only what the interpreter has loaded already (`signal` would import `enum`).
"""

from __future__ import annotations

import io
import os
import sys
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]  # typeshed has `signal` alone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import Any

_COMPLETION = "_SLUICE_COMPLETE"
_FOR_HELP: tuple[list[str], ...] = ([], ["--help"], ["-h"])
_FOR_VERSION = (["version"], ["--version"])
_INTERRUPTED = 130
# Objects, before Python searches them for garbage. Modules are none: at Python's own 700, a tenth
# of the time of a short command is spent searching what it imports.
_NEW_OBJECTS = 100_000
_ALL = ""
_commands: dict[str, Any] = {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default that of the process, and return its exit code."""
    with _InterruptEndsProcess():
        _replace_closed_streams()
        if not __debug__:
            sys.stderr.write(
                "sluice: Python runs with -O, which removes the checks that detect wrong decisions."
                " Run it without -O and without PYTHONOPTIMIZE.\n"
            )
            return 2
        import gc

        if arguments is None:  # the process is the command's
            gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
        from sluice.cli.failures import guarded

    if arguments is not None:
        return guarded(lambda: _dispatch(list(arguments)))
    code = guarded(lambda: _dispatch(sys.argv[1:]))
    # The process ends: Python would search all that it holds for garbage, and give it back bit by
    # bit, which after a simulation of many jobs takes as long as to read them.
    gc.freeze()
    return code


def _command(name: str = _ALL) -> Any:  # noqa: ANN401  # click's types, or Typer's copies of them, by Typer's version
    """The group of commands, built once for each first word of a command line.

    It has all commands unless `name` is one: to import and to build the others takes as long as
    Python and Typer need to start. Once it has all, it serves every command line.
    """
    from typer.main import get_command

    from sluice.cli.commands import with_all_commands, with_command
    from sluice.cli.panels import COMMANDS

    if name not in COMMANDS or _ALL in _commands:
        name = _ALL
    if name not in _commands:
        _commands[name] = get_command(with_command(name) if name else with_all_commands())
    return _commands[name]


def _dispatch(arguments: list[str]) -> int:
    """Parse the arguments and run the verb that they name."""
    with _InterruptEndsProcess():
        if _COMPLETION not in os.environ and arguments in (*_FOR_HELP, *_FOR_VERSION):
            return _overview(arguments)
        is_verb = arguments and _COMPLETION not in os.environ
        command = _command(arguments[0] if is_verb else _ALL)
    if _COMPLETION in os.environ:
        command.main(arguments, prog_name="sluice", complete_var=_COMPLETION)
    # Not `main`, which has messages and exit codes of its own.
    with command.make_context("sluice", arguments) as context:
        return int(command.invoke(context) or 0)


def _overview(arguments: list[str]) -> int:
    """Answer what needs no parser, which takes longer to import than all of this."""
    from sluice.cli.overview_help import print_overview, print_version

    if arguments in _FOR_VERSION:
        print_version()
    else:
        print_overview()
    return 0


class _InterruptEndsProcess:
    """Ctrl-C ends the process within the block, unless the caller handles or ignores SIGINT."""

    def __enter__(self) -> None:
        self._is_set = False
        if getsignal(SIGINT) is default_int_handler:
            try:
                signal(SIGINT, _stop)
                self._is_set = True
            except ValueError:
                return  # only the main thread can set a handler, and only it is interrupted

    def __exit__(self, *_: object) -> None:
        if self._is_set:
            signal(SIGINT, default_int_handler)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """End the process without the interpreter's own messages."""
    # Not sys.stderr: the interrupt may have come within a write to it.
    if sys.stderr is not None:
        os.write(2, b"Stopped.\n")
    os._exit(_INTERRUPTED)


def _replace_closed_streams() -> None:
    """A closed stream reads and writes nothing; a character that cannot be encoded is a "?"."""
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout = sys.stdout or _nowhere("w")
    sys.stderr = sys.stderr or _nowhere("w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _nowhere(mode: str) -> io.TextIOWrapper:
    stream = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115  # open until the end
    assert isinstance(stream, io.TextIOWrapper)
    return stream
