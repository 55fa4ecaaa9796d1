"""Orders by formula: Johnson's rule, the thesis's two-class rule, shortest first, and a bad order.

All sorts are stable, so ties keep the input order, and they compare exact integers. Scaling all
work equally (more nodes of the same kind) changes no order (theorem 3.3). Source: ordering spec,
section 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from sluice.planning.ordering.loads import Loads

JobOrdering = tuple[int, ...]

_ROUNDING = 1e-12  # tolerance for a mean of logarithms


def input_order(loads: Loads) -> JobOrdering:
    """The order of the file."""
    return tuple(loads.jobs)


def mk_jr(loads: Loads, jobs: Iterable[int] | None = None) -> JobOrdering:
    """Johnson's rule, optimal for a two-machine flow shop.

    Jobs with less map time come first, so that reduce slots get work early. Jobs with little reduce
    time come last, so that little remains after the last map.
    jobs: indices to order; all by default.
    """
    chosen = list(loads.jobs if jobs is None else jobs)
    first = [job for job in chosen if loads.map_share(job) <= loads.reduce_share(job)]
    last = [job for job in chosen if loads.map_share(job) > loads.reduce_share(job)]
    first.sort(key=lambda job: loads.maps[job])
    last.sort(key=lambda job: -loads.reduces[job])
    return (*first, *last)


def mk_tct_jr(loads: Loads) -> JobOrdering:
    """MK_JR over the jobs with T at most the geometric mean of all T, then over the others.

    This is the printed rule; plain `tct` is better on most workloads (erratum E7).
    """
    logs = [math.log(loads.total(job)) for job in loads.jobs]
    mean = math.fsum(logs) / len(logs)
    small = [job for job in loads.jobs if logs[job] <= mean + _ROUNDING]
    large = [job for job in loads.jobs if logs[job] > mean + _ROUNDING]
    return (*mk_jr(loads, small), *mk_jr(loads, large))


def tct(loads: Loads) -> JobOrdering:
    """Least work first: by rising T."""
    return tuple(sorted(loads.jobs, key=loads.total))


def reverse(loads: Loads) -> JobOrdering:
    """MK_JR reversed, the thesis's baseline: a bad order, but not always the worst (E5)."""
    return mk_jr(loads)[::-1]
