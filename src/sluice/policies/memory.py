"""The memory of the parts of a policy, as one document: see `Policy.saved`.

A part that decorates another saves what is inside, and its own facts next to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sluice.core.entries import PhaseEntry
from sluice.core.state import ClusterState
from sluice.model.ids import JobId

Memory = Mapping[str, Any]
PhaseName = tuple[JobId, int]  # the job, and the place of the phase among its phases
NOTHING: Final[Memory] = {}


def saved_around(inner: Memory | None, own: Memory | None) -> Memory | None:
    """Return the memory of a policy and of the one inside; None if one of them cannot be saved."""
    if inner is None or own is None:
        return None
    return {name: part for name, part in (("inner", inner), ("own", own)) if part}


def part_of(saved: Memory, name: str) -> Memory:
    """The memory of the one inside ("inner"), or that of the policy around it ("own")."""
    found: Memory = saved.get(name, NOTHING)
    return found


def fields_saved(value: object, names: Iterable[str]) -> dict[str, Any]:
    """The attributes of these names, which are JSON values already; see `fields_restored`."""
    return {name.lstrip("_"): getattr(value, name) for name in names}


def fields_restored(value: object, names: Iterable[str], saved: Memory) -> None:
    """Give the attributes back what `fields_saved` returned."""
    for name in names:
        setattr(value, name, saved[name.lstrip("_")])


def finite(value: float) -> float | None:
    """A number; None for one that is infinite, which JSON cannot express."""
    return value if math.isfinite(value) else None


def or_infinite(value: float | None, infinite: float = math.inf) -> float:
    """The number of which `finite` made the value. infinite: what None was."""
    return infinite if value is None else float(value)


def phases_saved(phases: Iterable[PhaseEntry]) -> list[PhaseName]:
    """The names of the phases whose jobs have not ended, in the order in which they come first."""
    open_ones = (phase for phase in phases if not phase.job.has_ended)
    return [(phase.job_id, phase.index) for phase in dict.fromkeys(open_ones)]


def phases_restored(names: Iterable[PhaseName], state: ClusterState) -> list[PhaseEntry]:
    """The phases of these names. Raises KeyError or IndexError if there is none."""
    return [state.jobs[job_id].phases[index] for job_id, index in names]
