"""Work in a child of the follower."""

import os

from sluice.bootstrap.service.forking import forked, in_fork

CPU_S = 10
TEXT = "a" * 10**6  # more than a pipe holds


def test_a_child_whose_parent_does_not_read_ends_without_a_message(capfd):
    """The follower may be killed at any time, and its log is for faults."""
    pid, reader = forked(lambda: TEXT, CPU_S)
    os.close(reader)
    os.waitpid(pid, 0)
    assert capfd.readouterr().err == ""


def test_a_fault_of_the_work_is_shown(capfd):
    assert in_fork(lambda: 1 / 0, CPU_S) is None
    assert "ZeroDivisionError" in capfd.readouterr().err
    assert in_fork(lambda: TEXT, CPU_S) == TEXT
