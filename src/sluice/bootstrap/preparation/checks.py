"""The conditions to begin a run, in virtual time or for real: without them it could never end.

A complaint names the job and the field; nothing has been started or written by then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sluice.bootstrap.composed_policies import check_promises
from sluice.core.scheduler import Scheduler
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.fitting import SlotShortage
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.policies.admission.vm_rental import VmRental, check_rented
from sluice.reporting.formatting import counted
from sluice.simulation.settings import SimulationSettings

if TYPE_CHECKING:
    from sluice.bootstrap.engines.kinds import EngineKind

ENTRIES_MAX = 2 * 10**7  # what a simulation keeps of attempts; each takes half a kilobyte


def check_simulable(
    workload: Workload, scheduler: Scheduler, settings: SimulationSettings, *, has_lengths: bool
) -> None:
    """Refuse what cannot be simulated, or not within a machine's memory.

    has_lengths: whether recorded lengths are given with the workload.
    Raises InvalidInput naming job and field.
    """
    cluster = workload.required_cluster()
    if not workload.jobs:
        raise InvalidInput("jobs is empty", where=workload.source, hint="add a job")
    for job in workload.jobs:
        _check_lengths(job, workload.source)
    check_slots(workload.jobs, cluster, scheduler, workload.source)
    _check_size(workload, cluster, is_apart=settings.tells_tasks_apart or has_lengths)


def check_slots(jobs: Iterable[Job], cluster: Cluster, scheduler: Scheduler, source: str) -> None:
    """Refuse work that could never start: a kind of slot of which the cluster has none.

    Raises InvalidInput naming job and field.
    """
    tasks = scheduler.policies.tasks
    jobs = tuple(jobs)
    try:
        tasks.check(jobs, cluster.nodes)
    except InvalidInput as error:
        raise error.within(source) from error
    check_promises(scheduler.policies.admission, tasks, jobs, cluster.nodes)
    shortages = {kind: tasks.shortage(kind, cluster.nodes) for kind in SlotKind}
    for job in jobs:
        for phase in job.phases:
            shortage = shortages[phase.kind]
            if shortage is not None:
                raise InvalidInput(
                    f"job {job.job_id!r} has {counted(phase.tasks, f'{phase.name} task')}, and"
                    f" {shortage.what}",
                    where=source,
                    hint=_hint(shortage, phase),
                )


def _hint(shortage: SlotShortage, phase: Phase) -> str:
    is_slots = shortage.hint.startswith("give")
    return f"{shortage.hint}, or the job no {phase.name} tasks" if is_slots else shortage.hint


def _check_lengths(job: Job, source: str) -> None:
    """Every phase must be there, with lengths, because no real run measures them here."""
    unknown = [phase for phase in job.phases if phase.lengths is None]
    if job.phases and not unknown:
        return
    field = _field(unknown[0]) if unknown else "maps"
    what = f"{field} has no lengths" if unknown else f"{field} is missing"
    because, hint = "", "give tasks and lengths, as in maps: {tasks: 8, avg_s: 10}"
    if job.profile is not None:
        because = f", and no profile {job.profile!r} is stored"
    elif job.run is not None:
        because = ", and `run` does not contain task lengths"
        hint = f"run it once with `sluice run`, which measures them, or {hint}"
    raise InvalidInput(f"{what}{because}", where=f"{source}, job {job.job_id!r}", hint=hint)


def _field(phase: Phase) -> str:
    """Where a file has the lengths of a phase."""
    return f"phase {phase.name!r}" if phase.kind is SlotKind.CONTAINER else f"{phase.name}s"


def _check_size(workload: Workload, cluster: Cluster, *, is_apart: bool) -> None:
    """Alike tasks that start together on a node are kept as one entry, others one by one."""
    room = max(1, *(node.slots(SlotKind.CONTAINER) for node in cluster.nodes))
    entries = sum(
        phase.tasks if is_apart or isinstance(phase.lengths, ListedLengths)
        # The least that it can be: all slots of the largest node filled at once.
        else -(-phase.tasks // room)
        for job in workload.jobs
        for phase in job.phases
    )  # fmt: skip
    if entries > ENTRIES_MAX:
        raise InvalidInput(
            f"its tasks make some {entries:,} separate starts, and a simulation can keep"
            f" {ENTRIES_MAX:,} of them",
            where=f"{workload.source}, jobs",
            hint="give fewer tasks or more slots, or alike lengths (avg_s, and no jitter)",
        )


def check_rentable(
    scheduler: Scheduler, cluster: Cluster, engine: EngineKind | None = None
) -> None:
    """Refuse to rent VMs that are not like the nodes, or that the engine cannot give back.

    engine: None in virtual time. Raises InvalidInput naming the setting.
    """
    policies = scheduler.policies
    if not isinstance(policies.pools, VmRental):
        return
    if engine is not None and not engine.gives_back:
        raise InvalidInput(
            f"engine {engine.name!r} gives back no single nodes",
            where="capacity.vms_max",
            hint="use --engine local, ray or yarn, or leave the setting out",
        )
    vm_containers = getattr(policies.admission.settings, "vm_containers", None)
    check_rented(policies.pools, cluster.nodes, vm_containers)
