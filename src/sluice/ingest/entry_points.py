"""The entry points by which other packages offer a policy, a chart and so on.

Whatever goes wrong in one is one message that names the package: it is not a fault of Sluice.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from importlib import import_module, metadata
from typing import Any, TypeVar

from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput

_Answer = TypeVar("_Answer")


def offered(group: str) -> Mapping[str, metadata.EntryPoint]:
    """The entry points of a group by name, of the packages on the path of modules."""
    return _offered_on(group, tuple(sys.path))


@functools.cache
def _offered_on(group: str, _: tuple[str, ...]) -> dict[str, metadata.EntryPoint]:
    # To find them, the files of each package are read; the path seldom changes.
    return {one.name: one for one in sorted(metadata.entry_points(group=group))}


def all_names(group: str, built_in: Mapping[str, object]) -> tuple[str, ...]:
    """The names of one kind of extension: Sluice's own, then those that packages add."""
    return (*built_in, *(name for name in offered(group) if name not in built_in))


def extension(group: str, built_in: Mapping[str, str], name: str, *, where: str) -> Any:  # noqa: ANN401  # what the name is registered for
    """The object of a name; a name of Sluice means its own, whatever packages offer.

    built_in: by name MODULE:ATTRIBUTE, or MODULE.  where: the option that has the name.
    Raises InvalidInput for an unknown name, and for an entry point that cannot be loaded.
    """
    if name in built_in:
        module, _, attribute = built_in[name].partition(":")
        found = import_module(module)
        return getattr(found, attribute) if attribute else found
    if (entry := offered(group).get(name)) is not None:
        return guarded(entry, entry.load)
    kind = group.removeprefix("sluice.").removesuffix("s")
    known = all_names(group, built_in)
    raise InvalidInput(f"unknown {kind} {name[:80]!r}", where=where, hint=suggestion(name, known))


def guarded(entry: metadata.EntryPoint, work: Callable[[], _Answer]) -> _Answer:
    """The answer of a call into another package. Raises InvalidInput for whatever it raises."""
    try:
        return work()
    except InvalidInput:
        raise
    except Exception as error:
        raise refused(entry, f"failed: {type(error).__name__}: {error}") from error


def refused(entry: metadata.EntryPoint, what: str) -> InvalidInput:
    """The error about what an entry point names. what: the verb and the rest of the sentence."""
    package = "its package" if entry.dist is None else f"package {entry.dist.name}"
    return InvalidInput(
        f"{package} {what[:200]}", where=f"{entry.group} {entry.name}",
        hint="correct the package, or remove it",
    )  # fmt: skip
