"""Tables that are too wide: heads are broken first, then intervals, and names get a line last."""

import pytest
from rich.console import Console

from sluice.reporting.table_style import name_cell, plain_table, plain_text

HEADS = ("own server-s", "all jobs", "deadline from s")
INTERVAL = "-1m 03s [-1m 03s, -1m 03s] *"


def lines_of(table, width):
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines() if line.strip()]


@pytest.fixture
def prices():
    table = plain_table("", names=("VM type",), numbers=HEADS)
    table.add_row(name_cell("VM-2"), "1,754.39", "25,873", "264")
    return table


def test_heads_take_one_line_where_there_is_room(prices):
    head, _, row = lines_of(prices, 50)

    assert " VM type  own server-s  all jobs  deadline from s" == head
    assert " VM-2         1,754.39    25,873              264" == row


def test_heads_are_broken_before_a_name_gets_a_line_of_its_own(prices):
    above, below, _, row = lines_of(prices, 49)

    assert ["VM", "own", "all", "deadline"] == above.split()
    assert ["type", "server-s", "jobs", "from", "s"] == below.split()
    assert ["VM-2", "1,754.39", "25,873", "264"] == row.split()
    assert 3 == len(lines_of(prices, 50)), "the table itself is not changed"


@pytest.mark.parametrize("cell", [INTERVAL, plain_text(INTERVAL, "bold")])
def test_an_interval_goes_below_its_mean_where_both_are_too_wide(cell):
    table = plain_table("", names=("vs fifo",), numbers=("makespan", "wait p95"))
    table.add_row(name_cell("dynamicmr"), cell, cell)

    head, *_, row, below = lines_of(table, 60)

    assert head.endswith("wait p95"), "a head that is no wider than its cells is not broken"
    assert row.split() == ["dynamicmr", "-1m", "03s", "-1m", "03s"]
    assert 2 == below.count("[-1m 03s, -1m 03s] *")
    assert max(map(len, lines_of(table, 60))) <= 60
    assert "dynamicmr" == lines_of(table, 40)[-2], "the name has a line of its own"
