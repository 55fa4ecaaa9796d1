"""Schedulers that are named by their parts: `fair+copies=late`, `order=ltrf+slots=lent`.

The text names a preset, or none, and then members of axes, joined by `+`. It is a task policy like
any other for all that follows: a run's journal keeps it, and `why` and `--resume` read it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sluice.bootstrap.offered_policies import offered_names
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.policies.composition import AXES, PRESETS, RESERVATIONS, Composition

_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_INSIDE = re.compile(r"\[([^\[\]]*)\]")
_PAIR = re.compile(r",(?=[^,=]+=)")


def is_composed(spec: str) -> bool:
    """Whether a text names a task policy by its parts, or with settings of its own."""
    first = spec.partition(".py:")[0]
    return "=" in first or "[" in first


def composed_text(tasks: str | None, members: Mapping[str, str | None]) -> str:
    """The name of a scheduler: a preset with other members, or members alone.

    tasks: None for the defaults of all axes, or `fifo` where no member is given.

    >>> composed_text("ltyarn", {"copies": "late", "slots": None})
    'ltyarn+copies=late'
    """
    given = [f"{axis}={name}" for axis, name in members.items() if name is not None]
    if not given:
        return "fifo" if tasks is None else tasks
    return "+".join(given if tasks is None else [tasks, *given])


def split_parts(spec: str) -> tuple[list[str], str]:
    """The parts of a scheduler's text, and the settings in brackets that go with them.

    >>> split_parts("order=ltrf+goals=guarded[goals.guard=0.3]+slots=lent")
    (['order=ltrf', 'goals=guarded', 'slots=lent'], '[goals.guard=0.3]')
    """
    settings = "".join(_BRACKETS.findall(spec))
    return _BRACKETS.sub("", spec).split("+"), settings


def bracketed(spec: str) -> tuple[str, tuple[str, ...]]:
    """A scheduler's text without its settings, and the settings, as `--set` takes them."""
    words, settings = split_parts(spec)
    listed = [one.strip() for group in _INSIDE.findall(settings) for one in group.split(";")]
    pairs = [pair.strip() for one in listed for pair in _PAIR.split(one)]
    return "+".join(words), tuple(pair for pair in pairs if pair)


def composition_of(spec: str) -> tuple[str, Composition]:
    """The preset that a text begins with ("" for none), and the composition that it names.

    Raises InvalidInput naming the axis and its members.
    """
    preset, parts = "", spec.split("+")
    if "=" not in parts[0]:
        preset = parts.pop(0)
        if preset not in PRESETS:
            known = list(PRESETS)
            raise InvalidInput(
                f"{preset!r} is no preset, to which parts could be added",
                where=f"--tasks {spec[:80]}",
                hint=suggestion(preset, known, f"use one of {', '.join(known)}"),
            )
    members = dict(_member(part, spec) for part in parts)
    made = PRESETS[preset] if preset else Composition()
    made = made.with_members(members)
    _check(made, spec)
    return preset, made


def _member(part: str, spec: str) -> tuple[str, str]:
    axis, _, name = part.partition("=")
    where = f"--tasks {spec[:80]}"
    if axis not in AXES:
        hint = suggestion(axis, list(AXES), f"use {', '.join(AXES)}")
        raise InvalidInput(f"{axis!r} is no part of a scheduler", where=where, hint=hint)
    known = [*AXES[axis], *offered_names(axis)]
    if name not in known and ".py:" not in name:
        hint = suggestion(name, known, f"use one of {', '.join(known)}")
        raise InvalidInput(f"{axis} is {name!r}", where=f"--{axis}", hint=hint)
    return axis, name


def _check(made: Composition, spec: str) -> None:
    """Refuse what cannot work together."""
    is_lent = made.slots in {"lent", "lent-by-pool"}
    if made.data == "prescheduling" and not is_lent:
        raise InvalidInput(
            f"data=prescheduling starts maps in lent slots, and slots is {made.slots}",
            where=f"--tasks {spec[:80]}",
            hint="add slots=lent or slots=lent-by-pool",
        )
    is_whole = made.slots in RESERVATIONS
    if is_whole and (made.copies != "none" or made.data != "none"):
        what = f"copies={made.copies}" if made.copies != "none" else f"data={made.data}"
        raise InvalidInput(
            f"slots={made.slots} keeps room for tasks that start together, which {what} would take",
            where=f"--tasks {spec[:80]}",
            hint="leave it out",
        )
    if made.machines == "vm-pools" and is_whole:
        raise InvalidInput(
            f"machines=vm-pools gives whole VMs to a job, and slots is {made.slots}",
            where=f"--tasks {spec[:80]}",
            hint="use machines=fixed",
        )
    if made.machines == "vm-pools" and is_lent:
        raise InvalidInput(
            f"machines=vm-pools gives whole VMs to a job, and slots is {made.slots}",
            where=f"--tasks {spec[:80]}",
            hint="use slots=typed or slots=containers",
        )
