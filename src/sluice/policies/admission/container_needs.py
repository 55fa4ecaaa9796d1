"""The needs of a promise to meet a deadline: containers that are a job's own until it ends.

A phase of n tasks with average a and longest m is done within xi / k + fixed seconds on k equal
containers: xi = n * a - 2 * m and fixed = 2 * m ("up"), xi = n * a - m and fixed = m ("avg", which
is Graham's bound for any greedy schedule), xi = n * a and fixed = 0 at best ("low"). Phases follow
each other and take turns on the same containers, so that their lengths add up, and the sum of xi
over the slack, the deadline less what is fixed, is the number of containers. A job whose tasks all
fit side by side takes its longest tasks, one phase after the other, and no bound is needed.

Capacity planning for typed containers holds those of both phases all the time, which takes more.
Source: capacity spec, sections 3.1 and 3.2, errata E4 (phases of few tasks) and E18.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model.job import Job, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerNeeds:
    """How long a job takes on so many containers of its own.

    work_s: what containers share, in seconds of one.  fixed_s: what they do not shorten.
    tasks_max: side by side.  longest_s: with as many containers as that, and never more.
    """

    work_s: float
    fixed_s: float
    tasks_max: int
    longest_s: float

    def containers(self, left_s: float) -> float:
        """The fewest that are enough within `left_s` seconds; infinite where none are."""
        many = self.tasks_max if self.longest_s <= left_s else math.inf
        slack_s = left_s - self.fixed_s
        if slack_s <= 0:
            return many
        # Less than a billionth of a container too many is rounding.
        return min(many, max(1, math.ceil(self.work_s / slack_s - 1e-9)))

    def time_s(self, containers: int) -> float:
        """The deadline that so many containers, at least 1, keep."""
        shared_s = self.fixed_s + self.work_s / containers
        return min(shared_s, self.longest_s) if containers >= self.tasks_max else shared_s


def container_needs(job: Job, bound: str, heartbeat_s: float) -> ContainerNeeds | None:
    """The law of a job; None where it has no phase, or the lengths of one are not known.

    bound: low, avg or up.  heartbeat_s: the interval at which nodes report finished tasks and get
    new ones; 0 if both happen at once.
    """
    laws = [_phase_law(phase, bound, heartbeat_s) for phase in job.phases]
    known = [law for law in laws if law is not None]
    if not known or len(known) < len(laws):
        return None
    return ContainerNeeds(
        work_s=math.fsum(xi_s for xi_s, _, _ in known),
        fixed_s=math.fsum(fixed_s for _, fixed_s, _ in known),
        tasks_max=max(phase.tasks for phase in job.phases),
        longest_s=math.fsum(longest_s for _, _, longest_s in known),
    )


def _phase_law(phase: Phase, bound: str, heartbeat_s: float) -> tuple[float, float, float] | None:
    """xi, fixed and the length in one wave, in seconds."""
    if phase.lengths is None:
        return None
    parts = [part for part in (phase.fetch, phase.lengths) if part is not None]
    average_s = math.fsum(part.avg_s(phase.tasks) for part in parts) + heartbeat_s
    longest_s = math.fsum(part.max_s(phase.tasks) for part in parts) + heartbeat_s
    certainty = {"low": 0.0, "avg": 1.0, "up": 2.0}[bound]
    # Where few tasks make it negative, two of the longest are enough for all of them.
    shared_s = max(0.0, phase.tasks * average_s - certainty * longest_s)
    return shared_s, certainty * longest_s + heartbeat_s, longest_s + heartbeat_s
