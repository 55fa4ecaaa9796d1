"""The settings as a table, as a document, and the policies for the end of a help page."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING

from sluice.bootstrap.offered_policies import offered_names
from sluice.bootstrap.policy_classes import policy_names
from sluice.bootstrap.settings import declarations
from sluice.model.settings import Setting, SettingKind, written
from sluice.policies.composition import AXES

if TYPE_CHECKING:
    from rich.table import Table


def settings_table() -> Table:
    """A table of keys, defaults, meanings and ranges."""
    from rich.text import Text

    from sluice.reporting.table_style import plain_table

    table = plain_table(
        "Set them with --set KEY=VALUE or under `settings:` of a workload file;"
        " POLICY.NAME sets one for that policy alone.",
        names=("key",),
        numbers=("default",),
    )
    table.add_column("meaning")
    for name, setting in _all_settings().items():
        meaning = Text(f"{setting.meaning}; ")
        meaning.append(setting.hint.removeprefix("give "), style="dim")
        table.add_row(Text(name, style="bold"), written(setting.default), meaning)
    return table


def _all_settings() -> dict[str, Setting]:
    """Every setting by the key that sets it."""
    return declarations().all_settings()


def settings_document() -> dict[str, object]:
    """Every setting by its key, as plain JSON values."""
    return {"settings": {name: _document(setting) for name, setting in _all_settings().items()}}


def _document(setting: Setting) -> dict[str, object]:
    values = asdict(setting)
    names = ["default", "meaning", "may_be_none"]
    if setting.kind is SettingKind.CHOICE:
        names.append("choices")
    elif setting.kind not in {SettingKind.FLAG, SettingKind.TEXT}:
        names += [name for name in ("low", "high") if name in values]
        names += ["above"] * (setting.above >= setting.low)
        names += ["below"] * (setting.below <= setting.high)
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
