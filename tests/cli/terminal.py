"""A terminal for tests: the command line run in this process, or as a process of its own."""

import io
import os
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest import mock

from tests import warm_start

from sluice.cli import main

PLAIN = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}

SMALL = """\
version: 1
cluster: {map_slots: 4, reduce_slots: 2}
pools: [{id: etl, weight: 2, map_slots_min: 1}, {id: adhoc}]
jobs:
  - id: words
    pool: etl
    deadline_s: 90
    maps: {tasks: 8, avg_s: 10}
    reduces: {tasks: 2, avg_s: 5}
  - id: sort
    pool: adhoc
    submitted_at_s: 5
    deadline_s: 10
    maps: {tasks: 4, avg_s: 10}
    reduces: {tasks: 2, avg_s: 20}
"""


class Answer(NamedTuple):
    """The answer of a command. out, err: text without blanks at the ends of lines."""

    code: int
    out: str
    err: str


def sluice(*words, stdin=b""):
    """Run `sluice WORDS` in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, PLAIN))
        stack.enter_context(mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        code = main([str(word) for word in words])
    return Answer(code, _text(out), _text(err))


def _text(stream):
    stream.flush()
    return _trimmed(stream.buffer.getvalue().decode())


def _trimmed(text):
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def result_of(document):
    """A document of the command line as the Python function gives it: without the provenance."""
    return {name: value for name, value in document.items() if name != "provenance"}


def sluice_process(*words, flags=(), env=None, unset=(), **options):
    """Run `python FLAGS -m sluice WORDS` as a process of its own. unset: variables to remove."""
    around = os.environ | PLAIN | (env or {})
    command = [sys.executable, *flags, "-m", "sluice", *map(str, words)]
    done = warm_start.run(
        command,
        env={name: value for name, value in around.items() if name not in unset},
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
        **options,
    )
    return Answer(done.returncode, _trimmed(done.stdout), _trimmed(done.stderr))
