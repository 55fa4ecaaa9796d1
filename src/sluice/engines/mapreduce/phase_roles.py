"""The input and output of each phase of a real job, whether it has two phases or a graph of them.

A task of side "map" reads lines as they are: a split of an input file, or the part file of one task
of the phases that its own follows. A task of side "reduce" reads lines merged by key, one partition
of what all tasks of these phases wrote. The output of a phase that a reduce side reads is cut into
segments by key. Any other output is a part file.

Several phases of different size may read one phase. Its output is then cut into as many segments
as all of them divide: of 6 segments, task 1 of a phase with 2 tasks reads 1, 3 and 5, which are the
keys that a cut for 2 would give it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sluice.engines.mapreduce.task_spec import Step
from sluice.model.errors import InvalidInput
from sluice.model.job import Phase, RunSpec
from sluice.model.slot_kind import SlotKind

SEGMENTS_MAX = 10_000  # of one output: each is a file, and a message, for each task that reads it


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRole:
    """The work of one phase of a real job.

    side: "map" or "reduce".  step: position of the step that its tasks execute.
    reads: positions of the phases that it reads, in the order in which the user names them.
    splits: how many splits of input files it has, each for one task; 0 if it reads none.
    segments: that its output is cut for; 0 for part files.
    """

    side: str
    step: int
    reads: tuple[int, ...] = ()
    splits: int = 0
    segments: int = 0

    @property
    def reads_files(self) -> bool:
        """Whether it reads input of the user's."""
        return not self.reads

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> PhaseRole:
        """The role that `dataclasses.asdict` and JSON made `record` of."""
        return cls(**{**record, "reads": tuple(record["reads"])})


def roles_of_steps(steps: Sequence[Step], reduces: int) -> tuple[PhaseRole, ...]:
    """A map phase for each step, and a reduce phase if it has a reducer; each reads the one before.

    reduces: reduce tasks of each step.
    """
    roles: list[PhaseRole] = []
    for number, step in enumerate(steps):
        for side in ("map", "reduce") if step.has_reducer else ("map",):
            is_cut = side == "map" and step.has_reducer
            roles.append(
                PhaseRole(
                    side=side,
                    step=number,
                    reads=(len(roles) - 1,) if roles else (),
                    segments=reduces if is_cut else 0,
                )
            )
    return tuple(roles)


def phases_of_steps(roles: Sequence[PhaseRole], reduces: int) -> tuple[Phase, ...]:
    """The phases of these roles: "map" and "reduce", then "map-2" and so on."""
    return tuple(
        Phase(
            name=role.side if role.step == 0 else f"{role.side}-{role.step + 1}",
            kind=SlotKind.MAP if role.side == "map" else SlotKind.REDUCE,
            tasks=reduces if role.side == "reduce" else 1,
            after=role.reads,
        )
        for role in roles
    )


def roles_of_stages(
    run: RunSpec, phases: Sequence[Phase], steps: Sequence[Step], where: str
) -> tuple[PhaseRole, ...]:
    """The roles of a graph of phases. Raises InvalidInput for one that cannot run.

    phases: as the file has them.  steps: what the tasks of each execute.
    """
    positions = {phase.name: index for index, phase in enumerate(phases)}
    wanted = {one.name: one.follows for one in run.stages}
    roles = [
        PhaseRole(
            side="map" if step.has_mapper else "reduce",
            step=index,
            reads=tuple(positions[name] for name in wanted[phase.name]),
        )
        for index, (phase, step) in enumerate(zip(phases, steps, strict=True))
    ]
    _check_reading(phases, roles, steps, where)
    _check_end(phases, roles, where)
    return tuple(
        replace(role, segments=_segments(index, phases, roles, where))
        for index, role in enumerate(roles)
    )


def _check_reading(
    phases: Sequence[Phase], roles: Sequence[PhaseRole], steps: Sequence[Step], where: str
) -> None:
    for phase, role, step in zip(phases, roles, steps, strict=True):
        at = f"{where}, phase {phase.name!r}"
        if role.side == "reduce" and role.reads_files:
            raise InvalidInput(
                "it reads input files, whose lines are not sorted by key",
                where=at,
                hint="give it a mapper, and add a phase with the reducer",
            )
        if step.joins and step.joins != len(role.reads):
            raise InvalidInput(
                f"its function takes the values of {step.joins} phases, and it follows"
                f" {len(role.reads)}",
                where=at,
                hint="give the function a key and one argument for each phase in `after`",
            )


def _check_end(phases: Sequence[Phase], roles: Sequence[PhaseRole], where: str) -> None:
    """One phase writes the output: the one that no other follows."""
    read = {earlier for role in roles for earlier in role.reads}
    ends = [phase.name for index, phase in enumerate(phases) if index not in read]
    if len(ends) > 1:
        raise InvalidInput(
            f"phases {ends[0]!r} and {ends[1]!r} both end the job, which has one output",
            where=where,
            hint="let one phase follow both, or make two jobs, the second `after` the first",
        )


def _segments(index: int, phases: Sequence[Phase], roles: Sequence[PhaseRole], where: str) -> int:
    """How many segments the output of a phase is cut into."""
    readers = [number for number, role in enumerate(roles) if index in role.reads]
    reducing = [phases[number] for number in readers if roles[number].side == "reduce"]
    mapping = [phases[number] for number in readers if roles[number].side == "map"]
    at = f"{where}, phase {phases[index].name!r}"
    if reducing and mapping:
        raise InvalidInput(
            f"its output is read by the mapper of {mapping[0].name!r} as it is, and by the reducer"
            f" of {reducing[0].name!r} by key",
            where=at,
            hint="let the reducer follow a phase between them, as with mapper: cat",
        )
    segments = math.lcm(*(phase.tasks for phase in reducing)) if reducing else 0
    if segments > SEGMENTS_MAX and len(reducing) > 1:
        counts = " and ".join(str(phase.tasks) for phase in reducing[:2])
        raise InvalidInput(
            f"phases of {counts} tasks read its output, which needs {segments} segments, above"
            f" {SEGMENTS_MAX}",
            where=at,
            hint="give these phases the same number of tasks, or multiples of one number",
        )
    return segments


def with_splits(roles: Sequence[PhaseRole], splits: Sequence[int]) -> tuple[PhaseRole, ...]:
    """The roles with their numbers of splits; those of phases that read no files do not count."""
    return tuple(
        replace(role, splits=count) if role.reads_files else role
        for role, count in zip(roles, splits, strict=True)
    )


def recorded_roles(record: Mapping[str, Any], steps: Sequence[Step]) -> tuple[PhaseRole, ...]:
    """The roles of a journalled job. Before they were recorded there were only maps and reduces."""
    if "roles" in record:
        return tuple(PhaseRole.from_json(role) for role in record["roles"])
    roles = roles_of_steps(steps, record["reduces"])
    return with_splits(roles, [len(record["splits"]), *[0] * (len(roles) - 1)])


def task_counts(roles: Sequence[PhaseRole], phases: Sequence[Phase]) -> list[int]:
    """How many tasks each phase has: those of reducers as the phases have them.

    A mapper has a task for each split, or for each task of the phases that it follows.
    """
    counts: list[int] = []
    for role, phase in zip(roles, phases, strict=True):
        if role.side == "reduce":
            counts.append(phase.tasks)
        elif role.reads_files:
            counts.append(max(1, role.splits))
        else:
            counts.append(sum(counts[earlier] for earlier in role.reads))
    return counts


def tasks_read(role: PhaseRole, phases: Sequence[Phase]) -> Iterator[tuple[int, int]]:
    """The (phase position, task) whose outputs a phase reads, in order."""
    for earlier in role.reads:
        for task in range(phases[earlier].tasks):
            yield earlier, task
