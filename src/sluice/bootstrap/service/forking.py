"""Work on a copy of this process: a simulation may use up the scheduler that it starts from.

Only the follower forks, because it has one thread.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_NICE = 10


def forked(work: Callable[[], Any], cpu_s: int) -> tuple[int, int]:
    """Start a child that writes the result of `work` as JSON; returns its pid and a pipe to read.

    cpu_s: after so many seconds of processor time it is ended by the system.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    status = 1
    try:
        os.close(reader)
        with suppress(OSError):
            os.nice(_NICE)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
        with os.fdopen(writer, "w", encoding="utf-8") as pipe:
            json.dump(work(), pipe)
        status = 0
    except BrokenPipeError:
        pass  # the process that asked was killed
    except BaseException:  # noqa: BLE001  # the child must never go on as its parent
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
    finally:
        os._exit(status)


def in_fork(work: Callable[[], Any], cpu_s: int) -> Any:  # noqa: ANN401  # whatever the work returns as JSON
    """The result of `work`, done in a child; None if it did not come to an end."""
    pid, reader = forked(work, cpu_s)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return whole_answer(text)


def whole_answer(text: bytes | str) -> Any:  # noqa: ANN401  # whatever the work returns as JSON
    """The answer that a child has written; None if it was ended before it had written all of it.

    >>> whole_answer('{"jobs": []}'), whole_answer('{"jobs": ['), whole_answer("")
    ({'jobs': []}, None, None)
    """
    try:
        return json.loads(text)
    except ValueError:  # also a letter of UTF-8 that was cut
        return None
