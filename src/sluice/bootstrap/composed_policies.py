"""From a composition to a task policy, and from the policies of a run to their composition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sluice.bootstrap.policy_classes import ChosenPolicy, chosen_policy
from sluice.core.protocols import AdmissionPolicy, TaskPolicy
from sluice.ingest.settings import Settings
from sluice.model.cluster import Node, Pool
from sluice.model.errors import InvalidInput
from sluice.model.job import Job, SlotKind
from sluice.policies.composing import Needs, composed, part_settings, with_part
from sluice.policies.composition import PRESETS, Composition
from sluice.policies.machines.vm_settings import VmPoolSettings
from sluice.policies.rooms.room import FreeResources

T = TypeVar("T")


def described(preset: str, settings: Settings) -> Composition:
    """A preset as its settings make it: `speculation=late` is copies=late, and so on."""
    made = PRESETS[preset]
    value = {**settings.general, **settings.by_policy.get(preset, {})}.get
    members: dict[str, str] = {}
    if preset in {"fair", "fifo", "static", "dynamicmr"}:
        if value("sepb") or value("sepb_pool"):
            members["copies"] = "sepb"
        elif value("speculation") == "late":
            members["copies"] = "late"
        if preset != "fifo" and (value("node_wait_s") or value("rack_wait_s")):
            members["data"] = "delay"
    if preset == "dynamicmr":
        if value("prescheduling"):
            members["data"] = "prescheduling"
        if value("mode") == "pd":
            members["slots"] = "lent-by-pool"
        if value("order") == "fifo":
            members["order"] = "fifo"
    if value("shared") == "dominant":
        members["slots"] = "resources"
    return made.with_members(members)


def composition_document(
    chosen: Iterable[ChosenPolicy], settings: Settings
) -> dict[str, str] | None:
    """The part of each axis that a run is scheduled by; None if a task policy is of no preset.

    chosen: one policy of each kind.
    """
    by_kind = {one.kind: one for one in chosen}
    tasks = by_kind["tasks"]
    made = tasks.composition
    if made is None and tasks.is_ours and tasks.name in PRESETS:
        made = described(tasks.name, settings)
    if made is None:
        return None
    others = {kind: by_kind[kind].label for kind in ("admission", "release")}
    return {**others, **made.document()}


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
    pools: Iterable[Pool], *, promises: bool, outside: Mapping[str, Callable[..., Any]]
) -> Needs:
    """Return what a run asks of a composed scheduler.

    promises: whether admission promises containers.  outside: see `Needs`.
    """
    caps = any(pool.slots_max(kind) < math.inf for pool in pools for kind in SlotKind)
    return Needs(promises=promises, caps=caps, outside=outside)


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


def check_promises(
    admission: AdmissionPolicy, tasks: TaskPolicy, jobs: Sequence[Job], nodes: Sequence[Node]
) -> None:
    """Refuse admission that promises what the task policy would not keep. Raises InvalidInput."""
    if not admission.makes_promises or tasks.keeps_promises(jobs, nodes):
        return
    raise InvalidInput(
        f"it promises containers, which {tasks.name} would not keep free on these nodes",
        where=f"--admission {admission.name}",
        hint=f"add --slots {_rooms_that_keep(jobs, nodes)}, or use --admission all",
    )


def _rooms_that_keep(jobs: Sequence[Job], nodes: Sequence[Node]) -> str:
    """The rooms in which a promise of containers holds, as text."""
    if FreeResources().keeps_promises(jobs, nodes):
        return "containers, lent or resources"
    return "containers or lent (resources of these nodes are used up before their slots)"
