"""Whether the mistakes that once passed are noticed: `python -m tests.listed_mutants`.

`mutants.toml` lists them, each with the test that notices it now. Each is made in a process of
its own, and its test must fail there; without a mistake all of these tests must pass.
"""

import argparse
import sys
import tomllib
from typing import NamedTuple

from tests.mutants import check, noticed_by
from tests.reach import HOUSE, PACKAGE


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


def is_noticed(one: Listed) -> bool:
    """Whether its test fails if a mistake is made."""
    path = HOUSE / PACKAGE / one.file
    text = path.read_text("utf-8").replace(one.before, one.after)
    return bool(noticed_by(path, text, [one.test]))


def main() -> int:
    """Make each mistake; 1 if a test does not notice its own."""
    parser = argparse.ArgumentParser(
        prog="tests.listed_mutants", description="Make the mistakes that once passed."
    )
    parser.add_argument("files", nargs="*", help="only mistakes in files whose path has this part")
    wanted = parser.parse_args().files
    chosen = [one for one in listed() if not wanted or any(part in one.file for part in wanted)]
    verdicts = []
    check(sorted({one.test for one in chosen}))
    for one in chosen:
        verdicts.append(is_noticed(one))
        verdict = "noticed " if verdicts[-1] else "survived"
        print(f"{verdict}  {one.file}  {one.before}  ->  {one.after}", flush=True)
    print(f"{sum(verdicts)} of {len(verdicts)} noticed")
    return int(not all(verdicts))


if __name__ == "__main__":
    sys.exit(main())
