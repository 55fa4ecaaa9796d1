"""The work of jobs as integers, so that rules and bounds do not depend on rounding.

A length is the decimal that the user wrote: 0.1 is a tenth, not the nearest binary number. All
lengths are integer multiples of one small unit, a power of ten, and work is counted in this unit.
The spec divides map work by map slots to get TM_i. Here nothing is divided:
`maps[i] * reduce_slots` and `reduces[i] * map_slots` compare exactly as TM_i and TR_i do.
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
    """Work by job, in integer units; `per_s` units are one second.

    maps, reduces: WM_i and WR_i, the work of all tasks.  longest_map, longest_reduce: hm_i, hr_i.
    map_span, reduce_span: least time of the phase alone, from first start to last end; for equal
    tasks it is the number of waves times their length.
    step: common divisor of all lengths, and so of all instants.
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
        """Indices of the jobs."""
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
        """Seconds of a value that is multiplied by the slots of both kinds, rounded once."""
        return share / (self.map_slots * self.reduce_slots * self.per_s)

    def s(self, units: int) -> float:
        """Convert units to seconds, rounded once."""
        return units / self.per_s


def loads_of(problem: OrderingProblem) -> Loads:
    """Return the loads of all jobs. A slot kind with 0 slots that no job needs counts as 1 slot."""
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
    """Units per second, and each length in units."""
    decimals = {length_s: _decimal(length_s) for length_s in lengths_s}
    places = max(0, *(-exponent for _, exponent in decimals.values()))
    return 10**places, {
        length_s: digits * 10 ** (places + exponent)
        for length_s, (digits, exponent) in decimals.items()
    }


def _decimal(length_s: float) -> tuple[int, int]:
    """A number as (digits, power of ten), from its shortest decimal form.

    >>> _decimal(0.25), _decimal(4.0), _decimal(1.5e-7)
    ((25, -2), (40, -1), (15, -8))
    """
    mantissa, _, exponent = repr(float(length_s)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    return int(whole + fraction), int(exponent or 0) - len(fraction)


def _counted(job: OrderedJob, phase: str, units: dict[float, int]) -> list[tuple[int, int]]:
    runs: TaskRuns = getattr(job, phase)
    return [(tasks, units[length_s]) for tasks, length_s in runs]


def _work(runs: list[tuple[int, int]]) -> int:
    return sum(tasks * length for tasks, length in runs)


def _longest(runs: list[tuple[int, int]]) -> int:
    return max((length for _, length in runs), default=0)


def least_span(runs: Sequence[tuple[int, int]], slots: int) -> int:
    """Lower bound on the time of (count, length) tasks on these slots, for any placement.

    Of the q*slots + 1 longest tasks, some slot runs q + 1. These take at least as long as the q + 1
    shortest of them. For equal tasks this is the number of waves times the length. The average work
    per slot, rounded up, is another lower bound.

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
