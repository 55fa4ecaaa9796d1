"""From the `phases` of a job, a DAG of stages, to the model's phases.

A stage follows the stage before it in the list, or those that its `after` names; `after: []` starts
at once. The file may list stages in any order: they are sorted so that each comes after those that
it follows, and stages without such a relation keep the order of the file. A stage without tasks is
left out, and what follows it then follows its predecessors.

A task of a stage runs in a container, which any slot can serve as: stages of Spark or Tez are not
bound to map slots or reduce slots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from sluice.ingest.errors import Refusal, quoted
from sluice.ingest.file_schema.fields import same_fields
from sluice.ingest.file_schema.jobs import PHASES_EXCLUDE, JobShape, JobStageShape, StageShape
from sluice.ingest.phases import (
    demand_of,
    lengths_of,
    lengths_wanted,
    resources_of,
    tasks_given,
    tasks_wanted,
)
from sluice.ingest.suggestions import suggestion
from sluice.model.job import Demand, Phase
from sluice.model.lengths import TaskLengths
from sluice.model.slot_kind import SlotKind

_INSTEAD = {
    "maps": "write it as one of the phases",
    "reduces": "write it as one of the phases",
    "shuffle": "add it to the lengths of the phase that reads it",
    "demand": "give each phase its own demand, as in demand: {cpu: 30}",
}
Lengths = Callable[[StageShape, int, int], TaskLengths | None]  # of a stage, its place and tasks
_DROP = "leave it out, or give maps and reduces in place of phases"


def stages_of(shape: JobShape, stages: Sequence[JobStageShape]) -> tuple[Phase, ...]:
    """The phases of a job that is a DAG of stages. Raises Refusal."""
    _check_companions(shape)

    for index, one in enumerate(stages):
        if one.run is None and shape.run is not None:
            raise Refusal(
                "is missing",
                at=("phases", index, "run"),
                hint="say what its tasks run, as in run: {mapper: cat}, or give the job no run",
            )
        if one.run is not None and shape.run is None:
            raise Refusal(
                "is given, and the job has no run",
                at=("phases", index, "run"),
                hint="give the job one as well, as in run: {output: out/report}",
            )

    def lengths(stage: StageShape, index: int, tasks: int) -> TaskLengths | None:
        return lengths_wanted(shape, stage, ("phases", index), tasks)

    tasks = [_tasks(stage, index) for index, stage in enumerate(stages)]
    return _phases_of(stages, tasks, lengths)


def stages_of_class(stages: Sequence[StageShape]) -> tuple[Phase, ...]:
    """The phases of a class of such jobs, each with its lengths. Raises Refusal."""

    def lengths(stage: StageShape, index: int, tasks: int) -> TaskLengths | None:
        found = lengths_of(stage, ("phases", index), tasks)
        if tasks and found is None:
            raise Refusal("has no lengths", at=("phases", index), hint="give avg_s")
        return found

    tasks = [tasks_given(stage, ("phases", index)) for index, stage in enumerate(stages)]
    return _phases_of(stages, tasks, lengths)


def _phases_of(
    stages: Sequence[StageShape], tasks: Sequence[int], lengths: Lengths
) -> tuple[Phase, ...]:
    names = _positions(stages)
    after = [_after(stage, index, names) for index, stage in enumerate(stages)]
    new_index: dict[int, int] = {}
    reads: dict[int, tuple[int, ...]] = {}  # by position in the file: positions among the result
    phases: list[Phase] = []
    for index in _sorted(stages, after):
        above = [(new_index[one],) if tasks[one] else reads[one] for one in after[index]]
        reads[index] = tuple(sorted({position for group in above for position in group}))
        if tasks[index]:
            new_index[index] = len(phases)
            found = lengths(stages[index], index, tasks[index])
            phases.append(_phase(stages[index], found, tasks[index], reads[index]))
    return tuple(phases)


def _tasks(stage: JobStageShape, index: int) -> int:
    """How many tasks a stage has; 1 if it does not say, and real tasks will be counted."""
    if stage.run is not None and tasks_wanted(stage) is None:
        return 1
    return tasks_given(stage, ("phases", index))


def _check_companions(shape: JobShape) -> None:
    for name in PHASES_EXCLUDE:
        if getattr(shape, name) is not None:
            hint = _INSTEAD.get(name, _DROP)
            raise Refusal("is given together with phases", at=(name,), hint=hint)


def _positions(stages: Sequence[StageShape]) -> Mapping[str, int]:
    names: dict[str, int] = {}
    for index, stage in enumerate(stages):
        if stage.name in names:
            raise Refusal("is given twice", at=("phases", index, "name"), hint="name each once")
        names[stage.name] = index
    return names


def _after(stage: StageShape, index: int, names: Mapping[str, int]) -> tuple[int, ...]:
    """Positions of the stages that a stage follows, each once, in rising order."""
    if stage.after is None:
        return (index - 1,) if index else ()
    for number, name in enumerate(stage.after):
        if name not in names:
            raise Refusal(
                f"names the unknown phase {quoted(name)}",
                at=("phases", index, "after", number),
                hint=suggestion(name, names),
            )
    return tuple(sorted({names[name] for name in stage.after}))


def _sorted(stages: Sequence[StageShape], after: Sequence[tuple[int, ...]]) -> list[int]:
    """Positions in an order in which each stage comes after those that it follows."""
    if all(one < index for index, before in enumerate(after) for one in before):
        return list(range(len(stages)))  # as nearly all files list them
    sorter = TopologicalSorter(dict(enumerate(after)))
    try:
        sorter.prepare()
    except CycleError as error:
        circle = error.args[1]
        names = " after ".join(quoted(stages[index].name) for index in reversed(circle))
        raise Refusal(
            f"forms a circle: {names}",
            at=("phases", min(circle), "after"),
            hint="remove one of these names",
        ) from None
    order: list[int] = []
    ready: list[int] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()])
        first = ready.pop(0)
        order.append(first)
        sorter.done(first)
    return order


def _phase(
    stage: StageShape, lengths: TaskLengths | None, tasks: int, after: tuple[int, ...]
) -> Phase:
    demand = Demand() if stage.demand is None else demand_of(resources_of(stage.demand))
    own = {"tasks": tasks, "after": after, "demand": demand}
    return Phase(kind=SlotKind.CONTAINER, lengths=lengths, **same_fields(stage, Phase) | own)
