"""The answers of `why` and `story` as results: short in a terminal, tables in a notebook.

`core.why` and `core.story` find what they say, on a floor that knows no HTML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from sluice.core.explain.story import Story
from sluice.core.explain.why import Why
from sluice.reporting.document_html import NotebookView
from sluice.reporting.explain.diagnosis import Diagnosis
from sluice.reporting.explain.helpful import HelpfulChanges
from sluice.reporting.pools.choice import VmChoiceResult


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WhyAnswer(Why, NotebookView):
    """Why a job waits, or how it ended.

    vms: why the job got its VMs, on VM pools; None for other runs, and before it was placed.
    diagnosis: why it took that long, if it has ended well.
    helpful: changes with which it ends by an instant, the smallest first; None if not asked for.
    asked_as: the name by which the job was asked for, if that is not its id.
    waited_for: the answer for an instant at which the job waited, or tasks of it, if it has ended.
    """

    vms: VmChoiceResult | None = None
    diagnosis: Diagnosis | None = None
    helpful: HelpfulChanges | None = None
    asked_as: str | None = None
    waited_for: Why | None = None

    @classmethod
    def of(
        cls,
        found: Why,
        asked_for: str,
        *,
        vms: VmChoiceResult | None = None,
        diagnosis: Diagnosis | None = None,
        helpful: HelpfulChanges | None = None,
        waited_for: Why | None = None,
    ) -> Self:
        """The answer of the core, with its views for people and notebooks.

        asked_for: the job's id, or the name of its application or profile.
        """
        asked_as = None if found.job_id == asked_for else asked_for
        return cls(
            **_values(found),
            vms=vms,
            diagnosis=diagnosis,
            helpful=helpful,
            asked_as=asked_as,
            waited_for=waited_for,
        )

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        found = Why.document(self)
        if self.asked_as is not None:
            found["asked_as"] = self.asked_as
        if self.waited_for is not None:
            found["waited_for"] = self.waited_for.document()
        if self.diagnosis is not None:
            found["explained"] = list(self.diagnosis.in_short())
        if self.helpful is not None:
            found["would_help"] = [one.document() for one in self.helpful.changes]
        return found if self.vms is None else {**found, "vms": self.vms.document()}

    __repr__ = NotebookView.__repr__  # that of `Why` writes out all fields


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoryAnswer(Story, NotebookView):
    """The answer of `story`: the history of a job, a task or a node."""

    @classmethod
    def of(cls, found: Story) -> Self:
        """The answer of the core, with its views for people and notebooks."""
        return cls(**_values(found))

    __repr__ = NotebookView.__repr__  # that of `Story` writes out all lines


def _values(found: Why | Story) -> Mapping[str, Any]:
    return {field.name: getattr(found, field.name) for field in fields(found)}
