"""Spills of the maps of a live run, next to those that the model of buffers predicts.

Only jobs with a `buffer` are measured; a plan with tuned buffers gives them one. The prediction
needs `map_output`. A run moves bytes as the `merge` model says: the output once, and twice more for
each pass of a merge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sluice.core.entries import Attempt
from sluice.core.transitions import AttemptState
from sluice.model.attempts import Usage
from sluice.model.job import Job
from sluice.model.prices import Prices
from sluice.model.slot_kind import SlotKind
from sluice.planning.pareto.problem import IoModel
from sluice.planning.pareto.spills import MapShare, moved_bytes, spills
from sluice.reporting.formatting import counted, money, size


@dataclass(frozen=True, slots=True, kw_only=True)
class SpillFigures:
    """Spills of all maps of a job.

    spilled_bytes: written and read, with the output.  merge_passes: of the map with most.
    io_usd: what that costs; None without prices.
    """

    spills: int
    spilled_bytes: float
    merge_passes: int
    io_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferUse:
    """The use of a job's buffer. predicted: None if its map output is not known."""

    job_id: str
    measured: SpillFigures
    predicted: SpillFigures | None

    def document(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "measured": asdict(self.measured),
            "predicted": None if self.predicted is None else asdict(self.predicted),
        }


def buffer_text(job_id: str, document: Mapping[str, Any]) -> str:
    """One line of the document of a `BufferUse`.

    >>> measured = {"spills": 4, "spilled_bytes": 6e6, "merge_passes": 1, "io_usd": None}
    >>> buffer_text("sort", {"measured": measured, "predicted": measured | {"spills": 5}})
    'buffer of sort: 4 spills, 5.7 MiB moved, 1 merge (predicted: 5 spills, 5.7 MiB moved, 1 merge)'
    """
    found, wanted = document["measured"], document["predicted"]
    prediction = "" if wanted is None else f" (predicted: {_figures(wanted)})"
    return f"buffer of {job_id}: {_figures(found)}{prediction}"


def _figures(figures: Mapping[str, Any]) -> str:
    parts = [
        counted(figures["spills"], "spill"),
        f"{size(figures['spilled_bytes'])} moved",
        counted(figures["merge_passes"], "merge"),
    ]
    usd = figures["io_usd"]
    return ", ".join(parts if usd is None else [*parts, f"I/O {money(usd)}"])


def buffer_uses(
    jobs: Iterable[Job], attempts: Iterable[Attempt], prices: Prices | None
) -> tuple[BufferUse, ...]:
    """The jobs whose maps filled a buffer, in the order of the file.

    jobs: as in the file.  attempts: of the run.
    """
    used: dict[str, list[Usage]] = {}
    for attempt in attempts:
        usage, phase = attempt.usage, attempt.phase
        is_map = phase.phase.kind is SlotKind.MAP and attempt.state is AttemptState.DONE
        if is_map and usage is not None and usage.spills:
            used.setdefault(phase.job.job_id, []).append(usage)
    return tuple(
        BufferUse(
            job_id=job.job_id,
            measured=_measured(used[job.job_id], prices),
            predicted=predicted_spills(job, len(used[job.job_id]), prices),
        )
        for job in jobs
        if job.buffer is not None and job.job_id in used
    )


def _measured(used: Sequence[Usage], prices: Prices | None) -> SpillFigures:
    spilled_bytes = sum(one.spilled_bytes for one in used)
    return SpillFigures(
        spills=sum(one.spills for one in used),
        spilled_bytes=spilled_bytes,
        merge_passes=max(one.merge_passes for one in used),
        io_usd=None if prices is None else prices.io_usd(spilled_bytes),
    )


def predicted_spills(job: Job, maps: int, prices: Prices | None) -> SpillFigures | None:
    """Predict what that many maps with equal shares of `map_output` do with the buffer of the job.

    None without buffer or output. Source: pareto (18) to (21), and E12 for merges.
    """
    output = job.map_output
    if job.buffer is None or output is None or not (output.bytes > 0 and output.records > 0):
        return None
    setting, share = job.buffer.default, MapShare(output.bytes / maps, output.records / maps)
    times = round(spills(share, setting).times)
    spilled_bytes = maps * moved_bytes(share, setting, IoModel.MERGE)
    return SpillFigures(
        spills=maps * times,
        spilled_bytes=spilled_bytes,
        merge_passes=setting.merge_passes(times),
        io_usd=None if prices is None else prices.io_usd(spilled_bytes),
    )
