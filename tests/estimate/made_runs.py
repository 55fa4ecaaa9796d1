"""Synthetic past runs, from a machine model that only the tests know."""

import math
import random
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from sluice.model.history import PastPhase, PastRun, PastTask

MB = 1_000_000


@dataclass(frozen=True, kw_only=True)
class MachineModel:
    """Model of a machine and a job.

    processors: more concurrent tasks than this slow each other down, in proportion.
    map_s: length of a map that runs alone.  reduce_s_per_mb: the same of a reduce, for each MB.
    start_s, gap_s: idle time before the first task, and before each task.
    noise: standard deviation of the logarithm of all times of a run, from run to run.
    task_noise: the same, from task to task.
    """

    processors: int = 2
    map_s: float = 2.0
    split_mb: int = 10
    reduces: int = 2
    reduce_s_per_mb: float = 0.05
    start_s: float = 0.5
    gap_s: float = 0.05
    noise: float = 0.0
    task_noise: float = 0.1

    def run(self, run_id, slots, input_mb, rng, profile="made"):
        """One run with `slots` slots of each kind and `input_mb` of input."""
        luck = math.exp(rng.gauss(0.0, self.noise))
        maps = max(1, input_mb // self.split_mb)
        alone_s = [self.map_s, self.reduce_s_per_mb * input_mb / max(1, self.reduces)]
        phases, now_s = [], self.start_s * luck
        for index, (kind, tasks) in enumerate([("map", maps), ("reduce", self.reduces)]):
            if not tasks:
                continue
            timeline = self._phase(tasks, slots, alone_s[index] * luck, now_s, rng)
            now_s = max(task.finished_at_s for task in timeline)
            lengths_s = [task.length_s for task in timeline]
            phases.append(
                PastPhase(
                    name=kind,
                    kind=kind,
                    tasks=tasks,
                    avg_s=min(math.fsum(lengths_s) / tasks, max(lengths_s)),
                    max_s=max(lengths_s),
                    input_bytes=input_mb * MB if kind == "map" else 0,
                    cpu_s=alone_s[index] * tasks,
                    rss_bytes_max=100 * MB,
                    timeline=timeline,
                    after=tuple(range(index)),
                )
            )
        return PastRun(
            run_id=run_id,
            profile=profile,
            source="sluice",
            phases=tuple(phases),
            elapsed_s=now_s,
            slots={"map": slots, "reduce": slots},
        )

    def _phase(self, tasks, slots, alone_s, began_at_s, rng):
        concurrent = min(tasks, slots)
        slow = max(1.0, concurrent / self.processors)
        free_at_s = [began_at_s] * slots
        heapify(free_at_s)
        timeline = []
        for _ in range(tasks):
            start_s = heappop(free_at_s) + self.gap_s
            length_s = alone_s * slow * math.exp(rng.gauss(0.0, self.task_noise))
            heappush(free_at_s, start_s + length_s)
            timeline.append(
                PastTask(started_at_s=start_s, finished_at_s=start_s + length_s, node="node-1")
            )
        return tuple(timeline)

    def runs(self, settings, rng, *, repeats=1, profile="made"):
        """Runs at each (slots, input_mb), so many times."""
        return [
            self.run(f"{profile}-{slots}-{input_mb}-{turn}", slots, input_mb, rng, profile)
            for slots, input_mb in settings
            for turn in range(repeats)
        ]


def settings(slots=(1, 2, 3, 4), sizes_mb=(220, 440)):
    """All pairs of slots and input sizes."""
    return [(count, size) for size in sizes_mb for count in slots]


def without_timeline(run):
    """The same run, as in a log with only average and longest tasks."""
    phases = tuple(replace(phase, timeline=()) for phase in run.phases)
    return replace(run, phases=phases)


def draws(seed):
    """Random generator; each test has its own seed."""
    return random.Random(seed)
