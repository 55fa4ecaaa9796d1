"""The notes of the steps to the user: settings and parts that decide nothing, and the like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from sluice.bootstrap.policy_classes import ChosenPolicy
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
from sluice.ingest.settings import Settings
from sluice.model.fitting import shortage_of
from sluice.model.job import Job
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.policies.composition import RESERVATIONS
from sluice.policies.ltyarn.policy import QueueSettings
from sluice.simulation.settings import SimulationSettings

_ORDERS = frozenset({"mlrf", "ltrf", "ltyarn", "karma", "decay", "queues"})
_POLICIES = frozenset({*_ORDERS, "queue-tree"} - {"queues"})


def workload_notes(
    workload: Workload, chosen: Sequence[ChosenPolicy], settings: Settings
) -> list[str]:
    """Sentences about what of the workload decides nothing under some of these policies.

    settings: of the run, which may ask for copies, too.
    """
    notes = (
        queue_note(workload, chosen),
        dominant_note(workload, chosen, settings),
        demand_note(workload),
        copies_note(workload, chosen, settings),
        hung_note(chosen, settings),
    )
    return [note for note in notes if note]


def copies_note(
    workload: Workload, chosen: Sequence[ChosenPolicy], settings: Settings
) -> str | None:
    """A sentence if slow tasks are to be copied, and there is no second node to copy them to."""
    if (
        not _are_copied(chosen, settings)
        or workload.cluster is None
        or len(workload.cluster.nodes) > 1
    ):
        return None
    return (
        "no slow task is copied: a copy runs on another node, and the cluster is one; say how many"
        " there are, as in `cluster: {nodes: 5, node: {map_slots: 4, reduce_slots: 2}}`"
    )


def hung_note(chosen: Sequence[ChosenPolicy], settings: Settings) -> str | None:
    """A sentence if tasks of the simulation hang, and nothing but the time limit ends them."""
    world = settings.of(SimulationSettings)
    tasks = [one for one in chosen if one.kind == "tasks"]
    without = [one for one in tasks if not _copies_slow_tasks(one, settings)]
    if not world.p_hang or not without:
        return None
    limit_s = world.task_timeout_s
    until = "for ever" if limit_s is None else f"until task_timeout_s = {limit_s:g}"
    where = f" under {', '.join(one.label for one in without)}" if len(tasks) > 1 else ""
    may_copy = any(
        one.composition is None or one.composition.slots not in RESERVATIONS for one in without
    )
    advice = "add --copies late" if may_copy else "give a lower task_timeout_s"
    return f"a task that hangs (p_hang) runs {until}{where}: nothing copies it; {advice}"


def _are_copied(chosen: Sequence[ChosenPolicy], settings: Settings) -> bool:
    """Whether one of the policies copies slow tasks."""
    return any(_copies_slow_tasks(one, settings) for one in chosen if one.kind == "tasks")


def _copies_slow_tasks(chosen: ChosenPolicy, settings: Settings) -> bool:
    if chosen.composition is not None:
        return chosen.composition.copies != "none"
    declared = chosen.policy_class.Settings
    given = settings.of(declared, chosen.name) if hasattr(declared, "speculation") else None
    return given is not None and given.speculation == "late"


def demand_note(workload: Workload) -> str | None:
    """A sentence about the first task that no node has room for; None if all fit.

    A policy that places by resources has refused it before.
    """
    nodes = workload.cluster.nodes if workload.cluster is not None else ()
    for job in workload.jobs if nodes else ():
        for phase in job.phases:
            short = shortage_of(phase.demand.work, nodes)
            if short is not None:
                return (
                    f"job {str(job.job_id)!r}: no node has room for a task of {phase.name}"
                    f" ({short}); policies that place by slots start it anyway, ras refuses it"
                )
    return None


def queue_note(workload: Workload, chosen: Sequence[ChosenPolicy]) -> str | None:
    """A sentence if some of these task policies see no more of `queues` than pools with weights."""
    if all(pool.queue is None for pool in workload.pools):
        return None
    names = dict.fromkeys(one.label for one in chosen if one.kind == "tasks" and _ignores(one))
    if not names:
        return None
    return (
        "`queues` count as pools with weights, and their parents and shares decide nothing under"
        f" {', '.join(names)}: take"
        " ltyarn, ltrf or another order that shares in the long run, or give --config"
    )


def dominant_note(
    workload: Workload, chosen: Sequence[ChosenPolicy], settings: Settings
) -> str | None:
    """A sentence if dominant shares are to be level, and no task takes a share of any resource."""
    names = [
        one.name
        for one in chosen
        if one.kind == "tasks"
        and issubclass(one.policy_class.Settings, QueueSettings)
        and settings.of(one.policy_class.Settings, one.name).shared == "dominant"
    ]
    nodes = workload.cluster.nodes if workload.cluster is not None else ()
    phases = (phase for job in workload.jobs for phase in job.phases)
    if not names or not nodes:
        return None
    if all(node.capacity.is_zero for node in nodes):
        lacks = "no node has resources, such as cpu"
    elif all(phase.demand.work.is_zero for phase in phases):
        lacks = "no job has a `demand`"
    else:
        return None
    return (
        f"{names[0]} shares nothing with ltyarn.shared=dominant: {lacks}, so that tasks count"
        " nothing; give them, or leave the setting out"
    )


def _ignores(tasks: ChosenPolicy) -> bool:
    if not tasks.is_ours or "order" in tasks.parts:
        return False  # what others read is not known
    if tasks.composition is not None:
        return tasks.composition.order not in _ORDERS
    return tasks.name not in _POLICIES


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
