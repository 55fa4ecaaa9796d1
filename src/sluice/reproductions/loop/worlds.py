"""The worlds of the ablation: which jobs come, how busy the cluster is, and how tasks meet on it.

A variant changes one thing about a world, where that is no word of a scheduler: what the profiles
expect (factor H), which slots a plan gives to jobs (factor P), or which machines there are (factor
M). Source: loop spec, sections 3 and 4.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sluice.api.plan import plan
from sluice.bootstrap.settings import declarations
from sluice.ingest.workload import parse_workload
from sluice.model.workload import Workload
from sluice.reproductions.loop.day import MAP_SLOTS, REDUCE_SLOTS, Day
from sluice.reproductions.loop.facebook import facebook

WORLDS: Final[Mapping[str, Day]] = MappingProxyType(
    {
        "free-low": Day(load=0.5),
        "free-high": Day(load=0.9),
        "mix-low": Day(load=0.4, contention="shared"),
        "mix-high": Day(load=0.7, contention="shared"),
    }
)
DAG_HIGH: Final = "dag-high"
FACEBOOK: Final = "facebook"
MORE_WORLDS: Final = (DAG_HIGH, FACEBOOK)
_GRAPHS = Day(load=0.9, dags=0.3)

EARLIER_SEEDS: Final = 5  # that make a history
_FIRST_EARLIER: Final = 1_000_000  # no seed of an experiment

_PLANNED: Final = "etl"  # the tenant whose jobs are a batch
_HOUR_S: Final = 3600.0

Document = dict[str, Any]


class Instance(NamedTuple):
    """The input of a scheduler. truth: the lengths that tasks have, where it expects others."""

    workload: Workload
    truth: Workload | None = None


def document_of(world: str, seed: int) -> Document:
    """The workload file of a world, with the jobs that a seed draws."""
    if world == FACEBOOK:
        return facebook(seed)
    day = _GRAPHS if world == DAG_HIGH else WORLDS[world]
    return replace(day, seed=seed).document()


def workload_of(world: str, seed: int) -> Workload:
    """The jobs of a world that a seed draws."""
    return _parsed(document_of(world, seed), f"{world}, seed {seed}")


def instance_of(world: str, seed: int, variant: str = "") -> Instance:
    """A world, or a variant of it."""
    if not variant:
        return Instance(workload_of(world, seed))
    return VARIANTS[variant](world, seed)


def _parsed(document: Document, source: str) -> Workload:
    return parse_workload(json.dumps(document), source=source, declarations=declarations())


# --- what the profiles expect ---------------------------------------------------------------------


def _predicted(world: str, seed: int) -> Instance:
    """Profiles learned from five earlier days: for each tenant and phase, the mean of its tasks."""
    earlier = [
        document_of(world, _FIRST_EARLIER + EARLIER_SEEDS * seed + one)
        for one in range(EARLIER_SEEDS)
    ]
    past: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for job, name, phase in (found for one in earlier for found in _phases(one)):
        past.setdefault((job["pool"], name), []).append((phase["avg_s"], phase["tasks"]))
    usual_s = {
        key: sum(avg_s * tasks for avg_s, tasks in found) / sum(tasks for _, tasks in found)
        for key, found in past.items()
    }
    return _expecting(world, seed, lambda job, name, avg_s: usual_s.get((job["pool"], name), avg_s))


def _mistaken(error: float) -> Callable[[str, int], Instance]:
    """Profiles that are wrong by up to this share, evenly."""

    def instance(world: str, seed: int) -> Instance:
        def expected_s(job: Document, name: str, avg_s: float) -> float:
            draw = random.Random(f"{seed}/error/{job['id']}/{name}")
            return avg_s * draw.uniform(1 - error, 1 + error)

        return _expecting(world, seed, expected_s)

    return instance


def _expecting(
    world: str, seed: int, expected_s: Callable[[Document, str, float], float]
) -> Instance:
    document = document_of(world, seed)
    truth = _parsed(document, f"{world}, seed {seed}")
    for job, name, phase in _phases(document):
        phase["avg_s"] = expected_s(job, name, phase["avg_s"])
    return Instance(_parsed(document, f"{world}, seed {seed}, as expected"), truth)


def _phases(document: Document) -> list[tuple[Document, str, Document]]:
    """Every phase of a document with its job and its name."""
    return [
        (job, name, phase)
        for job in document["jobs"]
        for name, phase in (
            *((one, job[one]) for one in ("maps", "reduces") if one in job),
            *((one["name"], one) for one in job.get("phases", ())),
        )
    ]


# --- what a plan gives ----------------------------------------------------------------------------


def _planned(world: str, seed: int) -> Instance:
    """The etl jobs of the first hour in pools of their own, with the slots of a plan as caps.

    A plan is for a batch: it is made for all of them at once. At its knee more money saves little
    time. The others keep what is left. Graphs of phases are not planned.
    """
    document = document_of(world, seed)
    batch = [
        job
        for job in document["jobs"]
        if job["pool"] == _PLANNED and job["submitted_at_s"] < _HOUR_S and "maps" in job
    ]
    keys = ("id", "maps", "reduces")
    made = plan(
        {
            "version": 1,
            "cluster": {"map_slots_per_vm": MAP_SLOTS, "reduce_slots_per_vm": REDUCE_SLOTS},
            "prices": document["prices"],
            "jobs": [{key: job[key] for key in keys if key in job} for job in batch],
        }
    )
    for job, entry in zip(batch, made.plan(made.knee or len(made)).entries, strict=True):
        job["pool"] = f"{job['id']}, planned"
        caps = {"map_slots_max": entry.choice.map_slots}
        if entry.choice.reduce_slots:
            caps["reduce_slots_max"] = entry.choice.reduce_slots
        document["pools"].append({"id": job["pool"], "weight": 1} | caps)
    return Instance(_parsed(document, f"{world}, seed {seed}, planned"))


# --- which machines there are ---------------------------------------------------------------------


def _in_pool(world: str, seed: int) -> Instance:
    """The nodes as VMs of one pool, and each job on VMs of its own."""
    document = document_of(world, seed)
    cluster, node_slots = document.pop("cluster"), MAP_SLOTS + REDUCE_SLOTS
    node = {"map_slots": MAP_SLOTS, "reduce_slots": REDUCE_SLOTS}
    document["server_units"] = node_slots
    document["vm_types"] = [{"id": "node", "units": node_slots, "vms": cluster["nodes"]} | node]
    return Instance(_parsed(document, f"{world}, seed {seed}, in a pool"))


VARIANTS: Final[Mapping[str, Callable[[str, int], Instance]]] = MappingProxyType(
    {
        "predicted": _predicted,
        "errors of 30 %": _mistaken(0.3),
        "errors of 70 %": _mistaken(0.7),
        "planned": _planned,
        "in a pool": _in_pool,
    }
)
