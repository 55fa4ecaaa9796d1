"""The answer of `steer`: a sentence, a table and the document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sluice.model.errors import sentence
from sluice.reporting.columns import Column, column_document, column_table
from sluice.reporting.document_html import NotebookView
from sluice.reporting.formatting import counted, shortened
from sluice.reporting.table_style import Table, short_name

_BODY_LETTERS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeredValue:
    """One value of the cluster. Texts are as YARN has them; "" for none.

    after: as it was read back; None for a value that was not tried.  refusal: what YARN said.
    reason: why a policy wants it; "" in a plan of a user.
    """

    target: str
    setting: str
    before: str
    wanted: str
    after: str | None = None
    refusal: str = ""
    reason: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the cluster has what was wanted."""
        return not self.refusal and self.after == self.wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of the REST interface. body: JSON."""

    method: str
    path: str
    body: object

    @property
    def line(self) -> str:
        """The call in one line."""
        return f"{self.method} {self.path} {shortened(json.dumps(self.body), _BODY_LETTERS_MAX)}"


VALUE_COLUMNS: Sequence[Column[SteeredValue]] = (
    Column("target", "of", short_name, is_left=True),
    Column("setting", "value", is_left=True),
    Column("before", "before", of=lambda one: one.before or None, is_left=True),
    Column("wanted", "wanted", of=lambda one: one.wanted or None, is_left=True),
    Column("after", "now", of=lambda one: one.after or None, is_left=True),
    Column("done", of=lambda one: one.is_done),
    Column("refusal", of=lambda one: one.refusal or None),
    Column("reason", of=lambda one: one.reason or None),
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SteeringResult(NotebookView):
    """values: all that differed from the plan.  undo_file: the plan that takes them back."""

    address: str
    is_dry_run: bool
    values: tuple[SteeredValue, ...]
    calls: tuple[Call, ...]
    undo_file: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether the cluster is as the plan has it, or would be."""
        return self.is_dry_run or all(one.is_done for one in self.values)

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        if not self.values:
            return "The cluster is as the plan has it; nothing was changed."
        many = counted(len(self.values), "value")
        if self.is_dry_run:
            return (
                f"{many} would change, in {counted(len(self.calls), 'call')}; nothing was changed."
            )
        done = sum(one.is_done for one in self.values)
        if done == len(self.values):
            verb = "is" if done == 1 else "are"
            return f"{many} {verb} changed, and read back as wanted."
        refused = next((one for one in self.values if one.refusal), None)
        if refused is not None:
            return f"{done} of {many} changed; YARN refused: {sentence(refused.refusal)}"
        late = next(one for one in self.values if one.after is not None and not one.is_done)
        return (
            f"{done} of {many} changed; {late.setting} of {late.target} is"
            f" {late.after or 'not there'}, not {late.wanted or 'gone'}."
        )

    def table(self) -> Table:
        """One row for each value that differed from the plan."""
        columns = [one for one in VALUE_COLUMNS if one.name != "after" or not self.is_dry_run]
        return column_table(columns, self.values)

    def document(self) -> dict[str, object]:
        """The document that `--json` prints."""
        return {
            "address": self.address,
            "dry_run": self.is_dry_run,
            "done": self.is_done,
            "changes": [column_document(VALUE_COLUMNS, one) for one in self.values],
            "calls": [asdict(one) for one in self.calls],
            "undo": self.undo_file,
            "notes": list(self.notes),
        }
