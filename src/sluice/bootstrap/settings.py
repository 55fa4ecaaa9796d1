"""The settings that there are, and those of a call, checked against them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sluice.bootstrap.policy_classes import KINDS, ChosenPolicy, chosen_policy, policy_names
from sluice.ingest.settings import Declarations, Deferred, Settings, resolve_settings
from sluice.model.errors import InvalidInput
from sluice.model.settings import Setting, written
from sluice.model.workload import Workload

if TYPE_CHECKING:
    from sluice.bootstrap.live.run_options import RunOptions


def declarations(chosen: Sequence[ChosenPolicy] = ()) -> Declarations:
    """Return what can be set. chosen: policies of this call, beyond those that have a name."""
    chosen = [*chosen, *(part for one in chosen for part in one.parts.values())]
    return Declarations(
        general=Deferred(_general),
        owner_of=Deferred(_owner_of),
        policies=Deferred(lambda: dict.fromkeys(_prefixes(chosen))),
        own=lambda policy: _own(policy, chosen),
    )


def _general() -> Mapping[str, Setting]:
    from sluice.bootstrap.setting_owners import general_settings

    return general_settings()


def _owner_of() -> Mapping[str, str]:
    from sluice.bootstrap.setting_owners import owner_of_settings

    return owner_of_settings()


def _prefixes(chosen: Sequence[ChosenPolicy]) -> list[str]:
    """Names that may be before a key: of policies and parts."""
    from sluice.policies.part_settings import owners

    names = {name for kind in KINDS for name in policy_names(kind)}
    names |= {one.name for one in chosen} | owners().keys() | set(_owner_of().values())
    return sorted(names - {one.name for one in chosen if one.composition is not None})


def _own(policy: str, chosen: Sequence[ChosenPolicy]) -> Mapping[str, Setting]:
    """The settings that only this policy has, or this part of a scheduler."""
    from sluice.bootstrap.setting_owners import own_settings, settings_of_part

    for one in reversed(chosen):
        if one.name == policy:
            return own_settings(one.policy_class)
    found = dict(settings_of_part(policy))
    for kind in KINDS:
        if policy in policy_names(kind):
            found |= own_settings(chosen_policy(kind, policy).policy_class)
    return found


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


def settings_of(workload: Workload, options: RunOptions) -> Settings:
    """The settings of the file with those of the options over them. Raises InvalidInput."""
    return resolved_settings(workload.settings, options.settings, options.chosen())


def setting_texts(settings: Mapping[str, object] | Iterable[str]) -> tuple[str, ...]:
    """Settings as `--set` takes them, and as the journal of a run keeps them.

    >>> setting_texts({"slowstart": 0.05, "kill_slow": True, "ltyarn.probe_s": [12, 30]})
    ('slowstart=0.05', 'kill_slow=true', 'ltyarn.probe_s=[12, 30]')
    """
    if not isinstance(settings, Mapping):
        return tuple(settings)
    return tuple(f"{key}={_written(value)}" for key, value in settings.items())


def _written(value: object) -> str:
    """A value with its list in brackets: a pair may be one, too."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return written(value)


def _texts(overrides: Mapping[str, object] | Iterable[str]) -> Iterable[str]:
    """Settings as `--set` takes them, in which a pair is a range."""
    if isinstance(overrides, Mapping):
        return [f"{key}={written(value)}" for key, value in overrides.items()]
    return overrides
