"""When each job of a queue starts and ends, with an interval and a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from sluice.core.reasons import Reason
from sluice.reporting.columns import Column, column_frame, named
from sluice.reporting.document_html import NotebookView
from sluice.reporting.formatting import counted, duration_tight
from sluice.reporting.table_style import short_name

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Seconds from the listing on. Between low and high with the probability of the answer.

    expected: as likely earlier as later.  None where it is not known.
    """

    expected: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEta:
    """One job. runs: past runs that it is compared with, 0 for none; kind: what they share.

    None of a job of the service, which has forecasts of its own.
    reason: why it does not run yet, a text from the service; None of one that runs.
    """

    job_id: str
    slots: int
    is_running: bool
    starts_in_s: When
    ends_in_s: When
    reason: Reason | str | None
    runs: int | None
    kind: str | None

    def document(self, level: float) -> dict[str, object]:
        """Return the fields as JSON values."""
        reason: dict[str, object] | None = None
        if isinstance(self.reason, str):
            reason = {"text": self.reason}
        elif self.reason is not None:
            numbers = dict(self.reason.numbers)
            reason = {"code": self.reason.code.name.lower(), **numbers, "text": self.reason.text()}
        return {
            "state": "running" if self.is_running else "waiting",
            "slots": self.slots,
            "starts_in_s": asdict(self.starts_in_s),
            "ends_in_s": asdict(self.ends_in_s),
            "level": level,
            "reason": reason,
            "basis": {"runs": self.runs, "alike_in": self.kind},
        }


def _interval(job: JobEta) -> str | None:
    low, high = job.ends_in_s.low, job.ends_in_s.high
    if high is None:
        return None
    if low is None:
        return f"at most {duration_tight(high)}"
    return f"{duration_tight(low)} - {duration_tight(high)}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EtaReport(NotebookView):
    """jobs: those that run, then those that wait, the first in line first.

    as_of: when the queue was listed.  slots: of the cluster.  level: of the intervals.
    notes: what was chosen where the list is silent.  skipped: entries that were left out.
    """

    as_of: str
    slots: int
    level: float
    jobs: tuple[JobEta, ...]
    notes: tuple[str, ...]
    skipped: int

    @property
    def waiting(self) -> tuple[JobEta, ...]:
        """The jobs that wait."""
        return tuple(job for job in self.jobs if not job.is_running)

    def document(self) -> dict[str, object]:
        """The one JSON document of `eta`."""
        return {
            "as_of": self.as_of,
            "slots": self.slots,
            "jobs": {job.job_id: job.document(self.level) for job in self.jobs},
            "skipped": self.skipped,
            "notes": list(self.notes),
        }

    def to_frame(self) -> DataFrame:
        """One row for each job. Raises MissingExtra without pandas."""
        return column_frame(self.columns(), self.jobs)

    def columns(self) -> Sequence[Column[JobEta]]:
        """The columns of a job."""
        return (
            named("job", lambda job: job.job_id, name="job", text=short_name),
            Column("is_running"),
            Column("", "slots", of=lambda job: job.slots),
            Column(
                "starts_in_s", "starts in", duration_tight, lambda job: job.starts_in_s.expected
            ),
            Column("ends_in_s", "ends in", duration_tight, lambda job: job.ends_in_s.expected),
            Column("ends_in_s_low", of=lambda job: job.ends_in_s.low),
            Column("ends_in_s_high", of=lambda job: job.ends_in_s.high),
            Column("", f"ends, {self.level:.0%}", of=_interval),
        )

    def __repr__(self) -> str:
        return f"<EtaReport: {len(self.waiting)} jobs wait, {len(self.jobs)} in all>"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EtaJudgement(NotebookView):
    """How often the intervals of `eta` held in a log, and how far off its ends were.

    jobs: waiting jobs that were asked about, at so many instants.

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
