"""The count of unnoticed mistakes: what it draws, what it leaves out, and how it judges."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import CodeType

import pytest
from cosmic_ray.ast import get_ast_from_path
from tests.listed_mutants import listed
from tests.mutants import (
    asked,
    bodies,
    enclosing,
    first_line,
    functions,
    holds,
    known,
    mirror,
    mistakes,
    sample,
)
from tests.reach import FLOORS, HOUSE, PACKAGE, Reach

LIMIT = Path("src/sluice/model/limit.py")
WITHOUT_MISTAKES = '''
"""One of 2 files."""

def fits(need: int | None, most: "int" = (), *more: int | str) -> int | str:
    # 3 < 4 and not 5
    assert need < 6
    held: list[int | float]
    zip(most, more, strict=True)
    return f"{most + 7} of {need}"

def named(first: int, *, second: int) -> int:
    return first
'''
NESTED = '''
FIRST = 1

def outer(a: int = 2) -> int:
    """Two lines of code."""
    def inner(b: int) -> int:
        return b + 2

    both = inner(a)
    return both - 1
'''
TWO_FUNCTIONS = '''
def fits(need: int, room: int) -> bool:
    """Whether there is room."""
    return need <= room


def untested(need: int, room: int) -> bool:
    return need <= room
'''
TEST_OF_ONE = """
from sluice.model.limit import fits

def test_what_fills_the_room_fits():
    assert fits(2, 2)

def test_that_fails_without_a_mistake():
    assert not fits(2, 2)
"""

TEST_OF_A_COMMAND = """
import subprocess
import sys

def test_it():
    command = "from sluice.model.limit import fits; assert fits(2, 2)"
    subprocess.run([sys.executable, "-P", "-c", command], check=True)
"""


INI = "[pytest]\npythonpath = .\naddopts = --import-mode=importlib -p no:schemathesis"
TEST = "tests/model/test_limit.py::test_what_fills_the_room_fits"
BODY = "return need <= room\n\n"
LISTED = [
    ["model/limit.py", BODY, "return False\n\n", TEST],
    ["model/limit.py", BODY, "while True: pass\n\n", TEST],
    ["model/limit.py", "Whether there is room.", "Whether it fits.", TEST],
    ["model/limit.py", BODY, "return False\n\n", "tests/model/test_started.py::test_it"],
]


@pytest.fixture
def checkout(tmp_path):
    """A package with one module, of two functions, and tests of one of them."""
    for name, text in {
        LIMIT: TWO_FUNCTIONS,
        LIMIT.with_name("__init__.py"): "",
        PACKAGE / "__init__.py": "",
        "tests/model/test_limit.py": TEST_OF_ONE,
        "tests/model/test_started.py": TEST_OF_A_COMMAND,
        "tests/mutants.toml": f"survivors = []\nnoticed = {json.dumps(LISTED)}",
        "pytest.ini": INI,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("mutants.py", "listed_mutants.py", "reach.py"):
        text = (HOUSE / "tests" / name).read_text().replace("TEST_S_MAX = 20", "TEST_S_MAX = 1")
        (tmp_path / "tests" / name).write_text(text)
    return tmp_path


def run(checkout, *words):
    """Run a program of the checkout; return its exit code and the lines that it printed."""
    env = os.environ | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=checkout, env=env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout.splitlines()


def test_a_mistake_is_noticed_where_a_test_fails_and_the_next_seed_needs_no_more_tests(checkout):
    status, (*verdicts, new, total) = run(checkout, "tests.mutants", "--count=2", "model")

    assert status == 1
    assert total == "1 of 2 noticed: 50.0%, aim 85%"
    noticed, survived = sorted(verdicts)
    assert noticed.startswith("noticed   src/sluice/model/limit.py:4  return need <= room  ->  ")
    assert survived.startswith("survived  src/sluice/model/limit.py:8  return need <= room  ->  ")
    assert new.startswith('["model/limit.py", "return need <= room", "return need ')
    assert TWO_FUNCTIONS == (checkout / LIMIT).read_text()
    (found,) = (checkout / "build").glob("reach-*.jsonl")
    before = found.read_text()
    assert '["model/limit.py:2"]' in before
    assert (0, ["2"]) == run(checkout, "tests.reach")
    assert before == found.read_text()


def test_comments_docstrings_types_assertions_and_messages_hold_no_mistake(checkout):
    assert {(4, 16), (8, 16)} == mistakes(checkout, LIMIT).keys()
    (checkout / LIMIT).write_text(WITHOUT_MISTAKES)

    assert {} == mistakes(checkout, LIMIT)


def test_a_sample_depends_on_its_seed_and_holds_each_folder_by_its_size(tmp_path):
    for folder, places in {"core": 60, "model": 30, "store": 10}.items():
        (tmp_path / PACKAGE / folder).mkdir(parents=True)
        (tmp_path / PACKAGE / folder / "numbers.py").write_text("X = 1\n" * places)
    drawn = sample(tmp_path, ("core", "model", "store"), 20, seed=1)

    assert drawn == sample(tmp_path, ("core", "model", "store"), 20, seed=1)
    assert drawn != sample(tmp_path, ("core", "model", "store"), 20, seed=2)
    by_folder = Counter(one.module_path.parent.name for one in drawn)
    assert {"core": 12, "model": 6, "store": 2} == by_folder
    assert 20 == len({(one.module_path, one.start_pos) for one in drawn})


def test_a_file_is_judged_by_the_nearest_folder_that_mirrors_its_own():
    assert Path("tests/policies/ras") == mirror(HOUSE, PACKAGE / "policies/ras/goals.py")
    assert Path("tests/policies") == mirror(HOUSE, PACKAGE / "policies/ltyarn/credits.py")
    assert all((HOUSE / PACKAGE / floor).is_dir() for floor in FLOORS)


def test_the_nearest_and_shortest_tests_that_call_the_function_come_first():
    (mistake,) = sample(HOUSE, ("policies/ras",), 1, seed=1)
    calls = {first_line(mistake.module_path, one) for one in enclosing(HOUSE, mistake)}
    near, far = "tests/policies/ras/test_a.py::test_", "tests/core/test_b.py::test_"
    own = f"tests/core/test_{mistake.module_path.stem}.py::test_0"
    reach = [
        Reach(f"{far}1", 0.1, frozenset({"core/a.py:1", *calls})),
        Reach(f"{near}2", 3.0, frozenset(calls)),
        Reach(f"{near}3", 2.5, frozenset(calls)),
        Reach(f"{near}4", 0.1, frozenset({"core/a.py:1"})),
        Reach(f"{far}5", 70.0, frozenset(calls)),
        Reach(f"{far}6", 80.0, frozenset(calls)),
        Reach(own, 4.0, frozenset(calls)),
    ]

    assert asked(mistake, reach) == [own, f"{near}3", f"{near}2", f"{far}1", f"{far}5"]
    # None calls it: those of its folder.
    uncalled = [one for one in reach if not calls & one.functions]
    assert asked(mistake, uncalled) == [f"{near}4"]


def test_what_reads_declarations_comes_first_for_a_mistake_outside_of_functions():
    settings = PACKAGE / "policies" / "ras" / "policy.py"
    outside = next(
        choices[0]
        for _, choices in sorted(mistakes(HOUSE, settings).items())
        if not any(holds(one, choices[0]) for one in bodies(HOUSE, choices[0]))
    )
    near = Reach("tests/policies/ras/test_a.py::test_1", 0.1, frozenset())
    ranges = Reach("tests/test_setting_ranges.py::test_2", 3.0, frozenset())

    inside = next(
        choices[0]
        for _, choices in sorted(mistakes(HOUSE, settings).items())
        if any(holds(one, choices[0]) for one in bodies(HOUSE, choices[0]))
    )

    assert asked(outside, [near, ranges]) == [ranges.test, near.test]
    assert asked(inside, [near, ranges]) == [near.test, ranges.test]


def test_a_mistake_is_made_in_the_innermost_function_or_in_none(checkout):
    (checkout / LIMIT).write_text(NESTED)
    where = {
        line: [one.name.value for one in enclosing(checkout, choices[0])]
        for (line, _), choices in mistakes(checkout, LIMIT).items()
    }

    assert where == {2: ["outer", "inner"], 4: ["outer", "inner"], 7: ["inner"], 10: ["outer"]}


def test_the_line_of_a_function_is_that_of_its_decorator_as_in_a_profile():
    path = PACKAGE / "model" / "job.py"
    text = (HOUSE / path).read_text("utf-8")
    codes = [compile(text, path, "exec")]
    for code in codes:
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    lines = {f"model/job.py:{one.co_firstlineno}" for one in codes}
    found = {first_line(path, one) for one in functions(get_ast_from_path(HOUSE / path))}

    assert "@property" in text
    assert found
    assert found <= lines


def test_each_known_survivor_has_a_reason_and_is_still_there():
    """A line that has changed has to be judged again."""
    gone = [
        (path, before)
        for path, before, _ in known()
        if " ".join(before.split())
        not in " ".join((HOUSE / PACKAGE / path).read_text("utf-8").split())
    ]

    assert [] == gone
    assert all(len(reason.split()) > 2 for reason in known().values())


def test_a_listed_mistake_is_noticed_if_its_test_fails_or_has_no_end(checkout):
    """The last one is made in the Python that its test starts."""
    status, (*verdicts, total) = run(checkout, "tests.listed_mutants")

    assert (status, total) == (1, "3 of 4 noticed")
    words = [word for line in verdicts for word in line.split() if word in {"noticed", "survived"}]
    assert ["noticed", "noticed", "survived", "noticed"] == words
    assert TWO_FUNCTIONS == (checkout / LIMIT).read_text()


def test_each_listed_mistake_is_still_there_once_and_has_its_test():
    for one in listed():
        file, _, name = one.test.partition("::")

        assert (HOUSE / PACKAGE / one.file).read_text("utf-8").count(one.before) == 1, one
        assert f"def {name}(" in (HOUSE / file).read_text("utf-8"), one
