"""The count of unnoticed mistakes: what it draws, what it leaves out, and how it judges."""

from collections import Counter
from pathlib import Path

import pytest
from tests.mutants import (
    FLOORS,
    HOUSE,
    PACKAGE,
    Verdict,
    blamed,
    judge,
    known,
    mirror,
    mistakes,
    sample,
    stages,
    without_mistakes,
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
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_mistake_is_noticed_where_a_test_fails_and_undone(checkout):
    tested, untested = (
        next(one for one in choices if one.operator_name.endswith("LtE_Lt"))
        for choices in mistakes(checkout, LIMIT).values()
    )

    noticed, by = judge(checkout, tested)
    assert noticed.is_killed
    assert by[1] == ("tests/model/test_limit.py::test_what_fills_the_room_fits",)
    survivor, by = judge(checkout, untested)
    assert not survivor.is_killed
    assert by[1] == ()
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


def test_what_the_nearest_tests_let_pass_is_tried_on_slower_and_wider_ones():
    near, others, slow, wider = stages(HOUSE, PACKAGE / "policies/ras/placement.py")
    assert Path("tests/policies/ras/test_ras_placement.py") in near[1]
    assert not set(near[1]) & set(others[1])
    assert ["not slow", "not slow", "slow", "not slow"] == [
        marks for marks, _ in (near, others, slow, wider)
    ]
    assert {Path("tests/policies/ras")} == {one.parent for one in (*near[1], *others[1], *slow[1])}
    assert [Path("tests", one) for one in ("policies", "simulation", "examples")] == wider[1]

    ((_, (shown, own, *_)), *_) = stages(HOUSE, PACKAGE / "estimate/run_lengths.py")
    assert str(shown).endswith("[sluice.estimate.run_lengths]")
    assert str(own) == "tests/estimate/test_run_lengths.py"


def test_what_noticed_a_mistake_is_read_from_the_output_of_pytest():
    output = """
FAILED tests/a.py::test_one - assert 1 == 2
FAILED tests/a.py::test_two[x-1] - KeyError: 'FAILED'
FAILED tests/a.py::test_three[with spaces] - x
ERROR tests/b.py
"""
    _, tests = blamed(output, "not slow", ["tests"])

    assert ("tests/a.py::test_one", "tests/a.py::test_two[x-1]", "tests/a.py::test_three",
            "tests/b.py") == tests  # fmt: skip
    assert blamed("timeout", "slow", [Path("tests")]) == ("slow", ("tests",))


def test_each_test_that_noticed_a_mistake_runs_once_without_one():
    change = ("core/state.py", "a", "b")
    verdicts = [
        Verdict(change, "slow or not slow", ("a", "b")),
        Verdict(change, "slow or not slow", ("b", "c")),
        Verdict(change, "slow", ("d",)),
        Verdict(change, "", ()),
    ]

    assert without_mistakes(verdicts, runs=2) == [
        ("slow or not slow", ["a", "c"]), ("slow or not slow", ["b"]), ("slow", ["d"])
    ]  # fmt: skip


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
