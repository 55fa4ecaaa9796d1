"""Sharing problems for tests, and the golden numbers of the LTYARN spec."""

import json
import random
from pathlib import Path

from sluice.model.members import Member
from sluice.planning.sharing.problem import SharingOptions, sharing_problem

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "ltyarn" / "golden.json").read_text())


def problem(capacity, demands, *, weights=None, keeps_leftovers=False, **options):
    """A problem; demands: by member, then by step."""
    weights = weights or [1] * len(demands)
    members = [
        Member(member_id=f"u{number}", weight=weight, demands=tuple(row))
        for number, (row, weight) in enumerate(zip(demands, weights, strict=True), start=1)
    ]
    return sharing_problem(
        capacity, members, SharingOptions(keeps_leftovers=keeps_leftovers, **options)
    )


def by_member(rows):
    """Rows by step as rows by member."""
    return [list(row) for row in zip(*rows, strict=True)]


def random_demands(seed, *, members_max=4, steps_max=6, units_max=6):
    """(capacity, demands by member) of a small random trace of whole units."""
    draw = random.Random(seed)
    members, steps = draw.randint(2, members_max), draw.randint(2, steps_max)
    capacity = draw.randint(1, units_max)
    return capacity, [[draw.randint(0, capacity + 1) for _ in range(steps)] for _ in range(members)]
