"""The engines by name: those of Sluice, and those that other packages offer.

A package offers one as an entry point of the group `sluice.engines` that names a subclass of
`EngineKind`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib import import_module, metadata
from pathlib import Path

from sluice.bootstrap.engines.kinds import EngineKind
from sluice.bootstrap.live.run_options import RunOptions
from sluice.ingest.suggestions import suggestion
from sluice.model.errors import InvalidInput
from sluice.store.runs import Runs

BUILT_IN = {
    "local": "sluice.bootstrap.engines.local:LocalKind",
    "ray": "sluice.bootstrap.engines.ray:RayKind",
    "yarn": "sluice.bootstrap.engines.yarn:YarnKind",
}
_GROUP = "sluice.engines"


def engine_names() -> list[str]:
    """All engines, Sluice's own first."""
    offered = metadata.entry_points(group=_GROUP)
    return [*BUILT_IN, *sorted({one.name for one in offered} - BUILT_IN.keys())]


def engine_kind(name: str) -> EngineKind:
    """The engine of a name. Raises InvalidInput with the nearest name."""
    if name in BUILT_IN:
        return _built_in(name)
    for entry in metadata.entry_points(group=_GROUP, name=name):
        made: EngineKind = entry.load()()
        return made
    raise InvalidInput(
        f"unknown engine {name!r}", where="--engine", hint=suggestion(name, engine_names())
    )


def checked_engine(options: RunOptions) -> EngineKind:
    """The engine that the options name. Raises InvalidInput for options that do not fit it."""
    kind = engine_kind(options.engine)
    kind.check(options)
    return kind


def end_cluster(run: Path) -> None:
    """End what a run that no process drives has left in its cluster, if anything."""
    for kind in _with_clusters():
        kind.end(run)


def end_lost_clusters(runs: Runs) -> None:
    """End what is left of runs whose processes were all killed."""
    for kind in _with_clusters():
        kind.end_lost(runs)


def _with_clusters() -> Iterable[EngineKind]:
    return (engine_kind(name) for name in engine_names())


@functools.cache
def _built_in(name: str) -> EngineKind:
    module, _, attribute = BUILT_IN[name].partition(":")
    made: EngineKind = getattr(import_module(module), attribute)()
    return made
