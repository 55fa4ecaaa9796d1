"""The design of the ablation and its statistics, on effects that are known."""

import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.bootstrap.scheduler_rows import row_of
from sluice.reproductions.loop.cells import CROSSED, FACTORS, Cell, contrasts, crossed, design
from sluice.reproductions.loop.effects import effects_on

CELLS = design()


def test_the_design_has_none_and_full_and_admission_over_lent_slots_only():
    names = [cell.name for cell in CELLS]
    assert len(names) == len(set(names)) == 25
    assert {"none", "full"} <= set(names)
    assert all("L" in cell.on for cell in CELLS if "A" in cell.on)


def test_the_half_fraction_has_resolution_five():
    half = crossed()
    assert len(half) == 16
    words = [*CROSSED, *(a + b for a in CROSSED for b in CROSSED if a < b)]
    for one in words:
        assert sum(cell.sign(one) for cell in half) == 0
        for other in words:
            if one != other:
                assert sum(cell.sign(one) * cell.sign(other) for cell in half) == 0


def test_every_cell_is_a_scheduler():
    for cell in CELLS:
        name, (tasks, release, admission) = row_of(cell.text)
        assert name == cell.text
        assert (admission.name == "capacity") == ("A" in cell.on)
        assert (release.name == "on-demand") == ("O" in cell.on)
        assert tasks.composition is not None


@given(
    effects=st.dictionaries(
        st.sampled_from(["A", *CROSSED, "OL", "FS", "AG"]), st.integers(-9, 9), min_size=1
    )
)
@settings(max_examples=50)
def test_known_effects_are_found(effects):
    """A response that is a sum of effects: each is found, and the others are 0.

    Where admission is off, effects with it are taken at the level without it.
    """

    def value(cell):
        return sum(
            size * all(letter in cell.on for letter in name) for name, size in effects.items()
        )

    found = {
        one.factor: one.mean
        for one in effects_on("m", CELLS, [[{"m": value(cell)} for cell in CELLS]])
    }
    main = {name: size for name, size in effects.items() if len(name) == 1}
    pairs = {name: size for name, size in effects.items() if len(name) == 2}
    for letter, weights in contrasts().items():
        if len(letter) == 2:
            # Half the difference between the effects with and without the other.
            assert found[letter] == pytest.approx(pairs.get(letter, 0) / 2), letter
            continue
        # With an interaction, the other is on in half of the cells; admission sees lending on.
        halves = sum(
            size * (1.0 if letter == "A" and "L" in name else 0.5)
            for name, size in pairs.items()
            if letter in name and (letter == "A" or "A" not in name)
        )
        assert found[letter] == pytest.approx(main.get(letter, 0) + halves), letter
        assert weights


def test_a_clear_effect_has_a_star_and_the_others_hardly_ever():
    draw = random.Random(5)
    others = 0
    for _ in range(20):
        by_seed = [
            [{"m": 10 * ("S" in cell.on) + draw.gauss(0, 1)} for cell in CELLS] for _ in range(10)
        ]
        found = {one.factor: one for one in effects_on("m", CELLS, by_seed)}
        assert found["S"].starred
        assert found["S"].mean == pytest.approx(10, abs=1)
        others += any(one.starred for name, one in found.items() if name != "S")
    assert others <= 4


def test_relabelled_tenants_get_a_star_in_one_of_twenty_at_most():
    """Negative control: nothing but noise, 200 times, of which Holm allows 5 % any star."""
    draw = random.Random(7)
    with_star = 0
    for _ in range(200):
        by_seed = [[{"m": draw.gauss(0, 1)} for _ in CELLS] for _ in range(6)]
        with_star += any(one.starred for one in effects_on("m", CELLS, by_seed))
    assert with_star <= 0.05 * 200 + 6  # three standard deviations of a count of 10


def test_a_measure_that_a_cell_lacks_has_no_effects():
    by_seed = [[{"m": None if cell.name == "full" else 1.0} for cell in CELLS]]
    assert effects_on("m", CELLS, by_seed) == []


def test_one_seed_has_no_interval():
    found = effects_on("m", CELLS, [[{"m": float(len(cell.on))} for cell in CELLS]])
    assert all(one.low is None and not one.starred for one in found)


def test_intervals_are_those_of_student():
    values = [3.0, 5.0, 4.0]
    by_seed = [[{"m": size * ("G" in cell.on)} for cell in CELLS] for size in values]
    effect = next(one for one in effects_on("m", CELLS, by_seed) if one.factor == "G")
    reach = 4.302653 * statistics.stdev(values) / 3**0.5  # t of 2 degrees of freedom
    assert (effect.low, effect.high) == pytest.approx((4 - reach, 4 + reach), rel=1e-5)


def test_letters_are_those_of_the_factors():
    assert "".join(one.letter for one in FACTORS) == "A" + CROSSED
    assert Cell(on=frozenset("SG")).text == "copies=late+goals=guarded+order=fair[goals.guard=0.4]"
