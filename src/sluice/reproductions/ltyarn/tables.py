"""Tables 1.1 and 5.1 of the chapter, cell by cell, and the counterexamples to its statements."""

from __future__ import annotations

from sluice.model.members import Member
from sluice.planning.sharing.dominant import TaskStream, share_tasks
from sluice.planning.sharing.fluid import SharingStep, share_out
from sluice.planning.sharing.misreports import useful_units
from sluice.planning.sharing.problem import SharingOptions, SharingProblem, sharing_problem
from sluice.reproductions.charts import lines_chart
from sluice.reproductions.runner import Cell, Experiment, Maker, OnProgress

_NEW_A, _NEW_B = (40, 80, 160, 120), (200, 120, 100, 100)
# Current and total amounts of A and of B at each step, as printed; (c) has counted units.
_PRINTED = {
    "table-1.1": (
        (20, 20), (80, 80), (40, 60), (60, 140), (50, 110), (50, 190), (50, 160), (50, 240),
    ),
    "table-5.1a": (
        (40, 40), (160, 160), (80, 120), (120, 280), (100, 220), (100, 380), (100, 320), (100, 480),
    ),
    "table-5.1b": (
        (40, 40), (160, 160), (80, 120), (120, 280), (160, 280), (40, 320), (120, 400), (80, 400),
    ),
    "table-5.1c": (
        (40, 40), (130, 130), (80, 120), (110, 240), (130, 250), (40, 280), (110, 360), (80, 360),
    ),
}  # fmt: skip
_RULES = {
    "table-1.1": ("mlrf", 1.0, 2), "table-5.1a": ("mlrf", 1.0, 1), "table-5.1b": ("ltrf", 1.0, 1),
    "table-5.1c": ("ltrf", 0.5, 1),
}  # fmt: skip


def fluid(capacity: float, demands: list[list[float]], **options: object) -> SharingProblem:
    """A problem of members u1, u2 .. with these demands, leftovers dropped unless kept."""
    members = [
        Member(member_id=f"u{number}", demands=tuple(row))
        for number, row in enumerate(demands, start=1)
    ]
    chosen = {"keeps_leftovers": False, **options}
    return sharing_problem(capacity, members, SharingOptions(**chosen))  # type: ignore[arg-type]  # options by name


def table(name: str) -> Maker:
    """The experiment of one table."""

    def make(_seeds: int, _on_progress: OnProgress) -> Experiment:
        """Two members over some steps: the units that are counted for each."""
        policy, price, part = _RULES[name]
        demands = [[units / part for units in row] for row in (_NEW_A, _NEW_B)]
        options = {"policy": policy, "discount_price": price, "keeps_leftovers": True}
        steps = share_out(fluid(200 / part, demands, **options)).steps
        rows = list(_rows(name, steps))
        wrong = sum(row["paper"] != row["ours"] for row in rows)
        return Experiment(
            name=name,
            title=f"Table {name.removeprefix('table-')}: {policy}, price {price:g}",
            setup=f"Capacity {200 / part:g}, two members of equal weight; counted units.",
            rows=tuple(rows),
            why=f"{len(rows) - wrong} of {len(rows)} cells agree exactly.",
            chart=lines_chart(
                f"Table {name.removeprefix('table-')}",
                "Counted units so far.",
                ("step", "units"),
                {
                    member: [(t + 1.0, float(step.counted[i])) for t, step in enumerate(steps)]
                    for i, member in enumerate("AB")
                },
            ),
        )

    return make


def _rows(name: str, steps: tuple[SharingStep, ...]) -> list[dict[str, Cell]]:
    price = _RULES[name][1]
    rows: list[dict[str, Cell]] = []
    for place, (now, total) in enumerate(_PRINTED[name]):
        step, member = divmod(place, 2)
        share = steps[step].lent[member] + steps[step].allocated[member]
        units = steps[step].allocated[member]
        counted = float(min(units, share) + price * max(units - share, 0))
        rows.append({
            "step": step + 1,
            "member": "AB"[member],
            "paper": f"{now} / {total}",
            "ours": f"{counted:g} / {float(steps[step].counted[member]):g}",
        })  # fmt: skip
    return rows


def counterexamples(_seeds: int, _on_progress: OnProgress) -> Experiment:
    """Statements of the chapter that a small example contradicts."""
    cases = [
        _lends(),
        _loses(),
        _under_reports(),
        _bunches(3),
        _bunches(4),
        _dummy(),
        _karma(),
        *_dominant(),
    ]
    return Experiment(
        name="counterexamples",
        title="What long-term sharing has and has not",
        setup="Divisible resource, exact fractions; the examples are those of the tests.",
        rows=tuple(
            dict(zip(("statement", "example", "expected", "ours"), case, strict=True))
            for case in cases
        ),
        why=(
            "Sharing incentive, truthfulness and the neutrality of a discount do not hold as"
            " stated. The losses are small; a member that lends is paid back while others owe."
        ),
    )


Case = tuple[str, str, str, str]


def _lends() -> Case:
    """Erratum E3."""
    demands: list[list[float]] = [[40, 80, 160, 120], [100] * 4]
    used = share_out(fluid(200, demands, keeps_leftovers=True)).steps[-1].accumulated
    return (
        "without borrowing the totals of table 5.1 become 320 and 400",
        "LTRF where B never asks for more than 100",
        "360 and 360",
        f"{used[0]} and {used[1]}",
    )


def _loses() -> Case:
    demands: list[list[float]] = [[0, 3, 3, 3], [2, 1, 1, 1], [0, 3, 3, 3]]
    steps = share_out(fluid(3, demands)).steps
    return (
        "LTRF never leaves a member below its share (theorem 5.4)",
        "three users, R = 3; loss at step 3",
        "-1/9",
        str(steps[2].loss),
    )


def _under_reports() -> Case:
    problem = fluid(3, [[2, 3, 2], [3, 1, 2], [0, 3, 1]])
    honest, lie = (sum(useful_units(problem, 0, one)) for one in ((2, 3, 2), (0, 2, 2)))
    return (
        "reporting the truth is best under LTRF (theorem 5.7)",
        "useful units: honest, and asking for less",
        "3 and 13/4",
        f"{honest} and {lie}",
    )


def _bunches(users: int) -> Case:
    demands: list[list[float]] = [[users] * 40 for _ in range(users)]
    demands[0] = [0 if step % 2 == 0 else users for step in range(40)]
    used = share_out(fluid(users, demands, discount_price=0.5)).steps[-1].accumulated[0]
    return (
        "a discount for borrowed units is neutral",
        f"{users} users with endless work, one asks in every second step; 40 when honest",
        {3: "45", 4: "48"}[users],
        str(used),
    )


def _dummy() -> Case:
    busy: list[float] = [2] * 100
    real: list[float] = [2] * 50
    honest = fluid(2, [[0.0] * 50 + real, busy], charges_late=True)
    dummy = fluid(2, [[0.01] + [0.0] * 49 + real, busy], charges_late=True)
    both = [float(share_out(one).steps[-1].accumulated[0]) for one in (honest, dummy)]
    return (
        "over-reporting does not pay",
        "idle queues are charged; a dummy demand of 1/100 unit at the start",
        "50 and 99.99",
        f"{both[0]:g} and {both[1] - 0.01:g}",
    )


def _karma() -> Case:
    demands: list[list[float]] = [[0, 3, 3, 3], [2, 1, 1, 1], [0, 3, 3, 3]]
    steps = share_out(fluid(3, demands, policy="karma", alpha=0.0)).steps
    return (
        "a guaranteed part prevents the loss",
        "the first example under Karma with alpha = 0; loss at the end",
        "0",
        str(steps[-1].loss),
    )


def _dominant() -> list[Case]:
    a = TaskStream(name="A", demands=((1, 4),), idle_steps=frozenset(range(5)))
    b = TaskStream(name="B", demands=((3, 1),))
    texts = []
    for remembers in ("nothing", "dominant"):
        tasks = share_tasks((9, 18), [a, b], 20, remembers=remembers).tasks
        texts.append(f"{sum(tasks['A'])}/{sum(tasks['B'])}")
    liar = [
        TaskStream(name="liar", demands=((4, 1), (1, 8))),
        TaskStream(name="steady", demands=((2, 4),)),
    ]
    gains = [
        sum(share_tasks((24, 48), liar, 40, remembers=one).tasks["liar"])
        for one in ("dominant", "resources")
    ]
    return [
        (
            "long-term DRF pays loans back",
            "tasks of A/B in 20 steps: DRF, long-term DRF",
            "45/45, 54/36",
            ", ".join(texts),
        ),
        (
            "remember the sum of dominant shares, not the dominant of the sums",
            "tasks of a user that alternates: right, wrong",
            "120, 150",
            f"{gains[0]}, {gains[1]}",
        ),
    ]
