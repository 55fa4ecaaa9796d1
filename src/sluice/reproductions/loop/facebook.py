"""Three busy hours of a cluster at Facebook, as the document of a workload file.

The table has seconds since the first hour, and bytes read, shuffled and written, of the 1,210 jobs
of hours 7 to 9 of FB-2009. Task counts and lengths follow from the bytes as for any SWIM log, with
blocks of 512 MiB: about 13,000 tasks. A seed draws which of the jobs above 1 GB have a deadline and
a penalty. Source: SWIM, the Statistical Workload Injector for MapReduce (SWIMProjectUCB/SWIM), file
FB-2009_samples_24_times_1hr_0.tsv; loop spec, section 3.
"""

from __future__ import annotations

import math
import random
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from sluice.reproductions.loop.day import MAP_SLOTS, NODE_HOUR_USD, REDUCE_SLOTS

LOAD: Final = 0.8
SPAN_S: Final = 3 * 3600
_BLOCK_BYTES, _REDUCE_BYTES = 512 << 20, 4 << 30
_TASK_S, _MAP_BYTES_PER_S, _REDUCE_BYTES_PER_S = 2.0, 10e6, 20e6
_TENANTS: Final = (("adhoc", 2, 1e9), ("reports", 3, 1e10), ("warehouse", 3, math.inf))
_WITH_DEADLINE, _DEADLINE_FACTOR, _PENALTY_USD = 0.7, (2.0, 6.0), 3.0  # the last for each task-hour


class _Job(NamedTuple):
    at_s: int
    tenant: str
    maps: int
    map_s: float
    reduces: int
    reduce_s: float

    @property
    def work_s(self) -> float:
        return self.maps * self.map_s + self.reduces * self.reduce_s


def facebook(seed: int) -> dict[str, Any]:
    """The workload file, with the deadlines that a seed draws."""
    draw = random.Random(seed)
    slots = MAP_SLOTS + REDUCE_SLOTS
    nodes = math.ceil(sum(job.work_s for job in _jobs()) / (LOAD * SPAN_S * slots))
    return {
        "version": 1,
        "cluster": {
            "nodes": nodes, "node": {"map_slots": MAP_SLOTS, "reduce_slots": REDUCE_SLOTS}
        },
        "prices": {"vm_hour_usd": NODE_HOUR_USD},
        "pools": [{"id": name, "weight": weight} for name, weight, _ in _TENANTS],
        "jobs": [
            _document(number, job, nodes, draw) for number, job in enumerate(_jobs(), start=1)
        ],
        "settings": {
            "spread": "lognormal", "spread_cv": 0.5, "p_slow": 0.03, "slow_factor": "3..6"
        },
    }  # fmt: skip


@cache
def _jobs() -> tuple[_Job, ...]:
    table = files("sluice.reproductions.loop").joinpath("facebook_hours.tsv").read_text("utf-8")
    return tuple(_job(*map(int, line.split("\t"))) for line in table.splitlines())


def _job(at_s: int, read: int, shuffled: int, written: int) -> _Job:
    """Tasks as in `ingest.logs.swim`, where a job that shuffles nothing has no reduces."""
    maps = max(1, math.ceil(read / _BLOCK_BYTES))
    reduces = math.ceil(max(shuffled, written) / _REDUCE_BYTES) if shuffled else 0
    by_map = read + (0 if reduces else written)
    reduce_s = (2 * shuffled + written) / reduces / _REDUCE_BYTES_PER_S if reduces else 0.0
    return _Job(
        at_s=at_s,
        tenant=next(name for name, _, most in _TENANTS if read < most),
        maps=maps,
        map_s=round(_TASK_S + by_map / maps / _MAP_BYTES_PER_S, 1),
        reduces=reduces,
        reduce_s=round(_TASK_S + reduce_s, 1),
    )


def _document(number: int, job: _Job, nodes: int, draw: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": f"{job.tenant}-{number}",
        "pool": job.tenant,
        "submitted_at_s": job.at_s,
        "maps": {"tasks": job.maps, "avg_s": job.map_s},
    }
    alone_s = math.ceil(job.maps / (MAP_SLOTS * nodes)) * job.map_s
    if job.reduces:
        found["reduces"] = {"tasks": job.reduces, "avg_s": job.reduce_s}
        alone_s += math.ceil(job.reduces / (REDUCE_SLOTS * nodes)) * job.reduce_s
    if job.tenant != _TENANTS[0][0] and draw.random() < _WITH_DEADLINE:
        found["deadline_s"] = round(draw.uniform(*_DEADLINE_FACTOR) * alone_s, 1)
        found["penalty_usd"] = round(_PENALTY_USD * job.work_s / 3600, 2)
    return found
