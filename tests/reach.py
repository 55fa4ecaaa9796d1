"""Which probes each test reaches: a plugin of pytest for `tests/mutants.py`."""

import json
import os
import time

import pytest


def pytest_addoption(parser):
    parser.addoption("--reach", help="the file to which each test adds a line of JSON")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Note the test, the seconds it took and the numbers of the probes."""
    from sluice._reached import FOUND  # type: ignore[import-not-found]  # a copy with probes has it

    FOUND.clear()
    began_s = time.perf_counter()
    result = yield
    line = json.dumps([item.nodeid, time.perf_counter() - began_s, sorted(FOUND)]) + "\n"
    file = os.open(item.config.getoption("--reach"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line.encode())  # one call, so that the lines of several processes do not mix
    os.close(file)
    return result
