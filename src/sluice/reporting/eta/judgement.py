"""How often the intervals of `eta` held in a log, and how far off its ends were."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sluice.reporting.document_html import NotebookView
from sluice.reporting.formatting import counted


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EtaJudgement(NotebookView):
    """jobs: waiting jobs that were asked about, at so many instants.

    held: the share of them whose end was within the interval, which should be `level`.
    error: the median of how far off the expected end was, as a share of the true time to it.
    limit_error: the same if all jobs ran as long as users' limits allow.
    """

    log: str
    slots: int
    level: float
    jobs: int
    instants: int
    held: float
    error: float
    limit_error: float

    def document(self) -> dict[str, object]:
        """The one JSON document of `eta --judge`."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def sentence(self) -> str:
        """The answer for people."""
        return (
            f"Intervals of {self.level:.0%} held for {self.held:.1%} of"
            f" {counted(self.jobs, 'waiting job')}. Ends were off by {self.error:.1%} in the"
            f" median, by users' limits {self.limit_error:.1%}."
        )

    def __repr__(self) -> str:
        return f"<EtaJudgement of {self.log!r}: {self.sentence()}>"
