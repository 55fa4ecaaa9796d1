"""Work in a child process of a service, which the system may end at any time."""

import os
import signal

from sluice.bootstrap.service.forking import in_fork

CPU_S = 30
PIPE_BYTES = 1 << 20


class Broken(list[int]):
    """A list of rows whose writer is killed after the first."""

    def __iter__(self):
        yield "x" * (PIPE_BYTES // 16)
        os.kill(os.getpid(), signal.SIGKILL)


def test_an_answer_comes_back_whole():
    assert in_fork(lambda: {"jobs": ["x" * PIPE_BYTES]}, CPU_S) == {"jobs": ["x" * PIPE_BYTES]}


def test_a_child_that_is_killed_while_it_writes_has_no_answer():
    assert in_fork(lambda: Broken([0]), CPU_S) is None
