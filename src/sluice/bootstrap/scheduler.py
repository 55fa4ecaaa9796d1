"""From policies and settings to a scheduler.

A policy is chosen by name, file or object; here it is made, with the settings that its class reads.
A composed one takes a part for each axis. The three policies then meet: admission may need the
pools of VMs, which need the task policy. With an opening, which a service writes at the start of a
segment, the scheduler is restored instead of made.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sluice.bootstrap.composed_policies import composition_document, described
from sluice.bootstrap.policy_classes import ChosenPolicy, Spec, chosen_policy
from sluice.core.entries import JobEntry
from sluice.core.faults.overruns import BACKSTOP_S
from sluice.core.protocols import NoSettings, Policy, TaskPolicy
from sluice.core.record.restoring import restore
from sluice.core.rules import Rules
from sluice.core.scheduler import Policies, Scheduler
from sluice.core.settings import CoreSettings
from sluice.core.state import ClusterState
from sluice.core.transitions import JobState
from sluice.engines.settings import TaskLimitSettings
from sluice.ingest.settings import Settings
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.queues import Pool
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload
from sluice.policies.admission.vm_admission import VmAdmission
from sluice.policies.admission.vm_rental import VmRental
from sluice.policies.composing import Needs, composed, with_part, with_speculation
from sluice.policies.composition import PRESETS, Composition
from sluice.policies.guard import guarded
from sluice.policies.guarded_tasks import GuardedParts, GuardedTasks
from sluice.policies.machines.vm_pools import PooledVms
from sluice.policies.machines.vm_settings import VmPoolSettings
from sluice.policies.part_settings import part_settings
from sluice.policies.queue_tree.workloads import WorkloadQueues
from sluice.reporting.run.rented import machines_document
from sluice.simulation.settings import SimulationSettings

if TYPE_CHECKING:
    from sluice.bootstrap.live.run_options import RunOptions

Fields = Mapping[str, object]
T = TypeVar("T")

# Presets that keep promises once they are made of their parts: then `Promised` is one of them.
_COMPOSED_TO_PROMISE = PRESETS.keys() - {"yarn-like", "ras", "vm-pools"}


def policy(kind: str, spec: Spec | ChosenPolicy, settings: Settings) -> Policy:
    """The policy that is named or given, made with its settings.

    The answers of a policy that is not ours are checked by a guard around it. Raises InvalidInput.
    """
    chosen = spec if isinstance(spec, ChosenPolicy) else chosen_policy(kind, spec)
    made = chosen.made if chosen.made is not None else built(chosen, settings)
    return made if chosen.is_ours else guarded(made, chosen.label)


def built(chosen: ChosenPolicy, settings: Settings, *inside: Any) -> Any:  # noqa: ANN401  # a policy or a part
    """The policy of a class, made with its settings. Raises InvalidInput.

    inside: what a part of a scheduler goes around.
    """
    kind = chosen.policy_class.Settings
    own = kind() if kind is NoSettings else settings.of(kind, chosen.name)
    if chosen.queues is not None:
        if chosen.queues.admits_whole:
            return WorkloadQueues(own, tree=chosen.queues)
        return chosen.policy_class(own, tree=chosen.queues)  # type: ignore[call-arg]  # as both have it
    if chosen.is_ours and not inside:
        return with_speculation(chosen.policy_class.build(own), own)
    try:
        if inside:
            made: Any = chosen.policy_class
            return made(*inside) if kind is NoSettings else made(*inside, own)
        if kind is NoSettings and chosen.policy_class.__init__ is not Policy.__init__:
            return chosen.policy_class()
        return with_speculation(chosen.policy_class.build(own), own)
    except SluiceError:
        raise
    except Exception as error:
        raise InvalidInput(
            f"the policy cannot be made: {type(error).__name__}: {error}",
            where=chosen.label,
            hint="define __init__(self, settings), or none",
        ) from error


@dataclass(frozen=True, slots=True)
class Parts:
    """The settings of the parts of a scheduler; those of its preset hold for all of them."""

    settings: Settings
    preset: str = ""

    def of_part(self, kind: type[T], *owners: str) -> T:
        """The settings of a class; what is set for a later owner wins over an earlier one."""
        given: dict[str, Any] = {}
        for owner in (self.preset, *owners):
            given |= self.settings.by_policy.get(owner, {})
        last = owners[-1]
        return replace(self.settings, by_policy={**self.settings.by_policy, last: given}).of(
            kind, last
        )


def needs_of(
    pools: Iterable[Pool],
    *,
    promises: bool,
    demands: bool,
    outside: Mapping[str, Callable[..., Any]],
) -> Needs:
    """Return what a run asks of a composed scheduler.

    promises: whether admission promises containers.  demands, outside: see `Needs`.
    """
    caps = any(pool.slots_max(kind) < math.inf for pool in pools for kind in SlotKind)
    return Needs(promises=promises, caps=caps, demands=demands, outside=outside)


def composed_policy(
    composition: Composition, preset: str, settings: Settings, needs: Needs
) -> TaskPolicy:
    """The task policy of a composition. Raises InvalidInput."""
    if composition.machines == "plan" and not needs.caps:
        raise InvalidInput(
            "machines=plan, and no pool has a most that it may run",
            where="--machines",
            hint="give pools with map_slots_max and reduce_slots_max, as `sluice plan --choose`"
            " writes them",
        )
    parts = Parts(settings, preset)
    policy = composed(composition, parts, needs)
    if composition.machines != "vm-pools":
        given = part_settings(composition, parts)
        return with_part("machines", policy, composition, given, needs.outside)
    own = parts.of_part(VmPoolSettings, "machines", "vm-pools")
    pools_of_vms: Any = chosen_policy("tasks", "vm-pools").policy_class
    made: TaskPolicy = pools_of_vms.build(own, policy)
    return made


def link_admission(admission: Policy, tasks: Policy) -> None:
    """Let admission to pools of VMs ask the pools. Raises InvalidInput if one of the two lacks."""
    is_immediate = isinstance(tasks, PooledVms) and tasks.settings.vm_service == "immediate"
    if isinstance(admission, VmAdmission):
        if not isinstance(tasks, PooledVms):
            raise InvalidInput(
                f"it has no effect with --tasks {tasks.name}",
                where=f"--admission {admission.name}",
                hint=f"add --tasks {PooledVms.name}",
            )
        admission.pools = tasks
    elif is_immediate:
        raise InvalidInput(
            "no job can be refused, and immediate service refuses jobs that would wait",
            where="vm_service",
            hint=f"add --admission {VmAdmission.name}",
        )


def scheduler_for(
    *,
    settings: Settings,
    tasks: Spec | ChosenPolicy = "fifo",
    release: Spec | ChosenPolicy = "input",
    admission: Spec | ChosenPolicy = "all",
    pools: tuple[Pool, ...] = (),
    demands: bool = False,
    is_live: bool = False,
    opening: str | None = None,
) -> Scheduler:
    """A scheduler made of one policy of each kind. Live engines report as things happen.

    demands: whether tasks may demand resources of their nodes; it counts where these are shared.
    opening: where it goes on from, as `opening_of` makes it; a fresh one without.
    """
    chosen = tasks if isinstance(tasks, ChosenPolicy) else chosen_policy("tasks", tasks)
    core = settings.of(CoreSettings, chosen.name)
    world = settings.of(SimulationSettings, chosen.name)
    heartbeat_s = world.heartbeat_s
    demands = demands and world.contention == "shared"  # else no task slows down another
    asked: Any = policy("admission", admission, settings)
    policies = Policies(
        admission=asked,
        release=policy("release", release, settings),  # type: ignore[arg-type]  # by its kind
        tasks=_task_policy(chosen, settings, pools, promises=asked.makes_promises, demands=demands),
        pools=asked.machines or policy("pools", "keep", settings),  # type: ignore[arg-type]  # by its kind
    )
    link_admission(policies.admission, policies.tasks)
    if is_live:
        _serve_processes(policies.tasks)
    rules = Rules(
        slowstart=core.slowstart,
        by_heartbeat=heartbeat_s > 0 and not is_live,
        failures_max=core.failures_max,
        equal_failures_max=core.equal_failures_max,
        node_faults_max=core.node_faults_max,
        wall_s=_wall_s(settings, chosen.name) if is_live else None,
        is_live=is_live,
    )
    if opening is not None:
        return restore(opening, policies, rules)
    return Scheduler(policies, pools=pools, rules=rules)


def live_scheduler(
    workload: Workload, settings: Settings, options: RunOptions, opening: str | None = None
) -> Scheduler:
    """A scheduler for a live run. opening: as for `scheduler_for`."""
    return scheduler_for(
        settings=settings,
        tasks=options.tasks,
        release=options.release,
        admission=options.admission,
        pools=workload.pools,
        demands=not workload.jobs or workload.has_demands,  # those of a service come later
        is_live=True,
        opening=opening,
    )


def _serve_processes(tasks: TaskPolicy) -> None:
    """Let the policy know that tasks begin their work without asking, if that matters to it."""
    if tasks.name == "ras":
        from sluice.policies.ras.policy import Ras

        if isinstance(tasks, Ras):
            tasks.serve_processes()


def _task_policy(
    chosen: ChosenPolicy,
    settings: Settings,
    pools: tuple[Pool, ...],
    *,
    promises: bool,
    demands: bool,
) -> TaskPolicy:
    """The task policy. promises: whether admission promises containers, which it then keeps.

    demands: as for `scheduler_for`.
    """
    composition, preset = chosen.composition, chosen.preset
    if composition is None and promises and chosen.is_ours and chosen.name in _COMPOSED_TO_PROMISE:
        composition, preset = described(chosen.name, settings), chosen.name
    if composition is None:
        return policy("tasks", chosen, settings)  # type: ignore[return-value]  # by its kind
    outside = {
        axis: functools.partial(built, part, settings) for axis, part in chosen.parts.items()
    }
    needs = needs_of(pools, promises=promises, demands=demands, outside=outside)
    made = composed_policy(composition, preset, settings, needs)
    if not outside:
        return made
    guard = GuardedTasks if "machines" in outside else GuardedParts  # these are asked first
    return guard(made, chosen.label)


def _wall_s(settings: Settings, policy_name: str) -> float | None:
    """The scheduler's own limit of an attempt: a little more than that of the agents."""
    wall_s = settings.of(TaskLimitSettings, policy_name).task_wall_s
    return None if wall_s is None else wall_s + BACKSTOP_S


def reports(scheduler: Scheduler, chosen: Sequence[ChosenPolicy], settings: Settings) -> Fields:
    """Fields that the scheduler adds to the document of a run. chosen: one policy of each kind."""
    policies = scheduler.policies
    found: dict[str, object] = {}
    for each in (policies.admission, policies.release, policies.tasks, policies.pools):
        found |= each.report()
    composition = composition_document(chosen, settings)
    if composition is not None:
        found["composition"] = composition
    if isinstance(policies.pools, VmRental):
        terms = policies.pools.terms
        found["machines"] = machines_document(scheduler.state, terms.prices, terms.reserved_usd)
    if policies.admission.makes_promises:
        found["promises"] = promises_document(scheduler.state)
    return found


def promises_document(state: ClusterState) -> dict[str, int]:
    """How many jobs were admitted with a promise, and how many of them ended in time."""
    promised = [job for job in state.jobs.values() if job.promised]
    ended = [job for job in promised if job.has_ended]
    kept = sum(_is_in_time(job) for job in ended)
    return {"made": len(promised), "kept": kept, "broken": len(ended) - kept}


def _is_in_time(job: JobEntry) -> bool:
    at_s = job.job.deadline_at_s
    is_done = job.state is JobState.DONE
    return is_done and (at_s is None or job.finished_at_s <= at_s * (1 + 1e-9))
