"""The least number of servers on which all deadlines are met, with the proof that fewer miss one.

The pools keep their shares of all units. More servers may miss a deadline that fewer meet, since
the scheduler does not know the future, so that a bisection alone proves nothing. It gives an upper
bound; then every smaller number is replayed until its first miss. Source: Cura, spec section 3,
"servers needed".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sluice.planning.pools.online import first_miss
from sluice.planning.pools.pool_sizes import PoolShape, rounded_sizes
from sluice.planning.pools.problem import PoolProblem

_DOUBLINGS_MAX = 12  # beyond 4,096 times the present servers no deadline is met by more


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastServers:
    """The answer. servers, sizes: None and empty if no number was found.

    smaller: the first job that misses, for each smaller number of servers.
    """

    servers: int | None
    sizes: tuple[int, ...] = ()
    smaller: tuple[tuple[int, str], ...] = ()


def on_servers(problem: PoolProblem, servers: int, shares: Sequence[float]) -> PoolProblem:
    """The problem with pools on that many servers. shares: of all units, by VM type."""
    total = servers * problem.server_units
    vms = [share * total / units for share, units in zip(shares, problem.units, strict=True)]
    shape = PoolShape(vms, problem.units, problem.server_units, servers)
    sizes = rounded_sizes(shares, shape)
    types = tuple(replace(one, vms=vms) for one, vms in zip(problem.types, sizes, strict=True))
    pools = replace(problem.pools, vm_types=types, servers=servers)
    return replace(problem, pools=pools, types=types)


def least_servers(problem: PoolProblem, shares: Sequence[float] | None = None) -> LeastServers:
    """The least servers without a miss. shares: of all units by type; None for those of the pools.

    Without shares and without a VM in any pool no number is found.
    """
    if shares is None:
        units = [vms * one for vms, one in zip(problem.sizes, problem.units, strict=True)]
        total = math.fsum(units)
        if not total:
            return LeastServers(servers=None)
        shares = [one / total for one in units]
    low, high = 0, max(1, problem.servers)
    for _ in range(_DOUBLINGS_MAX):
        if first_miss(on_servers(problem, high, shares)) is None:
            break
        low, high = high, 2 * high
    else:
        return LeastServers(servers=None)
    while high - low > 1:
        middle = (low + high) // 2
        if first_miss(on_servers(problem, middle, shares)) is None:
            high = middle
        else:
            low = middle
    return _proven(problem, shares, high)


def _proven(problem: PoolProblem, shares: Sequence[float], bound: int) -> LeastServers:
    """Try every number from 1; the first without a miss is the least."""
    smaller: list[tuple[int, str]] = []
    for servers in range(1, bound):
        missed = first_miss(on_servers(problem, servers, shares))
        if missed is None:
            bound = servers
            break
        smaller.append((servers, missed))
    sizes = on_servers(problem, bound, shares).sizes
    return LeastServers(servers=bound, sizes=sizes, smaller=tuple(smaller))
