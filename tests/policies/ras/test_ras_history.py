"""The placements of RAS in a story and in the JSON document."""

from types import SimpleNamespace

import pytest
from tests.policies.ras.worlds import need

from sluice.policies.ras.history import PlacementHistory
from sluice.policies.ras.utility import NO_SLOT


def placed(utility, maps, reduces, *, needed=0, yields=False):
    """One job with these slots."""
    job = need("j", "sort", 4, needed, yields=yields)
    return SimpleNamespace(jobs=[job], utility=[utility], map_slots=[maps], reduce_slots=[reduces])


def change(at_s, utility, maps, reduces, needed=0):
    return {
        "at_s": at_s, "utility": utility, "map_slots": maps, "reduce_slots": reduces,
        "map_slots_needed": needed,
    }  # fmt: skip


def test_nothing_is_placed_before_the_first_cycle():
    assert {"control_cycles": 0, "placements": {}} == PlacementHistory().document()
    assert [] == [*PlacementHistory().notes("j")]


def test_a_cycle_counts_but_leaves_no_trace_where_it_changes_nothing():
    """The need of a goal changes with each finished task, which is no change of the placement."""
    history = PlacementHistory()
    for at_s, placement in (
        (0.0, placed(NO_SLOT, 0, 1)),
        (10.0, placed(0.5, 2, 1, needed=3)),
        (20.0, placed(0.5, 2, 1, needed=1)),
        (30.0, placed(0.5, 1, 1)),
        (40.0, placed(0.5, 1, 2)),
        (50.0, placed(0.25, 1, 2)),
    ):
        history.note(at_s, placement)

    assert 6 == history.document()["control_cycles"]
    assert history.document()["placements"] == {
        "j": [
            change(0.0, None, 0, 1),
            change(10.0, 0.5, 2, 1, 3),
            change(30.0, 0.5, 1, 1),
            change(40.0, 0.5, 1, 2),
            change(50.0, 0.25, 1, 2),
        ]
    }


@pytest.mark.parametrize(
    ("placement", "what", "why"),
    [
        (placed(NO_SLOT, 0, 1), "0 map slots, 1 reduce slot", "no map slot yet"),
        (placed(0.254, 1, 2), "1 map slot, 2 reduce slots", "0.25"),
        (placed(1.0, 2, 0, needed=1), "2 map slots, 0 reduce slots", "1.00; its goal needs 1 map"),
        (
            placed(-1.0, 2, 0, needed=3, yields=True),
            "2 map slots, 0 reduce slots",
            "-1.00; its goal cannot be met, so it yields",
        ),
    ],
)
def test_a_story_says_what_was_placed_and_why(placement, what, why):
    history = PlacementHistory()
    history.note(5.0, placement)

    ((at_s, event, reason),) = history.notes("j")
    assert (5.0, f"placed: {what}") == (at_s, event)
    assert reason.removesuffix(" slot").removesuffix(" slots") == f"utility {why}"
