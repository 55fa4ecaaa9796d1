"""From the policies of a run to their composition, and whether it keeps its promises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sluice.bootstrap.policy_classes import ChosenPolicy
from sluice.core.protocols import AdmissionPolicy, TaskPolicy
from sluice.ingest.settings import Settings
from sluice.model.cluster import Node
from sluice.model.errors import InvalidInput
from sluice.model.job import Job
from sluice.policies.composition import PRESETS, Composition
from sluice.policies.rooms.room import FreeResources


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
