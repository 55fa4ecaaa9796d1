"""Planning a real job: from the workload file to phases, splits and a TaskSpec for every task.

The phases are "map" and "reduce", then "map-2", "reduce-2" and so on for the further steps of an
mrjob class; a step without reducer has no reduce phase. Or they are those of the file, a graph. The
role of each (`phase_roles`) is what it reads and writes; both kinds of jobs are the same from then
on. A map phase that reads files has one task for each split; another one has a task for each part
file of the phases that it follows. Part files between phases are kept in the job's staging folder,
as Hadoop keeps them in its shared file system: the loss of a node does not lose them.

A prepared job also records the versions of its input files and of its code (`fingerprints`), so
that a resumed run, and every attempt, works on what the run started with.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sluice.core.record.codec import as_plain, from_plain
from sluice.engines.data_plane.stores import is_url
from sluice.engines.mapreduce.commit import ATTEMPTS, Staging, output_exists
from sluice.engines.mapreduce.files_read import FilesRead
from sluice.engines.mapreduce.fingerprints import (
    CodeVersion,
    InputVersion,
    code_changes,
    input_changes,
)
from sluice.engines.mapreduce.phase_roles import (
    PhaseRole,
    phases_of_steps,
    recorded_roles,
    roles_of_stages,
    roles_of_steps,
    task_counts,
    tasks_read,
    with_splits,
)
from sluice.engines.mapreduce.programs import missing_programs
from sluice.engines.mapreduce.splits import Split
from sluice.engines.mapreduce.store_commit import StoreStaging
from sluice.engines.mapreduce.task_spec import Source, Step, TaskSpec
from sluice.engines.mapreduce.user_code import user_code_of
from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase, RunSpec
from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind

NAME_CHARACTERS_MAX = 60
_NAME_BYTES_MAX = 255  # of a file, on all usual file systems

Locations = Mapping[tuple[int, int], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedJob:
    """A job that can be run: `job` has its real phases, `work` gives each task's work.

    name: part of the names of its files; unique to this job of this run.  roles: of its phases.
    splits: inputs of the phases that read files, in the order of the phases; none for a phase
    without data (it has one task then).
    reduces: reduce tasks of each step that has a reducer; 0 for a graph.
    inputs, code: the versions of all input files and of the user's code at the start of the run.
    programs: what its commands start, as found at the start of the run.
    awaits_input: it reads what other jobs of the run make. Until `laid_out` gives their files, the
    tasks of its maps are a guess.
    env: names and values for the tasks. `job` has the names only, because it goes into the journal.
    """

    job: Job
    name: str
    staging: Staging | StoreStaging
    steps: tuple[Step, ...]
    roles: tuple[PhaseRole, ...]
    splits: tuple[Split, ...]
    reduces: int
    inputs: tuple[InputVersion, ...] = field(default=(), repr=False)
    code: tuple[CodeVersion, ...] = ()
    programs: tuple[str, ...] = ()
    awaits_input: bool = False
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def work(self, phase: int, task: int, inputs: Locations) -> dict[str, Any]:
        """The work of an attempt at this task, as plain JSON values.

        inputs: for each earlier (phase position, task), the `outputs` of its winner. For a reduce
        some may be missing; it then waits for news of them.
        """
        run, role = _run_of(self.job), self.roles[phase]
        sources = tuple(self._sources(phase, task, inputs)) if role.side == "reduce" else ()
        spec = TaskSpec(
            job_id=self.job.job_id,
            job_name=self.name,
            phase=phase,
            phase_name=self.job.phases[phase].name,
            task=task,
            side=role.side,
            step=self.steps[role.step],
            reduces=self._reduces_of(phase),
            segments=role.segments,
            keeps_types=all(one.style == "functions" for one in self.steps),
            folder=_absolute(run.folder),
            staging=os.path.join(self.staging.folder, ATTEMPTS),  # noqa: PTH118  # for each task
            env=dict(self.env),
            inherits_env=run.inherit_env,
            split=self._split(phase, task, inputs) if role.side == "map" else None,
            sources=sources,
            is_early=not all(source.path for source in sources),
            code=self.code,
            buffer=None if self.job.buffer is None else self.job.buffer.default,
        )
        return spec.to_json()

    def host(self, phase: int) -> str | None:
        """The name of the interpreter whose forks do the tasks of a phase; None for commands.

        One that has imported the code of one phase would import that of others for each task.
        """
        number = self.roles[phase].step
        step = self.steps[number]
        if step.python is None:
            return None
        first = next(index for index, one in enumerate(self.steps) if one.python == step.python)
        return f"{self.name}-s{first}" if first else self.name

    def splits_of(self, phase: int) -> tuple[Split, ...]:
        """The input of the tasks of a phase that reads files."""
        start = sum(role.splits for role in self.roles[:phase])
        return self.splits[start : start + self.roles[phase].splits]

    def changes(self) -> list[str]:
        """One message for each input file or file of code that changed since the run started."""
        return [*input_changes(self.inputs), *code_changes(self.code)]

    def missing_programs(self) -> list[str]:
        """The programs of its commands that are not found any more."""
        return list(missing_programs(_run_of(self.job), self.programs))

    def _reduces_of(self, phase: int) -> int:
        """The number of reduce tasks, as scripts for Hadoop ask for it."""
        role = self.roles[phase]
        if self.reduces:
            return self.reduces if self.steps[role.step].has_reducer else 0
        return self.job.phases[phase].tasks if role.side == "reduce" else role.segments

    def _split(self, phase: int, task: int, inputs: Locations) -> Split | None:
        role = self.roles[phase]
        if role.reads_files:
            start = sum(one.splits for one in self.roles[:phase])
            return self.splits[start + task] if role.splits else None
        place = next(islice(tasks_read(role, self.job.phases), task, None))
        (path,) = inputs[place]
        return Split(path=path, start=0, end=None, made_by=place)

    def _sources(self, phase: int, task: int, inputs: Locations) -> Iterator[Source]:
        readers = self.job.phases[phase].tasks
        for earlier, number in tasks_read(self.roles[phase], self.job.phases):
            (path,) = inputs.get((earlier, number), ("",))
            for segment in range(task, self.roles[earlier].segments, readers):
                yield Source(phase=earlier, task=number, path=path, segment=segment)

    def to_json(self) -> dict[str, Any]:
        """All that a resumed run needs from the journal, as plain JSON values."""
        return {
            "name": self.name,
            "staging": str(self.staging.folder),
            "output": str(self.staging.output),
            "replaced": getattr(self.staging, "replaced", ""),
            "steps": [asdict(step) for step in self.steps],
            "roles": [asdict(role) for role in self.roles],
            "splits": [
                {"path": split.path, "start": split.start, "end": split.end, "made_by": None}
                for split in self.splits
            ],
            "reduces": self.reduces,
            "inputs": [list(version) for version in self.inputs],
            "code": [list(version) for version in self.code],
            "programs": list(self.programs),
            "awaits_input": self.awaits_input,
            "after": list(self.job.after),
            "deadline": [self.job.deadline_at_s, self.job.shares_deadline_of],
            "phases": [as_plain(phase) for phase in self.job.phases],
        }

    @classmethod
    def from_json(cls, job: Job, record: Mapping[str, Any]) -> PreparedJob:
        """Return the same prepared job in a resumed run; reads no file."""
        steps = tuple(Step.from_json(step) for step in record["steps"])
        inputs = {entry[0]: InputVersion(*entry) for entry in record.get("inputs", ())}
        splits = (Split.from_json(split) for split in record["splits"])
        deadline_at_s, shares_of = record.get("deadline", (job.deadline_at_s, None))
        return cls(
            job=replace(
                job.without_env_values(),
                deadline_at_s=deadline_at_s,
                shares_deadline_of=shares_of,
                phases=tuple(from_plain(Phase, plain) for plain in record["phases"]),
            ),
            name=record["name"],
            staging=_recorded_staging(record),
            steps=steps,
            roles=recorded_roles(record, steps),
            splits=tuple(replace(split, version=inputs.get(split.path)) for split in splits),
            reduces=record["reduces"],
            inputs=tuple(inputs.values()),
            code=tuple(CodeVersion(*entry) for entry in record.get("code", ())),
            programs=tuple(record.get("programs", ())),
            awaits_input=record.get("awaits_input", False),
            env=_run_of(job).env,
        )


def prepare(
    job: Job, *, run_id: str = "", replaces: bool = False, made: Mapping[str, int] | None = None
) -> PreparedJob:
    """Check all that can be checked before anything runs, and lay out the tasks.

    run_id: letters and digits that distinguish this run from others of the same file.
    replaces: whether an output at a URL may be there; one on a disk has stepped aside by now.
    made: input patterns that jobs before it make, each with the part files to expect.
    Raises InvalidInput naming the job and its input, output, command or Python object. Writes
    nothing: `begin_job` makes the staging folder.
    """
    run, where = _run_of(job), f"job {job.job_id!r}"
    name = job_name(job.job_id, run_id)
    staging = _staging(run, name, where, replaces=replaces)
    made = made or {}
    code = user_code_of(run, where)
    reduces = 0 if run.stages else _wanted_reduces(job)
    if run.stages:
        roles = roles_of_stages(run, job.phases, code.steps, where)
        phases = job.phases
    else:
        roles = roles_of_steps(code.steps, reduces)
        phases = phases_of_steps(roles, reduces)
    files = FilesRead.of(run, roles, phases, made, where)
    counts = task_counts(files.roles, phases)
    phases = tuple(
        _with_profile(replace(phase, tasks=tasks), job.phases)
        for phase, tasks in zip(phases, counts, strict=True)
    )
    return PreparedJob(
        # The resolved folder, so that a run is recognised from any working directory.
        job=replace(
            job, run=replace(run, folder=str(Path(run.folder).resolve())), phases=phases
        ).without_env_values(),
        name=name,
        staging=staging,
        steps=code.steps,
        roles=with_splits(roles, [0] * len(roles)) if made else files.roles,
        splits=() if made else files.splits,
        reduces=reduces,
        inputs=() if made else files.inputs,
        awaits_input=bool(made),
        code=code.files,
        programs=code.programs,
        env=run.env,
    )


def laid_out(prepared: PreparedJob) -> PreparedJob:
    """The job with its real splits, once the jobs before it have made its input.

    Raises InvalidInput if the input is not there.
    """
    job, run = prepared.job, _run_of(prepared.job)
    files = FilesRead.of(run, prepared.roles, job.phases, {}, f"job {job.job_id!r}")
    counts = task_counts(files.roles, job.phases)
    phases = tuple(_of_tasks(phase, tasks) for phase, tasks in zip(job.phases, counts, strict=True))
    return replace(
        prepared,
        job=replace(job, phases=phases),
        roles=files.roles,
        splits=files.splits,
        inputs=files.inputs,
        awaits_input=False,
    )


def _of_tasks(known: Phase, tasks: int) -> Phase:
    """A phase with its real number of tasks; lengths that were listed for others do not count."""
    if known.tasks == tasks:
        return known
    keeps = isinstance(known.lengths, ConstantLengths)
    return replace(
        known, tasks=tasks, tasks_max=None, lengths=known.lengths if keeps else None, fetch=None
    )


def begin_job(prepared: PreparedJob) -> None:
    """Make the staging folder: before the first launch, and again after a restart."""
    prepared.staging.begin()


def commit_job(prepared: PreparedJob, outputs: Locations) -> Path | str:
    """Turn the winners of the last phase into the output; returns its folder, or its URL.

    outputs: as for `PreparedJob.work`. Safe to repeat, also after an interruption.
    Raises InvalidInput if something else has taken its place; WorkFailed with blames if part files
    are lost.
    """
    last = len(prepared.job.phases) - 1
    tasks = range(prepared.job.phases[last].tasks)
    winners = [outputs[last, task][0] for task in tasks]
    prepared.staging.commit(winners, phase=last)
    return prepared.staging.output


def abort_job(prepared: PreparedJob) -> None:
    """Remove all files of a job that failed or was cancelled; safe to repeat."""
    prepared.staging.abort()


def job_name(job_id: str, run_id: str = "") -> str:
    """A name for files: the plain characters of the id, and a digest that makes it unique.

    >>> job_name("etl/7: Häufig")
    'etl_7__H_ufig-5592f7ad'
    """
    fit = re.sub(r"[^A-Za-z0-9]", "_", job_id)[:NAME_CHARACTERS_MAX]
    digest = hashlib.sha256(job_id.encode()).hexdigest()[:8]
    return f"{fit}-{digest}" + (f"-{run_id}" if run_id else "")


def _run_of(job: Job) -> RunSpec:
    assert job.run is not None
    return job.run


def output_of(run: RunSpec) -> str:
    """Where the output of a job is: an absolute path, or a URL.

    >>> output_of(RunSpec(folder="/a", input=(), output="file:///b/out"))
    '/b/out'
    """
    output = run.output.removeprefix("file://")
    return output if is_url(output) else str(Path(run.folder, output).absolute())


def _staging(run: RunSpec, name: str, where: str, *, replaces: bool) -> Staging | StoreStaging:
    """Where the output is made. Raises InvalidInput for an output that cannot be new."""
    output = output_of(run)
    if is_url(output):
        return StoreStaging.beside(output, name, where, replaces=replaces)
    if Path(run.output).name in {"", ".."}:
        raise InvalidInput(
            f"output {run.output!r} names no new folder", where=where, hint="name a new folder"
        )
    if os.path.lexists(output):
        raise output_exists(output, where=where)
    _check_place(Path(output), where)
    return Staging.beside(Path(output), name)


def _check_place(output: Path, where: str) -> None:
    """Raise InvalidInput if no folder can be made there, now rather than after all tasks."""
    above = next(folder for folder in output.parents if os.path.lexists(folder))
    if max(len(os.fsencode(name)) for name in output.parts) > _NAME_BYTES_MAX:
        problem = f"a name in it has more than {_NAME_BYTES_MAX} bytes"
    elif not above.is_dir():
        problem = f"{str(above)!r} is not a folder"
    elif not os.access(above, os.W_OK | os.X_OK, effective_ids=True):
        problem = f"you may not write to {str(above)!r}"
    else:
        return
    raise InvalidInput(
        f"output {str(output)!r} cannot be made: {problem}", where=where, hint="name another folder"
    )


def _recorded_staging(record: Mapping[str, Any]) -> Staging | StoreStaging:
    folder, output = record["staging"], record["output"]
    if is_url(output):
        return StoreStaging(folder=folder, output=output, replaced=record["replaced"])
    return Staging(folder=Path(folder), output=Path(output))


def _wanted_reduces(job: Job) -> int:
    given = [phase.tasks for phase in job.phases if phase.kind is SlotKind.REDUCE]
    return given[0] if given else 1


def _absolute(folder: str) -> str:
    return folder if folder.startswith("/") else str(Path(folder).absolute())


def _with_profile(phase: Phase, given: Sequence[Phase]) -> Phase:
    """The phase of that name in the file; its lengths count only for the same number of tasks."""
    for known in given:
        if known.name == phase.name and known.kind is phase.kind:
            kept = replace(known, tasks=phase.tasks, after=phase.after, tasks_max=None)
            agrees = known.tasks == phase.tasks
            return kept if agrees else replace(kept, lengths=None, fetch=None)
    return phase
