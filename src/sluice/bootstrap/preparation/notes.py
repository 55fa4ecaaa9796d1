"""The notes of the steps to the user: settings and parts that decide nothing, and the like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from sluice.bootstrap.preparation.facts import (
    CHOSEN,
    CLUSTER,
    DECIDING,
    IS_LIVE,
    LAID_OUT_FROM,
    SETTINGS,
    WORKLOAD,
)
from sluice.bootstrap.preparation.pipeline import Facts
from sluice.estimate.nights import GAP_DAYS_MIN
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind

_DAY_S = 86400.0
# What makes attempts slow at random: recorded lengths have it in them already.
DRAWN_LENGTHS = ("p_slow", "p_hang", "p_slow_node")


def of_whole_jobs(facts: Facts) -> Iterator[str]:
    """A sentence if the scheduler now starts jobs as a whole, or cannot do that."""
    from sluice.bootstrap.preparation.whole_jobs import whole_note

    note = whole_note(facts[CHOSEN][0], facts[DECIDING][0], facts[WORKLOAD].jobs)
    if note is not None:
        yield note


def of_settings(facts: Facts) -> Iterable[str]:
    """A sentence on each setting that has no effect."""
    settings = facts[SETTINGS]
    if not (settings.overrides or settings.file_keys):
        return ()
    from sluice.bootstrap.setting_notes import settings_notes

    return settings_notes(settings, facts[DECIDING], is_live=facts[IS_LIVE])


def of_recorded_lengths(facts: Facts) -> Iterator[str]:
    """A sentence on each chance of a slow attempt, which recorded lengths have in them."""
    from sluice.simulation.settings import SimulationSettings

    world = facts[SETTINGS].of(SimulationSettings, facts[CHOSEN][0].name)
    for name in DRAWN_LENGTHS:
        if getattr(world, name):
            yield f"`{name}` has no effect on recorded lengths, which have it in them"


def of_vm_parts(facts: Facts) -> Iterator[str]:
    """A sentence on parts of a scheduler of VM pools that decide nothing on these nodes."""
    from sluice.bootstrap.preparation.vm_nodes import is_about_vms

    cluster, tasks = facts[CLUSTER], facts[CHOSEN][0]
    if cluster is None or not is_about_vms(tasks):
        return
    from sluice.bootstrap.vm_pools import vm_pools_note

    note = vm_pools_note(cluster, tasks)
    if note is not None:
        yield note


def of_gaps(facts: Facts) -> Iterator[str]:
    """A sentence if a long time without submissions makes up the makespan, as between two logs."""
    at_s = sorted(job.submitted_at_s for job in facts[WORKLOAD].jobs)
    days = max((after - before for before, after in pairwise(at_s)), default=0.0) / _DAY_S
    if days > GAP_DAYS_MIN:
        yield (
            f"no job is submitted for {days:,.0f} days, which count in the makespan; if logs of"
            " different times are read together, simulate each by itself"
        )


def of_workload(facts: Facts) -> Iterable[str]:
    """Sentences on what of the file decides nothing. `--nodes` counts, and not the file's nodes."""
    from sluice.bootstrap.preparation.workload_notes import workload_notes

    workload = facts[WORKLOAD]
    if workload.cluster is not None:
        workload = replace(workload, cluster=facts[CLUSTER])
    return workload_notes(workload, facts[DECIDING], facts[SETTINGS])


def of_reduces(facts: Facts) -> Iterator[str]:
    """A sentence on each job whose reduces have no reducer."""
    for given, job in zip(facts[LAID_OUT_FROM], facts[WORKLOAD].jobs, strict=True):
        if _has_reduces(given) and not _has_reduces(job):
            yield f"`reduces` of job {given.job_id!r} has no effect without a reducer"


def _has_reduces(job: Job) -> bool:
    return any(phase.kind is SlotKind.REDUCE for phase in job.phases)
