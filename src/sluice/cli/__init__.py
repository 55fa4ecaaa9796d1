"""The command line: verbs, options, exit codes.

Theory of operation. `main` runs one verb and turns its outcome into an exit code: 0 done, 1 a true
no, 2 bad input, 3 the outside failed, 130 interrupted. Results go to stdout, other messages
(progress, hints, errors) to stderr. A verb prints its result only when nothing after it can fail,
so stdout is empty if the code is 2 or 3. Modules of this folder import what is heavy (parsers, the
simulator, engines, Rich) inside functions: `sluice --help` is quick.

Ctrl-C. While modules are imported, an interrupt ends the process at once: nothing has begun, and a
KeyboardInterrupt in an import could be printed with a traceback or lost in a callback. Afterwards
KeyboardInterrupt is raised as usual, and `guarded` reports it.
"""

from __future__ import annotations

import functools
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

_COMPLETION = "_SLUICE_COMPLETE"
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default that of the process, and return its exit code."""
    with _interrupt_ends_process():
        _replace_closed_streams()
        if not __debug__:
            sys.stderr.write(
                "sluice: Python runs with -O, which removes the checks that detect wrong decisions."
                " Run it without -O and without PYTHONOPTIMIZE.\n"
            )
            return 2
        from sluice.cli.failures import guarded

    return guarded(lambda: _dispatch(sys.argv[1:] if arguments is None else list(arguments)))


@functools.cache
def _command() -> Any:  # noqa: ANN401  # click's types, or Typer's copies of them, by Typer's version
    from typer.main import get_command

    from sluice.cli.commands import app

    return get_command(app)


def _dispatch(arguments: list[str]) -> int:
    """Parse the arguments and run the verb that they name."""
    with _interrupt_ends_process():
        command = _command()
    if _COMPLETION in os.environ:
        command.main(arguments, prog_name="sluice", complete_var=_COMPLETION)
    # Not `main`, which has messages and exit codes of its own.
    with command.make_context("sluice", arguments) as context:
        return int(command.invoke(context) or 0)


@contextmanager
def _interrupt_ends_process() -> Iterator[None]:
    """Ctrl-C ends the process within the block, unless the caller handles or ignores SIGINT."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    try:
        signal.signal(signal.SIGINT, _stop)
    except ValueError:  # only the main thread can set a handler, and only it is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
