"""The diagnosis of one finished run: its anatomy, its replays, and what would help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from sluice.api.simulate import simulate
from sluice.bootstrap.diagnosis.run_advice import RunReplay, most_valuable
from sluice.bootstrap.history.run_replay import Slots, replay_phases, replay_workload, scaled
from sluice.estimate.run_anatomy import run_anatomy
from sluice.ingest.logs.profile_names import is_session
from sluice.ingest.logs.slots_seen import slots_of
from sluice.model.errors import InvalidInput
from sluice.model.history import DEADLINE, PastPhase, PastRun
from sluice.reporting.explain.diagnosis import Diagnosis, WhatIf
from sluice.reporting.explain.map_spills import map_spills
from sluice.reporting.history.past_runs import SOURCE

FACTORS = (0.5, 1.0, 2.0, 4.0)
_OF_SESSIONS = (
    "While no task runs, the user of this session types and thinks; no advice is about that."
)

_Number = TypeVar("_Number", int, float)


def diagnosed(run: PastRun, driver_first_s: float = 0.0) -> Diagnosis:
    """The diagnosis of a run. Raises InvalidInput if its log does not list single tasks.

    driver_first_s: as `run_anatomy` takes it.
    """
    if not run.phases:
        raise InvalidInput(
            "no task of it ended well", where=f"run {run.run_id!r}", hint="explain another run"
        )
    slots = slots_of(run)
    anatomy = run_anatomy(run, sum(slots.values()), driver_first_s)
    # Waiting for slots and the driver's work pass in the replay as well.
    outside_s = anatomy.waited_s + anatomy.driver_s

    def replayed_s(some: Slots, phases: Sequence[PastPhase]) -> float:
        workload = replay_workload(phases, some, outside_s, run.run_id)
        makespan_s = simulate(workload).makespan_s
        assert makespan_s is not None, "every task of a replay ends"
        return makespan_s

    phases = replay_phases(run)
    replay = RunReplay(
        run=run,
        slots=slots,
        anatomy=anatomy,
        phases=phases,
        seconds=replayed_s,
        base_s=replayed_s(slots, phases),
    )
    costs = [phase.costs for phase in run.phases if phase.costs is not None]
    return Diagnosis(
        run_id=run.run_id,
        profile=run.profile,
        source=run.source,
        slots=sum(slots.values()),
        failed_attempts=sum(phase.failed for phase in run.phases),
        anatomy=anatomy,
        replayed_s=replay.base_s,
        what_if=tuple(_what_if(replay)),
        advice=most_valuable(replay),
        deadline_s=_deadline_s(run),
        gc_s=_known_sum(one.gc_s for one in costs),
        spilled_bytes=_known_sum(one.spilled_bytes for one in costs),
        spilled_records=_known_sum(one.spilled_records for one in costs),
        map_spills=map_spills(run),
        remote_tasks=_known_sum(one.remote_tasks for one in costs),
        succeeded=run.succeeded,
        notes=(*run.notes, *([_OF_SESSIONS] if is_session(run) else [])),
    )


def _known_sum(values: Iterable[_Number | None]) -> _Number | None:
    """The sum of the values that a log holds; None if it holds none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _deadline_s(run: PastRun) -> float | None:
    deadline = run.configuration.get(DEADLINE)
    # Another system may use the same configuration key for something else.
    return None if deadline is None or run.source != SOURCE else float(deadline)


def _what_if(replay: RunReplay) -> Iterator[WhatIf]:
    total = sum(replay.slots.values())
    for factor in FACTORS:
        some = scaled(replay.slots, factor)
        seconds = replay.base_s if factor == 1 else replay.seconds(some, replay.phases)
        actual = sum(some.values()) / total
        efficiency = replay.base_s / (actual * seconds) if seconds else 1.0
        yield WhatIf(
            slots_factor=factor, slots=sum(some.values()), s=seconds, efficiency=efficiency
        )
