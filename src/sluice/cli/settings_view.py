"""The settings as a table, as a document, and in brief for the end of a help page."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sluice import bootstrap
from sluice.ingest.own_settings import OWN_SETTINGS
from sluice.ingest.setting import Setting, SettingKind
from sluice.ingest.settings import SETTINGS

if TYPE_CHECKING:
    from rich.table import Table


def settings_table() -> Table:
    """Key, default, what it may be and what it means."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD,
        header_style="dim",
        pad_edge=False,
        caption="Set them with --set KEY=VALUE or under `settings:` of a workload file;"
        " POLICY.KEY sets one for that policy alone.",
        caption_justify="left",
    )
    table.add_column("key", no_wrap=True)
    table.add_column("default", justify="right", no_wrap=True)
    table.add_column("meaning")
    for name, setting in _all_settings().items():
        meaning = Text(f"{setting.meaning}; ")
        meaning.append(setting.hint.removeprefix("give "), style="dim")
        table.add_row(Text(name, style="bold"), _told(setting.default), meaning)
    return table


def _all_settings() -> dict[str, Setting]:
    """By the key under which each is set."""
    own = {
        f"{policy}.{name}": setting
        for policy, settings in OWN_SETTINGS.items()
        for name, setting in settings.items()
    }
    return {**SETTINGS, **own}


def _told(value: object) -> str:
    """A value as it would be written after the equals sign."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "..".join(map(_told, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def settings_document() -> dict[str, object]:
    """Every setting by its key, as plain JSON values."""
    return {"settings": {name: _document(setting) for name, setting in _all_settings().items()}}


def _document(setting: Setting) -> dict[str, object]:
    told = asdict(setting)
    names = ["default", "meaning", "may_be_none"]
    if setting.kind is SettingKind.CHOICE:
        names.append("choices")
    elif setting.kind is not SettingKind.FLAG:
        names += [name for name in ("low", "high") if name in told]
        names += ["above"] * (setting.above >= setting.low)
        names += ["below"] * (setting.below <= setting.high)
    return {"kind": setting.kind.name.lower(), **{name: told[name] for name in names}}


def settings_epilog() -> str:
    """All names of policies and settings, for the end of a help page."""
    kinds = ("tasks", "release", "admission")
    policies = [f"--{kind}: {', '.join(bootstrap.policy_names(kind))}." for kind in kinds]
    keys = f"--set: {', '.join(_all_settings())}. What they mean: sluice settings."
    return "\n\n".join([*policies, keys])
