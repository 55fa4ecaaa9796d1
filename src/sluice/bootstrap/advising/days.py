"""Days drawn from a history, on which combinations are raced.

A history is cut into blocks of an hour (at least six). Whole days come first as they were; more are
made of blocks that are drawn with replacement, each from the same hour of some day where there are
two days, else from any hour. Days without a job do not count. Where whole days take too long to
simulate, a day is a stretch of blocks in a row, so that queues build up as they did. Source: loop
spec, section 5, step 3; blocks keep what depends on the time of day, see H. Kuensch, "The Jackknife
and the Bootstrap for General Stationary Observations", Annals of Statistics 17, 1989.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.workload import Workload

DAY_S = 86_400.0
BLOCK_S = 3600.0
_BLOCKS_MIN = 6  # a short history is cut into that many blocks
_SPAN_S_MIN = 60.0

Block = Sequence[Job]


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """A history in blocks, without days that have no job.

    numbers: of the blocks in the history.  per_day: blocks of a day.  drawn: of each drawn day.
    """

    workload: Workload
    blocks: Sequence[Block]
    numbers: Sequence[int]
    block_s: float
    per_day: int
    drawn: int

    @classmethod
    def of(cls, workload: Workload, day_s: float = DAY_S) -> Days:
        """Cut a history with at least one job. day_s: length of a day, seconds."""
        span_s = span_of(workload.jobs)
        blocks = blocks_of(workload.jobs, span_s, day_s)
        block_s = span_s / len(blocks)
        per_day = min(len(blocks), max(1, round(day_s / block_s)))
        # Logs that were kept now and then have years without a job.
        starts = range(0, len(blocks), per_day)
        busy = [
            number
            for start in starts
            if any(blocks[start : start + per_day])
            for number in range(start, min(len(blocks), start + per_day))
        ]
        return cls(
            workload=workload, blocks=[blocks[number] for number in busy], numbers=busy,
            block_s=block_s, per_day=per_day, drawn=per_day,
        )  # fmt: skip

    @property
    def tasks(self) -> float:
        """The mean number of tasks of a drawn day."""
        total = sum(job.tasks for job in self.workload.jobs)
        return total * self.drawn / len(self.blocks)

    @property
    def hours(self) -> float:
        """The length of a drawn day."""
        return self.drawn * self.block_s / 3600

    @property
    def known(self) -> int:
        """The number of whole days in the history."""
        return len(self.blocks) // self.per_day

    @property
    def with_jobs(self) -> int:
        """The number of days that have a job; the last may be a part of one."""
        return -(-len(self.blocks) // self.per_day)

    def shortened(self, tasks_max: float) -> Days:
        """Return the same with drawn days of at most this many tasks, but of one block at least."""
        if self.tasks <= tasks_max:
            return self
        return replace(self, drawn=max(1, int(self.drawn * tasks_max / self.tasks)))

    def day(self, number: int) -> Workload:
        """A day by its number, from 0; the same number gives the same day.

        Jobs keep their place in their block; those that run after others come with these.
        """
        if self.drawn == len(self.blocks) and number == 0:
            return self.workload
        made: list[Job] = []
        for place, source in enumerate(self._sources(number)):
            made += moved(
                self.blocks[source], (place - self.numbers[source]) * self.block_s, f"{place + 1}."
            )
        if not made:  # hours were drawn in which no job came
            return self.day(number % self.known) if number >= self.known > 0 else self.workload
        made.sort(key=lambda job: (job.submitted_at_s, str(job.job_id)))
        return replace(self.workload, jobs=tuple(made))

    def _sources(self, number: int) -> Iterator[int]:
        """Yield the blocks of a day, in order."""
        count, length = len(self.blocks), self.drawn
        if length < self.per_day:
            # All stretches of the history come once before any comes again.
            starts = [start for start in range(0, count - length + 1, length) if self._has(start)]
            random.Random("stretches").shuffle(starts)
            start = starts[number % len(starts)] if starts else 0
            yield from range(start, start + length)
            return
        if number < self.known:
            yield from range(number * length, (number + 1) * length)
            return
        draw = random.Random(f"day/{number}")
        step = length if self.known > 1 else 1
        for place in range(length):
            yield draw.choice(range(place % step, count, step))

    def _has(self, start: int) -> bool:
        return any(self.blocks[start : start + self.drawn])


def span_of(jobs: Iterable[Job]) -> float:
    """From 0 to the last submission and the average time between two more, at least a minute."""
    instants = [job.submitted_at_s for job in jobs]
    return max(_SPAN_S_MIN, max(instants) * (1 + 1 / len(instants)))


def blocks_of(jobs: Iterable[Job], span_s: float, day_s: float = DAY_S) -> list[list[Job]]:
    """The jobs in blocks of an hour, at least six of a day. Jobs after others are in the last's."""
    block_s = min(BLOCK_S, day_s / _BLOCKS_MIN)
    count = max(_BLOCKS_MIN, round(span_s / block_s))
    blocks: list[list[Job]] = [[] for _ in range(count)]
    homes: dict[JobId, int] = {}
    for job in jobs:
        own = min(count - 1, int(job.submitted_at_s / span_s * count))
        home = max([homes[name] for name in job.after if name in homes], default=own)
        homes[job.job_id] = home
        blocks[home].append(job)
    return blocks


def moved(jobs: Iterable[Job], by_s: float, prefix: str) -> Iterator[Job]:
    """Yield the jobs at another time, under names with a prefix. They are after these jobs only.

    Deadlines that follow from a later job's are left to be derived again.
    """
    jobs = tuple(jobs)
    ids = {job.job_id: JobId(f"{prefix}{job.job_id}") for job in jobs}
    for job in jobs:
        due_at_s = job.own_deadline_at_s
        yield replace(
            job,
            job_id=ids[job.job_id],
            submitted_at_s=max(0.0, job.submitted_at_s + by_s),
            deadline_at_s=None if due_at_s is None else due_at_s + by_s,
            after=tuple(ids[name] for name in job.after if name in ids),
            shares_deadline_of=None,
        )
