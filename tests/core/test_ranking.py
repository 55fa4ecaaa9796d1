"""A ranking answers as a list that is sorted anew, whatever was asked between two changes.

The property was seen to fail where the first of the touched things lost its place to a later one.
"""

from hypothesis import given
from hypothesis import strategies as st

from sluice.core.indexes.ranking import Ranking


class Thing:
    """Something with a key that changes."""

    key: tuple[int, ...] | None = None


keys = st.none() | st.tuples(st.integers(0, 9))
changes = st.lists(
    st.tuples(st.integers(0, 7), keys, st.sampled_from(["nothing", "first", "all"])), max_size=60
)


@given(changes)
def test_things_come_as_sorting_puts_them(changes):
    things = [Thing() for _ in range(8)]
    ranking: Ranking[Thing] = Ranking(lambda thing: thing.key)
    for index, key, question in changes:
        things[index].key = key
        ranking.touch(things[index])
        ranked = sorted(thing.key for thing in things if thing.key is not None)
        if question == "first":
            first = ranking.first()
            assert (ranked[0] if ranked else None) == (None if first is None else first.key)
        elif question == "all":
            assert ranked == [thing.key for thing in ranking.in_order()]
