"""Converts a problem to the sequences that kernels need, and returns the outcome of an order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sluice.planning.ordering.compilation import Kernels, compiled_kernels, is_kept, plain_kernels
from sluice.planning.ordering.flow_outcome import OrderOutcome
from sluice.planning.ordering.kernels.fifo_model import FlowArrays, JobRuns, JobTimes, ReduceQueue
from sluice.planning.ordering.kernels.slot_groups import SlotGroups
from sluice.planning.ordering.problem import OrderingProblem, checked_order
from sluice.planning.ordering.waiting_jobs import WaitingJobs

_RUN_S, _GROUP_S = 6e-6, 3e-7  # time of a plain evaluation: per task run, and per slot group in it
_LONG_S = 2.0  # an expected plain time above this is worth loading cached machine code
_COMPILING_S = 15.0  # ... and above this worth compiling it


def outcome_of(problem: OrderingProblem, order: Sequence[int]) -> OrderOutcome:
    """Evaluate an order. Raises InvalidInput if it is not a permutation.

    >>> from sluice.planning.ordering.workloads import benchmarks
    >>> outcome_of(benchmarks(9), range(9)).makespan_s
    1273.0
    """
    checked_order(order, len(problem.jobs))
    if problem.has_waiting:
        return WaitingJobs(problem).outcome(order)
    kernels = plain_kernels()
    flow = flow_arrays_of(problem, kernels)
    fast = compiled_kernels() if expected_s(flow) > _LONG_S else None
    if fast is not None and (is_kept(fast.evaluate) or expected_s(flow) > _COMPILING_S):
        kernels = fast
        flow = flow_arrays_of(problem, kernels)
    kernels.evaluate(flow, kernels.integers(order))
    times = JobTimes(*(list(map(float, at_s)) for at_s in flow.times))
    has_maps = [bool(job.maps) for job in problem.jobs]
    has_reduces = [bool(job.reduces) for job in problem.jobs]
    reducing_s = _known(times.reducing_s, has_reduces)
    return OrderOutcome(
        makespan_s=max(times.ended_s),
        total_completion_s=math.fsum(times.ended_s),
        began_s=tuple(
            began_s if has else reduced_s or 0.0
            for began_s, has, reduced_s in zip(times.began_s, has_maps, reducing_s, strict=True)
        ),
        mapped_s=_known(times.ready_s, has_maps),
        reducing_s=reducing_s,
        ended_s=tuple(times.ended_s),
    )


def expected_s(flow: FlowArrays) -> float:
    """Rough estimate of the seconds that one plain evaluation takes."""
    runs = len(flow.work.tasks)
    groups = sum(min(int(slots), runs) for slots in flow.slots) / 2
    return runs * (_RUN_S + _GROUP_S * groups)


def _known(at_s: Sequence[float], has: Sequence[bool]) -> tuple[float | None, ...]:
    return tuple(
        instant_s if is_there else None for instant_s, is_there in zip(at_s, has, strict=True)
    )


def flow_arrays_of(problem: OrderingProblem, kernels: Kernels) -> FlowArrays:
    """Convert the problem to sequences for these kernels, with working memory."""
    lengths_s: list[float] = []
    tasks: list[int] = []
    first = [0]
    for job in problem.jobs:
        for runs in (job.maps, job.reduces):
            tasks += (count for count, _ in runs)
            lengths_s += (length_s for _, length_s in runs)
            first.append(len(tasks))
    jobs = len(problem.jobs)
    return FlowArrays(
        work=JobRuns(kernels.floats(lengths_s), kernels.integers(tasks), kernels.integers(first)),
        slots=kernels.integers([max(1, problem.map_slots), max(1, problem.reduce_slots)]),
        maps=pool_for(problem.map_slots, len(tasks), kernels),
        reduces=pool_for(problem.reduce_slots, len(tasks), kernels),
        times=JobTimes(*(kernels.floats([0.0] * jobs) for _ in range(4))),
        queue=ReduceQueue(
            **{name: kernels.integers([0] * (jobs + 1)) for name in ReduceQueue._fields[:-1]},
            counts=kernels.integers([0] * 3),
        ),
    )


def pool_for(slots: int, runs: int, kernels: Kernels) -> SlotGroups:
    """Allocate slot groups for the largest possible number: each run splits at most one group."""
    groups = min(max(1, slots), runs + 1)
    return SlotGroups(
        at_s=kernels.floats([0.0] * (2 * groups + 2)),
        slots=kernels.integers([0] * (2 * groups + 2)),
        ends=kernels.integers([0, 0]),
        moved_at_s=kernels.floats([0.0] * (groups + 1)),
        moved_slots=kernels.integers([0] * (groups + 1)),
    )
