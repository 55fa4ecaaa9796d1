"""Which jobs of a plan wait for which, and what follows: starts, ends, and who runs at once.

A job starts when all jobs that it waits for have ended; a job that waits for none starts at 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Precedence:
    """before: for each job, the positions of the jobs that it waits for; they form no circle."""

    before: tuple[tuple[int, ...], ...]

    def __bool__(self) -> bool:
        """Whether any job waits."""
        return any(self.before)

    def ends_s(self, times_s: Sequence[float]) -> list[float]:
        """When each job ends if each takes its time, seconds.

        >>> Precedence(((), (0,), (0, 1))).ends_s([4.0, 5.0, 1.0])
        [4.0, 9.0, 10.0]
        """
        ends_s = [0.0] * len(times_s)
        for job in self._in_order:
            starts_s = max((ends_s[one] for one in self.before[job]), default=0.0)
            ends_s[job] = starts_s + times_s[job]
        return ends_s

    def starts_s(self, times_s: Sequence[float]) -> list[float]:
        """When each job starts: a start equals the end that it waits for, seconds."""
        ends_s = self.ends_s(times_s)
        return [max((ends_s[one] for one in each), default=0.0) for each in self.before]

    def running(self, times_s: Sequence[float]) -> Iterator[tuple[int, ...]]:
        """Yield the jobs that run at once, at each instant at which some job starts."""
        ends_s, starts_s = self.ends_s(times_s), self.starts_s(times_s)
        for now_s in sorted(set(starts_s)):
            yield tuple(job for job, end_s in enumerate(ends_s) if starts_s[job] <= now_s < end_s)

    def may_run_at_once(self, limit: int) -> list[tuple[int, ...]] | None:
        """The largest sets of jobs of which none waits for another; None if there are more.

        These are the maximal cliques of the pairs that do not wait (Bron and Kerbosch, *Algorithm
        457*, CACM 1973).
        """
        jobs = range(len(self.before))
        above = self._above
        pairs = [
            {one for one in jobs if one != job and one not in above[job] and job not in above[one]}
            for job in jobs
        ]
        found: list[tuple[int, ...]] = []
        stack: list[tuple[list[int], set[int], set[int]]] = [([], set(jobs), set())]
        while stack:
            chosen, open_, closed = stack.pop()
            if not open_ and not closed:
                found.append(tuple(sorted(chosen)))
                if len(found) > limit:
                    return None
                continue
            if not open_:
                continue
            pivot = max(sorted(open_ | closed), key=lambda one: len(pairs[one] & open_))
            for job in sorted(open_ - pairs[pivot]):
                stack.append(([*chosen, job], open_ & pairs[job], closed & pairs[job]))
                open_, closed = open_ - {job}, closed | {job}
        return sorted(found)

    def links(self) -> list[set[int]]:
        """For each job those that it waits for and that no other of them waits for."""
        above = self._above
        return [
            {one for one in each if not any(one in above[other] for other in each)}
            for each in self.before
        ]

    @cached_property
    def _in_order(self) -> tuple[int, ...]:
        """Each job after those that it waits for."""
        left = [len(set(each)) for each in self.before]
        after: list[list[int]] = [[] for _ in self.before]
        for job, each in enumerate(self.before):
            for one in set(each):
                after[one].append(job)
        ready = [job for job, count in enumerate(left) if not count]
        for job in ready:
            for one in after[job]:
                left[one] -= 1
                if not left[one]:
                    ready.append(one)
        assert len(ready) == len(left), "the reader of the workload refuses circles"
        return tuple(ready)

    @cached_property
    def _above(self) -> list[set[int]]:
        """For each job all that must end before it starts."""
        above: list[set[int]] = [set() for _ in self.before]
        for job in self._in_order:
            for one in self.before[job]:
                above[job] |= above[one] | {one}
        return above
