"""Orders by formula: Johnson's rule, the thesis's two-class rule, shortest first, and a bad one.

All sorts are stable, so that ties keep the input order, and compare exact numbers. Scaling all
work alike (another number of nodes of the same kind) changes none of them (theorem 3.3).
Source: ordering spec, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from sluice.planning.ordering.loads import Loads

JobOrdering = tuple[int, ...]

_ROUNDING = 1e-12  # of a mean of logarithms


def input_order(loads: Loads) -> JobOrdering:
    """As the jobs stand in the file."""
    return tuple(loads.jobs)


def mk_jr(loads: Loads, jobs: Iterable[int] | None = None) -> JobOrdering:
    """Johnson's rule: first what feeds the reduces soonest, last what needs them least.

    jobs: indices to put in order; all of them by default.
    """
    chosen = list(loads.jobs if jobs is None else jobs)
    first = [job for job in chosen if loads.map_share(job) <= loads.reduce_share(job)]
    last = [job for job in chosen if loads.map_share(job) > loads.reduce_share(job)]
    first.sort(key=lambda job: loads.maps[job])
    last.sort(key=lambda job: -loads.reduces[job])
    return (*first, *last)


def mk_tct_jr(loads: Loads) -> JobOrdering:
    """MK_JR over the jobs with T at most the geometric mean of all T, then over the others.

    As printed; plain `tct` beats it on most workloads (erratum E7).
    """
    logs = [math.log(loads.total(job)) for job in loads.jobs]
    mean = math.fsum(logs) / len(logs)
    small = [job for job in loads.jobs if logs[job] <= mean + _ROUNDING]
    large = [job for job in loads.jobs if logs[job] > mean + _ROUNDING]
    return (*mk_jr(loads, small), *mk_jr(loads, large))


def tct(loads: Loads) -> JobOrdering:
    """Least work first: by T ascending."""
    return tuple(sorted(loads.jobs, key=loads.total))


def reverse(loads: Loads) -> JobOrdering:
    """MK_JR from the back: the thesis's baseline. A bad order, not always the worst (E5)."""
    return mk_jr(loads)[::-1]
