"""How long does the list of jobs of a service take, when most of them are over?

Fills the table of ended jobs and asks for parts of lists under each filter and order. It asserts
that a part equals what one finds by looking at every job, which is the peer, then times the CPU.
Argument: jobs, by default 100,000; the budget of the service is for 1,000,000.
Machine: 2 cores, 24 GiB, Python 3.11.

    python -m bench.service.job_lists 1000000
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

from sluice.store.service.ended_jobs import COUNTED_MAX, EndedJob, EndedJobs, Place, Wanted

PART, REPEATS, MS_MAX = 100, 20, 60.0
FILTERS = {
    "no filter": Wanted(),
    "tenant": Wanted(equal={"tenant": "tenant-3"}),
    "user": Wanted(equal={"user": "user-7"}),
    "queue": Wanted(equal={"queue": "queue-4"}),
    "name": Wanted(equal={"name": "name-77"}),
    "state": Wanted(states=("failed",)),
    "two states": Wanted(states=("failed", "killed")),
    "broken promise": Wanted(equal={"kept": False}),
    "label": Wanted(label=("team", "team-3")),
    "any value": Wanted(label=("rare", "")),
    "label and tenant": Wanted(label=("team", "team-3"), equal={"tenant": "tenant-3"}),
    "name and tenant": Wanted(equal={"name": "name-77", "tenant": "tenant-3"}),
}


def jobs(count: int) -> list[EndedJob]:
    """Jobs that have ended one after the other, of some tenants, queues and names."""
    draw = random.Random(1)
    return [
        EndedJob(
            number=number,
            job_id=f"job-{number:08}",
            tenant=f"tenant-{number % 20}",
            user=f"user-{draw.randrange(200)}",
            queue=f"queue-{draw.randrange(30)}",
            name=f"name-{draw.randrange(5000)}",
            profile=f"profile-{draw.randrange(500)}",
            state=draw.choices(("done", "failed", "killed"), (20, 1, 1))[0],
            made_at_s=1e9 + number,
            ended_at=f"2026-{draw.randrange(10**9):09}",
            kept=draw.choices((None, True, False), (1, 9, 1))[0],
            labels={"team": f"team-{draw.randrange(50)}", **({} if number % 25 else {"rare": "x"})},
        )
        for number in range(count)
    ]


def passes(job: EndedJob, wanted: Wanted) -> bool:
    """Whether a job is one of a list."""
    key, value = wanted.label or ("", "")
    return (
        all(getattr(job, column) == value for column, value in wanted.equal.items())
        and (not wanted.states or job.state in wanted.states)
        and (not key or (key in job.labels and value in {"", job.labels[key]}))
    )


def cpu_s(work: Callable[[], object]) -> float:
    """The CPU seconds of one call."""
    before = time.process_time()
    work()
    return time.process_time() - before


def main() -> None:
    """Fill the table, then compare each filter and order."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    known, table = jobs(count), EndedJobs()
    filled_s = cpu_s(lambda: _fill(table, known))
    print(f"{count:,} jobs noted: {1e6 * filled_s / count:.0f} us of CPU each")
    print(f"{'filter':16} {'order':10} {'jobs':>7} {'at most':>9} {'by looking at each':>19}")
    for name, wanted in FILTERS.items():
        for sort in ("submitted", "ended"):
            _compare(table, known, name, wanted, sort)


def _fill(table: EndedJobs, known: list[EndedJob]) -> None:
    for first in range(0, len(known), 1000):
        table.add(known[first : first + 1000])


def _compare(table: EndedJobs, known: list[EndedJob], name: str, wanted: Wanted, sort: str) -> None:
    """Assert that a part from the middle is right, and print how long it takes."""

    def looked_at() -> list[EndedJob]:
        found = [job for job in reversed(known) if passes(job, wanted)]
        return (
            found
            if sort == "submitted"
            else sorted(found, key=lambda job: job.ended_at, reverse=True)
        )

    every_s = cpu_s(looked_at)
    found = looked_at()
    last = found[len(found) // 2] if found else None
    after = last and Place("" if sort == "submitted" else last.ended_at, last.number)
    following = [job.job_id for job in found[len(found) // 2 + 1 :][:PART]]
    assert [job_id for _, job_id in table.page(wanted, sort, after, PART)] == following
    assert table.count(wanted, sort) == min(len(found), COUNTED_MAX + 1)
    took_s = max(
        cpu_s(lambda: (table.page(wanted, sort, after, PART), table.count(wanted, sort)))
        for _ in range(REPEATS)
    )
    print(f"{name:16} {sort:10} {len(found):7,} {1e3 * took_s:6.1f} ms {1e3 * every_s:16.0f} ms")
    assert 1e3 * took_s < MS_MAX, f"{name} by {sort} takes {1e3 * took_s:.1f} ms"


if __name__ == "__main__":
    main()
