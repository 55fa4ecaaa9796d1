"""Collects what can be set from its owners, and finds out which settings have no effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, fields
from functools import cache
from typing import Any

from sluice.bootstrap.policy_classes import ChosenPolicy, chosen_policy, policy_names
from sluice.core.protocols import NoSettings, Policy
from sluice.core.settings import CoreSettings, HeartbeatSettings
from sluice.engines.data_plane.settings import DataPlaneSettings
from sluice.engines.settings import TaskLimitSettings
from sluice.engines.yarn.settings import YarnSettings
from sluice.ingest.settings import Declarations, Settings, resolve_settings
from sluice.model.errors import InvalidInput
from sluice.model.settings import Setting, setting_of, settings_of_class, written
from sluice.policies import BUILT_IN
from sluice.policies.composing import owners, settings_classes
from sluice.policies.composition import AXES
from sluice.policies.settings import DelaySettings
from sluice.simulation.settings import SimulationSettings

KINDS = ("tasks", "release", "admission")
LIVE_SETTINGS = (TaskLimitSettings, DataPlaneSettings, YarnSettings)  # of real runs alone


@cache
def _by_task_policy() -> Mapping[str, Any]:
    """The classes of settings of our task policies, by name."""
    names = [name.removeprefix("tasks.") for name in BUILT_IN if name.startswith("tasks.")]
    return {name: chosen_policy("tasks", name).policy_class.Settings for name in names}


@cache
def _general_fields() -> Mapping[str, Field[Any]]:
    """Fields of settings that hold for all policies: the drivers', and those of our policies."""
    groups: list[Any] = [
        HeartbeatSettings, CoreSettings, DelaySettings, *_by_task_policy().values(),
        SimulationSettings, *LIVE_SETTINGS,
    ]  # fmt: skip
    found: dict[str, Field[Any]] = {}
    for group in groups:
        for one in fields(group):
            found.setdefault(one.name, one)
    return found


@cache
def general_settings() -> Mapping[str, Setting]:
    """Settings that hold for all policies that have them, by name."""
    return {name: setting_of(one) for name, one in _general_fields().items()}


@cache
def _owner_of() -> Mapping[str, str]:
    """The prefix of each general setting that is not the core's or the simulator's.

    An axis, else the one policy that has it; `run` for what only a real run reads.
    """
    shared = _general_fields()
    bare = {
        one.name
        for kind in (HeartbeatSettings, CoreSettings, SimulationSettings)
        for one in fields(kind)
    }
    parts = owners()
    groups = [(axis, kind) for axis in AXES if axis in parts for kind in parts[axis]]
    groups += [("run", kind) for kind in LIVE_SETTINGS]
    groups += _by_task_policy().items()
    found: dict[str, str] = {}
    for owner, kind in groups:
        for one in fields(kind):
            if one.name in shared and one.name not in bare:
                found.setdefault(one.name, owner)
    return found


def _own(policy_class: type[Policy]) -> Mapping[str, Setting]:
    """Settings that a policy declares itself, and shares with no other."""
    if policy_class.Settings is NoSettings:
        return {}
    shared = _general_fields()
    declared = settings_of_class(policy_class.Settings)
    found = {one.name: one for one in fields(policy_class.Settings)}
    return {
        name: setting for name, setting in declared.items() if shared.get(name) is not found[name]
    }


def declarations(chosen: Sequence[ChosenPolicy] = ()) -> Declarations:
    """Return what can be set. chosen: policies of this call, beyond those that have a name."""
    chosen = [*chosen, *(part for one in chosen for part in one.parts.values())]
    by_name = {one.name: one for one in chosen}
    known = {kind: policy_names(kind) for kind in KINDS}

    parts, general = owners(), general_settings()

    def own(policy: str) -> Mapping[str, Setting]:
        if policy in by_name:
            return _own(by_name[policy].policy_class)
        found: dict[str, Setting] = {}
        for group in parts.get(policy, ()):
            declared = settings_of_class(group)
            found |= {name: one for name, one in declared.items() if name not in general}
        for kind, names in known.items():
            if policy in names:
                found |= _own(chosen_policy(kind, policy).policy_class)
        return found

    names = {name for names in known.values() for name in names}
    composed = {one.name for one in chosen if one.composition is not None}
    owner_of = _owner_of()
    prefixes = (names | by_name.keys() | parts.keys() | set(owner_of.values())) - composed
    return Declarations(
        general=general, owner_of=owner_of, policies=tuple(sorted(prefixes)), own=own
    )


def resolved_settings(
    file_settings: Mapping[str, object],
    overrides: Mapping[str, object] | Iterable[str] = (),
    chosen: Sequence[ChosenPolicy] = (),
) -> Settings:
    """The settings of a file, then overrides, over the defaults. Raises InvalidInput."""
    seen: dict[str, ChosenPolicy] = {}
    for one in chosen:
        other = seen.setdefault(one.name, one)
        if other.policy_class is not one.policy_class and other.kind == one.kind:
            raise InvalidInput(
                f"{other.label} and {one.label} are both named {one.name!r}",
                where=f"--{one.kind}",
                hint="give one of the classes another `name`",
            )
    tasks = [one for one in chosen if one.kind == "tasks"]
    if len(tasks) == 1 and tasks[0].settings:  # several are rows of a comparison
        overrides = [*_texts(overrides), *tasks[0].settings]
    return resolve_settings(file_settings, overrides, declarations(chosen))


def _texts(overrides: Mapping[str, object] | Iterable[str]) -> Iterable[str]:
    """Settings as `--set` takes them."""
    if isinstance(overrides, Mapping):
        return [f"{key}={written(value)}" for key, value in overrides.items()]
    return overrides


# --- settings without an effect -------------------------------------------------------------------


def settings_notes(
    settings: Settings, chosen: Sequence[ChosenPolicy], *, is_live: bool = False
) -> list[str]:
    """A sentence for each setting that this call sets to no effect.

    chosen: the policies that decide.  is_live: whether a real run is meant, not a simulation.
    """
    given = dict.fromkeys([*settings.file_keys, *settings.overrides])
    notes = [_old_key(key, settings.declarations) for key in given]
    notes += [_note(key, settings, chosen, is_live=is_live) for key in settings.overrides]
    return [note for note in notes if note is not None]


def _old_key(key: str, declared: Declarations) -> str | None:
    """A key without the prefix that it has after 0.2.0."""
    if key not in declared.owner_of:
        return None
    return f"`{key}` is called `{declared.key_of(key)}`; version 0.3 takes no other name"


def _note(
    key: str, settings: Settings, chosen: Sequence[ChosenPolicy], *, is_live: bool
) -> str | None:
    prefix, _, name = key.rpartition(".")
    if settings.declarations.general_name(key) is not None:
        prefix = ""
    if prefix and prefix not in _owners_of(chosen):
        return f"`{key}` has no effect without {_flags(prefix)}"
    readers = [
        (policy, kind)
        for policy, kind in _readers(chosen, is_live=is_live)
        if (not prefix or policy == prefix) and any(one.name == name for one in fields(kind))
    ]
    if not readers:
        return _unread(key, name, is_live=is_live)
    needs = []
    for policy, kind in readers:
        declared = settings_of_class(kind)[name]
        if declared.is_met(settings.of(kind, policy)):
            return None
        needs.append(declared.needs)
    needed, equals, value = needs[0].partition("=")
    named = settings.declarations.key_of(needed)
    return f"`{key}` has no effect without `{named}{equals}{value.replace('|', ' or ')}`"


def _owners_of(chosen: Sequence[ChosenPolicy]) -> set[str]:
    """Names that may be before a key for these policies."""
    found = {one.name for one in chosen} | {one.preset for one in chosen}
    for one in chosen:
        if one.composition is not None:
            listed = settings_classes(one.composition)
            found |= {name for _, names in listed for name in names}
            found |= {part.name for part in one.parts.values()}
            found |= {"machines"} if one.composition.machines == "vm-pools" else set()
    return found


def _readers(chosen: Sequence[ChosenPolicy], *, is_live: bool) -> Iterator[tuple[str, Any]]:
    """Classes of settings that this call reads, each with the policy that it reads them for."""
    for one in chosen:
        if one.composition is not None:
            for kind, owners_of in settings_classes(one.composition):
                yield from ((owner, kind) for owner in (*owners_of, one.preset))
            for part in one.parts.values():
                if part.policy_class.Settings is not NoSettings:
                    yield part.name, part.policy_class.Settings
        elif one.policy_class.Settings is not NoSettings:
            yield one.name, one.policy_class.Settings
        if one.kind == "tasks":
            yield one.name, CoreSettings
            for kind in LIVE_SETTINGS if is_live else (SimulationSettings,):
                yield one.name, kind


def _unread(key: str, name: str, *, is_live: bool) -> str:
    if is_live and any(one.name == name for one in fields(SimulationSettings)):
        return f"`{key}` has no effect on a real run; it only counts for the predicted makespan"
    if not is_live and any(one.name == name for group in LIVE_SETTINGS for one in fields(group)):
        return f"`{key}` has no effect in a simulation; it is about the attempts of a real run"
    owners = [
        policy
        for policy in policy_names("tasks")
        if name in settings_of_class(chosen_policy("tasks", policy).policy_class.Settings)
    ]
    *first, last = owners
    listed = f"{', '.join(first)} or {last}" if first else last
    return f"`{key}` has no effect without `--tasks` {listed}"


def _flags(policy: str) -> str:
    if policy in owners():
        return f"the part `{policy}` of a scheduler"
    kinds = [kind for kind in KINDS if policy in policy_names(kind)]
    return " or ".join(f"`--{kind} {policy}`" for kind in kinds) or f"the policy `{policy}`"
