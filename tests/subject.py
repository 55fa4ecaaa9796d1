"""The subject of the tests: the installed package, or, where PYTHONPATH says so, the sources.

`make test` installs the wheel that users get and tests that. The tests of what decides run a second
time on the sources, where they can also look inside: see the marker `interpreted`.
"""

import filecmp
import os
import sysconfig
from pathlib import Path

import sluice
import sluice.core.scheduler

HOUSE = Path(__file__).resolve().parent.parent
PACKAGE = Path(sluice.__path__[0])
SOURCES = HOUSE / "src" / "sluice"
IS_SOURCES = PACKAGE == SOURCES
IS_COMPILED = not sluice.core.scheduler.__file__.endswith(".py")


def refusal() -> str:
    """Why nothing would be shown by a test of this package; "" if it is what is to be tested.

    The sources count only if PYTHONPATH asks for them, and what is installed only if it was made of
    the sources of this checkout.
    """
    if IS_SOURCES:
        asked = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        return "" if str(SOURCES.parent) in asked else f"{SOURCES} was imported unasked"
    if Path(sysconfig.get_path("purelib"), "sluice") != PACKAGE:
        return f"{PACKAGE} is not what is installed"
    names = [str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py")]
    same, *_ = filecmp.cmpfiles(SOURCES, PACKAGE, names, shallow=False)
    others = sorted({*names}.difference(same))
    return f"{others[0]} is installed from other sources; make .venv/.sluice" if others else ""


def header() -> str:
    """Return the line above the tests that says what is tested."""
    what = "the sources" if IS_SOURCES else "the installed package"
    return f"sluice: {what}, {'compiled' if IS_COMPILED else 'not compiled'}"
