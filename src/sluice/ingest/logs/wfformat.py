"""WfCommons' WfFormat, 1.0 to 1.5: one workflow of tasks with their parents and run times.

From 1.5 on `workflow.specification.tasks` has the graph and `workflow.execution.tasks` the times;
before, `workflow.tasks` (or `workflow.jobs`) has both. A workflow is a job and each task a stage,
after its parents, with a task for each core that it used; these start together. The slots are the
cores of the machines that are listed, or else as many as could run at once at most.
Source of the format: WfCommons, "WfFormat" (wfcommons/WfFormat).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Contents, Report, Unreadable
from sluice.ingest.logs.whole_json import mapping, objects_in, parsed
from sluice.model.cluster import SLOTS_MAX, Cluster
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun
from sluice.model.ids import JobId, PoolId
from sluice.model.job import STAGES_MAX, Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.settings import number, whole
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

FORMAT = "wfformat"
_SECONDS_MAX: Final = 1e10
_NAME_MAX: Final = 200
_RUN_TIMES: Final = ("runtimeInSeconds", "runtime")
_CORES: Final = ("coreCount", "cores")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """least_s: of a task that took no time.  cores: of the cluster; None for what the file says."""

    least_s: float = number(0.001, "seconds of a task whose run time is 0", above=0.0)
    cores: int | None = whole(None, "cores of the cluster; none: those of the machines", low=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One task: its place among the tasks, parents by name, and what it took."""

    name: str
    parents: tuple[str, ...]
    run_s: float
    cores: int


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """An object with a workflow whose tasks have parents."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
        return False
    keys = (b'"workflow"', b'"parents"')
    return all(key in head for key in keys) or (b'"schemaVersion"' in head and keys[0] in head)


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The workflow of the file. Raises InvalidInput where there is none."""
    workflow, name = _workflow(path, log_bytes(path, report, limits))
    tasks: dict[str, _Task] = {}
    for position, (key, given) in enumerate(_given(path, workflow), start=1):
        try:
            task = _task(key, given)
        except Unreadable as error:
            report.skip(0, f"task number {position}: {error}")
            continue
        if key in tasks:
            report.skip(0, f"task number {position}: {key} is given twice")
        elif len(tasks) == STAGES_MAX:
            report.skip(0, f"task number {position}: more than {STAGES_MAX} tasks")
        else:
            tasks[key] = task
    if not tasks:
        skipped = report.skipped
        why = f" ({skipped[0].why})" if skipped else ""
        raise InvalidInput(
            f"its workflow has no task with a run time{why}",
            where=str(path),
            hint="give an instance of WfFormat with the execution of its tasks",
        )
    for task in tasks.values():
        for parent in task.parents:
            if parent not in tasks:
                report.skip(0, f"{task.name[:40]} waits for {parent[:40]}, which is not there")
    return _contents(path, name, _in_order(path, tasks), workflow, options)


def _workflow(path: Path, content: bytes) -> tuple[Mapping[str, Any], str]:
    found = mapping(parsed(path, content))
    workflow = found.get("workflow")
    if not isinstance(workflow, dict):
        raise InvalidInput("it has no workflow", where=str(path), hint="give one of WfFormat")
    name = found.get("name")
    return workflow, name[:_NAME_MAX] if isinstance(name, str) and name.strip() else FORMAT


def _given(path: Path, workflow: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Each task by its id, with what the graph and the execution say of it."""
    specification, execution = workflow.get("specification"), workflow.get("execution")
    if isinstance(specification, dict):
        listed = specification.get("tasks")
        ran = mapping(execution).get("tasks")
        times = {_key(one): one for one in objects_in(ran)}
        merged: list[Mapping[str, Any]] = [
            {**times.get(_key(one), {}), **one} for one in objects_in(listed)
        ]
    else:
        listed = workflow.get("tasks", workflow.get("jobs"))
        merged = list(objects_in(listed))
    if not isinstance(listed, list):
        raise InvalidInput(
            "its workflow has no list of tasks", where=str(path), hint="give one of WfFormat"
        )
    names = {str(one.get("name", "")) for one in merged}
    # Before 1.4 parents name tasks; a task's id may be something else then.
    parents = {parent for one in merged for parent in _names(one.get("parents"))}
    is_by_name = len(names) == len(merged) and parents <= names
    return [(str(one.get("name")) if is_by_name else _key(one), one) for one in merged]


def _key(task: Mapping[str, Any]) -> str:
    return str(task.get("id", task.get("name", "")))


def _names(listed: object) -> list[str]:
    return [str(one) for one in listed] if isinstance(listed, list) else []


def _task(key: str, given: Mapping[str, Any]) -> _Task:
    if not key.strip() or not key.isprintable():
        raise Unreadable("it has no id")
    run_s = next((given[name] for name in _RUN_TIMES if name in given), None)
    if isinstance(run_s, bool) or not isinstance(run_s, int | float):
        raise Unreadable(f"{key[:40]} has no run time")
    if not 0 <= run_s <= _SECONDS_MAX:
        raise Unreadable(f"{key[:40]} took {run_s} s")
    cores = next((given[name] for name in _CORES if name in given), 1)
    is_number = isinstance(cores, int | float) and not isinstance(cores, bool)
    return _Task(
        name=key[:_NAME_MAX],
        parents=tuple(dict.fromkeys(_names(given.get("parents")))),
        run_s=float(run_s),
        cores=min(SLOTS_MAX, max(1, math.ceil(cores))) if is_number and cores < math.inf else 1,
    )


def _in_order(path: Path, tasks: Mapping[str, _Task]) -> list[_Task]:
    """The tasks, each behind its parents. Raises InvalidInput for a circle."""
    waits = {key: sum(one in tasks for one in task.parents) for key, task in tasks.items()}
    children: dict[str, list[str]] = {key: [] for key in tasks}
    for key, task in tasks.items():
        for one in task.parents:
            if one in tasks:
                children[one].append(key)
    ready = [key for key, count in waits.items() if not count]
    for key in ready:  # it grows on the way
        for child in children[key]:
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
    if len(ready) < len(tasks):
        circle = next(key for key, count in waits.items() if count)
        raise InvalidInput(
            f"its tasks wait for each other in a circle, {circle[:40]} among them",
            where=str(path),
            hint="correct the parents",
        )
    return [tasks[key] for key in ready]


# --- what the tasks say ---------------------------------------------------------------------------


def _contents(
    path: Path, name: str, tasks: Sequence[_Task], workflow: Mapping[str, Any], options: Options
) -> Contents:
    place = {task.name: at for at, task in enumerate(tasks)}
    after = [tuple(sorted(place[one] for one in task.parents if one in place)) for task in tasks]
    slots, why = _slots(tasks, after, workflow, options)
    notes = (
        "A task of the workflow is a stage, with a task for each of its cores.",
        f"slots = {slots}: {why}.",
    )
    job = Job(
        job_id=JobId(name),
        pool=PoolId(name),
        phases=tuple(
            _phase(task, before, options) for task, before in zip(tasks, after, strict=True)
        ),
        gang=most if (most := max(task.cores for task in tasks)) > 1 else 0,
    )
    cluster = Cluster.of_slots({SlotKind.CONTAINER: slots})
    workload = Workload(cluster=cluster, jobs=(job,), source=str(path))
    run = PastRun(
        run_id=f"{FORMAT}/{name}",
        profile=name,
        source=FORMAT,
        phases=tuple(
            PastPhase(
                name=task.name, kind="map", tasks=task.cores, avg_s=task.run_s, max_s=task.run_s,
                after=before,
            )
            for task, before in zip(tasks, after, strict=True)
        ),
        slots={"map": slots},
        notes=notes,
    )  # fmt: skip
    return Contents(runs=(run,), notes=notes, workload=workload)


def _phase(task: _Task, after: tuple[int, ...], options: Options) -> Phase:
    length_s = task.run_s or options.least_s
    return Phase(
        name=task.name,
        kind=SlotKind.CONTAINER,
        tasks=task.cores,
        lengths=ConstantLengths(length_s, length_s),
        after=after,
    )


def _slots(
    tasks: Sequence[_Task],
    after: Sequence[tuple[int, ...]],
    workflow: Mapping[str, Any],
    options: Options,
) -> tuple[int, str]:
    if options.cores is not None:
        return options.cores, "as asked for"
    execution = workflow.get("execution")
    listed = mapping(execution).get("machines")
    cores = 0
    for machine in objects_in(listed if listed is not None else workflow.get("machines")):
        cpu = mapping(machine.get("cpu"))
        count = next((cpu[key] for key in ("coreCount", "count") if key in cpu), 0)
        cores += count if isinstance(count, int) and 0 < count <= SLOTS_MAX else 0
    if cores >= max(task.cores for task in tasks):
        return min(cores, SLOTS_MAX), "the cores of its machines"
    level: list[int] = []
    for before in after:
        level.append(1 + max((level[one] for one in before), default=-1))
    width = [0] * (max(level) + 1)
    for task, at in zip(tasks, level, strict=True):
        width[at] += task.cores
    return min(max(width), SLOTS_MAX), "the widest level of its graph (it lists no machines)"
