"""The index of nodes with room: a set of numbers that is walked upwards."""

from hypothesis import event, given
from hypothesis import strategies as st

from sluice.core.indexes.open_nodes import IndexSet

changes = st.lists(
    st.tuples(st.booleans(), st.one_of(st.integers(0, 70), st.integers(0, 40_000))), max_size=60
)


def members(numbers):
    """All numbers of a set, found by walking it."""
    found = []
    number = numbers.first_from(0)
    while number >= 0:
        found.append(number)
        number = numbers.first_from(number + 1)
    return found


@given(changes, st.integers(0, 50_000))
def test_it_holds_what_was_added_and_not_discarded(steps, start):
    numbers, expected = IndexSet(), set[int]()
    for is_added, number in steps:
        (numbers.add if is_added else numbers.discard)(number)
        (expected.add if is_added else expected.discard)(number)
    event(f"levels: {sum(max(expected, default=0) >= size for size in (32, 1024, 32768))}")

    assert sorted(expected) == members(numbers)
    assert min((n for n in expected if n >= start), default=-1) == numbers.first_from(start)


@given(changes, changes, st.one_of(st.integers(0, 70), st.integers(0, 50_000)))
def test_what_two_sets_share_is_found_from_any_number_on(steps, other_steps, start):
    sets, expected = (IndexSet(), IndexSet()), (set[int](), set[int]())
    for numbers, members_, each in zip(sets, expected, (steps, other_steps), strict=True):
        for is_added, number in each:
            (numbers.add if is_added else numbers.discard)(number)
            (members_.add if is_added else members_.discard)(number)
    shared = expected[0] & expected[1]
    event(f"shared: {bool(shared)}")

    assert min((n for n in shared if n >= start), default=-1) == sets[0].first_shared(
        sets[1], start
    )
    assert all(sets[0].has(number) == (number in expected[0]) for number in (start, *expected[1]))


def test_a_node_index_past_the_last_level_is_not_in_the_set():
    numbers = IndexSet()
    numbers.add(5)
    numbers.discard(900)

    assert -1 == numbers.first_from(900)
    assert [5] == members(numbers)


def test_each_number_of_more_than_one_word_is_discarded():
    """Of 1,200 numbers some are the last of their word, and some the first."""
    numbers, expected = IndexSet(), list(range(1200))
    for number in expected:
        numbers.add(number)
    for number in range(0, 1200, 2):
        numbers.discard(number)

    assert members(numbers) == expected[1::2]
