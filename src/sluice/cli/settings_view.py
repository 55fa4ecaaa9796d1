"""The settings as a table, as a document, and the policies for the end of a help page."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING

from sluice.bootstrap.offered_policies import offered_names
from sluice.bootstrap.policy_classes import policy_names
from sluice.bootstrap.settings import declarations
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.model.settings import Setting, SettingKind, written
from sluice.policies.composition import AXES

if TYPE_CHECKING:
    from rich.table import Table


def settings_table(name: str | None = None) -> Table:
    """A table of keys, defaults, meanings and ranges. name: see `_listed`."""
    from rich.text import Text

    from sluice.reporting.table_style import plain_table

    table = plain_table(
        "Set them with --set KEY=VALUE or under `settings:` of a workload file;"
        " POLICY.NAME sets one for that policy alone.",
        names=("key",),
        numbers=("default",),
    )
    table.add_column("meaning")
    for key, setting in _listed(name).items():
        meaning = Text(f"{setting.meaning}; ")
        meaning.append(setting.hint.removeprefix("give "), style="dim")
        if name and setting.reason:
            meaning.append(f". Reason: {setting.reason}")
        table.add_row(Text(key, style="bold"), written(setting.default), meaning)
    return table


def _listed(name: str | None) -> dict[str, Setting]:
    """Settings by the key that sets them: all, or those of a name. Raises InvalidInput.

    name: a key, with or without its owner, or an owner.
    """
    every = declarations().all_settings()
    if name is None:
        return every
    found = {
        key: setting
        for key, setting in every.items()
        if name in {key, key.rpartition(".")[0], key.rpartition(".")[2]}
    }
    if not found:
        hint = suggestion(name, every, "`sluice settings` lists all settings")
        raise InvalidInput(f"unknown setting {name}", hint=hint)
    return found


def settings_document(name: str | None = None) -> dict[str, object]:
    """Settings by key, as plain JSON values. name: see `_listed`."""
    return {"settings": {key: _document(setting) for key, setting in _listed(name).items()}}


def _document(setting: Setting) -> dict[str, object]:
    values = asdict(setting)
    names = ["default", "meaning", "may_be_none"]
    if setting.kind is SettingKind.CHOICE:
        names.append("choices")
    elif setting.kind not in {SettingKind.FLAG, SettingKind.TEXT}:
        names += [name for name in ("low", "high") if name in values]
        names += ["above"] * (setting.above >= setting.low)
        names += ["below"] * (setting.below <= setting.high)
    names += ["reason"] * bool(setting.reason)
    return {"kind": setting.kind.name.lower(), **{name: values[name] for name in names}}


def policies_epilog(options: Collection[str]) -> str:
    """The names of the policies that a command takes, for the end of its help."""
    titles = {f"--{kind}": kind for kind in ("tasks", "release", "admission")}
    if "--schedulers" in options:
        titles |= {"TASKS": "tasks", "RELEASE": "release"}
    policies = [
        f"{title}: {', '.join(policy_names(kind))}."
        for title, kind in titles.items()
        if title in options or not title.startswith("-")
    ]
    added = {axis: offered_names(axis) for axis in AXES if f"--{axis}" in options}
    policies += [
        f"--{axis}, of other packages: {', '.join(names)}."
        for axis, names in added.items()
        if names
    ]
    return "\n\n".join([*policies, "`sluice settings` lists what --set takes."])
