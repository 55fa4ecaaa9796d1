"""What a ranking says about the others when asked for the first; its order: see waiting tasks.

The properties were seen to fail with: a bound that does not mind who keeps an old place; a bound
that forgets the second child; a walk that visits one child only.
"""

import heapq
from itertools import islice

from hypothesis import event, given
from hypothesis import strategies as st

from sluice.core.ranking import Ranking, in_heap_order


class Thing:
    """Something with a key that changes."""

    key: tuple[int, ...] | None = None


keys = st.none() | st.tuples(st.integers(0, 9))
changes = st.lists(
    st.tuples(st.integers(0, 7), keys, st.sampled_from(["touch", "bound", "first", "all"])),
    max_size=60,
)


@given(changes)
def test_no_other_thing_is_below_the_bound(changes):
    """However places are kept and entries grow stale; and others there are if there is a bound."""
    things = [Thing() for _ in range(8)]
    ranking: Ranking[Thing] = Ranking(lambda thing: thing.key)
    for index, key, question in changes:
        things[index].key = key
        ranking.touch(things[index])
        ranked = sorted(thing.key for thing in things if thing.key is not None)
        if question == "first":
            ranking.first()
        elif question == "all":
            list(ranking.in_order())
        elif question == "bound":
            first, bound = ranking.first_and_bound()
            assert (ranked[0] if ranked else None) == (None if first is None else first.key)
            if len(ranked) > 1:
                assert bound is not None
                assert bound <= ranked[1]
                event("tight" if bound == ranked[1] else "lower than it must")


@given(st.lists(st.integers(0, 20)), st.integers(0, 40))
def test_a_heap_is_walked_in_order_and_left_as_it_is(numbers, wanted):
    heapq.heapify(numbers)
    before = list(numbers)

    assert sorted(numbers)[:wanted] == list(islice(in_heap_order(numbers), wanted))
    assert before == numbers
