"""The work of jobs in exact numbers, so that no rule and no bound depends on rounding.

Lengths are decimals as people write them: 0.1 is a tenth, not the binary number next to it. All of
them are whole multiples of one small unit, a power of ten; work is counted in that unit, in whole
numbers of any size. What the spec writes TM_i, map work / map slots, is here left undivided:
`maps[i] * reduce_slots` and `reduces[i] * map_slots` compare as TM_i and TR_i do, exactly.
Source: ordering spec, sections 2 and 5 ("Numerics").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from sluice.planning.ordering.problem import OrderedJob, OrderingProblem, TaskRuns


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """Work by job, in whole units; `per_s` units are a second.

    maps, reduces: WM_i and WR_i, all tasks together.  longest_map, longest_reduce: hm_i and hr_i.
    map_span, reduce_span: the least time from the first start to the last end of the phase by
    itself; for tasks all alike that is their waves times their length.
    step: what every length is a multiple of, and so every instant.
    """

    map_slots: int
    reduce_slots: int
    per_s: int
    step: int
    maps: tuple[int, ...]
    reduces: tuple[int, ...]
    longest_map: tuple[int, ...]
    longest_reduce: tuple[int, ...]
    map_span: tuple[int, ...]
    reduce_span: tuple[int, ...]

    @property
    def jobs(self) -> range:
        """Their indices."""
        return range(len(self.maps))

    def map_share(self, job: int) -> int:
        """TM_i, times the slots of both kinds."""
        return self.maps[job] * self.reduce_slots

    def reduce_share(self, job: int) -> int:
        """TR_i, times the slots of both kinds."""
        return self.reduces[job] * self.map_slots

    def total(self, job: int) -> int:
        """T_i = TM_i + TR_i, times the slots of both kinds."""
        return self.map_share(job) + self.reduce_share(job)

    def shared_s(self, share: int) -> float:
        """Seconds of what is counted times the slots of both kinds, correctly rounded."""
        return share / (self.map_slots * self.reduce_slots * self.per_s)

    def s(self, units: int) -> float:
        """Seconds of so many units, correctly rounded."""
        return units / self.per_s


def loads_of(problem: OrderingProblem) -> Loads:
    """The loads of all jobs. A kind of slot of which there are none, and no need, counts as one."""
    lengths_s = {length_s for job in problem.jobs for _, length_s in (*job.maps, *job.reduces)}
    per_s, units = _in_units(lengths_s)
    map_slots, reduce_slots = max(1, problem.map_slots), max(1, problem.reduce_slots)

    def each(measure: Callable[[list[tuple[int, int]]], int], phase: str) -> tuple[int, ...]:
        return tuple(measure(_counted(job, phase, units)) for job in problem.jobs)

    return Loads(
        map_slots=map_slots,
        reduce_slots=reduce_slots,
        per_s=per_s,
        step=math.gcd(*units.values()),
        maps=each(_work, "maps"),
        reduces=each(_work, "reduces"),
        longest_map=each(_longest, "maps"),
        longest_reduce=each(_longest, "reduces"),
        map_span=each(lambda runs: least_span(runs, map_slots), "maps"),
        reduce_span=each(lambda runs: least_span(runs, reduce_slots), "reduces"),
    )


def _in_units(lengths_s: set[float]) -> tuple[int, dict[float, int]]:
    """How many units a second has, and each length in units."""
    decimals = {length_s: _decimal(length_s) for length_s in lengths_s}
    places = max(0, *(-exponent for _, exponent in decimals.values()))
    return 10**places, {
        length_s: digits * 10 ** (places + exponent)
        for length_s, (digits, exponent) in decimals.items()
    }


def _decimal(length_s: float) -> tuple[int, int]:
    """A number as people write it: digits, and the power of ten that they count.

    >>> _decimal(0.25), _decimal(4.0), _decimal(1.5e-7)
    ((25, -2), (40, -1), (15, -8))
    """
    mantissa, _, exponent = repr(float(length_s)).partition("e")
    integers, _, fraction = mantissa.partition(".")
    return int(integers + fraction), int(exponent or 0) - len(fraction)


def _counted(job: OrderedJob, phase: str, units: dict[float, int]) -> list[tuple[int, int]]:
    runs: TaskRuns = getattr(job, phase)
    return [(tasks, units[length_s]) for tasks, length_s in runs]


def _work(runs: list[tuple[int, int]]) -> int:
    return sum(tasks * length for tasks, length in runs)


def _longest(runs: list[tuple[int, int]]) -> int:
    return max((length for _, length in runs), default=0)


def least_span(runs: Sequence[tuple[int, int]], slots: int) -> int:
    """A time that (count, length) tasks cannot beat on so many slots, however they are placed.

    Of the q*slots + 1 longest tasks some slot takes q + 1, and these last no less than the q + 1
    shortest of them. With one length that is waves times length. All work shared evenly is
    another such time, rounded up.

    >>> least_span([(10, 4)], slots=8), least_span([(1, 9), (4, 3)], slots=2)
    (8, 11)
    """
    if len(runs) == 1:
        return -(-runs[0][0] // slots) * runs[0][1]
    longest_first = sorted((length for tasks, length in runs for _ in range(tasks)), reverse=True)
    sums = [0, *accumulate(longest_first)]
    crowded = (
        sums[full * slots + 1] - sums[full * (slots - 1)]
        for full in range(-(-len(longest_first) // slots))
    )
    return max(-(-sums[-1] // slots), *crowded, 0)
