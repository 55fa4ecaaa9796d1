"""Which servers under the pools are off, because no job and no reservation needs their VMs.

A VM stays on its server: VMs are placed first fit when their pool gets them. A server is needed
while a job has one of its VMs, or a reservation will: reservations take the first free VMs of their
pool. A server that is not needed for `down_after_s` is shut down. It is started as soon as it is
needed again, and its VMs can be used `up_s` later; plans count these seconds for each job, so that
no promise depends on them. Source: Cura, section 2.3.3, which leaves the rule to the provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sluice.model.vm_pools import PowerRule

_ROUNDING = 1e-9


class PowerUse(NamedTuple):
    """The savings from shutting down. off_server_s: server-seconds off.  starts: of servers again.

    servers: how many there are.  server_s: server-seconds from the beginning on, on and off.
    """

    servers: int
    server_s: float
    off_server_s: float
    starts: int


class _Server:
    """used: VMs of jobs.  idle_s: since when it is not needed; None if it is."""

    __slots__ = ("free_units", "idle_s", "ready_s", "used")

    def __init__(self, units: float, now_s: float) -> None:
        self.free_units = units
        self.used = 0
        self.idle_s: float | None = now_s
        self.ready_s = now_s


class ServerPower:
    """The servers under pools. VMs are (pool, place); pools and places are counted from 0."""

    def __init__(self, rule: PowerRule, server_units: float, now_s: float) -> None:
        self._rule = rule
        self._server_units = server_units
        self._began_s = now_s
        self._servers: list[_Server] = []
        self._on: dict[tuple[int, int], _Server] = {}
        self._sizes: dict[int, int] = {}
        self._taken: dict[int, set[int]] = {}
        self._off_s, self._starts = 0.0, 0

    def saved(self) -> dict[str, Any]:
        """The servers, and which VMs are on which, as JSON values."""
        place_of = {id(server): place for place, server in enumerate(self._servers)}
        return {
            "off_s": self._off_s,
            "on": [[*vm, place_of[id(server)]] for vm, server in self._on.items()],
            "servers": [
                {
                    "free_units": one.free_units,
                    "idle_s": one.idle_s,
                    "ready_s": one.ready_s,
                    "used": one.used,
                }
                for one in self._servers
            ],
            "sizes": list(self._sizes.items()),
            "starts": self._starts,
            "taken": [[pool, sorted(places)] for pool, places in self._taken.items()],
        }

    def restored(self, saved: Mapping[str, Any]) -> None:
        """Take back what was saved."""
        self._off_s, self._starts = saved["off_s"], saved["starts"]
        self._servers = []
        for one in saved["servers"]:
            server = _Server(one["free_units"], one["ready_s"])
            server.idle_s, server.used = one["idle_s"], one["used"]
            self._servers.append(server)
        self._on = {(pool, place): self._servers[at] for pool, place, at in saved["on"]}
        self._sizes = dict(saved["sizes"])
        self._taken = {pool: set(places) for pool, places in saved["taken"]}

    def grow(self, pool: int, units: float, vms: int, now_s: float) -> None:
        """A pool has that many VMs; those that are new are placed first fit."""
        first = self._sizes.get(pool, 0)
        self._taken.setdefault(pool, set())
        for place in range(first, vms):
            fitting = (one for one in self._servers if one.free_units + _ROUNDING >= units)
            server = next(fitting, None)
            if server is None:
                server = _Server(self._server_units, now_s)
                self._servers.append(server)
            server.free_units -= units
            self._on[pool, place] = server
        self._sizes[pool] = max(first, vms)

    def first_free(self, pool: int, vms: int) -> list[int]:
        """The first free places of a pool, at most that many."""
        taken = self._taken[pool]
        found: list[int] = []
        for place in range(self._sizes[pool]):
            if len(found) == vms:
                break
            if place not in taken:
                found.append(place)
        return found

    def take(self, pool: int, places: Iterable[int], now_s: float) -> float:
        """A job gets VMs; the seconds until all their servers are up."""
        ready_s = now_s
        for place in places:
            self._taken[pool].add(place)
            server = self._on.get((pool, place))
            if server is not None:
                server.used += 1
                self._need(server, now_s)
                ready_s = max(ready_s, server.ready_s)
        return ready_s - now_s

    def give_back(self, pool: int, places: Iterable[int], now_s: float) -> None:
        """A job has given VMs back. Call `update` when all that happens now is known."""
        for place in places:
            self._taken[pool].discard(place)
            server = self._on.get((pool, place))
            if server is not None:
                server.used -= 1

    def update(self, reserved: Mapping[int, int], now_s: float) -> None:
        """Start and shut down servers. reserved: VMs of all reservations, by pool."""
        needed = {
            id(self._on[pool, place])
            for pool, vms in reserved.items()
            if pool in self._taken
            for place in self.first_free(pool, vms)
        }
        for server in self._servers:
            if server.used or id(server) in needed:
                self._need(server, now_s)
            elif server.idle_s is None:
                server.idle_s = now_s

    def use(self, now_s: float) -> PowerUse:
        """Return the savings up to now."""
        now_s = max(now_s, self._began_s)
        off_s = self._off_s + sum(self._off_since(one, now_s) for one in self._servers)
        servers = len(self._servers)
        return PowerUse(servers, servers * (now_s - self._began_s), off_s, self._starts)

    def _off_since(self, server: _Server, now_s: float) -> float:
        """Seconds that it is off; 0 if it is on."""
        if server.idle_s is None:
            return 0.0
        return max(0.0, now_s - server.idle_s - self._rule.down_after_s)

    def _need(self, server: _Server, now_s: float) -> None:
        off_s = self._off_since(server, now_s)
        if off_s > 0:
            self._off_s += off_s
            self._starts += 1
            server.ready_s = now_s + self._rule.up_s
        server.idle_s = None


def power_of(
    rule: PowerRule, server_units: float, sizes: Sequence[tuple[float, int]], now_s: float
) -> ServerPower:
    """The servers under pools of (units, VMs), with the largest VMs placed first."""
    made = ServerPower(rule, server_units, now_s)
    for pool in sorted(range(len(sizes)), key=lambda place: (-sizes[place][0], place)):
        made.grow(pool, *sizes[pool], now_s)
    return made
