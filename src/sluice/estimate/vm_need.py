"""Containers and VMs that a job needs to meet a deadline.

The cheapest way to meet a deadline splits the available time between the map and the reduce phase
in the ratio sqrt(xi_map / maps_per_vm) : sqrt(xi_reduce / reduces_per_vm). At that split both
phases gain the same from one more VM (Lagrange). The formulas accept numbers and arrays.
Source: capacity spec, section 3.2 (Theorem 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Generic, TypeVar

from sluice.estimate.bounds import Bound, LengthSummary, SharedJob, TimeLaw
from sluice.model.classes import ClassProfile
from sluice.model.job import Phase
from sluice.model.lengths import TaskLengths

FloatOrArray = TypeVar("FloatOrArray")  # a float, or a NumPy array of floats

_NO_TIME = LengthSummary(0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Containers(Generic[FloatOrArray]):
    """Map and reduce containers that a job holds from start to end."""

    maps: FloatOrArray
    reduces: FloatOrArray


def vms_per_job(
    xi_map_s: FloatOrArray,
    xi_reduce_s: FloatOrArray,
    slack_s: FloatOrArray,
    maps_per_vm: FloatOrArray,
    reduces_per_vm: FloatOrArray,
) -> FloatOrArray:
    """VMs that one job needs to meet its deadline; gamma in the paper.

    xi_map_s, xi_reduce_s: at least 0.  slack_s: deadline minus the fixed time, above 0.
    Source: capacity spec, section 3.2, the last form of Theorem 1.

    >>> round(vms_per_job(3900.0, 3900.0, 1420.0, 2.0, 3.0), 6)
    4.531223
    """
    roots = (xi_map_s / maps_per_vm) ** 0.5 + (xi_reduce_s / reduces_per_vm) ** 0.5  # type: ignore[operator]  # numbers and arrays know all of these
    return roots**2 / slack_s  # type: ignore[no-any-return]  # as above


def containers_per_job(
    xi_map_s: FloatOrArray,
    xi_reduce_s: FloatOrArray,
    slack_s: FloatOrArray,
    maps_per_vm: FloatOrArray,
    reduces_per_vm: FloatOrArray,
) -> Containers[FloatOrArray]:
    """Containers with which one job ends exactly at its deadline.

    Arguments as for `vms_per_job`. Source: capacity spec, section 3.2, Theorem 1.

    >>> one = containers_per_job(3900.0, 3900.0, 1420.0, 2.0, 3.0)
    >>> round(10 * one.maps, 4), round(10 * one.reduces, 4)
    (49.8897, 61.1021)
    """
    product = xi_map_s * xi_reduce_s  # type: ignore[operator]  # as above
    return Containers(
        maps=((product * maps_per_vm / reduces_per_vm) ** 0.5 + xi_map_s) / slack_s,
        reduces=((product * reduces_per_vm / maps_per_vm) ** 0.5 + xi_reduce_s) / slack_s,
    )


def stages_law(phases: Sequence[Phase], driver_s: float, bound: Bound) -> TimeLaw:
    """The law of a job whose stages take all its containers in turn; xi_map_s is that of all tasks.

    phases: with lengths. For LOW a stage takes tasks * avg_s / containers, for UP the makespan
    theorem's (tasks - 1) * avg_s / containers + max_s, which holds for any greedy schedule.

    >>> from sluice.model.job import SlotKind
    >>> from sluice.model.lengths import ConstantLengths
    >>> kind, lengths = SlotKind.CONTAINER, ConstantLengths(8.0, 12.0)
    >>> scan = Phase(name="scan", kind=kind, tasks=10, lengths=lengths)
    >>> stages_law([scan], 5.0, Bound.UP).time_s(1, 4, 1)
    35.0
    """
    spans = [
        (phase.tasks, part.avg_s(phase.tasks), part.max_s(phase.tasks))
        for phase in phases
        for part in (phase.fetch, phase.lengths)
        if part is not None
    ]
    low_s = fsum(tasks * avg_s for tasks, avg_s, _ in spans)
    up_s = fsum((tasks - 1) * avg_s for tasks, avg_s, _ in spans)
    longest_s = fsum(max_s for _, _, max_s in spans)
    share = {Bound.LOW: 0.0, Bound.AVERAGE: 0.5, Bound.UP: 1.0}[bound]
    return TimeLaw(
        xi_map_s=(1 - share) * low_s + share * up_s,
        xi_reduce_s=0.0,
        xi_fixed_s=driver_s + share * longest_s,
    )


def shared_job(profile: ClassProfile) -> SharedJob:
    """Convert a class profile for the time laws in `bounds`.

    Lengths that depend on the task count use the task count of the class.
    """
    maps, reduces = profile.map_tasks, profile.reduce_tasks
    shuffle = _NO_TIME if profile.shuffle is None else _lengths(profile.shuffle, reduces)
    first = profile.first_shuffle
    return SharedJob(
        map_tasks=maps,
        reduce_tasks=reduces,
        map=_lengths(profile.maps, maps),
        first_shuffle=shuffle if first is None else _lengths(first, reduces),
        shuffle=shuffle,
        reduce=_lengths(profile.reduces, reduces),
    )


def _lengths(lengths: TaskLengths, tasks: int) -> LengthSummary:
    return LengthSummary(avg_s=lengths.avg_s(tasks), max_s=lengths.max_s(tasks))
