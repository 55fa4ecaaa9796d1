"""Changes that would have let a job end in time, as an answer shows them."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sluice.reporting.formatting import duration


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpfulChange:
    """A change, and what a simulation with it gives. Instants are seconds.

    change: for people.  size: what it adds, as a share of what there is.
    """

    change: str
    kind: str
    size: float
    starts_at_s: float
    ends_at_s: float

    def document(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpfulChanges:
    """The smallest of each kind with which a job ends by an instant; none if it does without.

    ends_at_s: when it ends without a change; None for never.
    """

    by_s: float
    ends_at_s: float | None
    changes: tuple[HelpfulChange, ...]

    @property
    def is_in_time(self) -> bool:
        """Whether the job ends by then without a change."""
        return self.ends_at_s is not None and self.ends_at_s <= self.by_s


def helpful_lines(found: HelpfulChanges) -> list[str]:
    """The answer to "what would help", a line for each change."""
    changes, by_s = found.changes, found.by_s
    if found.ends_at_s is not None and found.is_in_time:
        return [f"it ends by then without a change, at {duration(found.ends_at_s)}"]
    if not changes:
        return [f"no change that was tried lets it end by {duration(by_s)}"]
    return [
        f"{one.change}: it starts at {duration(one.starts_at_s)} and ends at"
        f" {duration(one.ends_at_s)}"
        for one in changes
    ]
