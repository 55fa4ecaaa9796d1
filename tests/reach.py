"""Which probes each test reaches: a plugin of pytest for `tests/mutants.py`."""

import json
import os

import pytest


def cpu_s():
    """CPU seconds of this process and of the children that it has waited for."""
    return sum(os.times()[:4])


def pytest_addoption(parser):
    parser.addoption("--reach", help="the file to which each test adds a line of JSON")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Note the test, the seconds of CPU it took and the numbers of the probes.

    On a busy machine a test takes longer, and fewer of them would be asked about a mistake.
    """
    from sluice._reached import FOUND  # type: ignore[import-not-found]  # a copy with probes has it

    FOUND.clear()
    began_s = cpu_s()
    result = yield
    line = json.dumps([item.nodeid, cpu_s() - began_s, sorted(FOUND)]) + "\n"
    file = os.open(item.config.getoption("--reach"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line.encode())  # one call, so that the lines of several processes do not mix
    os.close(file)
    return result
