"""A sharing problem: a capacity, members with weights and demands, and the options of a rule.

Numbers are exact fractions as long as that is affordable: under the long-term rules denominators
grow with every step, so that larger problems are computed in floating point.

With several resources the unit is a dominant share: the greatest part of any resource that a member
holds. A demand of tasks becomes a demand of dominant shares, so that the rules, the fixed shares
and the fairness degrees are those of one resource with a capacity of 1 (ltyarn spec, section 8.5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.members import Member

Number = Fraction | float
POLICIES = ("static", "mlrf", "ltrf", "karma", "decay")
STEPS_EXACT_MAX = 200
CELLS_EXACT_MAX = 4_000  # members times steps
WHOLE_UNITS_MAX = 10**7  # units handed out one by one over all steps


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingOptions:
    """All that a rule depends on, besides the members.

    policy: one of `POLICIES`.  discount_price: eta, the price of a borrowed unit, above 0 to 1.
    keeps_leftovers: demand that was not met stays for the next step.
    alpha: the part of the capacity that Karma shares by credits, 0 to 1.
    initial_credits: Karma's credits for each unit of weight; None for as many as can be spent.
    half_life_steps: steps after which `decay` counts use half.
    charges_late: a member that becomes active late starts with the most that an active member has
    used for its weight (PAR, equation 10).
    round_steps: steps after which `ltrf` forgets use and charges (S-LTMM); None for never (F-LTMM).
    is_whole: hand out whole units, one at a time.
    """

    policy: str = "ltrf"
    discount_price: float = 1.0
    keeps_leftovers: bool = True
    alpha: float = 1.0
    initial_credits: float | None = None
    half_life_steps: float = 4.0
    charges_late: bool = False
    round_steps: int | None = None
    is_whole: bool = False

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise InvalidInput(
                f"policy is {self.policy!r}", where="policy", hint=f"give {', '.join(POLICIES)}"
            )
        _check("discount_price", self.discount_price, 0 < self.discount_price <= 1,
               "give a number above 0, at most 1")  # fmt: skip
        _check("alpha", self.alpha, 0 <= self.alpha <= 1, "give a number from 0 to 1")
        _check("half_life_steps", self.half_life_steps, 0 < self.half_life_steps < math.inf,
               "give a number above 0")  # fmt: skip
        steps = self.round_steps
        if steps is not None:
            _check("round_steps", steps, steps >= 1, "give a whole number of 1 or more")
        credits_given = self.initial_credits
        if credits_given is not None:
            _check("initial_credits", credits_given, 0 <= credits_given < math.inf,
                   "give a number of 0 or more")  # fmt: skip


def _check(name: str, value: float, is_right: bool, hint: str) -> None:  # noqa: FBT001  # the outcome of a test
    if not is_right:
        raise InvalidInput(f"{name} is {value:g}", where=name, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingProblem:
    """Capacity R and members, in numbers of one kind: all fractions, or all floats.

    demands: by step, then by member.  shares: by member, equation (2).
    capacities: of several resources; empty with one.
    room, tasks: the capacities, and by member what a task takes of them, as whole numbers.
    """

    names: tuple[str, ...]
    capacity: Number
    weights: tuple[Number, ...]
    demands: tuple[tuple[Number, ...], ...]
    options: SharingOptions
    capacities: Mapping[str, float] = field(default_factory=dict)
    room: tuple[int, ...] = ()
    tasks: tuple[tuple[int, ...], ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether the numbers are fractions."""
        return isinstance(self.capacity, Fraction)

    def number(self, value: Number) -> Number:
        """The value as a number of the problem's kind."""
        return _exact(value) if self.is_exact else float(value)

    def rough(self) -> SharingProblem:
        """The problem in floating point."""
        return replace(
            self,
            capacity=float(self.capacity),
            weights=tuple(map(float, self.weights)),
            demands=tuple(tuple(map(float, row)) for row in self.demands),
        )

    @property
    def task_units(self) -> tuple[Number, ...]:
        """By member, the units of one task: its dominant share; 1 with one resource."""
        if not self.tasks:
            return (self.number(1),) * len(self.names)
        return tuple(self.number(unit) for unit in _dominant(self.room, self.tasks))

    @property
    def needs(self) -> tuple[tuple[Number, ...], ...]:
        """By member, the part of each resource that a unit takes; empty with one resource."""
        return tuple(
            tuple(
                self.number(Fraction(need, room) / unit)
                for need, room in zip(task, self.room, strict=True)
            )
            for task, unit in zip(self.tasks, _dominant(self.room, self.tasks), strict=True)
        )

    @property
    def shares(self) -> tuple[Number, ...]:
        """Return what each member paid for: the capacity divided by weight, equation (2).

        >>> two = [Member(member_id=name, demands=(1,)) for name in "ab"]
        >>> sharing_problem(3, two, SharingOptions()).shares
        (Fraction(3, 2), Fraction(3, 2))
        """
        total = sum(self.weights)
        return tuple(self.capacity * weight / total for weight in self.weights)


def sharing_problem(
    capacity: float | Mapping[str, float], members: Sequence[Member], options: SharingOptions
) -> SharingProblem:
    """The problem of a file. capacity: of one resource, or of several by name.

    Raises InvalidInput naming the field and the member.
    """
    if isinstance(capacity, Mapping):
        return _of_several(capacity, members, options)
    if not 0 < capacity < math.inf:
        raise wrong_value("capacity", capacity, "capacity", "give a finite number above 0")
    for member in members:
        if member.task:
            raise InvalidInput(
                "task is given with one resource", where=f"member {member.member_id!r}",
                hint="give capacities: {cpu: 9, memory_gb: 18} in place of capacity",
            )  # fmt: skip
    return _problem(capacity, members, options)


def _problem(capacity: float, members: Sequence[Member], options: SharingOptions) -> SharingProblem:
    if not members:
        raise InvalidInput("members is empty", where="members", hint="give at least one member")
    steps = len(members[0].demands)
    for member in members:
        if len(member.demands) != steps:
            raise InvalidInput(
                f"demands has {len(member.demands)} steps, and that of"
                f" {members[0].member_id!r} has {steps}",
                where=f"member {member.member_id!r}",
                hint="give each member the same number of steps, with 0 where it demands nothing",
            )
    if not steps:
        raise InvalidInput(
            "demands is empty", where=f"member {members[0].member_id!r}", hint="give a step"
        )
    if options.is_whole:
        _check_whole(capacity, members, options)
    is_exact = steps <= STEPS_EXACT_MAX and steps * len(members) <= CELLS_EXACT_MAX
    is_exact = is_exact and options.policy != "decay"  # powers of a half-life are irrational
    return SharingProblem(
        names=tuple(member.member_id for member in members),
        capacity=_exact(capacity) if is_exact else float(capacity),
        weights=tuple(_exact(m.weight) if is_exact else float(m.weight) for m in members),
        demands=tuple(
            tuple(_exact(m.demands[t]) if is_exact else float(m.demands[t]) for m in members)
            for t in range(steps)
        ),
        options=options,
    )


def _of_several(
    capacities: Mapping[str, float], members: Sequence[Member], options: SharingOptions
) -> SharingProblem:
    """A problem whose units are dominant shares, of which there is 1 of each resource."""
    if options.policy == "karma":
        raise InvalidInput(
            "karma shares one resource", where="policy",
            hint="give ltrf, mlrf, decay or static, or one capacity",
        )  # fmt: skip
    for name, amount in capacities.items():
        if not 0 < amount < math.inf:
            raise wrong_value(name, amount, "capacities", "give a finite number above 0")
    for member in members:
        _check_task(member, capacities)
    plain = _problem(1, members, replace(options, is_whole=False))
    room, tasks = _as_whole_numbers(capacities, members)
    problem = replace(plain, options=options, capacities=capacities, room=room, tasks=tasks)
    units = problem.task_units
    demands = tuple(
        tuple(tasks * unit for tasks, unit in zip(row, units, strict=True))
        for row in problem.demands
    )
    problem = replace(problem, demands=demands)
    if options.is_whole:
        _check_whole_tasks(problem, members)
    return problem


def _check_task(member: Member, capacities: Mapping[str, float]) -> None:
    where = f"member {member.member_id!r}"
    if not member.task:
        raise InvalidInput(
            "task is missing", where=where,
            hint=f"give what one task takes, as in task: {{{next(iter(capacities))}: 1}}",
        )  # fmt: skip
    for name, amount in member.task.items():
        if name not in capacities:
            raise InvalidInput(
                f"task.{name} is not one of the capacities", where=where,
                hint=f"give {', '.join(capacities)}",
            )  # fmt: skip
        if amount > capacities[name]:
            raise InvalidInput(
                f"task.{name} is {amount:g}, above the capacity of {capacities[name]:g}",
                where=where, hint="give what one task takes",
            )  # fmt: skip


def _as_whole_numbers(
    capacities: Mapping[str, float], members: Sequence[Member]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Capacities, and by member what a task takes, each resource in a unit that divides all."""
    columns = []
    for name, amount in capacities.items():
        exact = [_exact(one) for one in (amount, *(m.task.get(name, 0) for m in members))]
        scale = math.lcm(*(one.denominator for one in exact))
        columns.append([int(one * scale) for one in exact])
    room, *tasks = zip(*columns, strict=True)
    return room, tuple(tasks)


def _dominant(room: Sequence[int], tasks: Sequence[Sequence[int]]) -> list[Fraction]:
    """The dominant share of one task of each member."""
    return [max(map(Fraction, task, room)) for task in tasks]


def _exact(number: Number) -> Fraction:
    """The number as it is written: 0.1 is a tenth, not the float next to it."""
    return number if isinstance(number, Fraction) else Fraction(str(number))


def _check_whole_tasks(problem: SharingProblem, members: Sequence[Member]) -> None:
    if problem.options.policy == "static":
        raise InvalidInput(
            "static gives each member a part of every capacity, which need not be whole tasks",
            where="policy",
            hint="use mlrf or ltrf, or leave out whole units",
        )
    _check_whole_demands(members)
    steps = len(problem.demands)
    for member, unit in zip(members, problem.task_units, strict=True):
        tasks = min(sum(member.demands), steps / float(unit))
        if tasks > WHOLE_UNITS_MAX:
            raise InvalidInput(
                f"up to {tasks:,.0f} tasks are started one by one",
                where=f"member {member.member_id!r}",
                hint=f"give larger tasks, at most {WHOLE_UNITS_MAX} over all steps",
            )


def _check_whole_demands(members: Sequence[Member]) -> None:
    for member in members:
        for step, units in enumerate(member.demands):
            if units != int(units):
                raise InvalidInput(
                    f"demands[{step}] is {units:g}",
                    where=f"member {member.member_id!r}",
                    hint="give whole numbers with whole units",
                )


def _check_whole(capacity: float, members: Sequence[Member], options: SharingOptions) -> None:
    steps = len(members[0].demands)
    if capacity != int(capacity) or capacity * steps > WHOLE_UNITS_MAX:
        raise InvalidInput(
            f"capacity is {capacity:g} for {steps} steps of whole units",
            where="capacity",
            hint=f"give a whole number, at most {WHOLE_UNITS_MAX} over all steps",
        )
    _check_whole_demands(members)
    if options.policy not in ("karma", "static"):
        return
    part = 1 - _exact(options.alpha) if options.policy == "karma" else Fraction(1)
    total = sum(_exact(member.weight) for member in members)
    shares = [_exact(member.weight) / total for member in members]
    for member, share in zip(members, shares, strict=True):
        guaranteed = part * _exact(capacity) * share
        if guaranteed.denominator != 1:
            multiple = math.lcm(*(one.denominator for one in shares))
            raise InvalidInput(
                f"{options.policy} guarantees {float(guaranteed):g} units to {member.member_id!r},"
                " which is not a whole number",
                where="alpha" if options.policy == "karma" else "capacity",
                hint="choose alpha so that every guaranteed part is a whole number"
                if options.policy == "karma"
                else f"give a multiple of {multiple}, or leave out whole units",
            )
