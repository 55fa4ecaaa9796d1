"""Which functions each quick test calls, and the CPU time it takes: kept between runs.

`build/reach-DIGEST.jsonl` has a line for each file of tests, the last one counts. The name holds a
digest of the sources: other sources begin another file. A file of tests runs again if it changes.
A test that does not pass, or takes over `CPU_S_MAX`, is left out: it could notice no mistake.
"""

import cProfile
import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis.stateful  # loaded once, before processes are forked
import numpy as np  # noqa: F401  # likewise
import pytest

HOUSE = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "sluice")
FLOORS = ("model", "estimate", "core", "policies", "planning", "simulation", "store")
DECLARED = "tests/test_setting_ranges.py"  # reads what is declared as modules are imported
CPU_S_MAX = 5.0

CRASHED = 70  # no exit code of pytest


class Reach(NamedTuple):
    """A test without a mistake: the CPU seconds it took, and the functions that it called.

    functions: each as FILE:LINE, the file below the package, the line of `def` or its decorator.
    """

    test: str
    cpu_s: float
    functions: frozenset[str]


class TooLong(BaseException):
    """A test takes too long. Hypothesis does not take this for the failure of an example."""


def in_child(work: Callable[[], int]) -> int:
    """Fork a process for the work and return its exit code; negative: the signal that ended it."""
    pid = os.fork()
    if not pid:
        end = CRASHED
        try:
            end = work()
        finally:
            os._exit(end)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_tests(tests: Iterable[str], plugin: object, *options: str) -> int:
    """Run quick tests on the sources with few examples in a process made for it."""
    (HOUSE / "build").mkdir(exist_ok=True)
    log = os.open(HOUSE / "build" / "mutants.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ["SLUICE_TEST_FAST"] = "1"
    # The example that fails need not be the shortest.
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile("mistake", deadline=None, database=None, phases=phases)
    given = ("-q", "-n0", "-p", "no:cacheprovider", "-m", "not slow", *options)
    given = (*given, "-W", "ignore::pytest.PytestAssertRewriteWarning")  # those loaded before
    seeded = ("--hypothesis-profile=mistake", "--hypothesis-seed=0")
    return int(pytest.main([*given, *seeded, *tests], [plugin]))


class Recorder:
    """A plugin of pytest that adds a line to the file after each file of tests."""

    def __init__(self, found: Path) -> None:
        self._found = found
        self._profile = cProfile.Profile(builtins=False, subcalls=False)
        self._tests: list[tuple[str, float, list[str]]] = []
        self._has_passed = True
        signal.signal(signal.SIGPROF, self._end)

    def _end(self, *_: object) -> None:
        raise TooLong

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Let a test take the CPU time that it may."""
        signal.setitimer(signal.ITIMER_PROF, CPU_S_MAX)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note whether all parts of a test pass."""
        self._has_passed &= report.passed

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Do not mind tests that fail."""
        if session.exitstatus == pytest.ExitCode.TESTS_FAILED:
            session.exitstatus = pytest.ExitCode.OK

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Iterator[None]:
        """Note what a test calls."""
        self._profile.clear()
        self._has_passed, began_s = True, sum(os.times()[:4])
        self._profile.enable()
        result = yield
        self._profile.disable()
        if self._has_passed:
            cpu_s = round(sum(os.times()[:4]) - began_s, 3)
            self._tests.append((item.nodeid, cpu_s, called(self._profile)))
        if nextitem is None or nextitem.path != item.path:
            path = str(item.path.relative_to(HOUSE))
            line = json.dumps([path, digest([item.path]), self._tests]) + "\n"
            with self._found.open("ab", buffering=0) as file:
                file.write(line.encode())  # one call: lines of several processes do not mix
            self._tests.clear()
        return result


def called(profile: cProfile.Profile) -> list[str]:
    """The functions of the floors that have a profile."""
    root = f"{HOUSE / PACKAGE}{os.sep}"
    codes: set[Any] = {entry.code for entry in profile.getstats()}
    own = (one for one in codes if not isinstance(one, str) and one.co_filename.startswith(root))
    names = {f"{one.co_filename[len(root) :]}:{one.co_firstlineno}" for one in own}
    return sorted(name for name in names if name.startswith(FLOORS))


def digest(paths: Iterable[Path]) -> str:
    """Digest of files."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def reached(processes: int) -> list[Reach]:
    """Return what each test calls; run the files of tests for which that is not known."""
    sources = sorted((HOUSE / PACKAGE).rglob("*.py"))
    found = HOUSE / "build" / f"reach-{digest(sources)}.jsonl"
    found.parent.mkdir(exist_ok=True)
    found.touch()
    files = [path for one in FLOORS for path in sorted(HOUSE.glob(f"tests/{one}/**/test_*.py"))]
    files += [*HOUSE.glob("tests/test_docstrings.py"), *HOUSE.glob(DECLARED)]
    wanted = {str(path.relative_to(HOUSE)): digest([path]) for path in files}
    known = {path: was for path, was, _ in lines(found)}
    todo = [path for path, now in wanted.items() if known.get(path) != now]

    def record(paths: Sequence[str]) -> int:
        return in_child(lambda: run_tests(paths, Recorder(found)))

    with ThreadPoolExecutor(processes) as pool:
        shares = [todo[first::processes] for first in range(processes) if todo[first:]]
        ends = list(pool.map(record, shares))
    if bad := [end for end in ends if end not in {0, 5}]:
        raise RuntimeError(f"pytest ended with {bad[0]}: see build/mutants.log")
    tests = {path: found for path, _, found in lines(found) if path in wanted}
    return [
        Reach(test, cpu_s, frozenset(calls)) for of in tests.values() for test, cpu_s, calls in of
    ]


def lines(found: Path) -> Iterator[list[Any]]:
    """Read the lines of a file."""
    with found.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


if __name__ == "__main__":
    print(len(reached(1)))
