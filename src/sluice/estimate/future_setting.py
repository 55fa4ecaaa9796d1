"""The setting of a future run, from the settings of past runs, a slot count and an input size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sluice.estimate.run_setting import WHOLE, MeasuredRun, PhaseSetting, RunSetting

_RUNS_ASKED = 3


def future_setting(
    runs: Sequence[MeasuredRun],
    slots: int | Mapping[str, int] | None = None,
    input_bytes: int | None = None,
) -> RunSetting:
    """The setting of the next run.

    runs: comparable, oldest first, at least one.
    slots: of each phase, or by kind of phase (a kind that is missing keeps its slots); by default
    those of the newest run.  input_bytes: by default those of the newest run.
    A run without known slots counts as a single task, and keeps that shape.
    """
    newest = runs[-1]
    size = newest.setting.input_bytes if input_bytes is None else input_bytes
    phases = tuple(
        PhaseSetting(phase.name, _tasks(runs, index, size), _slots(newest, index, slots))
        for index, phase in enumerate(newest.setting.phases)
    )
    return RunSetting(size, phases)


def _slots(newest: MeasuredRun, index: int, slots: int | Mapping[str, int] | None) -> int:
    known = newest.setting.phases[index]
    if slots is None or known.name == WHOLE:
        return known.slots
    return slots if isinstance(slots, int) else slots.get(newest.phases[index].kind, known.slots)


def _tasks(runs: Sequence[MeasuredRun], index: int, input_bytes: int) -> int:
    """Tasks of a phase for an input size.

    These are the tasks of most of the newest three runs of that size, because a run whose output
    was lost in between ran some of them twice. For a new size, a phase that reads input
    has as many bytes in each task as in the newest run, unless its tasks were the same at all
    sizes. Any other phase has the tasks of the nearest size.
    """
    pairs = [(one.setting.input_bytes, one.setting.phases[index].tasks) for one in reversed(runs)]
    same = [tasks for size, tasks in pairs if size == input_bytes][:_RUNS_ASKED]
    if same:
        return max(same, key=same.count)  # of several, that of the newest run
    newest_bytes, newest_tasks = pairs[0]
    sizes, counts = {size for size, _ in pairs}, {tasks for _, tasks in pairs}
    is_fixed = len(counts) == 1 and len(sizes) > 1
    if not is_fixed and newest_bytes and runs[-1].phases[index].input_bytes:
        return max(1, round(newest_tasks * input_bytes / newest_bytes))
    return min(pairs, key=lambda pair: abs(pair[0] - input_bytes))[1]
