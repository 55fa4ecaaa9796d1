"""Do real jobs on pools of VMs meet deadlines with fewer unit-seconds than on fresh clusters?

Question: eight real jobs of seconds, of two kinds, with deadlines, on virtual VMs of three types
(1, 2 and 4 map slots) on this machine. Both kinds are measured first, by `profile-run`, and
predicted for every type and number of VMs. Then the same jobs run under VM-aware pools, under
instant-opt (each job waits for its own cheapest cluster), and as per-job clusters, whose VMs boot
for each job.
Budget: VM-aware meets all deadlines, and holds fewer unit-seconds than per-job.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench._figures import verdict

from sluice.api import profile_run, run
from sluice.reporting.run.result import RunResult

BOOT_S = 3.0
_TYPES = (
    {"id": "small", "units": 1, "vms": 4, "map_slots": 1, "reduce_slots": 1},
    {"id": "medium", "units": 2, "vms": 2, "map_slots": 2, "reduce_slots": 1},
    {"id": "large", "units": 4, "vms": 1, "map_slots": 4, "reduce_slots": 1},
)
_KINDS = {"short": (4, 0.8), "long": (8, 1.0)}  # maps, seconds of a map
# (kind, arrival, deadline after it): seconds
_JOBS = (
    ("long", 0.0, 14.0), ("short", 0.0, 8.0), ("short", 0.5, 16.0), ("long", 1.0, 25.0),
    ("short", 2.0, 9.0), ("short", 3.0, 25.0), ("long", 6.0, 30.0), ("short", 8.0, 12.0),
)  # fmt: skip
WAYS: Mapping[str, tuple[str, ...]] = {
    "vm-aware": (),
    "instant-opt": ("vm_rule=instant-opt",),
    "per-job": ("vm_rule=instant-opt", f"vm_boot_s={BOOT_S:g}"),
}


def write_input(folder: Path) -> None:
    """A file for each map of both kinds."""
    for kind, (maps, _) in _KINDS.items():
        (folder / kind).mkdir()
        for number in range(maps):
            (folder / kind / f"{number:02}.txt").write_text("go\t1\n")


def _job(name: str, kind: str, way: str, **more: float) -> dict[str, Any]:
    return {
        "id": name,
        "profile": kind,
        "reduces": {"tasks": 1},
        "run": {
            "input": [kind],
            "output": f"out/{way}/{name}",
            "mapper": f"sh -c 'sleep {_KINDS[kind][1]}; cat'",
            "reducer": "cat",
        },
        **more,
    }


def _write(folder: Path, name: str, jobs: list[dict[str, Any]]) -> Path:
    path = folder / f"{name}.json"
    document = {"version": 1, "server_units": 4, "vm_types": _TYPES, "jobs": jobs}
    path.write_text(json.dumps(document))
    return path


def measure(folder: Path) -> None:
    """Measure both kinds of job, into the profile store."""
    jobs = [_job(kind, kind, "measure") for kind in _KINDS]
    profile_run.profile_run(_write(folder, "measure", jobs), slots=(1, 2, 4))


def ran(folder: Path, way: str) -> RunResult:
    """The eight jobs one way."""
    jobs = [
        _job(f"{kind}-{number}", kind, way, submitted_at_s=at_s, deadline_s=deadline_s)
        for number, (kind, at_s, deadline_s) in enumerate(_JOBS)
    ]
    return run.run(_write(folder, way, jobs), tasks="vm-pools", settings=WAYS[way])


def figures(result: RunResult) -> tuple[int, float, float]:
    """(deadlines met, unit-seconds held, mean response in seconds)."""
    document: Any = result.document()
    rows = document["vm_pools"]["jobs"]
    responses = [job["finished_at_s"] - job["submitted_at_s"] for job in document["jobs"].values()]
    met = sum(row["met"] for row in rows.values())
    return met, document["vm_pools"]["unit_s"], sum(responses) / len(responses)


def main() -> int:
    """Print the figures; 1 if a budget is missed."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as name:
        folder = Path(name)
        os.environ["SLUICE_HOME"] = str(folder / "home")
        write_input(folder)
        measure(folder)
        found = {way: figures(ran(folder, way)) for way in WAYS}
    print(f"{'way':<12} deadlines met  unit-seconds  mean response s")
    for way, (met, unit_s, response_s) in found.items():
        print(f"{way:<12} {met:>6} of {len(_JOBS)} {unit_s:>13.1f} {response_s:>16.1f}")
    fits = found["vm-aware"][0] == len(_JOBS) and found["vm-aware"][1] < found["per-job"][1]
    print(verdict(fits=fits))
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
