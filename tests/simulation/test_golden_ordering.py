"""Worked examples of the job-ordering thesis under FIFO. Source: ordering spec, sections 3 and 8.

A row is (maps, length of a map, reduces, length of a reduce), as the spec writes `m x tm, r x tr`.
"""

import pytest
from tests.runs import completions_s, even_nodes, map_reduce, simulate, totals

EXAMPLE_A = [(10, 4, 2, 8), (4, 2, 4, 2), (2, 6, 4, 10), (24, 6, 6, 8)]
EXAMPLE_B = [(10, 9, 1, 10), (8, 11, 1, 15)]
G3 = [*[(7, 1, 1, 30)] * 3, (8, 1, 116, 1), (8, 1, 1, 30)]
G4 = [(1, 1, 1, 50), (50, 1, 100, 1)]
G5 = [(5, 3, 0, 0), (2, 4, 3, 2), (1, 9, 0, 0), (3, 1, 2, 6)]
G6 = [(1, 5, 1, 2), (1, 1, 1, 6), (1, 9, 1, 7), (1, 3, 1, 8), (1, 10, 1, 4)]
# Table 3.2: maps, reduces, average map, average reduce; given here as m, tm, r, tr.
G7 = [
    (160, 22, 100, 11), (320, 9, 200, 24), (480, 9, 120, 11), (640, 32, 100, 23),
    (160, 6, 120, 13), (160, 6, 150, 13), (160, 18, 100, 15), (320, 38, 150, 21),
    (160, 10, 100, 26),
]  # fmt: skip


def completions(rows, order, map_slots, reduce_slots):
    jobs = [map_reduce(f"J{index}", *rows[index]) for index in order]
    return completions_s(simulate(totals(map_slots, reduce_slots), jobs))


def test_example_a_ends_as_the_thesis_draws_it():
    """Makespan 44, total completion time 94 on 8 map and 4 reduce slots."""
    assert [16, 8, 26, 44] == completions(EXAMPLE_A, [0, 1, 2, 3], 8, 4)


def test_example_a_leaves_the_map_slots_idle_at_the_end():
    """The map phases end at 8, 6, 10 and 28; no map runs on [28, 44]."""
    jobs = [map_reduce(f"J{index}", *row) for index, row in enumerate(EXAMPLE_A)]
    state = simulate(totals(8, 4), jobs)
    ends = {f"J{index}": 0.0 for index in range(4)}
    for attempt in state.closed:
        if attempt.key.phase == 0:
            ends[attempt.key.job_id] = max(ends[attempt.key.job_id], attempt.finished_at_s)

    assert {"J0": 8, "J1": 6, "J2": 10, "J3": 28} == ends


@pytest.mark.parametrize(
    ("nodes", "order", "makespan_s"),
    [(5, [0, 1], 35), (5, [1, 0], 30), (4, [0, 1], 44), (4, [1, 0], 39)],
)
def test_example_b_on_five_nodes_and_after_one_failed(nodes, order, makespan_s):
    """Nodes with 2 + 2 slots; where the thesis says otherwise see erratum E1."""
    jobs = [map_reduce(f"J{index}", *EXAMPLE_B[index]) for index in order]

    assert makespan_s == max(completions_s(simulate(even_nodes(nodes, 2, 2), jobs)))


GOLDEN = [
    ("G1 input", EXAMPLE_A, (8, 4), [0, 1, 2, 3], 44, 94),
    ("G1 MK_JR", EXAMPLE_A, (8, 4), [1, 2, 3, 0], 40, 100),
    ("G1 reverse", EXAMPLE_A, (8, 4), [0, 3, 2, 1], 52, None),
    ("G1 TCT", EXAMPLE_A, (8, 4), [1, 0, 2, 3], 44, 90),
    ("G1 best TCT", EXAMPLE_A, (8, 4), [1, 2, 0, 3], None, 88),
    ("G2 MK_JR on 10/10", EXAMPLE_B, (10, 10), [1, 0], 30, 56),
    ("G2 TCT on 10/10", EXAMPLE_B, (10, 10), [0, 1], 35, 54),
    ("G2 MK_JR on 8/8", EXAMPLE_B, (8, 8), [1, 0], 39, 65),
    ("G2 MK_TCT_JR on 8/8", EXAMPLE_B, (8, 8), [0, 1], 44, 72),
    ("G3 MK_JR", G3, (1, 4), [0, 1, 2, 3, 4], 99, 301),
    ("G3 optimum", G3, (1, 4), [3, 0, 1, 2, 4], 67, None),
    ("G3 reverse", G3, (1, 4), [4, 3, 2, 1, 0], 81, None),
    ("G3 MK_TCT_JR", G3, (1, 4), [0, 1, 2, 4, 3], 77, 268),
    ("G4 MK_JR", G4, (1, 100), [1, 0], 101, None),
    ("G4 the other order", G4, (1, 100), [0, 1], 52, None),
    ("G5 input", G5, (2, 2), [0, 1, 2, 3], 23, 68),
    ("G5 MK_JR", G5, (2, 2), [3, 1, 0, 2], 21, 55),
    ("G5 MK_TCT_JR", G5, (2, 2), [2, 3, 1, 0], 18, 51),
    ("G5 TCT", G5, (2, 2), [2, 1, 0, 3], 24, 62),
    ("G6 MK_JR", G6, (1, 1), [1, 3, 2, 4, 0], 30, 101),
    ("G6 reverse", G6, (1, 1), [0, 4, 2, 3, 1], 45, None),
    ("G6 MK_TCT_JR", G6, (1, 1), [1, 0, 3, 2, 4], 32, 90),
    ("G7 input", G7, (57, 19), [0, 1, 2, 3, 4, 5, 6, 7, 8], 1273, 6672),
    ("G7 MK_JR", G7, (57, 19), [4, 5, 8, 1, 6, 7, 3, 2, 0], 1090, 5895),
    ("G7 reverse", G7, (57, 19), [0, 2, 3, 7, 6, 1, 8, 5, 4], 1539, 8454),
    ("G7 MK_TCT_JR", G7, (57, 19), [4, 5, 8, 6, 2, 0, 1, 7, 3], 1096, 5026),
    ("G7 TCT", G7, (57, 19), [4, 5, 0, 6, 2, 8, 1, 7, 3], 1090, 4780),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "slots", "order", "makespan_s", "total_completion_s"),
    [row[1:] for row in GOLDEN],
    ids=[row[0] for row in GOLDEN],
)
def test_orders_end_when_the_oracle_says(rows, slots, order, makespan_s, total_completion_s):
    ends = completions(rows, order, *slots)

    if makespan_s is not None:
        assert makespan_s == max(ends)
    if total_completion_s is not None:
        assert total_completion_s == sum(ends)
