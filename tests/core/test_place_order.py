"""An order has its things where sorting by tier, share, instant, name and number puts them."""

from hypothesis import given
from hypothesis import strategies as st

from sluice.core.indexes.place_order import Order, Ranked

# Names that share their first eight bytes, end in zeros, or take several bytes a letter.
NAMES = st.sampled_from(
    ["", "a", "a\0", "job-0000", "job-0001", "job-00012", "job-00013", "ä", "ö", "zzzzzzzé"]
)
# Of one to four bytes, and lone surrogates.
LETTERS = st.sampled_from("\0az\x7f\xe9\ud7ff\ud800\udfff\ue000\uffff\U00010000\U0010ffff")
TIES = st.tuples(st.sampled_from([0.0, 1.0]), NAMES)
PLACES = st.tuples(st.integers(0, 1), st.sampled_from([0.0, 0.5, 2.0]))


@given(
    st.lists(TIES, min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.none() | PLACES, st.booleans()), max_size=40),
)
def test_things_are_where_sorting_puts_them(ties, changes):
    order: Order[Ranked] = Order()
    things = [Ranked(since_s, name, number) for number, (since_s, name) in enumerate(ties)]
    places: dict[int, tuple[int, float]] = {}

    def place_of(number):
        return (*places[number], *ties[number], number)

    for change, place, is_asked in changes:
        number = change % len(things)
        if place is None:
            order.remove(things[number])
            places.pop(number, None)
        else:
            order.put(things[number], *place)
            places[number] = place
        if places and is_asked:
            assert order.first() is things[min(places, key=place_of)]
    wanted = sorted(places, key=place_of)

    assert wanted == [things.index(thing) for thing in order.in_order()]
    assert len(wanted) == len(order)
    if wanted:
        assert order.first() is things[wanted[0]]
    if len(wanted) > 1:
        assert order.second() is things[wanted[1]]


@given(st.lists(st.text(LETTERS, max_size=10), unique=True))
def test_names_of_any_letters_are_in_their_order(names):
    order: Order[Ranked] = Order()
    things = {name: Ranked(0.0, name, 0) for name in names}
    for thing in things.values():
        order.put(thing, 0, 0.0)

    assert list(order.in_order()) == [things[name] for name in sorted(names)]
