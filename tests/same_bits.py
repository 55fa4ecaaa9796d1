"""Random workloads by their numbers: `python -m tests.same_bits FIRST COUNT` prints their results.

The compiled package and the sources must print the same lines, bit for bit. Graphs have up to 300
stages, for compiled code frees a chain of them in as many nested calls; every policy of every kind
runs, with copies, failing tasks and failing nodes.
"""

import contextlib
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sluice.api.order import order
from sluice.api.simulate import simulate
from sluice.bootstrap.policy_classes import policy_names
from sluice.core import scheduler
from sluice.model.errors import SluiceError

STAGES_MAX = 300
FAULTS = (
    {"task_failure": 0.03},
    {"node_mtbf_s": 400, "node_repair_s": 50},
    {"p_slow": 0.2, "p_slow_node": 0.2},
    {"p_hang": 0.02, "task_timeout_s": 60},
)
COPIES = (
    {"speculation": "late", "min_age_s": 4, "spec_cap": 0.5},
    {"speculation": "late", "sepb": 0.4},
    {"speculation": "late", "kill_slow": True},
)

COMPOSED = (
    "order=ltrf+goals=guarded+slots=lent+copies=late",
    "order=deadline+slots=containers+copies=sepb+data=delay",
    "fair+goals=first+slots=lent-by-pool",
)
WHOLE = {"fcfs", "easy", "conservative"}
NO_PROMISES = {*WHOLE, "fair", "fifo", "static", "ras"}  # typed slots, or placement in cycles


def stages(draw: random.Random) -> list[dict[str, object]]:
    """A graph: most are small, some have hundreds of stages, in chains or wide."""
    count = int(STAGES_MAX ** draw.random())
    reach = draw.choice([1, 2, 8, count])
    return [
        {"name": f"s{index}", "tasks": draw.randint(1, 5), "avg_s": draw.randint(1, 90) / 10,
         "after": [f"s{index - back}"
                   for back in sorted({draw.randint(1, min(reach, index))
                                       for _ in range(draw.randint(0, 2)) if index})]}
        for index in range(count)
    ]  # fmt: skip


def map_reduce(draw: random.Random) -> dict[str, object]:
    """Maps, mostly with reduces; lengths are those of a profile, or of each task."""
    lengths = [draw.randint(1, 400) / 10 for _ in range(draw.randint(1, 30))]
    job: dict[str, object] = {
        "maps": {"durations_s": lengths}
        if draw.random() < 0.5
        else {"tasks": draw.randint(1, 60), "avg_s": draw.randint(1, 200) / 10}
    }
    if draw.random() < 0.8:
        job["reduces"] = {"tasks": draw.randint(1, 12), "avg_s": draw.randint(1, 300) / 10}
        if draw.random() < 0.5:
            job["shuffle"] = {"avg_s": draw.randint(1, 90) / 10}
    return job


def workload(draw: random.Random, *, has_graphs: bool) -> dict[str, object]:
    """A file for a cluster of containers, or of map and reduce slots."""
    node: dict[str, int] = (
        {"containers": draw.randint(1, 8)}
        if has_graphs
        else {"map_slots": draw.randint(1, 4), "reduce_slots": draw.randint(1, 3)}
    )
    pools = [{"id": f"p{index}", "weight": draw.randint(1, 4)} for index in range(3)]
    jobs = []
    for index in range(draw.randint(1, 6)):
        job: dict[str, object] = {"phases": stages(draw)} if has_graphs else map_reduce(draw)
        job |= {"id": f"j{index}", "pool": f"p{draw.randrange(3)}"}
        job |= {"submitted_at_s": draw.randint(0, 600) / 10, "weight": draw.randint(1, 3)}
        if draw.random() < 0.3:
            job["deadline_s"] = draw.randint(10, 900)
        jobs.append(job)
    nodes = draw.randint(1, 8)
    cluster = {"nodes": nodes, "racks": draw.randint(1, min(2, nodes)), "node": node}
    return {"version": 1, "cluster": cluster, "pools": pools, "jobs": jobs}


def settings(draw: random.Random) -> dict[str, object]:
    """A world, often with faults, often with copies."""
    found: dict[str, object] = {
        "heartbeat_s": draw.choice([0, 3]),
        "slowstart": draw.choice([0.1, 1.0]),
        "jitter": draw.choice([0, 0.3]),
    }
    if draw.random() < 0.6:
        found |= draw.choice(FAULTS)
    if draw.random() < 0.4:
        found |= draw.choice(COPIES)
    return found


def answer(number: int, folder: Path) -> str:
    """The answer of workload `number`: its policies, and the digest of the run or the refusal."""
    draw = random.Random(number)
    tasks = [*policy_names("tasks"), *COMPOSED]
    policy = tasks[number % len(tasks)]
    release = draw.choice(["input", "input", *policy_names("release")])
    promising = "vm-pools" if policy == "vm-pools" else "capacity"
    admission = "all" if policy in NO_PROMISES else draw.choice(["all", promising])
    path = folder / "workload.json"
    document: dict[str, Any] = workload(draw, has_graphs=draw.random() < 0.5)
    if policy in WHOLE:
        for job in document["jobs"]:
            job |= {"gang": draw.randint(1, 2), "limit_s": draw.randint(1, 300)}
    path.write_text(json.dumps(document))
    given = settings(draw)
    label = f"{number} {policy} {release} {admission}"
    try:
        run = simulate(
            path, tasks=policy, release=release, admission=admission, settings=given, seed=number
        )
    except SluiceError as error:
        return f"{label} refused {error}"
    found = f"{label} {run.digest} {run.events} {run.makespan_s!r}"
    if number % 10 == 0:
        try:
            best = order(path, objective=draw.choice(["makespan", "tct", "both"]), evaluations=200)
            found += f" {best.order} {best.makespan_s!r} {best.total_completion_s!r}"
        except SluiceError as error:
            found += f" {error}"
    return found


def answers(first: int, count: int) -> Iterator[str]:
    """The answers of `count` workloads, in order. Their files have the same names in each run."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number in range(first, first + count):
            yield " ".join(answer(number, Path()).split())


if __name__ == "__main__":
    sys.stdout.write(f"{scheduler.__file__}\n")
    sys.stdout.writelines(f"{line}\n" for line in answers(int(sys.argv[1]), int(sys.argv[2])))
