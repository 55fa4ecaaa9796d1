"""How the utility and the job slots of each job change over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sluice.policies.ras.placement import Placement
from sluice.policies.ras.utility import NO_SLOT


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementChange:
    """A job's share of the placement from a control cycle on.

    utility: None while the job has maps left and no map slot.  needed: map slots for its goal.
    """

    at_s: float
    utility: float | None
    map_slots: int
    reduce_slots: int
    needed: int
    yields: bool = False


class PlacementHistory:
    """The changes of each job. A cycle that changes nothing for a job leaves no trace."""

    def __init__(self) -> None:
        self.changes: dict[str, list[PlacementChange]] = {}
        self.cycles = 0

    def note(self, at_s: float, placement: Placement) -> None:
        """Note a new placement."""
        self.cycles += 1
        for index, need in enumerate(placement.jobs):
            utility = placement.utility[index]
            change = PlacementChange(
                at_s=at_s,
                utility=None if utility == NO_SLOT else utility,
                map_slots=placement.map_slots[index],
                reduce_slots=placement.reduce_slots[index],
                needed=need.map_slots_needed,
                yields=need.yields,
            )
            known = self.changes.setdefault(need.job_id, [])
            if not known or not _is_same(known[-1], change):
                known.append(change)

    def notes(self, job_id: str) -> Iterator[tuple[float, str, str]]:
        """The changes of a job, for its story: instant, what happened, and why."""
        for change in self.changes.get(job_id, ()):
            utility = "no map slot yet" if change.utility is None else f"{change.utility:.2f}"
            slots = (
                f"{_counted(change.map_slots, 'map')}, {_counted(change.reduce_slots, 'reduce')}"
            )
            why = f"utility {utility}"
            if change.yields:
                why += "; its goal cannot be met, so it yields"
            elif change.needed:
                why += f"; its goal needs {_counted(change.needed, 'map')}"
            yield change.at_s, f"placed: {slots}", why

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "control_cycles": self.cycles,
            "placements": {
                job: [
                    {
                        "at_s": one.at_s,
                        "utility": one.utility,
                        "map_slots": one.map_slots,
                        "reduce_slots": one.reduce_slots,
                        "map_slots_needed": one.needed,
                    }
                    for one in changes
                ]
                for job, changes in self.changes.items()
            },
        }


def _counted(slots: int, kind: str) -> str:
    """A number of slots of a kind, as text.

    >>> _counted(1, "map")
    '1 map slot'
    """
    return f"{slots} {kind} slot{'s' * (slots != 1)}"


def _is_same(one: PlacementChange, other: PlacementChange) -> bool:
    return (one.utility, one.map_slots, one.reduce_slots, one.yields) == (
        other.utility, other.map_slots, other.reduce_slots, other.yields,
    )  # fmt: skip
