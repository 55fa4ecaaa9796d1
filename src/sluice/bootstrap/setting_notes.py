"""Which settings of a call have no effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from sluice.bootstrap.policy_classes import KINDS, ChosenPolicy, chosen_policy, policy_names
from sluice.bootstrap.setting_owners import LIVE_SETTINGS
from sluice.core.protocols import NoSettings
from sluice.core.settings import CoreSettings
from sluice.ingest.settings import Declarations, Settings
from sluice.model.settings import settings_of_class
from sluice.policies.part_settings import owners, settings_classes
from sluice.policies.settings import SpeculationSettings
from sluice.simulation.settings import SimulationSettings

_OF_COPIES = settings_of_class(SpeculationSettings).keys() - {"kill_slow"}


def settings_notes(
    settings: Settings, chosen: Sequence[ChosenPolicy], *, is_live: bool = False
) -> list[str]:
    """A sentence for each setting that this call sets to no effect.

    chosen: the policies that decide.  is_live: whether a real run is meant, not a simulation.
    """
    given = dict.fromkeys([*settings.file_keys, *settings.overrides])
    old = [_old_key(key, settings.declarations) for key in given]
    unread = unread_notes(settings.overrides, settings, chosen, is_live=is_live)
    return [*(note for note in old if note is not None), *unread]


def unread_notes(
    keys: Iterable[str],
    settings: Settings,
    chosen: Sequence[ChosenPolicy],
    *,
    is_live: bool = False,
) -> list[str]:
    """A sentence for each of these keys that has no effect."""
    notes = [_note(key, settings, chosen, is_live=is_live) for key in keys]
    return [note for note in notes if note is not None]


def _old_key(key: str, declared: Declarations) -> str | None:
    """A key without the prefix that it has after 0.2.0."""
    if key not in declared.owner_of:
        return None
    return f"`{key}` is called `{declared.key_of(key)}`; version 0.4 takes no other name"


def _note(
    key: str, settings: Settings, chosen: Sequence[ChosenPolicy], *, is_live: bool
) -> str | None:
    prefix, _, name = key.rpartition(".")
    if settings.declarations.general_name(key) is not None:
        prefix = ""
    if prefix and prefix not in owners_of(chosen):
        return f"`{key}` has no effect without {_flags(prefix)}"
    readers = [
        (policy, kind)
        for policy, kind in _readers(chosen, is_live=is_live)
        if (not prefix or policy == prefix) and any(one.name == name for one in fields(kind))
    ]
    if not readers:
        return _unread(key, name, is_live=is_live)
    if name in _OF_COPIES and not _may_copy(chosen):
        return f"`{key}` has no effect without `--copies` late or sepb"
    needs = []
    for policy, kind in readers:
        declared = settings_of_class(kind)[name]
        if declared.needs == "speculation=late" and _are_parts(chosen):
            return None  # `--copies` says it there
        if declared.is_met(settings.of(kind, policy)):
            return None
        needs.append(declared.needs)
    needed, equals, value = needs[0].partition("=")
    named = settings.declarations.key_of(needed)
    return f"`{key}` has no effect without `{named}{equals}{value.replace('|', ' or ')}`"


def _are_parts(chosen: Sequence[ChosenPolicy]) -> bool:
    """Whether a scheduler of parts decides, and no preset by itself."""
    return any(one.composition is not None for one in chosen)


def _may_copy(chosen: Sequence[ChosenPolicy]) -> bool:
    """Whether a scheduler may copy tasks; parts do if `--copies` says so."""
    return not all(
        one.composition is not None and one.composition.copies == "none"
        for one in chosen
        if one.kind == "tasks"
    )


def owners_of(chosen: Sequence[ChosenPolicy]) -> set[str]:
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
