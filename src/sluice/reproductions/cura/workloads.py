"""Loads of the Cura evaluation, the same for the same seed.

The paper's profiles are not published, so that these are ours: spec section 8 has the model. A
job's time on n VMs is 10 s for Hadoop, its input at 50 MB/s per VM, and work that gains n^0.9 from
n VMs.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import NamedTuple

from sluice.model.ids import JobId, PoolId
from sluice.model.job import Job, Prediction

SERVER_UNITS = 16
VCPUS = (2, 4, 6, 8, 10, 12)
TYPES = tuple(f"vcpu-{vcpus}" for vcpus in VCPUS)
SIZES = (1, 2, 4, 6, 8, 12, 16, 24, 32)
PROFILES = 50
RATE_PER_S = 1.92  # 11,500 jobs in 100 minutes (E17)

HADOOP_START_S, LOAD_MB_PER_S = 10.0, 50.0
_BEST_TYPE_CHANCES = (0.3, 0.2, 0.2, 0.1, 0.1, 0.1)
_SPEED_LOSS, _SPEED_LEAST = 0.1, 0.6  # per step from the best type
_GAIN = 0.9  # work is divided by n^0.9
CORE_S_PER_MB = {"light": (0.02, 0.1), "heavy": (0.15, 0.6)}
SIZE_CLASSES_MB = {"small": 100.0, "medium": 1000.0, "large": 10_000.0, "extra-large": 100_000.0}


class JobProfile(NamedTuple):
    """core_s_per_mb: work.  best: place of the best VM type."""

    core_s_per_mb: float
    best: int

    def time_s(self, vm_type: int, vms: int, data_mb: float) -> float:
        """Predicted time on a cluster (t_pred)."""
        speed = max(_SPEED_LEAST, 1 - _SPEED_LOSS * abs(vm_type - self.best))
        work_s = data_mb * self.core_s_per_mb / (math.pow(vms, _GAIN) * VCPUS[vm_type] * speed)
        return HADOOP_START_S + data_mb / (LOAD_MB_PER_S * vms) + work_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The load to draw. mean_deadline_s: of the draw, before it is raised to what is possible.

    deadlines: uniform (0 to twice the mean), exponential, or poisson (whole seconds).
    error, boot_s: the fastest cluster, with this error and after booting, meets each deadline.
    """

    jobs: int = 1000
    mean_deadline_s: float = 400.0
    weight: str = "light"
    sizes: tuple[str, ...] = ("small", "medium", "large")
    deadlines: str = "uniform"
    rate_per_s: float = RATE_PER_S
    customers: int = 50
    error: float = 0.0
    boot_s: float = 80.0

    def draw(self, seed: int) -> tuple[Job, ...]:
        """The jobs in order of arrival, with whole seconds of arrival and deadline."""
        rng = random.Random(f"cura {seed}")
        low, high = CORE_S_PER_MB[self.weight]
        places = range(len(VCPUS))
        profiles = [
            JobProfile(rng.uniform(low, high), rng.choices(places, _BEST_TYPE_CHANCES)[0])
            for _ in range(PROFILES)
        ]
        made, at_s = [], 0.0
        for number in range(self.jobs):
            at_s += rng.expovariate(self.rate_per_s)
            made.append(self._job(rng, number, math.floor(at_s), rng.choice(profiles)))
        return tuple(made)

    def _job(self, rng: random.Random, number: int, at_s: int, profile: JobProfile) -> Job:
        data_mb = SIZE_CLASSES_MB[rng.choice(self.sizes)]
        predictions = tuple(
            Prediction(vm_type=name, vms=vms, time_s=profile.time_s(place, vms, data_mb))
            for place, name in enumerate(TYPES)
            for vms in SIZES
        )
        fastest_s = min(one.time_s for one in predictions)
        least_s = 1.1 * (fastest_s * (1 + self.error) + self.boot_s) + 2
        deadline_s = max(math.floor(self._deadline_s(rng)), math.ceil(least_s))
        name = f"job-{number + 1}"
        return Job(
            job_id=JobId(name),
            pool=PoolId(name),
            phases=(),
            submitted_at_s=float(at_s),
            deadline_at_s=float(at_s + deadline_s),
            predictions=predictions,
            customer=f"customer-{rng.randrange(self.customers) + 1}",
        )

    def _deadline_s(self, rng: random.Random) -> float:
        mean_s = self.mean_deadline_s
        if self.deadlines == "exponential":
            return rng.expovariate(1 / mean_s)
        if self.deadlines == "poisson":
            return float(_poisson(rng, mean_s))
        return rng.uniform(0, 2 * mean_s)


def _poisson(rng: random.Random, mean: float) -> int:
    """A Poisson number, as the arrivals of rate 1 within `mean`."""
    count, at = 0, rng.expovariate(1)
    while at < mean:
        count += 1
        at += rng.expovariate(1)
    return count
