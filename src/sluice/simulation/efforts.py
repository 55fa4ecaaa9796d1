"""The cost of each attempt: its work, its fetching, and its mishaps.

Each purpose has its own generator, seeded from the run's seed, the purpose, the job and the phase.
The values of a phase's tasks are drawn in task order, all of them when its first task starts. So
every scheduler sees the same tasks, in whatever order it starts them.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, cast

from sluice.core.commands import Launch
from sluice.core.entries import PhaseEntry
from sluice.model.cluster import Locality
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.simulation.draws import drawn, stream_of
from sluice.simulation.settings import SimulationSettings

# Lengths of past attempts by (job, phase name, task), to replay a recorded run.
Recorded = Callable[[JobId, str, int], float | None]


class Mishap(NamedTuple):
    """A fault of an attempt: it is slowed by a factor, hangs, or fails on the way."""

    factor: float = 1.0
    hangs: bool = False
    fails_after: float | None = None  # share of its length
    hangs_at: float = 0.0  # the progress at which it stops, if it hangs


FINE: Final = Mishap()  # of most attempts: to read its fields would be a call each
_LISTED: Final = ListedLengths  # an imported name is looked up at each use
_CHANCE, _SLOWNESS, _FAILS, _WHERE, _STOPS = range(5)  # the draws of one attempt


class PhaseEffort:
    """Lengths of one phase's tasks: one for all, or one for each. Seconds at profile speed.

    each_s: instead of work_s, which is then not read; listed_s: the same if it is a tuple, which
    is read faster.  fetches: its work starts after fetching, once the earlier phases are done.
    stream: of the random numbers for its attempts; 0 where there are no mishaps.
    """

    # No dataclass: compiled, its fields are read as fast as local names.
    def __init__(
        self,
        fetch_s: float,
        work_s: float,
        each_s: Sequence[float] | None,
        *,
        fetches: bool,
        stream: int,
    ) -> None:
        self.fetch_s = fetch_s
        self.work_s = work_s
        self.each_s = each_s
        self.listed_s: tuple[float, ...] | None = each_s if isinstance(each_s, tuple) else None
        self.fetches = fetches
        self.stream = stream

    def of(self, task: int) -> float:
        """Work of a task, without its fetching."""
        return self.work_s if self.each_s is None else self.each_s[task]


class Efforts:
    """Draws the cost of tasks, phase by phase."""

    def __init__(
        self, settings: SimulationSettings, seed: int, recorded: Recorded | None = None
    ) -> None:
        self._settings = settings
        self._seed = seed
        self._recorded = recorded
        self._factors = {
            None: 1.0,
            Locality.NODE: 1.0,
            Locality.RACK: settings.rack_factor,
            Locality.ANY: settings.remote_factor,
        }
        self._slow_nodes: dict[NodeId, float] = {}
        self._p_slow, self._p_hang = settings.p_slow, settings.p_hang
        self._p_fails, self._p_slow_node = settings.task_failure, settings.p_slow_node
        self._is_fixed = not settings.jitter and settings.spread == "fixed"
        self._tells_apart = not self._is_fixed or recorded is not None
        self.has_mishaps = bool(
            settings.p_slow or settings.p_hang or settings.p_slow_node or settings.task_failure
        )

    def are_alike(self, job: Job) -> bool:
        """Whether the tasks of each phase have equal lengths; InvalidInput if they have none."""
        is_alike = not self._tells_apart
        for phase in job.phases:
            lengths = phase.lengths
            if lengths is None:
                raise InvalidInput(
                    f"phase {phase.name!r} has no task lengths",
                    where=f"job {job.job_id!r}",
                    hint="give avg_s, durations_s, fixed_s and work_s, or rows",
                )
            if isinstance(lengths, _LISTED):
                is_alike = False
        return is_alike

    def of(self, phase: PhaseEntry) -> PhaseEffort:
        """The costs of a phase's tasks, drawn if that has not been done or they were forgotten."""
        if phase.effort is None:
            phase.effort = self._drawn(phase)
        return cast("PhaseEffort", phase.effort)

    def locality_factor(self, locality: Locality | None) -> float:
        """The length factor of a task at that distance from its input."""
        return self._factors[locality]

    def work_s(self, launch: Launch, phase: PhaseEntry) -> float:
        """Seconds of work at full speed, with locality, mishap and node factored in."""
        work_s = self.of(phase).of(launch.key.task)
        work_s *= self.locality_factor(launch.locality)
        return work_s * self.mishap(launch, phase).factor * self.node_factor(launch.node_id)

    def node_factor(self, node_id: NodeId) -> float:
        """The length factor of a node, drawn once."""
        if not self._p_slow_node:
            return 1.0
        factor = self._slow_nodes.get(node_id)
        if factor is None:
            chance = random.Random(f"{self._seed}/slow-node/{node_id}").random()
            is_slow = chance < self._p_slow_node
            factor = self._slow_nodes[node_id] = self._settings.slow_node_factor if is_slow else 1.0
        return factor

    def mishap(self, launch: Launch, phase: PhaseEntry) -> Mishap:
        """The mishap of an attempt of a phase, independent of when it starts."""
        return self.mishap_in(self.of(phase), launch.key.task, launch.key.attempt)

    def mishap_in(self, effort: PhaseEffort, task: int, attempt: int) -> Mishap:
        """The mishap of an attempt of a phase.

        Drawn again at each question: that is cheaper than to find it in a cache.
        """
        if not self.has_mishaps:
            return FINE
        stream = effort.stream
        chance = drawn(stream, task, attempt, _CHANCE)
        is_slow = self._p_hang <= chance < self._p_hang + self._p_slow
        fails = self._p_fails > 0 and drawn(stream, task, attempt, _FAILS) < self._p_fails
        if not (is_slow or fails) and chance >= self._p_hang:
            return FINE  # as most are
        factor = 1.0
        if is_slow:
            low, high = self._settings.slow_factor
            factor = low + (high - low) * drawn(stream, task, attempt, _SLOWNESS)
        fails_after = drawn(stream, task, attempt, _WHERE) if fails else None
        if chance >= self._p_hang:
            return Mishap(factor, fails_after=fails_after)
        low, high = self._settings.hang_at
        hangs_at = low + (high - low) * drawn(stream, task, attempt, _STOPS)
        return Mishap(factor, hangs=True, fails_after=fails_after, hangs_at=hangs_at)

    def _drawn(self, entry: PhaseEntry) -> PhaseEffort:
        phase = entry.phase
        mean_s, each_s = self.lengths_of(entry.job_id, phase)
        if self._recorded is not None:
            known = [self._recorded(entry.job_id, phase.name, task) for task in range(phase.tasks)]
            base = each_s or [mean_s] * phase.tasks
            each_s = array("d", [b if k is None else k for k, b in zip(known, base, strict=True)])
        stream = 0
        if self.has_mishaps:
            stream = stream_of(f"{self._seed}/mishap/{entry.job_id}/{phase.name}")
        fetch_s = 0.0 if phase.fetch is None else phase.fetch.avg_s(phase.tasks)
        fetches = bool(entry.after or fetch_s)
        return PhaseEffort(fetch_s, mean_s, each_s, fetches=fetches, stream=stream)

    def lengths_of(self, job_id: JobId, phase: Phase) -> tuple[float, Sequence[float] | None]:
        """The length of each task in seconds, or that of each of its tasks where they differ.

        The first is not to be read where there are others.
        """
        lengths = phase.lengths
        assert lengths is not None, "the job would not have been taken"
        each_s: Sequence[float] | None = None
        mean_s = math.nan  # without need: it takes as long as to copy them
        if isinstance(lengths, _LISTED):
            each_s = lengths.durations_s
        else:
            mean_s = lengths.avg_s(phase.tasks)
        # To seed a generator takes longer than all else about a small job.
        spread = None if self._is_fixed else self._spread(job_id, phase)
        if spread is None:
            return mean_s, each_s
        base = each_s or [mean_s] * phase.tasks
        return mean_s, array("d", [length_s * spread() for length_s in base])

    def _spread(self, job_id: JobId, phase: Phase) -> Callable[[], float]:
        """A generator of factors with mean 1."""
        settings = self._settings
        draw = random.Random(f"{self._seed}/lengths/{job_id}/{phase.name}")
        if settings.jitter:
            low, width = 1 - settings.jitter, 2 * settings.jitter
            return lambda: low + width * draw.random()
        cv = settings.spread_cv
        if settings.spread == "exponential":
            return lambda: draw.expovariate(1.0)
        if settings.spread == "lognormal":
            sigma = math.sqrt(math.log1p(cv * cv))
            return lambda: draw.lognormvariate(-sigma * sigma / 2, sigma)
        if settings.spread == "gamma":
            shape = 1 / (cv * cv)
            return lambda: draw.gammavariate(shape, 1 / shape)
        raise InvalidInput(
            f"spread is {settings.spread!r}",
            where="settings",
            hint="use fixed, exponential, lognormal or gamma",
        )


def lengths_in(jobs: Sequence[Job], settings: SimulationSettings, seed: int) -> Recorded:
    """The lengths that the tasks of these jobs have with a seed, by job, phase and task.

    Another run that gets them as `recorded` has the same tasks, whatever its profiles expect.
    """
    efforts = Efforts(settings, seed)
    phases = {(job.job_id, phase.name): phase for job in jobs for phase in job.phases}
    known: dict[tuple[JobId, str], tuple[float, Sequence[float] | None]] = {}

    def length_s(job_id: JobId, name: str, task: int) -> float | None:
        key = (job_id, name)
        if key not in known:
            known[key] = efforts.lengths_of(job_id, phases[key])
        mean_s, each_s = known[key]
        return mean_s if each_s is None else each_s[task]

    return length_s
