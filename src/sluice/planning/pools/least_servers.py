"""The least number of servers on which all deadlines are met, with the proof that fewer miss one.

The pools keep their shares of all units. More servers may miss a deadline that fewer meet, since
the scheduler does not know the future, so that a bisection proves nothing. The work that the
deadlines enclose gives a lower bound for every scheduler; from there on each number is replayed
until its first miss, and the first without a miss is the answer. Source: Cura, spec section 3,
"servers needed".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sluice.planning.pools.online import first_miss
from sluice.planning.pools.pool_sizes import PoolShape, rounded_sizes
from sluice.planning.pools.problem import PoolProblem
from sluice.planning.pools.work_bound import WorkBound, work_bound

_TIMES_MAX = 1000  # the bound, or the present servers: beyond that more servers change nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastServers:
    """The answer. servers, sizes: None and empty if no number was found.

    bound: no schedule at all meets the deadlines on fewer servers.  smaller: a job that misses, for
    each number from the bound on that is too small.
    """

    servers: int | None
    sizes: tuple[int, ...] = ()
    smaller: tuple[tuple[int, str], ...] = ()
    bound: WorkBound | None = None


def on_servers(problem: PoolProblem, servers: int, shares: Sequence[float]) -> PoolProblem:
    """The problem with pools on that many servers. shares: of all units, by VM type."""
    total = servers * problem.server_units
    vms = [share * total / units for share, units in zip(shares, problem.units, strict=True)]
    shape = PoolShape(vms, problem.units, problem.server_units, servers)
    sizes = rounded_sizes(shares, shape)
    types = tuple(replace(one, vms=vms) for one, vms in zip(problem.types, sizes, strict=True))
    pools = replace(problem.pools, vm_types=types, servers=servers)
    return replace(problem, pools=pools, types=types)


def least_servers(
    problem: PoolProblem,
    shares: Sequence[float] | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> LeastServers:
    """The least servers without a miss. shares: of all units by type; None for those of the pools.

    Without shares and without a VM in any pool no number is found.  on_progress: called with a
    short text before each number is tried.
    """
    if shares is None:
        units = [vms * one for vms, one in zip(problem.sizes, problem.units, strict=True)]
        total = math.fsum(units)
        if not total:
            return LeastServers(servers=None)
        shares = [one / total for one in units]
    bound = work_bound(problem, shares)
    if bound is None:
        return LeastServers(servers=None)
    smaller: list[tuple[int, str]] = []
    for servers in range(bound.servers, _TIMES_MAX * max(bound.servers, problem.servers)):
        on_progress(f"{servers} servers")
        tried = on_servers(problem, servers, shares)
        missed = _too_large(tried) or first_miss(tried)
        if missed is None:
            return LeastServers(
                servers=servers, sizes=tried.sizes, smaller=tuple(smaller), bound=bound
            )
        smaller.append((servers, missed))
    return LeastServers(servers=None)


def _too_large(problem: PoolProblem) -> str | None:
    """A job that meets its deadline only in clusters larger than the pools; None if no job does."""
    sizes = problem.sizes
    for job in problem.jobs:
        if job.best_alone(sizes=sizes) is None:
            return job.job_id
    return None
