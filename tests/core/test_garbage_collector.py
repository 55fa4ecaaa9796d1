"""Pausing the collector, or keeping its turns short: dropped cycles are freed all the same."""

import gc
import subprocess
import sys
import weakref
from unittest import mock

import pytest

from sluice.core import garbage_collector
from sluice.core.garbage_collector import NEW_LIVE, paused_collector, short_collections


class Node:
    """An object that is part of a cycle."""

    def __init__(self):
        self.me = self


@pytest.fixture(autouse=True)
def _frozen_again():
    """Some tests unfreeze all that was imported: each later search would walk through it."""
    yield
    gc.freeze()


def test_the_collector_is_on_again_afterwards():
    assert gc.isenabled()
    with paused_collector():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with paused_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


CYCLE = """
import weakref
from sluice.core import garbage_collector
from sluice.core.garbage_collector import paused_collector, short_collections
class Node:
    def __init__(self):
        self.me = self
seen = []
"""
MANY_PAUSES = """
garbage_collector.UNSEARCHED_MAX, garbage_collector.NEW_MIN = 1_000, 1
for _ in range(20):
    with paused_collector():
        nodes = [Node() for _ in range(300)]
    seen.append(weakref.ref(nodes[0]))
    del nodes
print(sum(one() is not None for one in seen))
"""


def printed(program):
    """In a process of its own: the objects of the tests would count as those of the program."""
    run = [sys.executable, *(["-P"] if sys.flags.safe_path else []), "-c", CYCLE + program]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


def test_dropped_cycles_do_not_pile_up():
    assert int(printed(MANY_PAUSES)) < 10


@pytest.mark.parametrize(
    ("unsearched", "searches", "left"), [(200_000, 0, 200_000), (200_001, 1, 0)]
)
def test_all_is_searched_once_more_is_unsearched_than_allowed(
    monkeypatch, unsearched, searches, left
):
    monkeypatch.setattr(garbage_collector, "_unsearched", unsearched)
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, 0))
    collect = mock.Mock()
    monkeypatch.setattr(gc, "collect", collect)
    with paused_collector():
        pass

    assert collect.call_count == searches
    assert garbage_collector._unsearched == left


@pytest.mark.parametrize(
    ("new", "frozen", "moved"), [(19_999, 0, 0), (20_000, 0, 1), (20_000, 1, 0)]
)
def test_much_that_is_new_counts_as_old_unless_more_is_frozen(monkeypatch, new, frozen, moved):
    freeze, unfreeze = mock.Mock(), mock.Mock()
    monkeypatch.setattr(garbage_collector, "_unsearched", 5)
    monkeypatch.setattr(gc, "get_count", lambda: (new, 0, 0))
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    monkeypatch.setattr(gc, "freeze", freeze)
    monkeypatch.setattr(gc, "unfreeze", unfreeze)
    with paused_collector():
        pass

    assert (freeze.call_count, unfreeze.call_count) == (moved, moved)
    assert garbage_collector._unsearched == 5 + moved * new


@pytest.mark.parametrize(
    ("phase", "generation", "frozen"),
    [("stop", 2, 1), ("stop", 1, 0), ("start", 2, 0), ("start", 0, 0)],
)
def test_only_what_survives_a_search_through_all_is_frozen(monkeypatch, phase, generation, frozen):
    freeze = mock.Mock()
    monkeypatch.setattr(gc, "freeze", freeze)
    garbage_collector._freeze_survivors(phase, {"generation": generation})

    assert freeze.call_count == frozen


@pytest.mark.parametrize("frozen", [0, 1])
def test_garbage_is_found_before_it_joins_what_a_program_has_frozen(monkeypatch, frozen):
    """All that it has not frozen is unfrozen afterwards, and the thresholds are as before."""
    collect, unfreeze, before = mock.Mock(), mock.Mock(), gc.get_threshold()
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    monkeypatch.setattr(gc, "collect", collect)
    monkeypatch.setattr(gc, "freeze", mock.Mock())
    monkeypatch.setattr(gc, "unfreeze", unfreeze)
    with short_collections():
        assert gc.get_threshold() == (min(before[0], NEW_LIVE), before[1], 1)

    assert (collect.call_count, unfreeze.call_count) == (frozen, 1 - frozen)
    assert gc.get_threshold() == before


@pytest.mark.parametrize(("objects", "asked"), [(100, 0), (20_000, 1)])
def test_a_pause_that_made_little_does_not_count_what_is_frozen(monkeypatch, objects, asked):
    """To count it is to walk through it: with a million objects, 12 ms for each simulation."""
    counting = mock.Mock(return_value=1)
    monkeypatch.setattr(gc, "get_freeze_count", counting)
    gc.collect(0)
    with paused_collector():
        made = [Node() for _ in range(objects)]

    assert len(made) == objects
    assert counting.call_count == asked


def test_what_survived_a_search_is_not_searched_again():
    with short_collections():
        kept = [Node() for _ in range(10_000)]
        gc.collect()

        assert len(gc.get_objects()) < len(kept)


def test_what_lives_already_is_not_searched():
    kept = [Node() for _ in range(10_000)]
    with short_collections():
        assert len(gc.get_objects()) < len(kept)


def test_what_was_dropped_in_between_is_found_afterwards(monkeypatch):
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    with short_collections():
        node = Node()
        gc.collect()  # it has survived one, and is not searched again
        seen = weakref.ref(node)
        del node
        gc.collect()
        assert seen() is not None
    gc.collect()

    assert seen() is None


MANY_RUNS = """
for _ in range(100):
    nodes = [Node() for _ in range(2_000)]
    seen.append(weakref.ref(nodes[0]))
    with short_collections():
        del nodes
print(sum(one() is not None for one in seen))
"""


def test_what_many_runs_drop_in_cycles_does_not_pile_up():
    assert int(printed(MANY_RUNS)) < 50


def test_what_a_program_has_frozen_stays_so():
    node = Node()
    gc.freeze()
    with short_collections():
        pass

    assert not any(one is node for one in gc.get_objects()), "those are not frozen"


def test_a_collector_that_is_off_is_left_alone():
    gc.disable()
    try:
        with short_collections():
            assert garbage_collector._freeze_survivors not in gc.callbacks
    finally:
        gc.enable()
