"""Why a job gets its VMs, as document, sentences and table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sluice.model.vm_pools import VmType
from sluice.planning.pools.choice import Alternative, Verdict, VmChoice
from sluice.planning.pools.prices import Price, falling_prices
from sluice.planning.pools.problem import Option
from sluice.planning.pools.schedule import PoolOutcome
from sluice.planning.pools.slots import Slot
from sluice.reporting.columns import Column, column_table
from sluice.reporting.document_html import NotebookView
from sluice.reporting.documents import document_of
from sluice.reporting.formatting import count, counted, hundredths, tenths, visible

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_ROWS_MAX = 40


@dataclass(frozen=True, slots=True, repr=False)
class VmChoiceResult(NotebookView):
    """Why a job gets its VMs, and what it would have cost elsewhere.

    outcome: of a job whose tasks run, what is known so far.  server_units: resource units of one
    server; None if a run has none, so that costs are in unit-seconds.  is_past: it is about a run
    of tasks, in which the job may have ended.  totals: server-seconds of all jobs by the deadline
    of this one; empty where that is not known.
    """

    choice: VmChoice
    outcome: PoolOutcome
    types: Sequence[VmType]
    server_units: float | None
    is_past: bool = False
    totals: Mapping[float, float] = field(default_factory=dict)

    def document(self) -> dict[str, object]:
        """Return the fields as plain JSON values."""
        choice, outcome, slot = self.choice, self.outcome, self.choice.slot
        option, deadline_at_s = outcome.option, outcome.job.deadline_at_s
        return {
            "job": choice.job.job_id,
            "vm_type": None if option is None else self._type(option),
            "vms": None if option is None else option.vms,
            **document_of(outcome, "started_at_s finished_at_s"),
            "planned_start_at_s": None if slot is None else slot.start_s,
            "planned_until_s": None if slot is None else slot.end_s,
            "deadline_at_s": deadline_at_s if deadline_at_s < math.inf else None,
            **self._costs(outcome.cost_server_s),
            "met": outcome.met,
            "why": " ".join(self.sentences()),
            **document_of(choice, "placed_at_s window_at_s=window_s decider freed_by"),
            "least_deadline_at_s": outcome.least_deadline_at_s,
            "alternatives": [self._row(one) for one in choice.alternatives],
            "prices": [price._asdict() for price in self._later_prices()],
        }

    def _row(self, one: Alternative) -> dict[str, object]:
        return {
            "vm_type": self._type(one.option),
            "vms": one.option.vms,
            "configuration": self.types[one.option.pool].configuration,
            "started_at_s": one.start_s,
            "finished_at_s": one.end_s,
            **self._costs(one.option.cost_server_s),
            "verdict": one.verdict.value,
        }

    def _costs(self, cost: float) -> dict[str, object]:
        units = self.server_units
        if units is None:
            return {"cost_server_s": None, "unit_s": cost}
        return {"cost_server_s": cost, "unit_s": cost * units}

    def _type(self, option: Option) -> str:
        return self.types[option.pool].type_id

    @property
    def cost_unit(self) -> str:
        """Return what costs are counted in."""
        return "unit" if self.server_units is None else "server"

    def sentences(self) -> Iterator[str]:
        """Which VMs, why these, why then, and what the window says."""
        choice, outcome = self.choice, self.outcome
        slot, option = choice.slot, outcome.option
        if slot is None or option is None:
            verb = "is refused" if outcome.is_refused else "misses its deadline"
            yield f"It {verb} at {tenths(choice.placed_at_s)} s: {outcome.why}."
            yield from self._offer_sentences()
            return
        yield self._cluster_sentence(option, slot)
        yield from self._deadline_sentences(option)
        yield self._start_sentence()
        if choice.window_s is not None:
            yield self._window_sentence(choice.window_s, self._type(option))

    def notes(self) -> Iterator[tuple[float, str, str]]:
        """The reservation for the story of the job: instant, what happened, and why."""
        slot = self.choice.slot
        if slot is not None:
            option, (_, *reasons) = slot.option, self.sentences()
            vms = f"{counted(option.vms, 'VM')} of {self._type(option)}"
            plan = f"from {tenths(slot.start_s)} s to {tenths(slot.end_s)} s"
            yield self.choice.placed_at_s, f"reserved {vms} {plan}", " ".join(reasons)

    def _cluster_sentence(self, option: Option, slot: Slot) -> str:
        outcome = self.outcome
        vms = f"{counted(option.vms, 'VM')} of {self._type(option)}"
        cost = f"{hundredths(outcome.cost_server_s)} {self.cost_unit}-seconds"
        if outcome.started_at_s is None:
            plan = f"from {tenths(slot.start_s)} s to {tenths(slot.end_s)} s"
            return f"It has a reservation for {vms} {plan}, for {cost}."
        from_s = tenths(outcome.started_at_s)
        if outcome.finished_at_s is None:
            until_s = tenths(slot.end_s)
            return f"It runs on {vms} from {from_s} s, planned to {until_s} s, for {cost}."
        verb = "ran" if self.is_past else "runs"
        return (
            f"It {verb} on {vms} from {from_s} s to {tenths(outcome.finished_at_s)} s, for {cost}."
        )

    def _deadline_sentences(self, option: Option) -> Iterator[str]:
        choice, deadline_at_s = self.choice, self.outcome.job.deadline_at_s
        if deadline_at_s == math.inf:
            yield "It has no deadline."
        if choice.job.names_cluster:
            yield "Its customer named this cluster."
            return
        if choice.job.deadline_at_s == math.inf:
            if deadline_at_s < math.inf:
                yield f"No VMs were free in time for its deadline at {tenths(deadline_at_s)} s."
                yield from self._offer_sentences()
            yield "No other cluster is cheaper."
            return
        waits_for_window = any(
            one.verdict is Verdict.AFTER_WINDOW and one.option.level < option.level
            for one in choice.alternatives
        )
        limit = " and starts inside the reservation windows" if waits_for_window else ""
        yield f"No cheaper cluster meets its deadline at {tenths(deadline_at_s)} s{limit}."
        later = self._later_prices()
        if later:
            yield (
                f"With a deadline at {tenths(later[0].deadline_s)} s it would cost"
                f" {hundredths(later[0].cost_server_s)}"
                + (f", and {hundredths(later[-1].cost_server_s)} at"
                   f" {tenths(later[-1].deadline_s)} s." if len(later) > 1 else ".")
            )  # fmt: skip
            more = self._dearer_by(later)
            if more > 0:
                yield (
                    "But its cheaper VMs would be in the way of other jobs: all jobs together would"
                    f" cost {hundredths(more)} more."
                )

    def _dearer_by(self, later: Sequence[Price]) -> float:
        """How much dearer all jobs can get with one of these deadlines; 0 if none is known."""
        now = self.totals.get(self.outcome.job.deadline_at_s)
        if now is None:
            return 0.0
        more = (self.totals.get(one.deadline_s, now) - now for one in (later[0], later[-1]))
        return max(0.0, *more)

    def _later_prices(self) -> list[Price]:
        """Less than it costs now, by deadlines after its own, with the VMs that are free then."""
        option, deadline_at_s = self.outcome.option, self.outcome.job.deadline_at_s
        if option is None:
            return []
        ends = (
            (one.end_s, one.option.cost_server_s)
            for one in self.choice.alternatives
            if one.end_s is not None and one.end_s > deadline_at_s
            if one.option.cost_server_s < option.cost_server_s
        )
        return falling_prices(ends)

    def _offer_sentences(self) -> Iterator[str]:
        least_s = self.outcome.least_deadline_at_s
        if least_s is not None:
            yield f"The least deadline possible was {tenths(least_s)} s."

    def _start_sentence(self) -> str:
        choice = self.choice
        assert choice.slot is not None, "the job has a reservation"
        at_s = choice.slot.start_s
        if at_s <= choice.job.arrives_at_s:
            return "It starts at its arrival."
        if choice.freed_by:
            names = ", ".join(choice.freed_by)
            ends = f"job {names} ends" if len(choice.freed_by) == 1 else f"jobs {names} end"
            return f"It waits to {tenths(at_s)} s, when {ends} and its VMs are free."
        return f"It waits to {tenths(at_s)} s, when it gets its reservation."

    def _window_sentence(self, window_s: float, type_id: str) -> str:
        choice = self.choice
        end = f"the reservation window of {type_id}, which ends at {tenths(window_s)} s"
        if choice.decider == choice.job.job_id:
            return f"It decides {end}: no later start is reserved before then."
        assert choice.slot is not None, "the job has a reservation"
        if choice.slot.start_s > window_s:
            return (
                f"It starts after {end} with job {choice.decider}: it was booked first, because"
                " another job would have taken its last VMs in time."
            )
        return f"It starts inside {end} with job {choice.decider}."


def choice_text(result: VmChoiceResult) -> Text:
    """The sentences, one a line."""
    from rich.text import Text

    return Text("".join(visible(f"  {sentence}\n") for sentence in result.sentences()))


def alternatives_table(result: VmChoiceResult) -> Table:
    """Return what each cluster would have cost, cheapest first.

    Clusters above the pool are left out.
    """
    every = result.choice.alternatives
    found = [one for one in every if one.verdict is not Verdict.TOO_LARGE]
    columns: Sequence[Column[Alternative]] = (
        Column(
            "", "VM type", of=lambda one: result.types[one.option.pool].type_id, is_left=True
        ),
        Column("option.vms", "VMs", count),
        Column("start_s", "start s", tenths),
        Column("end_s", "end s", tenths),
        Column("option.cost_server_s", f"{result.cost_unit}-s", hundredths),
        Column(
            "verdict.value", "verdict", is_left=True, wraps=True,
            style=lambda one: "bold" if one.verdict is Verdict.CHOSEN else "",
        ),
    )  # fmt: skip
    table = column_table(columns, found, rows_max=_ROWS_MAX)
    if len(found) < len(every):
        table.caption = f"{counted(len(every) - len(found), 'cluster')} larger than the pool"
    return table
