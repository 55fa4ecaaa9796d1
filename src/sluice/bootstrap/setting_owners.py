"""The classes of settings of all owners: the drivers, our policies, the parts of schedulers.

To collect them loads every policy, so `settings` imports this module only for a call or a file
that gives a setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from functools import cache
from typing import Any

from sluice.bootstrap.policy_classes import chosen_policy
from sluice.core.protocols import NoSettings, Policy
from sluice.core.settings import CoreSettings, HeartbeatSettings
from sluice.engines.data_plane.settings import DataPlaneSettings
from sluice.engines.settings import TaskLimitSettings
from sluice.engines.yarn.settings import YarnSettings
from sluice.model.settings import Setting, setting_of, settings_of_class
from sluice.policies import BUILT_IN
from sluice.policies.composition import AXES
from sluice.policies.part_settings import owners
from sluice.policies.settings import DelaySettings
from sluice.simulation.settings import SimulationSettings

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
def owner_of_settings() -> Mapping[str, str]:
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


def own_settings(policy_class: type[Policy]) -> Mapping[str, Setting]:
    """Settings that a policy declares itself, and shares with no other."""
    if policy_class.Settings is NoSettings:
        return {}
    shared = _general_fields()
    declared = settings_of_class(policy_class.Settings)
    found = {one.name: one for one in fields(policy_class.Settings)}
    return {
        name: setting for name, setting in declared.items() if shared.get(name) is not found[name]
    }


def settings_of_part(part: str) -> Mapping[str, Setting]:
    """Settings that only one part of a scheduler has; none for another name."""
    general = general_settings()
    found: dict[str, Setting] = {}
    for group in owners().get(part, ()):
        declared = settings_of_class(group)
        found |= {name: one for name, one in declared.items() if name not in general}
    return found
