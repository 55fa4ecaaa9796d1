"""Raw settings, of a workload file and of `--set`, checked against what their owners declare.

Policies, the simulator and real runs declare their settings themselves; `bootstrap` collects the
declarations and passes them in. The prefix of a key is the part of a scheduler that owns the
setting (`copies.spec_cap`); the core's and the simulator's have none. A key with a policy's name as
prefix (`fair.slowstart`) holds for that policy alone. `Settings.of` gives each owner its own typed
settings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from sluice.ingest.suggestions import suggestion
from sluice.model.arguments import speaks_of_options
from sluice.model.errors import InvalidInput
from sluice.model.settings import Setting, SettingsGroup

T = TypeVar("T")

# Names by which Hadoop and the DynamicMR thesis call settings of ours, in lower case.
FOREIGN_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "mapred.idle.mapslots.borrowedforreducetasks": "pct_map",
        "mapred.idle.reduceslots.borrowedformaptasks": "pct_reduce",
        "mapred.submitted.jobs.checkedforpendingtasks": "sepb",
        "mapred.map.tasks.prescheduler.enabled": "prescheduling",
        "mapred.prescheduler.maximumnumborrowedreduceslots": "reduce_slots_lent_max",
        "mapreduce.job.reduce.slowstart.completedmaps": "slowstart",
        "mapred.reduce.slowstart.completed.maps": "slowstart",
        "mapreduce.map.maxattempts": "failures_max",
        "mapreduce.reduce.maxattempts": "failures_max",
        "mapred.map.max.attempts": "failures_max",
        "mapred.reduce.max.attempts": "failures_max",
        "mapreduce.task.timeout": "task_timeout_s",
        "mapred.task.timeout": "task_timeout_s",
        "mapreduce.map.speculative": "speculation",
        "mapreduce.reduce.speculative": "speculation",
        "mapred.map.tasks.speculative.execution": "speculation",
        "mapred.reduce.tasks.speculative.execution": "speculation",
        "mapreduce.job.speculative.speculativecap": "spec_cap",
        "mapreduce.job.speculative.slowtaskthreshold": "slow_task",
        "mapreduce.job.speculative.slownodethreshold": "slow_node",
        "mapreduce.reduce.shuffle.parallelcopies": "parallel_copies",
        "mapred.reduce.parallel.copies": "parallel_copies",
        "mapred.fairscheduler.locality.delay": "node_wait_s",
        "yarn.scheduler.fair.locality.threshold.node": "node_wait_s",
        "yarn.scheduler.fair.locality.threshold.rack": "rack_wait_s",
        "dfs.replication": "replicas",
    }
)

# Settings that were removed, and what serves instead; in the words of a hint.
REMOVED: Mapping[str, str] = MappingProxyType(
    {"losses_max": "remove it: a simulation ends after 1000 losses of one task"}
)


def _nothing(_policy: str) -> Mapping[str, Setting]:
    return {}


class Deferred(Mapping[str, T]):
    """A mapping that is made when it is first read.

    To collect what all policies declare loads them all: 0.15 s of CPU, a fifth of the time of a
    command on a file without settings, which needs none of it.
    """

    def __init__(self, make: Callable[[], Mapping[str, T]]) -> None:
        self._made = cache(make)

    def __getitem__(self, key: str) -> T:
        return self._made()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """All settings. general: what holds for all policies.  policies: names that may be a prefix.

    own: the settings that only one policy has, by the policy's name.
    owner_of: of a general setting, the prefix of its key; none for those of core and simulator.
    """

    general: Mapping[str, Setting]
    owner_of: Mapping[str, str] = field(default_factory=dict)
    policies: Collection[str] = ()
    own: Callable[[str], Mapping[str, Setting]] = _nothing

    def all_settings(self) -> dict[str, Setting]:
        """Every setting by the key that sets it."""
        own = {
            f"{policy}.{name}": setting
            for policy in sorted(self.policies)
            for name, setting in self.own(policy).items()
        }
        return {**{self.key_of(name): one for name, one in self.general.items()}, **own}

    def key_of(self, name: str) -> str:
        """The key that sets a general setting."""
        owner = self.owner_of.get(name)
        return f"{owner}.{name}" if owner else name

    def general_name(self, key: str) -> str | None:
        """The general setting that a key sets, with or without its owner; None if it sets none."""
        prefix, _, name = key.rpartition(".")
        is_general = name in self.general and prefix in {"", self.owner_of.get(name)}
        return name if is_general else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings that were given, checked. general: by name; by_policy: for one policy only.

    overrides: keys that were given for this call, after those of the file.
    file_keys: keys of the file.
    """

    declarations: Declarations
    general: Mapping[str, object] = field(default_factory=dict)
    by_policy: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()
    file_keys: tuple[str, ...] = ()

    def of(self, kind: type[T], policy: str = "") -> T:
        """One owner's settings: those for the policy, else the general ones, else the defaults."""
        given = self.by_policy.get(policy, {})
        own = self.declarations.own(policy) if policy and self.general else {}
        values: dict[str, Any] = {}
        for name in (one.name for one in fields(kind)):  # type: ignore[arg-type]  # a dataclass
            if name in given:
                values[name] = given[name]
            elif name in self.general and name not in own:
                values[name] = self.general[name]
        made = kind(**values)
        if isinstance(made, SettingsGroup):
            return made.completed(frozenset(values))
        return made

    def having(self, **values: object) -> Settings:
        """The settings with other values, also for single policies."""
        by_policy = {
            policy: {name: value for name, value in given.items() if name not in values}
            for policy, given in self.by_policy.items()
        }
        return replace(self, general={**self.general, **values}, by_policy=by_policy)


def resolve_settings(
    file_settings: Mapping[str, object],
    overrides: Mapping[str, object] | Iterable[str],
    declarations: Declarations,
) -> Settings:
    """The settings of a file, then overrides (`key=value`, or by key), over the defaults.

    An override wins over all that the file says of its key, also for one policy.
    Raises InvalidInput with the nearest known name.
    """
    found = _checked(((key, raw, "settings") for key, raw in file_settings.items()), declarations)
    listed = list(_overrides(overrides))
    over = _checked(listed, declarations)
    general: dict[str, object] = {**found.pop("", {}), **over.get("", {})}
    by_policy = {
        policy: {name: value for name, value in values.items() if name not in over.get("", {})}
        for policy, values in found.items()
    }
    for policy, values in over.items():
        if policy:
            by_policy[policy] = {**by_policy.get(policy, {}), **values}
    return Settings(
        declarations=declarations,
        general=MappingProxyType(general),
        by_policy=MappingProxyType(by_policy),
        overrides=tuple(dict.fromkeys(key for key, _, _ in listed)),
        file_keys=tuple(file_settings),
    )


@dataclass(frozen=True, slots=True)
class _Text:
    """A value as a person wrote it on the command line."""

    text: str


def _overrides(
    overrides: Mapping[str, object] | Iterable[str],
) -> Iterator[tuple[str, object, str]]:
    """Key, raw value and place of each."""
    if isinstance(overrides, Mapping):
        yield from ((str(key), raw, "settings") for key, raw in overrides.items())
        return
    for override in overrides:
        key, equals, text = override.partition("=")
        where = f"{'--set' if speaks_of_options.get() else 'settings'} {override[:80]}"
        if not equals:
            raise InvalidInput("no = in it", where=where, hint="write it as key=value")
        yield key.strip(), _Text(text.strip()), where


def _checked(
    given: Iterable[tuple[str, object, str]], declarations: Declarations
) -> dict[str, dict[str, object]]:
    """Values by policy ("" for all) and name."""
    found: dict[str, dict[str, object]] = {}
    for key, raw, where in given:
        try:
            prefix, name, value = checked_setting(key, raw, declarations)
        except InvalidInput as error:
            raise error.within(where) from None
        found.setdefault(prefix, {})[name] = value
    return found


def checked_setting(key: str, raw: object, declarations: Declarations) -> tuple[str, str, object]:
    """The policy ("" for all), the setting's name and its value. Raises InvalidInput."""
    ours = FOREIGN_NAMES.get(key.lower())
    if ours is not None:
        ours = declarations.key_of(ours)
        raise InvalidInput(f"{key} is called {ours} here", hint=f"set {ours}")
    prefix, _, name = key.rpartition(".")
    if name in REMOVED:
        raise InvalidInput(f"{key} is not a setting any more", hint=REMOVED[name])
    if declarations.general_name(key) is not None:
        prefix = ""
    if prefix and prefix not in declarations.policies:
        listed = f"use one of {', '.join(sorted(declarations.policies))}"
        hint = suggestion(prefix, declarations.policies, listed)
        raise InvalidInput(f"{key} names the unknown policy {prefix!r}", hint=hint)
    own = declarations.own(prefix) if prefix else {}
    setting = own.get(name) or declarations.general.get(name)
    if setting is None:
        general = [declarations.key_of(one) for one in declarations.general]
        known = [*(f"{prefix}.{one}" for one in own), *general]
        hint = suggestion(key if own else name, known, "`sluice settings` lists all settings")
        raise InvalidInput(f"unknown setting {key}", hint=hint)
    value = setting.read(raw.text) if isinstance(raw, _Text) else setting.checked(raw)
    return prefix, name, value
