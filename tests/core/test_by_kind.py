"""The kinds of slot are written one by one in one place, so that another kind is one line there."""

import ast
from pathlib import Path

import sluice.core
from sluice.core.indexes.by_kind import ByKind
from sluice.model.slot_kind import SlotKind

SOURCES = Path(sluice.core.__file__).parents[1]
OF_A_KIND = {"maps", "reduces", "containers"}


def choices_by_kind():
    """Functions of core and policies that choose one of three things by comparing the kind."""
    for folder in ("core", "policies"):
        for path in sorted((SOURCES / folder).rglob("*.py")):
            for one in ast.walk(ast.parse(path.read_text())):
                if isinstance(one, ast.FunctionDef) and _chooses(one):
                    yield path.relative_to(SOURCES).as_posix()


def _chooses(function):
    """Whether it compares the kind and returns an attribute for each of at least two kinds."""
    compares = any(isinstance(one, ast.Is) for one in ast.walk(function))
    returned = [one.value for one in ast.walk(function) if isinstance(one, ast.Return)]
    parts = [part for value in returned if value is not None for part in ast.walk(value)]
    names = {part.attr.lstrip("_") for part in parts if isinstance(part, ast.Attribute)}
    return compares and len(names & OF_A_KIND) > 1


def test_what_is_kept_for_each_kind_is_chosen_in_one_place():
    found = set(choices_by_kind())

    # Loans are of typed slots alone: none is ever lent of a container.
    assert found - {"policies/dynamicmr/loans.py"} == {"core/indexes/by_kind.py"}


def test_each_kind_has_a_thing_of_its_own():
    things = ByKind(lambda kind: [kind])

    assert [things.of(kind) for kind in SlotKind] == [[kind] for kind in SlotKind]
    assert (things.maps, things.containers) == ([SlotKind.MAP], [SlotKind.CONTAINER])
