"""The engines by name: those of Sluice, and those that other packages offer.

A package offers one as an entry point of the group `sluice.engines` that names a subclass of
`EngineKind`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sluice.bootstrap.engines.kinds import EngineKind
from sluice.bootstrap.live.run_options import RunOptions
from sluice.ingest.entry_points import all_names, extension, guarded, offered
from sluice.store.runs import Runs

BUILT_IN = {
    "local": "sluice.bootstrap.engines.local:LocalKind",
    "ray": "sluice.bootstrap.engines.ray:RayKind",
    "yarn": "sluice.bootstrap.engines.yarn:YarnKind",
}
_GROUP = "sluice.engines"


def engine_names() -> tuple[str, ...]:
    """All engines, Sluice's own first."""
    return all_names(_GROUP, BUILT_IN)


def engine_kind(name: str) -> EngineKind:
    """The engine of a name. Raises InvalidInput with the nearest name."""
    kind = extension(_GROUP, BUILT_IN, name, where="--engine")
    made: EngineKind = kind() if name in BUILT_IN else guarded(offered(_GROUP)[name], kind)
    return made


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
