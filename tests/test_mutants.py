"""The count of unnoticed mistakes: what it draws, what it leaves out, and how it judges."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests import mutants
from tests.listed_mutants import Listed, is_noticed, listed
from tests.mutants import (
    FLOORS,
    HOUSE,
    PACKAGE,
    Reach,
    asked,
    blamed,
    bodies,
    enclosing,
    holds,
    judge,
    known,
    mirror,
    mistakes,
    probe,
    reached,
    sample,
)  # fmt: skip

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
"""


@pytest.fixture
def checkout(tmp_path):
    """A package with one module, of two functions, and a test of one of them."""
    for name, text in {
        LIMIT: TWO_FUNCTIONS,
        LIMIT.with_name("__init__.py"): "",
        PACKAGE / "__init__.py": "",
        Path("tests/model/test_limit.py"): TEST_OF_ONE,
        Path("tests/reach.py"): (HOUSE / "tests/reach.py").read_text(),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_mistake_is_noticed_where_a_test_fails_and_undone(checkout, tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "TESTS", ("tests/model",))
    probed = tmp_path / "probed"
    shutil.copytree(checkout, probed)
    tested, untested = (
        next(one for one in choices if one.operator_name.endswith("LtE_Lt"))
        for choices in mistakes(checkout, LIMIT).values()
    )

    reach = reached(probed, [tested, untested], processes=1)
    assert [(one.test, one.mistakes) for one in reach] == [
        ("tests/model/test_limit.py::test_what_fills_the_room_fits", frozenset({0}))
    ]
    noticed, by = judge(checkout, tested, asked(checkout, 0, tested, reach))
    assert noticed.is_killed
    assert by == ("tests/model/test_limit.py::test_what_fills_the_room_fits",)
    assert asked(checkout, 1, untested, []) == []
    survivor, by = judge(checkout, untested, [])
    assert not survivor.is_killed
    assert by == ()
    assert "+    return need < room" in survivor.diff.splitlines()
    assert TWO_FUNCTIONS == (checkout / LIMIT).read_text()


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
    near, far = "tests/policies/ras/test_a.py::test_", "tests/core/test_b.py::test_"
    known = [
        Reach(f"{far}1", 0.1, frozenset({0, 7})),
        Reach(f"{near}2", 3.0, frozenset({7})),
        Reach(f"{near}3", 2.5, frozenset({7})),
        Reach(f"{near}4", 0.1, frozenset({0})),
        Reach(f"{far}5", 70.0, frozenset({7})),
        Reach(f"{far}6", 80.0, frozenset({7})),
    ]

    assert asked(HOUSE, 7, mistake, known) == [[f"{near}3", f"{near}2"], [f"{far}1", f"{far}5"]]
    # None calls it: those of its folder.
    assert asked(HOUSE, 8, mistake, known) == [[f"{near}4", f"{near}3", f"{near}2"]]


def test_what_reads_declarations_comes_first_for_a_mistake_outside_of_functions():
    settings = PACKAGE / "policies" / "ras" / "policy.py"
    outside = next(
        choices[0]
        for _, choices in sorted(mistakes(HOUSE, settings).items())
        if not any(holds(one, choices[0]) for one in bodies(HOUSE, choices[0]))
    )
    near = Reach("tests/policies/ras/test_a.py::test_1", 0.1, frozenset({7}))
    ranges = Reach("tests/test_setting_ranges.py::test_2", 3.0, frozenset())

    assert asked(HOUSE, 7, outside, [near, ranges]) == [[ranges.test, near.test]]
    assert asked(HOUSE, 8, outside, [near, ranges]) == [[ranges.test, near.test]]


def test_a_mistake_is_made_in_the_innermost_function_or_in_none(checkout):
    (checkout / LIMIT).write_text(NESTED)
    where = {
        line: [one.name.value for one in enclosing(checkout, choices[0])]
        for (line, _), choices in mistakes(checkout, LIMIT).items()
    }

    assert where == {2: ["outer", "inner"], 4: ["outer", "inner"], 7: ["inner"], 10: ["outer"]}


def test_probes_change_nothing_but_what_they_note(checkout):
    (checkout / LIMIT).write_text(NESTED)
    drawn = [choices[0] for choices in mistakes(checkout, LIMIT).values()]
    lines = NESTED.splitlines()
    probe(checkout, drawn)
    after = (checkout / LIMIT).read_text().splitlines()

    assert [line for line in after if "_reached" not in line] == lines
    notes = [after.index(line) for line in after if "_reached" in line]
    assert [after[at + 1].strip() for at in notes] == [
        "def inner(b: int) -> int:", "return b + 2"
    ]  # fmt: skip
    compile("\n".join(after), "limit.py", "exec")


def test_what_noticed_a_mistake_is_read_from_the_output_of_pytest():
    output = """
FAILED tests/a.py::test_one - assert 1 == 2
FAILED tests/a.py::test_two[x-1] - KeyError: 'FAILED'
FAILED tests/a.py::test_three[with spaces] - x
ERROR tests/b.py
"""
    assert blamed(output, ["tests"]) == (
        "tests/a.py::test_one", "tests/a.py::test_two[x-1]", "tests/a.py::test_three", "tests/b.py"
    )  # fmt: skip
    assert blamed("timeout", ["tests/c.py::test_four"]) == ("tests/c.py::test_four",)


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


def test_a_listed_mistake_is_noticed_if_its_test_fails(checkout):
    test = "tests/model/test_limit.py::test_what_fills_the_room_fits"

    assert is_noticed(checkout, Listed("model/limit.py", "need <= room\n\n", "False\n\n", test))
    same = Listed("model/limit.py", "Whether there is room.", "Whether it fits.", test)
    assert not is_noticed(checkout, same)
    assert TWO_FUNCTIONS == (checkout / LIMIT).read_text()


def test_each_listed_mistake_is_still_there_once_and_has_its_test():
    for one in listed():
        file, _, name = one.test.partition("::")

        assert (HOUSE / PACKAGE / one.file).read_text("utf-8").count(one.before) == 1, one
        assert f"def {name}(" in (HOUSE / file).read_text("utf-8"), one
