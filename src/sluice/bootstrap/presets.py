"""A combination of parts by name, or in a file: `--preset NAME` and `--preset FILE`.

A workload file holds one under `scheduler`, which counts where a command names none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sluice.bootstrap.compositions import composed_text, composition_of, is_composed
from sluice.bootstrap.policy_classes import Spec
from sluice.ingest.document import read_document
from sluice.ingest.reading import read_source
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.model.settings import written
from sluice.model.workload import Workload
from sluice.policies.composition import AXES, PRESETS
from sluice.store.advice import advice_file, preset_digest

AUTO = "auto"
_KEYS = ("preset", "tasks", "release", "admission", *AXES, "settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The choices of a preset. release, admission: None if it leaves them to the command.

    settings: as `--set` takes them.
    """

    tasks: str
    release: str | None = None
    admission: str | None = None
    settings: tuple[str, ...] = ()


# Measured in docs/loop.md, with the cases in which they are wrong.
RECOMMENDED: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "roomy": Preset(tasks="order=fair+goals=guarded+slots=lent+copies=late"),
        "busy": Preset(
            tasks="order=fair+goals=guarded+slots=lent+copies=late",
            admission="capacity",
            settings=("capacity.without_promise=likely", "capacity.interval_s=0"),
        ),
        "contended": Preset(
            tasks="order=fair+goals=guarded+slots=resources+copies=late",
            settings=("goals.guard=0.25",),
        ),
        "rented": Preset(tasks="vm-pools", admission="vm-pools"),
    }
)


def read_preset(spec: str) -> Preset:
    """The preset of a name, or of a YAML or JSON file. Raises InvalidInput.

    auto: that of the newest advice.
    """
    if spec == AUTO:
        spec = str(advice_file())
        if not Path(spec).is_file():
            raise InvalidInput(
                "no advice is kept yet",
                where="--preset auto",
                hint="ask for it: sluice advise FILE, or sluice advise --from-log LOG",
            )
    if spec in RECOMMENDED:
        return RECOMMENDED[spec]
    if spec in PRESETS:
        return Preset(tasks=spec)
    if not Path(spec).expanduser().is_file():
        known = ", ".join((*RECOMMENDED, AUTO, *PRESETS))
        raise InvalidInput(
            f"{spec[:80]!r} is neither a preset nor a file",
            where="--preset",
            hint=suggestion(spec, [*RECOMMENDED, AUTO, *PRESETS], f"use one of {known}, or a file"),
        )
    found = read_document(read_source(spec), source=spec).value
    if not isinstance(found, dict):
        raise InvalidInput("it is no mapping", where=spec, hint="give KEY: VALUE pairs")
    return preset_of(found, spec)


def auto_sentence() -> str:
    """A sentence about the present `--preset auto` and its origin. Raises InvalidInput as above."""
    found = _kept_advice()
    about, digest = (found.get(key) for key in ("about", "digest"))
    return f"preset auto ({digest}). {about}" if about and digest else "preset auto"


def auto_digest() -> str | None:
    """A short name of the preset that `--preset auto` is at present. Raises InvalidInput."""
    preset = _kept_advice().get("preset")
    return preset_digest(preset) if isinstance(preset, Mapping) else None


def _kept_advice() -> Mapping[str, object]:
    read_preset(AUTO)
    path = str(advice_file())
    found = read_document(read_source(path), source=path).value
    assert isinstance(found, dict), "it was read as a preset"
    return found


def preset_in(workload: Workload) -> Preset | None:
    """The scheduler that a workload file names; None if it names none. Raises InvalidInput."""
    if not workload.scheduler:
        return None
    where = f"{workload.source}, scheduler"
    found = preset_of(workload.scheduler, where, folder=workload.folder)
    if is_composed(found.tasks):
        try:
            composition_of(found.tasks)
        except InvalidInput as error:
            raise InvalidInput(error.what, where=where, hint=error.hint) from None
    return found


def preset_of(given: Mapping[str, object], where: str, *, folder: str | None = None) -> Preset:
    """The preset of a mapping, which may be a document's `preset`. Raises InvalidInput.

    folder: of a file that `preset` may name; None where it names no file.
    """
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
    base = _base(words, where, folder) or Preset(tasks="")
    return Preset(
        tasks=composed_text(words.get("tasks", base.tasks) or None, members),
        release=words.get("release", base.release),
        admission=words.get("admission", base.admission),
        settings=(*base.settings, *(f"{key}={written(value)}" for key, value in settings.items())),
    )


def _base(words: Mapping[str, str], where: str, folder: str | None) -> Preset | None:
    """The preset that a mapping starts from."""
    name = words.get("preset")
    if name is None:
        return None
    if "tasks" in words:
        raise InvalidInput(
            "preset and tasks are given together", where=where, hint="name one of the two"
        )
    if name not in PRESETS and folder is None:  # a file that names files might name itself
        known = ", ".join(PRESETS)
        raise InvalidInput(
            f"preset is {name!r:.60}, and a file holds a preset by name only", where=where,
            hint=suggestion(name, list(PRESETS), f"use one of {known}"),
        )  # fmt: skip
    return read_preset(name if folder is None or name in PRESETS else str(Path(folder, name)))


def completed_by(
    workload: Workload,
    tasks: Spec | None,
    release: Spec | None,
    admission: Spec | None,
    *,
    default: str = "fifo",
) -> tuple[Spec, Spec, Spec, tuple[str, ...]]:
    """Policies as given, and where none is given as the workload says; and its settings for them.

    tasks: "+copies=late" adds to what the workload says.  default: of tasks, if it says nothing.
    """
    said = preset_in(workload)
    if isinstance(tasks, str) and tasks.startswith("+"):
        tasks = tasks[1:] if said is None else said.tasks + tasks
    elif tasks is not None:  # then the parts in the file, and their settings, do not count
        said = None if said is None else replace(said, settings=())
    said = said or Preset(tasks=default)
    return (
        said.tasks if tasks is None else tasks,
        (said.release or "input") if release is None else release,
        (said.admission or "all") if admission is None else admission,
        said.settings,
    )


def row_in(workload: Workload) -> str | None:
    """The scheduler that a workload file names, as a row of a comparison; None if it names none."""
    said = preset_in(workload)
    return None if said is None else row_text(said)


def row_text(preset: Preset) -> str:
    """A preset as a row of a comparison.

    >>> row_text(Preset(tasks="fair", release="on-demand", settings=("jitter=0.1",)))
    'release=on-demand+tasks=fair[jitter=0.1]'
    """
    tasks = preset.tasks if "=" in preset.tasks else f"tasks={preset.tasks}"
    pairs = (("admission", preset.admission), ("release", preset.release))
    parts = [f"{key}={name}" for key, name in pairs if name is not None]
    return "+".join([*parts, tasks]) + (f"[{';'.join(preset.settings)}]" if preset.settings else "")
