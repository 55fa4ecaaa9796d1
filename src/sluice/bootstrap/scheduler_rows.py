"""The rows of a comparison by their text: `capacity+on-demand+yarn-like`, `order=ltrf+slots=lent`.

Names are those of admission, release and task policies, the last one that of a task policy or
preset. `key=value` gives a policy or a part by its axis. Settings of one row follow in brackets.
A recommended preset, or `auto` for the newest advice, counts as the row that it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from sluice.bootstrap.compositions import composed_text, composition_of, split_parts
from sluice.bootstrap.policy_classes import ChosenPolicy, Spec, chosen_policy, policy_names
from sluice.bootstrap.presets import AUTO, RECOMMENDED, read_preset, row_text
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.policies.composition import AXES, PRESETS, Composition

Trio = tuple[ChosenPolicy, ChosenPolicy, ChosenPolicy]

# A plus may also be in the path of a file, but not before the first policy's name has ended.
_RELEASE_AND_TASKS = re.compile(r"(?P<release>[^+]*?(\.py:\w+)?)\+(?P<tasks>.*)")
_POLICY_KEYS = ("tasks", "preset", "release", "admission")


def rows_in(text: str) -> list[str]:
    """The rows of a list; a comma in brackets belongs to its row.

    >>> rows_in("fair, order=ltrf[a=1,b=2]")
    ['fair', 'order=ltrf[a=1,b=2]']
    """
    parts = re.split(r",(?![^\[]*\])", text)
    return [part.strip() for part in parts if part.strip()]


def row_of(spec: Spec, option: str = "--schedulers") -> tuple[str, Trio]:
    """Return what a row is called, and its policies of tasks, release and admission.

    option: of the command line, that gives the row.  Raises InvalidInput naming it and what is
    unknown.
    """
    if not isinstance(spec, str):
        tasks = chosen_policy("tasks", spec)
        return tasks.name, _trio(tasks)
    try:
        return _row(spec)
    except InvalidInput as error:
        # A row is one text: the options that the error names were not given.
        if error.where.startswith("--"):
            raise InvalidInput(
                error.what, where=f"{option} {spec[:80]}", hint=error.hint
            ) from error
        raise


def _row(spec: str) -> tuple[str, Trio]:
    if ".py:" in spec and "=" not in spec.partition("[")[0]:
        return _of_file(spec)
    words, settings = split_parts(expanded(spec))
    members: dict[str, str] = {}
    names: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            names.append(word)
        elif key in (*_POLICY_KEYS, *AXES):
            members[key] = value
        else:
            known = (*_POLICY_KEYS, *AXES)
            raise InvalidInput(
                f"{key!r} is no part of a scheduler",
                where="--schedulers",
                hint=suggestion(key, list(known), f"use {', '.join(known)}"),
            )
    base = members.pop("tasks", None) or members.pop("preset", None)
    if base is None and names:
        base = names.pop()
    for name in names:
        others = policy_names("admission")
        is_other = name in others and name not in policy_names("release")
        members["admission" if is_other else "release"] = name
    release, admission = members.pop("release", "input"), members.pop("admission", "all")
    text = composed_text(base, members) if members or base else "fifo"
    tasks = chosen_policy("tasks", text + settings)
    return spec, _trio(tasks, release, admission)


def _of_file(spec: str) -> tuple[str, Trio]:
    """A row that names a policy in a file, with a release policy before it or not."""
    parts = _RELEASE_AND_TASKS.fullmatch(spec)
    if parts is None:
        tasks = chosen_policy("tasks", spec)
        return tasks.name, _trio(tasks)
    tasks = chosen_policy("tasks", parts["tasks"])
    trio = _trio(tasks, parts["release"])
    return f"{trio[1].name}+{tasks.name}", trio


def _trio(tasks: ChosenPolicy, release: str = "input", admission: str = "all") -> Trio:
    return tasks, chosen_policy("release", release), chosen_policy("admission", admission)


def expanded(spec: str) -> str:
    """The row with what a recommended preset or the advice holds in place of its name.

    Words after it change its parts. Raises InvalidInput without advice.

    >>> expanded("roomy+copies=none[jitter=0.1]")
    'order=fair+goals=guarded+slots=lent+copies=late+copies=none[jitter=0.1]'
    """
    words, settings = split_parts(spec)
    for word in words:
        name = word.removeprefix("preset=")
        if name in (AUTO, *RECOMMENDED):
            kept, own = split_parts(row_text(read_preset(name)))
            others = [other for other in words if other != word]
            return "+".join([*kept, *others]) + own + settings
    return spec


def ablated(spec: str) -> Iterator[str]:
    """The row itself, then the row without each of its parts. Raises InvalidInput as `row_of`."""
    row_of(spec, "--ablate")
    yield spec
    words, settings = split_parts(expanded(spec))
    for key in ("admission", "release"):
        left = [word for word in words if not word.startswith(f"{key}=")]
        if left and len(left) < len(words):
            yield "+".join(left) + settings
    parts = [word for word in words if "=" not in word or word.partition("=")[0] in AXES]
    if parts == [parts[0]] and "=" not in parts[0]:
        made = PRESETS.get(parts[0], Composition())
    else:
        made = composition_of("+".join(parts))[1]
    others = [word for word in words if word not in parts]
    for one in fields(Composition):
        if getattr(made, one.name) != one.default:
            without = f"{one.name}={one.default}"
            kept = [without if word.startswith(f"{one.name}=") else word for word in parts]
            added = [] if without in kept else [without]
            # Promises need the slots that are left out: without these, it promises nothing.
            is_promised = one.name == "slots" and "admission=capacity" in others
            left = [word for word in others if not is_promised or "admission=" not in word]
            yield "+".join([*left, *kept, *added]) + settings
