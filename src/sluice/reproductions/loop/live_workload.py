"""Fourteen jobs of three tenants that run for real: sleep, burn and read, with a straggler.

Tasks take 0.5 to 2 seconds by themselves. One input makes its task four times as long, and one
task hangs the first time that it is tried. Four jobs have deadlines. The seed draws when jobs come
and how long their tasks are. Source: loop spec, section 6.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_NODE: Final = {"map_slots": 2, "reduce_slots": 1, "cpu": 100, "io": 100, "memory": 100}
NODES: Final[Mapping[str, Any]] = {"cluster": {"nodes": 2, "node": _NODE}}
VMS: Final[Mapping[str, Any]] = {
    "server_units": 4,
    "vm_types": [
        {"id": "small", "units": 1, "vms": 2, "map_slots": 1, "reduce_slots": 1},
        {"id": "large", "units": 2, "vms": 2, "map_slots": 2, "reduce_slots": 1},
    ],
}
TASK_TIMEOUT_S: Final = 6.0  # after which the task that hangs is tried again
_SPAN_S: Final = 14.0  # in which jobs come
_STRAGGLES: Final = 4.0  # times as long
_BYTES: Final = 200_000  # of an input that is read
_SLEEP: Final = """read seconds name
if [ "$name" = hangs ] && mkdir hung-$1 2>/dev/null; then sleep 600; fi
sleep "$seconds"
echo "$name"
"""
_BURN: Final = """read seconds name
awk -v n="$seconds" 'BEGIN { while (n-- > 0) for (i = 0; i < 2000000; i++) x += i }'
echo "$name"
"""
_READ: Final = """sleep 0.4
wc -c | tr -d ' '
"""
_REDUCE: Final = """sleep 0.6
sort | uniq -c | tr -s ' '
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tenant:
    """Jobs of a kind. maps: of each job.  deadline_s: of the first jobs; () for none."""

    name: str
    weight: int
    kind: str
    jobs: int
    maps: tuple[int, int]
    reduces: int
    deadlines_s: tuple[float, ...] = ()
    penalty_usd: float | None = None


_TENANTS: Final = (
    _Tenant(
        name="etl", weight=3, kind="sleep", jobs=4, maps=(5, 8), reduces=2,
        deadlines_s=(14.0, 18.0), penalty_usd=2.0,
    ),
    _Tenant(
        name="ads", weight=3, kind="burn", jobs=4, maps=(2, 4), reduces=1,
        deadlines_s=(9.0, 12.0), penalty_usd=4.0,
    ),
    _Tenant(name="adhoc", weight=2, kind="read", jobs=6, maps=(1, 2), reduces=0),
)  # fmt: skip


def write_live_workload(folder: Path, seed: int, machines: Mapping[str, Any] = NODES) -> Path:
    """Write programs, inputs and the workload file into a folder; the path of the last.

    machines: the keys of the file that give the nodes: `NODES`, or the pools of `VMS`.
    """
    for name, text in {"sleep": _SLEEP, "burn": _BURN, "read": _READ, "reduce": _REDUCE}.items():
        (folder / f"{name}.sh").write_text(text)
    draw = random.Random(f"live/{seed}")
    jobs = [
        _job(folder, tenant, number, draw)
        for tenant in _TENANTS
        for number in range(1, tenant.jobs + 1)
    ]
    document = {
        "version": 1,
        **machines,
        "prices": {"vm_hour_usd": 0.30},
        "pools": [{"id": tenant.name, "weight": tenant.weight} for tenant in _TENANTS],
        "jobs": jobs,
        "settings": {"task_timeout_s": TASK_TIMEOUT_S, "heartbeat_s": 0.2},
    }
    path = folder / "live.json"
    path.write_text(json.dumps(document, indent=1))
    return path


def _job(folder: Path, tenant: _Tenant, number: int, draw: random.Random) -> dict[str, Any]:
    name = f"{tenant.name}-{number}"
    inputs = folder / "in" / name
    inputs.mkdir(parents=True)
    maps = draw.randint(*tenant.maps)
    for task in range(maps):
        text = _input(tenant, number, task, draw)
        (inputs / f"part-{task}").write_text(text)
    run: dict[str, Any] = {
        "input": [f"in/{name}"],
        "output": f"out/{name}",
        "mapper": f"sh {tenant.kind}.sh {name}",
    }
    job: dict[str, Any] = {
        "id": name,
        "pool": tenant.name,
        "submitted_at_s": round(draw.uniform(0.0, _SPAN_S), 1),
        "run": run,
        "maps": {"tasks": maps},
        "demand": {"map": {"cpu": 30 if tenant.kind == "burn" else 10, "io": 10, "memory": 10}},
    }
    if tenant.reduces:
        run["reducer"] = "sh reduce.sh"
        job["reduces"] = {"tasks": tenant.reduces}
    if number <= len(tenant.deadlines_s):
        job["deadline_s"] = tenant.deadlines_s[number - 1]
        job["penalty_usd"] = tenant.penalty_usd
    return job


def _input(tenant: _Tenant, number: int, task: int, draw: random.Random) -> str:
    if tenant.kind == "read":
        return "x" * draw.randint(_BYTES // 2, _BYTES)
    seconds = draw.uniform(0.5, 2.0)
    name = "works"
    if tenant.kind == "sleep" and task == 0 and number == 1:
        seconds *= _STRAGGLES
        name = "straggles"
    if tenant.kind == "sleep" and task == 0 and number == 2:  # noqa: PLR2004  # another job's
        name = "hangs"
    return f"{seconds:.2f} {name}\n"
