"""The way in from a terminal: verbs, flags, exit codes.

Theory of operation. `main` runs one verb and turns whatever comes of it into an exit code: 0 done,
1 a true no, 2 bad input, 3 the outside failed, 130 stopped by hand. Results go to stdout, talk
(progress, hints, complaints) to stderr. A verb prints its result only when all that could still
fail is behind it, so that stdout is empty wherever the code is 2 or 3. Modules of this room import
what is heavy (parsers, the simulator, engines, Rich) inside functions: `sluice --help` is quick.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

_COMPLETION = "_SLUICE_COMPLETE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default that of the process, and return its exit code."""
    _mend_streams()
    if not __debug__:
        sys.stderr.write(
            "sluice: Python runs with -O, which takes out the checks that keep a decision from"
            " being wrong. Run it without -O and without PYTHONOPTIMIZE.\n"
        )
        return 2
    from sluice.cli.failures import guarded

    return guarded(lambda: _dispatch(sys.argv[1:] if arguments is None else list(arguments)))


def _dispatch(arguments: list[str]) -> int:
    """Parse the arguments and run the verb that they name."""
    from typer.main import get_command

    from sluice.cli.commands import app

    command = get_command(app)
    if _COMPLETION in os.environ:
        command.main(arguments, prog_name="sluice", complete_var=_COMPLETION)
    # Not `main`, which has messages and exit codes of its own.
    with command.make_context("sluice", arguments) as context:
        return int(command.invoke(context) or 0)


def _mend_streams() -> None:
    """A stream that was closed reads and writes nothing; what a terminal cannot show is a "?"."""
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout = sys.stdout or _nowhere("w")
    sys.stderr = sys.stderr or _nowhere("w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _nowhere(mode: str) -> io.TextIOWrapper:
    stream = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115  # it lives as long as the process
    assert isinstance(stream, io.TextIOWrapper)
    return stream
