"""A combination of parts by name, or in a file: `--preset NAME` and `--preset FILE`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sluice.bootstrap.compositions import composed_text
from sluice.ingest.document import read_document
from sluice.ingest.reading import read_source
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.model.settings import written
from sluice.policies.composition import AXES, PRESETS

_KEYS = ("tasks", "release", "admission", *AXES, "settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """What a preset says. release, admission: None if it leaves them to the command.

    settings: as `--set` takes them.
    """

    tasks: str
    release: str | None = None
    admission: str | None = None
    settings: tuple[str, ...] = ()


def read_preset(spec: str) -> Preset:
    """The preset of a name, or of a YAML or JSON file. Raises InvalidInput."""
    if spec in PRESETS:
        return Preset(tasks=spec)
    if not Path(spec).expanduser().is_file():
        known = ", ".join(PRESETS)
        raise InvalidInput(
            f"{spec[:80]!r} is neither a preset nor a file",
            where="--preset",
            hint=suggestion(spec, list(PRESETS), f"use one of {known}, or a file"),
        )
    found = read_document(read_source(spec), source=spec).value
    if not isinstance(found, dict):
        raise InvalidInput("it is no mapping", where=spec, hint="give KEY: VALUE pairs")
    return preset_of(found, spec)


def preset_of(given: Mapping[str, object], where: str) -> Preset:
    """The preset of a mapping, which may be a document's `preset`. Raises InvalidInput."""
    given = given["preset"] if isinstance(given.get("preset"), Mapping) else given  # type: ignore[assignment]  # it was asked
    for key, value in given.items():
        if key not in _KEYS:
            hint = suggestion(key, list(_KEYS), f"use {', '.join(_KEYS)}")
            raise InvalidInput(f"unknown key {key!r}", where=where, hint=hint)
        if key != "settings" and not isinstance(value, str):
            raise InvalidInput(f"{key} is {value!r:.60}", where=where, hint="give a name")
    settings = given.get("settings") or {}
    if not isinstance(settings, Mapping):
        raise InvalidInput("settings is no mapping", where=where, hint="give KEY: VALUE pairs")
    words = {key: str(value) for key, value in given.items() if key != "settings"}
    members = {axis: words.get(axis) for axis in AXES}
    return Preset(
        tasks=composed_text(words.get("tasks"), members),
        release=words.get("release"),
        admission=words.get("admission"),
        settings=tuple(f"{key}={written(value)}" for key, value in settings.items()),
    )
