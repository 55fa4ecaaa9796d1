"""The changes that would have made a finished run shorter, each replayed alone.

A change of one stage saves at most about as long as the stage took. So stages are tried in the
order of their lengths, and none is replayed that is too short to be among the most valuable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from statistics import median, median_low

from sluice.bootstrap.history.run_replay import Slots, scaled
from sluice.estimate.run_anatomy import RunAnatomy, Skew, has_driver
from sluice.estimate.slot_time import with_timeline
from sluice.ingest.logs.profile_names import is_session
from sluice.model.history import PastPhase, PastRun, PastTask, TaskCosts
from sluice.model.slot_kind import SlotKind
from sluice.reporting.explain.diagnosis import ADVICE_MAX, Advice, Diagnosis
from sluice.reporting.formatting import counted

WORTH_SHARE_MIN = 0.005  # of the recorded time: less is noise
_WARM_RATIO_MIN = 1.5  # below, the first tasks are like the others
_COPIED_AT = 1.5  # times the median: when a copy of a slow task starts, as Spark does
# A log does not show whether a long task holds one record that no more tasks would make shorter.
_IF_DIVIDED = ", if the input of its longest task divides"
_WAVES_MAX = 4  # more waves of equal tasks are not shorter

Replay = Callable[[Slots, Sequence[PastPhase]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReplay:
    """A run that can be replayed with changes.

    phases: as `replay_phases` returns them.  seconds: of a replay with these slots and phases.
    base_s: with its own.
    """

    run: PastRun
    slots: Slots
    anatomy: RunAnatomy
    phases: Sequence[PastPhase]
    seconds: Replay
    base_s: float

    def advice(self, what: str, how: str, phases: Sequence[PastPhase]) -> Advice:
        """The saving of a replay with changed phases."""
        return Advice(what=what, how=how, saves_s=self.base_s - self.seconds(self.slots, phases))


@dataclass(frozen=True, slots=True)
class _Subject:
    """Changes of the same thing, of which at most one can be made.

    most_s: no change of it saves more.
    """

    most_s: float
    changes: Callable[[], Iterable[Advice]]


def most_valuable(replay: RunReplay) -> tuple[Advice, ...]:
    """The changes that save most, up to ADVICE_MAX, the best first.

    The best change of each thing counts; the others of a thing only fill a list that is short.
    """
    least_s = WORTH_SHARE_MIN * replay.anatomy.recorded_s
    best: list[Advice] = []
    others: list[Advice] = []
    for subject in sorted(_subjects(replay), key=lambda one: -one.most_s):
        enough_s = best[ADVICE_MAX - 1].saves_s if len(best) >= ADVICE_MAX else least_s
        if subject.most_s <= enough_s:
            break
        found = [one for one in _ranked(subject.changes()) if one.saves_s > least_s]
        best = _ranked([*best, *found[:1]])
        others += found[1:]
    return tuple(_ranked([*best, *_ranked(others)[: max(0, ADVICE_MAX - len(best))]])[:ADVICE_MAX])


def with_heartbeats(found: Diagnosis) -> Diagnosis:
    """Return the same with the advice to fill slots at once, as its replay does.

    For a run whose slots stayed empty until the next heartbeat of their node.
    """
    recorded_s = found.anatomy.recorded_s
    saves_s = recorded_s - found.replayed_s
    if saves_s <= WORTH_SHARE_MIN * recorded_s:
        return found
    sooner = Advice(
        what="Fill free slots sooner: a lower heartbeat_s, or longer tasks",
        saves_s=saves_s,
        how="at most: replayed with slots that are filled at once",
    )
    return replace(found, advice=tuple(_ranked([sooner, *found.advice])[:ADVICE_MAX]))


def _ranked(advice: Iterable[Advice]) -> list[Advice]:
    return sorted(advice, key=lambda one: (-one.saves_s, one.what))


def _subjects(replay: RunReplay) -> Iterator[_Subject]:
    for changes in (_of_slots, _of_order, _of_failures):
        yield _Subject(inf, partial(changes, replay))
    for one in (*_outside(replay), *_of_costs(replay)):
        yield _Subject(one.saves_s, partial(iter, (one,)))
    skews = {one.stage: one for one in replay.anatomy.skew}
    for phase in replay.phases:
        yield _Subject(_span_s(phase), partial(_of_stage, replay, phase, skews.get(phase.name)))


def _span_s(phase: PastPhase) -> float:
    if not phase.timeline:
        return inf
    return max(task.finished_at_s for task in phase.timeline) - min(
        task.started_at_s for task in phase.timeline
    )


# --- the whole run --------------------------------------------------------------------------------


def _of_slots(replay: RunReplay) -> Iterator[Advice]:
    def more(chosen: Slots, name: str) -> Advice:
        old, new = sum(replay.slots[kind] for kind in chosen), sum(chosen.values())
        seconds = replay.seconds({**replay.slots, **chosen}, replay.phases)
        return Advice(
            what=f"Use {new} {name}slots instead of {old}",
            saves_s=replay.base_s - seconds,
            how="replayed with twice the slots",
        )

    double = scaled(replay.slots, 2)
    every = more(double, "")
    of_one_kind = [more({kind: slots}, f"{kind.value} ") for kind, slots in double.items()]
    if len(double) == 1 or every.saves_s > max(one.saves_s for one in of_one_kind):
        yield every
    if len(double) > 1:
        yield from of_one_kind


def _outside(replay: RunReplay) -> Iterator[Advice]:
    """Time in which no task ran cannot be replayed: all of it is the limit.

    A user at a prompt thinks in that time, which no change saves.
    """
    if is_session(replay.run):
        return
    anatomy = replay.anatomy
    between = "Shorten the driver's work between tasks: plans, results"
    if not has_driver(replay.run):
        between = "Keep slots for its next tasks: a share of its own, or later reduces of others"
    between_s = anatomy.driver_s - anatomy.startup_s - anatomy.ending_s
    starts, ends, waits = anatomy.startup_s, anatomy.ending_s, anatomy.waited_s
    for what, saves_s, when in (
        ("Start the driver and its executors faster, or keep them", starts, "before the first"),
        (between, between_s, "between"),
        ("Shorten the end: commit, writing results, stopping", ends, "after the last"),
        ("Submit when slots are free, or guarantee its queue a share", waits, "before the first"),
    ):  # fmt: skip
        if saves_s > 0:
            task = "tasks in which none ran" if when == "between" else "task"
            yield Advice(what=what, saves_s=saves_s, how=f"at most: the time {when} {task}")


def _of_order(replay: RunReplay) -> Iterator[Advice]:
    """Stages that read nothing from each other, at the same time."""
    if SlotKind.CONTAINER not in replay.slots:
        return
    place = {phase.name: at for at, phase in enumerate(replay.phases)}
    read = {
        phase.name: tuple(sorted(place[replay.run.phases[one].name] for one in phase.after))
        for phase in replay.run.phases
        if all(one < len(replay.run.phases) for one in phase.after)
    }
    changed = [replace(phase, after=read.get(phase.name, phase.after)) for phase in replay.phases]
    if any(new.after != old.after for new, old in zip(changed, replay.phases, strict=True)):
        yield replay.advice(
            "Run independent stages in parallel",
            "at most: replayed with each stage after those only whose output it reads",
            changed,
        )


def _of_failures(replay: RunReplay) -> Iterator[Advice]:
    failed = sum(phase.failed for phase in replay.run.phases)
    if failed:
        lost_s = sum(phase.failed * phase.avg_s for phase in replay.run.phases)
        yield Advice(
            what=f"Find out why {counted(failed, 'attempt')} failed",
            saves_s=lost_s / sum(replay.slots.values()),
            how="each failed attempt counted as an average task, over all slots",
        )


def _of_costs(replay: RunReplay) -> Iterator[Advice]:
    """Yield what tasks spent besides their work, if the log holds it."""
    spilled = sum(phase.costs.spilled_bytes or 0 for phase in replay.phases if phase.costs)
    memory = "Give tasks more memory: they collected garbage"
    for what, without, spent_s in (
        (f"{memory} and spilled {spilled:,} bytes" if spilled else memory,
         "the time of garbage collection", _gc_s),
        ("Shuffle less, or over a faster network: tasks waited for their input",
         "the time of waiting for shuffled input", _fetch_wait_s),
        ("Make tasks start faster: smaller code and closures, smaller results",
         "the time of tasks outside their own code", _launch_s),
        ("Run tasks on the nodes of their input",
         "what remote tasks take longer than others of their stage", _remote_excess_s),
    ):  # fmt: skip
        changed = [_without(phase, spent_s) for phase in replay.phases]
        if any(new is not old for new, old in zip(changed, replay.phases, strict=True)):
            yield replay.advice(what, f"at most: replayed without {without}", changed)


def _gc_s(_: PastPhase, costs: TaskCosts) -> float:
    return costs.gc_s or 0.0


def _fetch_wait_s(_: PastPhase, costs: TaskCosts) -> float:
    return costs.fetch_wait_s


def _launch_s(_: PastPhase, costs: TaskCosts) -> float:
    return costs.launch_s


def _remote_excess_s(phase: PastPhase, costs: TaskCosts) -> float:
    # A job that only counted its remote tasks does not say which they were.
    if not costs.remote_tasks or not costs.remote_s or costs.remote_tasks == phase.tasks:
        return 0.0
    local = phase.tasks - costs.remote_tasks
    local_s = (sum(task.length_s for task in phase.timeline) - costs.remote_s) / local
    return max(0.0, costs.remote_s - local_s * costs.remote_tasks)


def _without(phase: PastPhase, spent_s: Callable[[PastPhase, TaskCosts], float]) -> PastPhase:
    """The phase, all its tasks shorter by the share of their time that they spent so."""
    total_s = sum(task.length_s for task in phase.timeline)
    if phase.costs is None or not total_s:
        return phase
    left = max(0.0, 1 - spent_s(phase, phase.costs) / total_s)
    return (
        phase
        if left == 1
        else _with_lengths(phase, [left * task.length_s for task in phase.timeline])
    )


# --- one stage ------------------------------------------------------------------------------------


def _of_stage(replay: RunReplay, phase: PastPhase, skew: Skew | None) -> Iterator[Advice]:
    def changed(new: PastPhase) -> list[PastPhase]:
        return [new if one is phase else one for one in replay.phases]

    if skew is not None:
        yield from _of_skew(replay, phase, skew, changed)
    most = replay.slots.get(SlotKind.CONTAINER) or replay.slots[SlotKind(phase.kind)]
    condition = _IF_DIVIDED if skew is not None else ""
    counts = [
        replay.advice(
            f"Use {tasks} tasks instead of {phase.tasks} in {phase.name!r}" + condition,
            "replayed with the stage's work divided evenly over them"
            + (
                ", each with the same time to launch"
                if phase.costs and phase.costs.launch_s
                else ""
            ),
            changed(_divided(phase, tasks)),
        )
        for tasks in _task_counts(phase.tasks, most)
    ]
    yield from _ranked(counts)[:1]
    warm = _warmed(phase, most)
    if warm is not None:
        yield replay.advice(
            f"Keep the executors between runs: in {phase.name!r} the first task of a slot takes"
            f" {warm.ratio:.1f} times as long as later ones",
            "replayed with the first tasks as long as the later ones",
            changed(warm.phase),
        )


def _of_skew(
    replay: RunReplay, phase: PastPhase, skew: Skew, changed: Callable[[PastPhase], list[PastPhase]]
) -> Iterator[Advice]:
    is_data = skew.by_bytes or skew.by_records
    yield replay.advice(
        f"Divide {skew.stage!r} evenly{_IF_DIVIDED}: that one takes {skew.ratio:.1f} times the"
        " median" + (" and reads more" if is_data else ""),
        "replayed with all tasks of the stage at their average",
        changed(_divided(phase, phase.tasks)),
    )
    lengths_s = [task.length_s for task in phase.timeline]
    yield replay.advice(
        f"Start the longest tasks of {phase.name!r} first",
        "replayed with the stage's tasks in the order of their lengths",
        changed(_with_lengths(phase, sorted(lengths_s, reverse=True))),
    )
    if not is_data and replay.run.configuration.get("spark.speculation") != "true":
        limit_s = (1 + _COPIED_AT) * median(lengths_s)
        yield replay.advice(
            f"Run copies of slow tasks (speculation) in {phase.name!r}, if their nodes were slow",
            f"at most: replayed with a copy after {_COPIED_AT} times the median, as long as the"
            " median",
            changed(_with_lengths(phase, [min(one, limit_s) for one in lengths_s])),
        )


def _task_counts(tasks: int, slots: int) -> list[int]:
    """Other numbers of tasks: whole waves, next to the present number and with one task a slot."""
    waves = {1, tasks // slots, -(-tasks // slots)}
    return sorted({wave * slots for wave in waves if 0 < wave <= _WAVES_MAX} - {tasks})


def _divided(phase: PastPhase, tasks: int) -> PastPhase:
    """The stage with its work divided evenly; the time to launch is that of each task."""
    launch_s = phase.costs.launch_s / phase.tasks if phase.costs else 0.0
    work_s = max(0.0, phase.avg_s - launch_s) * phase.tasks
    avg_s = launch_s + work_s / tasks
    return replace(phase, timeline=(), tasks=tasks, avg_s=avg_s, max_s=avg_s)


@dataclass(frozen=True, slots=True)
class _Warmed:
    """A stage whose first tasks are as short as its later ones. ratio: how much longer they are."""

    phase: PastPhase
    ratio: float


def _warmed(phase: PastPhase, slots: int) -> _Warmed | None:
    """None if the first task of each slot was not much longer, or if too few followed."""
    lengths_s = [task.length_s for task in phase.timeline]
    first_s, later_s = lengths_s[:slots], lengths_s[slots:]
    if len(later_s) < len(first_s) or not first_s or median(later_s) <= 0:
        return None
    ratio = median(first_s) / median(later_s)
    # A cold slot slows each first task. Of two slots, one large task is no sign of it.
    if median_low(first_s) / median(later_s) < _WARM_RATIO_MIN:
        return None
    return _Warmed(_with_lengths(phase, [*(one / ratio for one in first_s), *later_s]), ratio)


def _with_lengths(phase: PastPhase, lengths_s: Sequence[float]) -> PastPhase:
    tasks = [PastTask(started_at_s=0.0, finished_at_s=length_s) for length_s in lengths_s]
    return with_timeline(phase, tasks)
