"""Whether the mistakes that once passed are noticed: `python -m tests.listed_mutants`.

`mutants.toml` lists them, each with the test that notices it now. Each is made in a temporary copy
of this checkout, and its test must fail; without a mistake all of these tests must pass.
"""

import argparse
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome
from tests.mutants import HOUSE, PACKAGE, RUN_S_MAX, command, make_copy


class Listed(NamedTuple):
    """A mistake, and the test that notices it.

    file: below the package.  before, after: part of the file, which has it once.
    """

    file: str
    before: str
    after: str
    test: str


def listed() -> list[Listed]:
    """The mistakes that once passed."""
    text = (HOUSE / "tests" / "mutants.toml").read_text("utf-8")
    return [Listed(*one) for one in tomllib.loads(text)["noticed"]]


def passes(root: Path, *tests: str) -> bool:
    """Whether tests pass in a copy."""
    outcome, _ = run_tests(command(root, tests), RUN_S_MAX)
    return outcome is TestOutcome.SURVIVED


def is_noticed(root: Path, one: Listed) -> bool:
    """Make a mistake in a copy, run its test, and undo it."""
    path = root / PACKAGE / one.file
    text = path.read_text("utf-8")
    path.write_text(text.replace(one.before, one.after), "utf-8")
    try:
        return not passes(root, one.test)
    finally:
        path.write_text(text, "utf-8")


def main() -> int:
    """Make each mistake; 1 if a test does not notice its own."""
    parser = argparse.ArgumentParser(
        prog="tests.listed_mutants", description="Make the mistakes that once passed."
    )
    parser.add_argument("files", nargs="*", help="only mistakes in files whose path has this part")
    wanted = parser.parse_args().files
    chosen = [one for one in listed() if not wanted or any(part in one.file for part in wanted)]
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        copy = make_copy(folder)
        if not passes(copy, *sorted({one.test for one in chosen})):
            raise RuntimeError("A test fails without a mistake.")
        for one in chosen:
            verdicts.append(is_noticed(copy, one))
            verdict = "noticed " if verdicts[-1] else "survived"
            print(f"{verdict}  {one.file}  {one.before}  ->  {one.after}", flush=True)
    print(f"{sum(verdicts)} of {len(verdicts)} noticed")
    return int(not all(verdicts))


if __name__ == "__main__":
    sys.exit(main())
