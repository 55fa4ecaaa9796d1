"""Why a job gets its VMs, as document, sentences and table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.planning.pools.choice import Alternative, Verdict, VmChoice
from sluice.planning.pools.problem import Option, PoolProblem
from sluice.planning.pools.schedule import PoolOutcome
from sluice.reporting.document_html import NotebookView
from sluice.reporting.formatting import NOTHING, count, counted, hundredths, tenths, visible
from sluice.reporting.table_style import left_out, plain_table, plain_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_ROWS_MAX = 40


@dataclass(frozen=True, slots=True, repr=False)
class VmChoiceResult(NotebookView):
    """Why a job gets its VMs, and what it would have cost elsewhere."""

    choice: VmChoice
    outcome: PoolOutcome
    problem: PoolProblem

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        choice, outcome = self.choice, self.outcome
        option = outcome.option
        return {
            "job": choice.job.job_id,
            "vm_type": None if option is None else self._type(option),
            "vms": None if option is None else option.vms,
            "started_at_s": outcome.started_at_s,
            "finished_at_s": outcome.finished_at_s,
            "deadline_at_s": choice.job.deadline_at_s,
            "cost_server_s": outcome.cost_server_s,
            "met": outcome.met,
            "why": " ".join(self.sentences()),
            "placed_at_s": choice.placed_at_s,
            "window_at_s": choice.window_s,
            "decider": choice.decider,
            "freed_by": list(choice.freed_by),
            "least_deadline_at_s": outcome.least_deadline_at_s,
            "alternatives": [self._row(one) for one in choice.alternatives],
        }

    def _row(self, one: Alternative) -> dict[str, object]:
        return {
            "vm_type": self._type(one.option),
            "vms": one.option.vms,
            "started_at_s": one.start_s,
            "finished_at_s": one.end_s,
            "cost_server_s": one.option.cost_server_s,
            "verdict": one.verdict.value,
        }

    def _type(self, option: Option) -> str:
        return self.problem.types[option.pool].type_id

    def sentences(self) -> Iterator[str]:
        """Which VMs, why these, why then, and what the window says."""
        choice, outcome, job = self.choice, self.outcome, self.choice.job
        slot, option = choice.slot, outcome.option
        if slot is None or option is None:
            verb = "is refused" if outcome.is_refused else "misses its deadline"
            yield f"It {verb} at {tenths(choice.placed_at_s)} s: {outcome.why}."
            if outcome.least_deadline_at_s is not None:
                yield f"The least deadline possible was {tenths(outcome.least_deadline_at_s)} s."
            return
        yield (
            f"It runs on {counted(option.vms, 'VM')} of {self._type(option)} from"
            f" {tenths(outcome.started_at_s)} s to {tenths(outcome.finished_at_s)} s, for"
            f" {hundredths(outcome.cost_server_s)} server-seconds."
        )
        waits_for_window = any(
            one.verdict is Verdict.AFTER_WINDOW and one.option.level < option.level
            for one in choice.alternatives
        )
        limit = " and starts inside the reservation windows" if waits_for_window else ""
        yield f"No cheaper cluster meets its deadline at {tenths(job.deadline_at_s)} s{limit}."
        yield self._start_sentence()
        if choice.window_s is not None:
            yield self._window_sentence(choice.window_s, self._type(option))

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
    """The name of the job and the sentences, one a line."""
    from rich.text import Text

    text = Text()
    text.append(visible(f"job {result.choice.job.job_id}\n"), style="bold")
    for sentence in result.sentences():
        text.append(visible(f"  {sentence}\n"))
    return text


def alternatives_table(result: VmChoiceResult) -> Table:
    """What each cluster would have cost, cheapest first; clusters above the pool are left out."""
    every = result.choice.alternatives
    found = [one for one in every if one.verdict is not Verdict.TOO_LARGE]
    table = plain_table(left_out(max(0, len(found) - _ROWS_MAX)))
    if len(found) < len(every):
        table.caption = f"{counted(len(every) - len(found), 'cluster')} larger than the pool"
    table.add_column("VM type", no_wrap=True)
    for name in ("VMs", "start s", "end s", "server-s"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for one in found[:_ROWS_MAX]:
        row = result.problem.types[one.option.pool].type_id
        is_chosen = one.verdict is Verdict.CHOSEN
        table.add_row(
            plain_text(row),
            plain_text(count(one.option.vms)),
            plain_text(NOTHING if one.start_s is None else tenths(one.start_s)),
            plain_text(NOTHING if one.end_s is None else tenths(one.end_s)),
            plain_text(hundredths(one.option.cost_server_s)),
            plain_text(one.verdict.value, "bold" if is_chosen else ""),
        )
    return table
