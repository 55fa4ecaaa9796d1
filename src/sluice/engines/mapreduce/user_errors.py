"""Errors of the user's Python code: the place in the user's file, and a traceback without ours."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from traceback import FrameSummary, TracebackException

import sluice

TRACE_FRAMES_MAX = 10
_OURS = (str(Path(sluice.__path__[0])) + "/", "<frozen importlib")


def summary(error: BaseException, folder: str) -> str:
    """The exception in one line, with the place in the user's code: "ValueError: bad (wc.py:5)".

    folder: where the user's files are; other frames, such as of a library, name the place only if
    there is none of these.
    """
    text = one_line(f"{type(error).__name__}: {_text(error)}".removesuffix(": "))
    if isinstance(error, SyntaxError) and error.filename:
        return f"{text} ({_relative(error.filename, folder)}:{error.lineno})"
    frame = user_frame(error, folder)
    return text if frame is None else f"{text} ({_relative(frame.filename, folder)}:{frame.lineno})"


def cause_of(error: BaseException, folder: str) -> str:
    """The type of an exception and its place: "ValueError at wc.py:5", the same in all tasks.

    "" for faults of files, networks and memory: another attempt may do better.
    """
    frame = user_frame(error, folder)
    if frame is None or isinstance(error, OSError | MemoryError | SystemExit):
        return ""
    return f"{type(error).__name__} at {_relative(frame.filename, folder)}:{frame.lineno}"


def user_traceback(error: BaseException) -> str:
    """The traceback as Python prints it, causes included, without frames of Sluice."""
    trace = TracebackException.from_exception(error)
    for part in _chain(trace):
        part.stack = traceback.StackSummary.from_list(_user_frames(part)[-TRACE_FRAMES_MAX:])
    return "".join(trace.format())


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # code of the user
        return "its text cannot be made"


def load_problem(error: BaseException, folder: str) -> str:
    """Why the user's file could not be imported: file, line, text of the line, and the exception.

    A SyntaxError names the place itself; any other exception has the place in its traceback.
    """
    text = one_line(f"{type(error).__name__}: {_text(error)}".removesuffix(": "))
    if isinstance(error, SyntaxError) and error.filename:
        text = one_line(f"{type(error).__name__}: {error.msg}")
        place, code = f"{_relative(error.filename, folder)} line {error.lineno}", error.text
    else:
        frame = user_frame(error, folder)
        if frame is None:
            return text
        place, code = f"{_relative(frame.filename, folder)} line {frame.lineno}", frame.line
    code = one_line(code or "")
    return f"{place}: {text} ({code})" if code else f"{place}: {text}"


def user_frame(error: BaseException, folder: str) -> FrameSummary | None:
    """The innermost frame in a file of the user's folder; else the innermost that is not ours."""
    frames = _user_frames(TracebackException.from_exception(error))
    resolved = Path(folder).resolve()
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(resolved)]
    chosen = own or frames
    return chosen[-1] if chosen else None


def one_line(text: str) -> str:
    r"""The lines of a text as one.

    >>> one_line("cannot read\n  the file")
    'cannot read; the file'
    """
    return "; ".join(filter(None, map(str.strip, text.splitlines())))


def _user_frames(trace: TracebackException) -> Sequence[FrameSummary]:
    return [frame for frame in trace.stack if not frame.filename.startswith(_OURS)]


def _chain(trace: TracebackException | None) -> Iterator[TracebackException]:
    if trace is not None:
        yield trace
        yield from _chain(trace.__cause__)
        yield from _chain(trace.__context__)
        for inner in trace.exceptions or ():
            yield from _chain(inner)


def _relative(file_name: str, folder: str) -> str:
    path, resolved = Path(file_name), Path(folder).resolve()
    return str(path.relative_to(resolved)) if path.is_relative_to(resolved) else str(path)
