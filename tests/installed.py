"""Runs a test with Sluice as users get it: installed, its hot modules compiled.

Simulations take a third of the time there, and a fault of the compiled modules fails the test.
Where what is installed was not made of the sources of this checkout, the test runs on those.
"""

import filecmp
import functools
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parent.parent

_CALL = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
import pytest, sluice
assert not sluice.__file__.startswith(sys.argv[1] + "/src"), "these are the sources"
test = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])
with pytest.MonkeyPatch.context() as patch:
    own = {"monkeypatch": patch} if sys.argv[5] else {}
    test(**json.loads(sys.argv[4]), **own)
"""


@functools.cache
def is_current() -> bool:
    """Whether the installed package was made of the sources of this checkout."""
    installed = Path(sysconfig.get_path("purelib"), "sluice")
    sources = HOUSE / "src" / "sluice"
    names = [str(path.relative_to(sources)) for path in sources.rglob("*.py")]
    same, _, _ = filecmp.cmpfiles(sources, installed, names)
    return len(same) == len(names)


def run(item: pytest.Function) -> None:
    """Call the test of `item` in a process of its own; its arguments are parameters.

    Fails with what the process wrote to stderr, a traceback for example.
    """
    given = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    has_patch = "monkeypatch" in given
    given.pop("monkeypatch", None)
    assert item.parent is not None
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [str(HOUSE), item.obj.__module__, item.originalname, json.dumps(given)]
    child = subprocess.run(
        [sys.executable, "-P", "-c", _CALL, *words, "yes" if has_patch else ""],
        env=env, cwd=HOUSE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if child.returncode:
        pytest.fail(child.stderr, pytrace=False)
