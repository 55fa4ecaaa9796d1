"""The diagnosis of a run on one screen. Rich is imported when a table is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from sluice.estimate.run_anatomy import PathStep, Skew
from sluice.reporting.columns import Column, column_table
from sluice.reporting.explain.diagnosis import Advice, Diagnosis, WhatIf
from sluice.reporting.explain.text import why_text
from sluice.reporting.formatting import (
    count,
    counted,
    distinguished,
    duration,
    share,
    shortened,
    signed,
    size,
    visible,
)
from sluice.reporting.table_style import (
    NameCell,
    RenderableType,
    Table,
    framed,
    left_out,
    name_cell,
    plain_table,
    plain_text,
)

STAGES_MAX = 6
_STAGE_LETTERS = 44
_Stage = TypeVar("_Stage", PathStep, Skew)


def diagnosis_views(found: Diagnosis) -> Iterator[RenderableType]:
    """The answer in a sentence, where the time went, the critical path, skew, and advice."""
    yield plain_text(diagnosis_sentence(found))
    yield framed(shortened(f"{found.profile} ({found.run_id})", 60), _totals(found))
    yield _path_table(found)
    if found.anatomy.skew:
        yield _skew_table(found)
    yield _slots_table(found)
    if found.advice:
        yield _advice_table(found)
    if found.queued is not None:
        yield plain_text(f"In the queues of {visible(found.queued.config)}:")
        yield why_text(found.queued.ended, waited_for=found.queued.waited)
    for note in found.notes:
        yield plain_text(f"note: {note}")


def diagnosis_sentence(found: Diagnosis) -> str:
    """The answer in short: what took longest, and the change that would save most."""
    anatomy = found.anatomy
    parts = [
        (f"{shortened(step.stage, _STAGE_LETTERS)} took {duration(step.s)} of it", step.s)
        for step in anatomy.critical_path
    ]
    parts.append((f"no task ran for {duration(anatomy.driver_s)} of it", anatomy.driver_s))
    parts.append((f"it waited {duration(anatomy.waited_s)} for slots", anatomy.waited_s))
    longest = max(parts, key=lambda part: part[1])[0]
    name = visible(shortened(found.profile, _STAGE_LETTERS))
    took = f"{name} took {duration(anatomy.recorded_s)}: {longest}."
    if not found.advice:
        return took
    best = found.advice[0]
    what = best.what[:1].lower() + best.what[1:]
    return f"{took} To save {duration(best.saves_s)}: {what}."


def _totals(found: Diagnosis) -> Iterator[tuple[str, str]]:
    anatomy = found.anatomy
    if not found.succeeded:
        yield "ended", "it failed, or its end is not in the log"
    yield "recorded", duration(anatomy.recorded_s)
    if found.deadline_s is not None:
        late = f"missed by {duration(found.late_s)}" if found.late_s else "met"
        yield "deadline", f"{duration(found.deadline_s)}, {late}"
    yield "replayed", f"{duration(found.replayed_s)} ({signed(found.replay_error)})"
    if anatomy.waited_s:
        yield "waited for slots", duration(anatomy.waited_s)
    yield "no task running", f"{duration(anatomy.driver_s)} ({share(found.driver_share)})"
    if anatomy.startup_s:
        first, last = duration(anatomy.startup_s), duration(anatomy.ending_s)
        yield "", f"{first} before the first task, {last} after the last"
    yield "slots", f"{count(found.slots)}, idle {share(anatomy.idle_share)} of their time"
    if found.failed_attempts:
        yield "failed", counted(found.failed_attempts, "attempt")
    yield from _costs(found)


def _costs(found: Diagnosis) -> Iterator[tuple[str, str]]:
    """Yield what tasks spent besides their work, as far as the log holds it."""
    if found.gc_s is not None:
        yield "garbage collection", f"{duration(found.gc_s)} in all tasks"
    if found.spilled_bytes is not None:
        yield "spilled to disk", size(found.spilled_bytes) if found.spilled_bytes else "nothing"
    if found.spilled_records is not None:
        yield "spilled to disk", counted(found.spilled_records, "record")
    if found.map_spills is not None:
        spills = found.map_spills
        predicted = f"predicted with a buffer of {spills.sort_mb} MiB: "
        predicted += count(spills.predicted_records)
        yield "by maps", f"{counted(spills.records, 'record')} ({predicted})"
    if found.remote_tasks is not None:
        yield "away from their input", counted(found.remote_tasks, "task")


def _path_table(found: Diagnosis) -> Table:
    steps = found.anatomy.critical_path
    shown = sorted(sorted(steps, key=lambda one: -one.s)[:STAGES_MAX], key=steps.index)
    return plain_table(
        left_out(len(steps) - len(shown)),
        names=("critical path",),
        numbers=("time", "share"),
        rows=((name, duration(step.s), share(step.share)) for name, step in _named(shown)),
    )


def _named(stages: Sequence[_Stage]) -> Iterator[tuple[NameCell, _Stage]]:
    """Each stage with its name, of which as much is left as it needs to differ from the others."""
    names = distinguished([one.stage for one in stages], _STAGE_LETTERS)
    for one, short in zip(stages, names, strict=True):
        yield name_cell(one.stage, short=short), one


def _skew_table(found: Diagnosis) -> Table:
    shown = found.anatomy.skew[:STAGES_MAX]
    return plain_table(
        left_out(len(found.anatomy.skew) - len(shown)),
        names=("skewed stage",),
        numbers=("longest", "median", "ratio"),
        texts=("cause",),
        rows=(
            (name, *map(duration, (one.longest_s, one.median_s)), f"{one.ratio:.1f}x", _cause(one))
            for name, one in _named(shown)
        ),
    )


def _cause(skew: Skew) -> str:
    """Return what explains that the longest task is that long."""
    if skew.by_bytes is skew.by_records is None:
        return ""
    found = {"bytes": skew.by_bytes, "records": skew.by_records}
    causes = [name for name, explains in found.items() if explains]
    return " and ".join(causes) or "not input size"


_SLOTS: Sequence[Column[WhatIf]] = (
    Column(
        "", "slots", of=lambda one: f"{count(one.slots)} ({one.slots_factor:g}x)",
        style=lambda _: "bold",
    ),
    Column("s", "time", duration),
    Column("efficiency", "efficiency", share),
)  # fmt: skip


def _slots_table(found: Diagnosis) -> Table:
    caption = "efficiency: speed-up over the run's own slots, by the factor"
    return column_table(_SLOTS, found.what_if, caption)


_ADVICE: Sequence[Column[Advice]] = (
    Column("saves_s", "saves", duration, style=lambda _: "bold"),
    Column("", "change", of=lambda one: f"{one.what} ({one.how})", is_left=True, wraps=True),
)


def _advice_table(found: Diagnosis) -> Table:
    return column_table(_ADVICE, found.advice, "each change alone; the savings do not add up")
