"""Schedulers that are named by their parts: `fair+copies=late`, `order=ltrf+slots=lent`.

The text names a preset, or none, and then members of axes, joined by `+`. It is a task policy like
any other for all that follows: a run's journal keeps it, and `why` and `--resume` read it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sluice.core.protocols import AdmissionPolicy, TaskPolicy
from sluice.ingest.settings import Settings
from sluice.ingest.suggestions import suggestion
from sluice.model.cluster import Pool
from sluice.model.errors import InvalidInput
from sluice.model.job import SlotKind
from sluice.policies.composition import AXES, PRESETS, Composition

if TYPE_CHECKING:
    from sluice.bootstrap.policy_classes import ChosenPolicy

T = TypeVar("T")


_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_INSIDE = re.compile(r"\[([^\[\]]*)\]")
_PAIR = re.compile(r",(?=[^,=]+=)")


def is_composed(spec: str) -> bool:
    """Whether a text names a task policy by its parts, or with settings of its own."""
    return ".py:" not in spec and ("=" in spec or "[" in spec)


def composed_text(tasks: str | None, members: Mapping[str, str | None]) -> str:
    """The name of a scheduler: a preset with other members, or members alone.

    tasks: None for the defaults of all axes, or `fifo` where no member is given.

    >>> composed_text("ltyarn", {"copies": "late", "slots": None})
    'ltyarn+copies=late'
    """
    given = [f"{axis}={name}" for axis, name in members.items() if name is not None]
    if not given:
        return "fifo" if tasks is None else tasks
    return "+".join(given if tasks is None else [tasks, *given])


def split_parts(spec: str) -> tuple[list[str], str]:
    """The parts of a scheduler's text, and the settings in brackets that go with them.

    >>> split_parts("order=ltrf+goals=guarded[goals.guard=0.3]+slots=lent")
    (['order=ltrf', 'goals=guarded', 'slots=lent'], '[goals.guard=0.3]')
    """
    settings = "".join(_BRACKETS.findall(spec))
    return _BRACKETS.sub("", spec).split("+"), settings


def bracketed(spec: str) -> tuple[str, tuple[str, ...]]:
    """A scheduler's text without its settings, and the settings, as `--set` takes them."""
    words, settings = split_parts(spec)
    listed = [one.strip() for group in _INSIDE.findall(settings) for one in group.split(";")]
    pairs = [pair.strip() for one in listed for pair in _PAIR.split(one)]
    return "+".join(words), tuple(pair for pair in pairs if pair)


def composition_of(spec: str) -> tuple[str, Composition]:
    """The preset that a text begins with ("" for none), and the composition that it names.

    Raises InvalidInput naming the axis and its members.
    """
    preset, parts = "", spec.split("+")
    if "=" not in parts[0]:
        preset = parts.pop(0)
        if preset not in PRESETS:
            known = list(PRESETS)
            raise InvalidInput(
                f"{preset!r} is no preset, to which parts could be added",
                where=f"--tasks {spec[:80]}",
                hint=suggestion(preset, known, f"use one of {', '.join(known)}"),
            )
    members = dict(_member(part, spec) for part in parts)
    made = PRESETS[preset] if preset else Composition()
    made = made.with_members(members)
    _check(made, preset, spec)
    return preset, made


def _member(part: str, spec: str) -> tuple[str, str]:
    axis, _, name = part.partition("=")
    where = f"--tasks {spec[:80]}"
    if axis not in AXES:
        hint = suggestion(axis, list(AXES), f"use {', '.join(AXES)}")
        raise InvalidInput(f"{axis!r} is no part of a scheduler", where=where, hint=hint)
    if name not in AXES[axis]:
        known = ", ".join(AXES[axis])
        hint = suggestion(name, list(AXES[axis]), f"use one of {known}")
        raise InvalidInput(f"{axis} is {name!r}", where=f"--{axis}", hint=hint)
    return axis, name


def _check(made: Composition, preset: str, spec: str) -> None:
    """Refuse what cannot work together."""
    is_lent = made.slots.startswith("lent")
    if made.data == "prescheduling" and not is_lent:
        raise InvalidInput(
            f"data=prescheduling starts maps in lent slots, and slots is {made.slots}",
            where=f"--tasks {spec[:80]}",
            hint="add slots=lent or slots=lent-by-pool",
        )
    if made.machines == "vm-pools" and is_lent:
        raise InvalidInput(
            f"machines=vm-pools gives whole VMs to a job, and slots is {made.slots}",
            where=f"--tasks {spec[:80]}",
            hint="use slots=typed or slots=containers",
        )
    if preset == "ras" and made.differences(PRESETS["ras"]).keys() & {"order", "slots"}:
        return  # composed of other parts, which place as they say


# --- presets by their parts -----------------------------------------------------------------------


def described(preset: str, settings: Settings) -> Composition:
    """A preset as its settings make it: `speculation=late` is copies=late, and so on."""
    made = PRESETS[preset]
    value = _Values(settings, preset)
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


class _Values:
    """The value of a setting for a preset, by name; None if it was not set."""

    def __init__(self, settings: Settings, preset: str) -> None:
        self._values = {**settings.general, **settings.by_policy.get(preset, {})}

    def __call__(self, name: str) -> object:
        return self._values.get(name)


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


def composed_policy(
    composition: Composition,
    preset: str,
    settings: Settings,
    *,
    promises: bool,
    pools: Iterable[Pool],
) -> TaskPolicy:
    """The task policy of a composition. promises: whether admission promises containers."""
    from sluice.policies.composing import Needs, composed

    caps = any(pool.slots_max(kind) < float("inf") for pool in pools for kind in SlotKind)
    if composition.machines == "plan" and not caps:
        raise InvalidInput(
            "machines=plan, and no pool has a most that it may run",
            where="--machines",
            hint="give pools with map_slots_max and reduce_slots_max, as `sluice plan --choose`"
            " writes them",
        )
    parts = Parts(settings, preset)
    policy = composed(composition, parts, Needs(promises=promises, caps=caps))
    if composition.machines != "vm-pools":
        return policy
    from sluice.bootstrap.vm_pools import PlannedVms
    from sluice.policies.vm_settings import VmPoolSettings

    own = parts.of_part(VmPoolSettings, "machines", "vm-pools")
    return PlannedVms.build(own, policy)


def check_promises(admission: AdmissionPolicy, tasks: TaskPolicy, jobs: Any, nodes: Any) -> None:  # noqa: ANN401  # those of the workload
    """Refuse admission that promises what the task policy would not keep. Raises InvalidInput."""
    if not admission.makes_promises or tasks.keeps_promises(jobs, nodes):
        return
    raise InvalidInput(
        f"it promises containers, which {tasks.name} would not keep free on these nodes",
        where=f"--admission {admission.name}",
        hint="add --slots containers, lent or resources, or use --admission all",
    )
