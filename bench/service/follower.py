"""Does the follower know what the driver knew, and how fast does it read a journal?

A journal of the driver, made as in `flat_memory`: jobs come and go in made-up time. A replica reads
it; it compares each decision with the one on record. Asserts that both have counted the same ends,
slot-seconds and nodes, and that events are read within the budget of the service.
Growth: a journal of a quarter of the jobs, event for event.
Arguments: jobs, attempts of each, policy. More than 1,000,000 events: `2700 100`.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from bench._figures import verdict
from bench._service import place
from bench.service.flat_memory import BusyUsers, busy_service, lived

from sluice.bootstrap.service.replica import Replica
from sluice.core.state import ClusterState
from sluice.store.rows import EntryKind, entries

EVENTS_PER_S_MIN = 25_000
GROWTH_MAX = 1.3


def totals(state: ClusterState) -> dict[str, Any]:
    """What driver and replica must agree on, although the driver has forgotten most jobs."""
    return {
        "ended": state.closed.ended,
        "slot-seconds": state.closed.busy_s,
        "rows": len(state.closed),
        "running": len(state.running),
        "nodes up": sum(node.is_up for node in state.nodes.values()),
        "now": state.now_s,
        "ignored": dict(state.ignored),
    }


def read(segment: Path, users: BusyUsers) -> tuple[int, float]:
    """The events of a journal, and the CPU seconds that a replica takes to read them."""
    kinds = [row.kind for row in entries(segment)]
    events = kinds.count(EntryKind.EVENT)
    began_s = time.process_time()
    replica = Replica(segment)
    replica.follow()
    took_s = time.process_time() - began_s
    assert totals(replica.state) == totals(users._state)  # noqa: SLF001  # of the driver
    assert len(replica.settled) == len(replica.jobs) == kinds.count(EntryKind.SUBMITTED)
    print(
        f"{events:>9,} events, {kinds.count(EntryKind.DECISION):,} decisions compared:"
        f" {took_s:.1f} s CPU, {events / took_s:,.0f} events/s"
    )
    return events, took_s


def main(jobs: int = 600, maps: int = 100, tasks: str = "fair") -> None:
    """Make both journals, read them, and judge the figures."""
    rates = []
    for share in (4, 1):
        with place() as folder:
            config, at, segment, known = busy_service(folder, maps, tasks)
            users, _, _ = lived(config, at, segment, jobs // share, known)
            events, took_s = read(segment, users)
            rates.append(events / took_s)
    growth = rates[0] / rates[1]
    fits = rates[1] >= EVENTS_PER_S_MIN
    print(f"events/s: {rates[1]:,.0f} (at least {EVENTS_PER_S_MIN:,}){verdict(fits=fits)}")
    print(f"growth: {growth:.2f} (at most {GROWTH_MAX}){verdict(fits=growth <= GROWTH_MAX)}")
    assert fits
    assert growth <= GROWTH_MAX


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*map(int, given[:2]), *given[2:3])
