"""Price lists: what they say, and in which words they are refused."""

import pytest

from sluice.ingest.price_lists import example_text, load_price_list, parse_price_list
from sluice.model.errors import InvalidInput
from sluice.model.machines import Rent

HEAD = "version: 1\nlisted_on: '2025-01-31'\n"
TYPE = "id: a, map_slots_per_vm: 2, reduce_slots_per_vm: 1"


def test_the_shipped_list_says_that_it_is_an_example_and_of_which_day():
    listed = load_price_list("example")

    assert (listed.listed_on, listed.billing_s) == ("2025-01-15", 1)
    assert "example" in listed.note
    assert b"EXAMPLE" in example_text()
    assert {offer.rent for offer in listed.offers} == set(Rent)


def test_a_spot_vm_is_as_much_slower_as_it_is_taken_back():
    text = f"{HEAD}vm_types: [{{{TYPE}, speed: 2, spot_hour_usd: 0.1, spot_slowdown: 1.25}}]"
    (offer,) = parse_price_list(text).offers

    assert (offer.rent, offer.speed, offer.hour_usd) == (Rent.SPOT, 1.6, 0.1)


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("[]", ["a list", "version: 1"]),
        (f"{HEAD}vm_types: []", ["vm_types", "is empty"]),
        (f"{HEAD}vm_types: [{{{TYPE}}}]", ['type "a"', "no price", "on_demand_hour_usd"]),
        (f"{HEAD}vm_types: [{{{TYPE}, spot_hour_usd: -1}}]", ['type "a"', "spot_hour_usd is -1"]),
        (f"{HEAD}vm_types: [{{{TYPE}, spot_hour_usd: .nan}}]", ["spot_hour_usd", "number"]),
        (f"{HEAD}vm_types: [{{{TYPE}, speed: 0, spot_hour_usd: 1}}]", ["speed is 0"]),
        (f"{HEAD}vm_types: [{{{TYPE}, on_demand_usd: 1}}]", ["on_demand_usd", "on_demand_hour"]),
        (
            f"{HEAD}vm_types: [{{{TYPE}, spot_hour_usd: 1}}, {{{TYPE}, spot_hour_usd: 1}}]",
            ["is given twice"],
        ),
        ("version: 1\nlisted_on: tomorrow\nvm_types: []", ["listed_on", "tomorrow", "day"]),
        ("version: 1\nlisted_on: '2025-02-30'\nvm_types: []", ["listed_on", "2025-02-30"]),
        ("version: 2\nlisted_on: '2025-01-31'\nvm_types: []", ["version is 2"]),
    ],
)
def test_a_bad_list_is_refused_by_field_and_type(text, fragments):
    with pytest.raises(InvalidInput) as caught:
        parse_price_list(text, source="prices.yaml")

    assert [] == [fragment for fragment in fragments if fragment not in str(caught.value)]
    assert str(caught.value).startswith("prices.yaml")


def test_a_list_that_is_not_there_is_named():
    with pytest.raises(InvalidInput, match=r"missing\.yaml"):
        load_price_list("missing.yaml")
