"""Numbers by counter: uniform, independent of each other, and the same for the same counters."""

import statistics
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sluice.simulation.draws import drawn, stream_of

MANY = 20_000
counters = st.integers(0, 2**31 - 1)


@given(st.text(max_size=20), counters, counters, st.integers(0, 3))
def test_a_number_is_a_share_and_repeats(text, task, attempt, draw):
    number = drawn(stream_of(text), task, attempt, draw)

    assert 0 <= number < 1
    assert number == drawn(stream_of(text), task, attempt, draw)


def test_numbers_are_uniform():
    """Chi-square over 100 cells: 99 on average, above 160 once in ten thousand."""
    cells = [0] * 100
    for task in range(MANY):
        cells[int(100 * drawn(stream_of("7/mishap/a/map"), task, 1, 0))] += 1

    assert sum((count - MANY / 100) ** 2 / (MANY / 100) for count in cells) < 160


def test_tasks_attempts_and_draws_are_independent():
    stream = stream_of("7/mishap/a/map")
    first = [drawn(stream, task, 1, 0) for task in range(MANY)]
    pairs = {
        "next task": list(pairwise(first)),
        "next attempt": [(first[task], drawn(stream, task, 2, 0)) for task in range(MANY)],
        "next draw": [(first[task], drawn(stream, task, 1, 1)) for task in range(MANY)],
        "other stream": [(first[task], drawn(stream + 1, task, 1, 0)) for task in range(MANY)],
    }

    for name, both in pairs.items():
        assert abs(statistics.correlation(*zip(*both, strict=True))) < 0.04, name


def test_one_changed_bit_of_a_counter_changes_half_the_bits():
    """Avalanche: each of 32 bits flips with a chance near one half, whichever bit was changed."""
    stream = stream_of("7/mishap/a/map")
    for changed in range(16):
        flips = 0
        for task in range(500):
            one, other = drawn(stream, task, 1, 0), drawn(stream, task ^ (1 << changed), 1, 0)
            flips += (int(one * 2**32) ^ int(other * 2**32)).bit_count()
        assert 15 < flips / 500 < 17, changed


def test_tasks_of_a_phase_never_share_a_number():
    stream = stream_of("7/mishap/a/map")

    assert MANY == len({drawn(stream, task, 1, 0) for task in range(MANY)})
