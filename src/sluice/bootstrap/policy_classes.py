"""Policy classes: ours by name, another package's by entry point, anybody's by FILE.py:Class.

A policy may also be given as a class or an object, from Python. Whatever is wrong with a class that
is not ours is an InvalidInput that names the class and what a policy must have.
"""

from __future__ import annotations

import hashlib
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

from sluice.bootstrap import offered_policies
from sluice.bootstrap.compositions import bracketed, composition_of, is_composed, split_parts
from sluice.core.protocols import AdmissionPolicy, Policy, PoolPolicy, ReleasePolicy, TaskPolicy
from sluice.ingest.entry_points import guarded
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import QueueTree
from sluice.model.settings import settings_of_class
from sluice.policies import BUILT_IN, loaded, members
from sluice.policies.composition import AXES, PRESETS, Composition

KINDS = ("tasks", "release", "admission")  # that a run names, in this order
_BASES: dict[str, tuple[type[Policy], str]] = {
    "admission": (AdmissionPolicy, "decide"),
    "release": (ReleasePolicy, "release"),
    "tasks": (TaskPolicy, "assign"),
    "pools": (PoolPolicy, "reserve"),
}

# Presets without a class of their own.
_MADE_OF_PARTS = tuple(name for name in PRESETS if f"tasks.{name}" not in BUILT_IN)

# A part may be any change of its base. It is only loaded where a call brings one.
_PARTS: dict[str, tuple[str, str]] = {
    "order": ("sluice.policies.job_order:JobOrder", "candidates"),
    "goals": ("sluice.policies.orders.order_decorator:OrderDecorator", ""),
    "slots": ("sluice.policies.rooms.room:Room", ""),
    "copies": ("sluice.policies.copies.copy_order:CopyOrder", "worth_a_copy"),
    "data": ("sluice.policies.orders.order_decorator:OrderDecorator", ""),
    "machines": ("sluice.policies.decorator:Decorator", ""),
}

_OR = {"assign": ("fill",)}  # either of them is enough

Spec = str | Policy | type[Policy]  # a name, FILE.py:Class, an object, or a class


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPolicy:
    """A policy that a call names. made: the object itself where one was given.

    label: what messages call it.  file, sha256: of FILE.py:Class, the resolved path and the digest
    of its content.  composition, preset: of a scheduler that is named by its parts.
    settings: that its text gives in brackets, for it alone.  parts: those not ours, by axis.
    queues: of a scheduler's configuration, which the policy is made with.
    """

    kind: str
    name: str
    policy_class: type[Policy]
    label: str
    made: Policy | None = None
    file: str = ""
    sha256: str = ""
    composition: Composition | None = None
    preset: str = ""
    settings: tuple[str, ...] = ()
    parts: Mapping[str, ChosenPolicy] = field(default_factory=dict)
    queues: QueueTree | None = None

    @property
    def is_ours(self) -> bool:
        """Whether the class comes with Sluice."""
        return self.policy_class.__module__.partition(".")[0] == "sluice"

    @property
    def files(self) -> dict[str, str]:
        """The files that it and its parts are read from, each with the digest of its content."""
        everyone = (self, *self.parts.values())
        return {one.file: one.sha256 for one in everyone if one.file}


def _base_of(kind: str) -> tuple[type[Policy], str]:
    """The base class of a kind, and the method that a policy of it defines."""
    if kind in _BASES:
        return _BASES[kind]
    path, method = _PARTS[kind]
    return loaded(path), method


def policy_names(kind: str) -> list[str]:
    """Names of the policies of a kind: admission, release, tasks, pools, or an axis."""
    more = _MADE_OF_PARTS if kind == "tasks" else ()
    return sorted({*members(kind), *more, *offered_policies.offered_names(kind)})


def chosen_policy(kind: str, spec: Spec) -> ChosenPolicy:
    """The policy that a name, a file and class, a class or an object selects.

    Raises InvalidInput with the nearest name, or with what is wrong with the class.
    """
    if not isinstance(spec, str):
        given = spec if isinstance(spec, type) else type(spec)
        _check_class(kind, given, f"class {given.__qualname__}")
        made = None if isinstance(spec, type) else spec
        return _chosen(kind, given, given.__qualname__, made=made)
    if kind == "tasks" and (is_composed(spec) or spec in _MADE_OF_PARTS):
        return _composed(spec)
    if is_file_spec(spec):
        return _from_file(kind, spec)
    path = BUILT_IN.get(f"{kind}.{spec}", "")
    if path:
        found = loaded(path)
    else:
        entry = _entry_point(kind, spec)
        path, found = entry.value, guarded(entry, entry.load)
    _check_class(kind, found, path)
    return ChosenPolicy(kind=kind, name=spec, policy_class=found, label=spec)


def _composed(spec: str) -> ChosenPolicy:
    """A scheduler named by its parts. Its class says only whose it is: `composing` makes it."""
    text, settings = bracketed(spec)
    if "=" not in text and text not in _MADE_OF_PARTS:
        return replace(chosen_policy("tasks", text), label=spec, settings=settings)
    preset, composition = composition_of(text)
    path = "sluice.policies.rooms.composed:Composed"
    if composition.machines == "vm-pools":
        path = BUILT_IN["tasks.vm-pools"]
    chosen = composition.document().items()
    return ChosenPolicy(
        kind="tasks",
        name=spec,
        policy_class=loaded(path),
        label=spec,
        composition=composition,
        preset=preset,
        settings=settings,
        parts={axis: chosen_policy(axis, one) for axis, one in chosen if one not in AXES[axis]},
    )


def _chosen(kind: str, found: type[Policy], label: str, **more: Any) -> ChosenPolicy:  # noqa: ANN401  # fields of the result
    given: object = found.name  # a decorator's is a property: that of what it decorates
    name = given if isinstance(given, str) and given else _kebab(found.__name__)
    chosen = ChosenPolicy(kind=kind, name=name, policy_class=found, label=label, **more)
    if not chosen.is_ours and any(f"{each}.{name}" in BUILT_IN for each in _BASES):
        raise InvalidInput(
            f"the name {name!r} is that of a policy of Sluice",
            where=label,
            hint="give the class another `name`",
        )
    return chosen


def _kebab(name: str) -> str:
    """A class name as the name of a policy.

    >>> _kebab("ShortestRemaining")
    'shortest-remaining'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def _check_class(kind: str, found: object, label: str) -> None:
    base, method = _base_of(kind)
    if not isinstance(found, type):
        raise InvalidInput(f"this is not a class but {found!r:.60}", where=label)
    if not issubclass(found, base):
        raise InvalidInput(
            f"the class is not derived from {base.__name__}",
            where=label,
            hint=f"derive the class from {base.__module__}.{base.__name__}",
        )
    has_own = any(
        getattr(found, one, None) is not getattr(base, one, None)
        for one in (method, *_OR.get(method, ()))
    )
    if method and not has_own and kind != "pools":
        raise InvalidInput(
            f"the class has no method {method}()",
            where=label,
            hint=f"define {method}(), see {base.__module__}.{base.__name__}",
        )
    settings_of_class(found.Settings)


def _entry_point(kind: str, name: str) -> EntryPoint:
    """The entry point by which another package offers a policy."""
    for entry in offered_policies.offered():
        if entry.name == f"{kind}.{name}":
            return entry
    known = policy_names(kind)
    hint = suggestion(name, known, f"use one of {', '.join(known)}")
    if name.endswith(".py"):
        hint = f"name the class in the file, as in {name}:MyPolicy"
    raise InvalidInput(f"unknown policy {name!r}", where=f"--{kind}", hint=hint)


# --- files ----------------------------------------------------------------------------------------


def is_file_spec(spec: object) -> bool:
    """Whether it is FILE.py:Class."""
    return isinstance(spec, str) and ".py:" in spec


def absolute_spec(spec: str) -> str:
    """FILE.py:Class with the file's resolved path; any other name as it is."""
    if is_composed(spec):
        words, settings = split_parts(spec)
        return "+".join(map(_absolute_part, words)) + settings
    if not is_file_spec(spec):
        return spec
    path, _, attribute = spec.rpartition(":")
    return f"{Path(path).expanduser().resolve()}:{attribute}"


def _absolute_part(word: str) -> str:
    axis, equals, name = word.partition("=")
    return f"{axis}={absolute_spec(name)}" if equals and is_file_spec(name) else word


def check_unchanged(chosen: Iterable[ChosenPolicy], recorded: object, run_id: str) -> None:
    """Refuse to decide again with other code than that of a recorded run.

    recorded: the digest of each policy file, by its path.
    """
    known = recorded if isinstance(recorded, Mapping) else {}
    for one in chosen:
        for file, sha256 in one.files.items():
            if known.get(file) != sha256:
                raise InvalidInput(
                    f"{file} has changed since run {run_id} began",
                    where=f"--{one.kind}",
                    hint="restore the file, or start a new run",
                )


def _from_file(kind: str, spec: str) -> ChosenPolicy:
    path, _, attribute = spec.rpartition(":")
    file = Path(path).expanduser().resolve()
    try:
        content = file.read_bytes()
    except OSError as error:
        what = "no such file" if not file.exists() else f"it cannot be read: {error}"
        raise InvalidInput(
            what, where=f"--{kind} {spec}", hint="the path is relative to the working directory"
        ) from None
    sha256 = hashlib.sha256(content).hexdigest()
    module = _module(path, file, content, sha256)
    found = getattr(module, attribute, None)
    if found is None:
        base = _base_of(kind)[0]
        own = [one for one in vars(module).values() if _is_defined_in(one, base, module)]
        raise InvalidInput(
            f"the file has no class {attribute!r}",
            where=path,
            hint=suggestion(attribute, [one.__name__ for one in own]) if own else
            f"define a class derived from {base.__module__}.{base.__name__}",
        )  # fmt: skip
    _check_class(kind, found, spec)
    return _chosen(kind, found, spec, file=str(file), sha256=sha256)


def _is_defined_in(one: object, base: type, module: ModuleType) -> bool:
    return isinstance(one, type) and issubclass(one, base) and one.__module__ == module.__name__


def _module(path: str, file: Path, content: bytes, sha256: str) -> ModuleType:
    """The file as a module; loaded once for each content. Raises InvalidInput with the line."""
    name = f"sluice_policy_file.{file.stem}_{sha256[:16]}"
    if name in sys.modules and sys.modules[name].__file__ == str(file):
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(file)
    try:
        code = compile(content, str(file), "exec")
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise InvalidInput(
            f"the file is not valid Python: {error.args[0]}", where=path + line
        ) from None
    # Type hints of the module's classes are looked up there, and so are modules next to the file.
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    try:
        exec(code, vars(module))  # noqa: S102  # to run the user's policy is what was asked for
    except Exception as error:
        del sys.modules[name]
        raise InvalidInput(
            f"the file raised {type(error).__name__}: {error}",
            where=f"{path}{_line_in(error, file)}",
        ) from error
    finally:
        sys.path.remove(str(file.parent))
    return module


def _line_in(error: Exception, file: Path) -> str:
    """The last line of a file that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(file)]
    return f", line {lines[-1]}" if lines else ""
