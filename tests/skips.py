"""Things that a test needs and a machine may lack: the test is skipped there, and says why.

`.ci/run` installs all of it and sets SLUICE_TEST_WHOLE: there a skip is a failure, so that every
test runs somewhere.
"""

import os
from importlib import import_module
from types import ModuleType
from typing import NoReturn

import pytest

VARIABLE = "SLUICE_TEST_WHOLE"


def skip(lacking: str) -> NoReturn:
    """Skip the test at hand, for what this machine lacks; fail it where nothing may be skipped."""
    if os.environ.get(VARIABLE):
        pytest.fail(f"{lacking}, and {VARIABLE} allows no skip")
    pytest.skip(f"{lacking}; .ci/run installs it and runs this test")


def required(module: str) -> ModuleType:
    """The module of an optional extra; skips where it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        skip(f"{module} is not installed here")
