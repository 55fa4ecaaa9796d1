"""Planning a real job: from the workload file to phases, splits and a TaskSpec for every task.

The phases are "map" and "reduce", then "map-2", "reduce-2" and so on for the further steps of an
mrjob class; a step without reducer has no reduce phase. The first map phase has one task for each
split; a later one has a task for each part file of the step before. Part files between steps are
kept in the job's staging folder, as Hadoop keeps them in its shared file system: the loss of a node
does not lose them.

A prepared job also records the versions of its input files and of its code (`fingerprints`), so
that a resumed run, and every attempt, works on what the run started with.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sluice.core.record.codec import as_plain, from_plain
from sluice.engines.data_plane.stores import is_url
from sluice.engines.mapreduce.commit import ATTEMPTS, Staging, output_exists
from sluice.engines.mapreduce.fingerprints import (
    CodeVersion,
    InputVersion,
    code_changes,
    code_version,
    files_of_commands,
    input_changes,
)
from sluice.engines.mapreduce.inputs import input_files, input_splits
from sluice.engines.mapreduce.probe import inspect_python
from sluice.engines.mapreduce.programs import found_command, missing_programs, programs_of
from sluice.engines.mapreduce.splits import Split
from sluice.engines.mapreduce.store_commit import StoreStaging
from sluice.engines.mapreduce.task_spec import Source, Step, TaskSpec
from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase, RunSpec, SlotKind
from sluice.model.lengths import ConstantLengths

NAME_CHARACTERS_MAX = 60
_NAME_BYTES_MAX = 255  # of a file, on all usual file systems

Locations = Mapping[tuple[int, int], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedJob:
    """A job that can be run: `job` has its real phases, `work` gives each task's work.

    name: part of the names of its files; unique to this job of this run.
    splits: inputs of the first map phase; none if there is no data (that phase has one task then).
    reduces: reduce tasks of each step that has a reducer.
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
    splits: tuple[Split, ...]
    reduces: int
    inputs: tuple[InputVersion, ...] = field(default=(), repr=False)
    code: tuple[CodeVersion, ...] = ()
    programs: tuple[str, ...] = ()
    awaits_input: bool = False
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def work(self, phase: int, task: int, inputs: Locations) -> dict[str, Any]:
        """The work of an attempt at this task, as plain JSON values.

        inputs: for each earlier (phase position, task), the `outputs` of its winner.
        """
        run = _run_of(self.job)
        side, number = _roles(self.steps)[phase]
        step = self.steps[number]
        spec = TaskSpec(
            job_id=self.job.job_id,
            job_name=self.name,
            phase=phase,
            phase_name=self.job.phases[phase].name,
            task=task,
            side=side,
            step=step,
            reduces=self.reduces if step.has_reducer else 0,
            folder=_absolute(run.folder),
            staging=os.path.join(self.staging.folder, ATTEMPTS),  # noqa: PTH118  # for each task
            env=dict(self.env),
            inherits_env=run.inherit_env,
            split=self._split(phase, task, inputs) if side == "map" else None,
            sources=tuple(self._sources(phase, inputs)) if side == "reduce" else (),
            code=self.code,
        )
        return spec.to_json()

    def changes(self) -> list[str]:
        """One message for each input file or file of code that changed since the run started."""
        return [*input_changes(self.inputs), *code_changes(self.code)]

    def missing_programs(self) -> list[str]:
        """The programs of its commands that are not found any more."""
        return list(missing_programs(_run_of(self.job), self.programs))

    def _split(self, phase: int, task: int, inputs: Locations) -> Split | None:
        if phase == 0:
            return self.splits[task] if self.splits else None
        (path,) = inputs[phase - 1, task]
        return Split(path=path, start=0, end=None, made_by=(phase - 1, task))

    def _sources(self, phase: int, inputs: Locations) -> Iterator[Source]:
        for task in range(self.job.phases[phase - 1].tasks):
            (path,) = inputs[phase - 1, task]
            yield Source(phase=phase - 1, task=task, path=path)

    def to_json(self) -> dict[str, Any]:
        """All that a resumed run needs from the journal, as plain JSON values."""
        return {
            "name": self.name,
            "staging": str(self.staging.folder),
            "output": str(self.staging.output),
            "replaced": getattr(self.staging, "replaced", ""),
            "steps": [asdict(step) for step in self.steps],
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
    there = [pattern for pattern in run.input if pattern not in made]
    inputs = input_files(run.folder, there, where=where)
    steps, code = _python_steps(run, where) if run.python else _command_step(run, where)
    splits = tuple(input_splits(inputs, run.split_bytes, where))
    reduces = _wanted_reduces(job)
    return PreparedJob(
        # The resolved folder, so that a run is recognised from any working directory.
        job=replace(
            job,
            run=replace(run, folder=str(Path(run.folder).resolve())),
            phases=_phases(job, steps, len(splits) + sum(made.values()), reduces),
        ).without_env_values(),
        name=name,
        staging=staging,
        steps=steps,
        splits=() if made else splits,
        reduces=reduces,
        inputs=() if made else tuple(inputs),
        awaits_input=bool(made),
        code=code,
        programs=programs_of(run, (steps[0].mapper, steps[0].combiner, steps[0].reducer)),
        env=run.env,
    )


def laid_out(prepared: PreparedJob) -> PreparedJob:
    """The job with its real splits, once the jobs before it have made its input.

    Raises InvalidInput if the input is not there.
    """
    job, run = prepared.job, _run_of(prepared.job)
    where = f"job {job.job_id!r}"
    inputs = input_files(run.folder, run.input, where=where)
    splits = tuple(input_splits(inputs, run.split_bytes, where))
    real = _phases(job, prepared.steps, len(splits), prepared.reduces)
    phases = tuple(
        _of_tasks(guess, phase.tasks) for guess, phase in zip(job.phases, real, strict=True)
    )
    return replace(
        prepared,
        job=replace(job, phases=phases),
        splits=splits,
        inputs=tuple(inputs),
        awaits_input=False,
    )


def _of_tasks(guess: Phase, tasks: int) -> Phase:
    """A phase of the job as it was planned, with its real number of tasks."""
    if guess.tasks == tasks:
        return guess
    keeps = isinstance(guess.lengths, ConstantLengths)
    return replace(guess, tasks=tasks, lengths=guess.lengths if keeps else None, fetch=None)


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
    elif not os.access(above, os.W_OK | os.X_OK):
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


def _python_steps(run: RunSpec, where: str) -> tuple[tuple[Step, ...], tuple[CodeVersion, ...]]:
    assert run.python is not None
    folder = str(Path(run.folder).absolute())
    steps, files = inspect_python(
        folder, run.python, dict(run.env), where=where, inherits_env=run.inherit_env
    )
    return steps, tuple(code_version(path, str(Path(path).parent)) for path in files)


def _command_step(run: RunSpec, where: str) -> tuple[tuple[Step, ...], tuple[CodeVersion, ...]]:
    if run.mapper is None and run.reducer is None:
        raise InvalidInput(
            "run has no mapper and no reducer", where=where, hint="add `mapper:` or `python:`"
        )
    step = Step(
        style="commands",
        mapper=found_command(run, "mapper", run.mapper, where),
        combiner=found_command(run, "combiner", run.combiner, where),
        reducer=found_command(run, "reducer", run.reducer, where),
        has_mapper=run.mapper is not None,
        has_combiner=run.combiner is not None,
        has_reducer=run.reducer is not None,
    )
    folder = str(Path(run.folder).absolute())
    files = files_of_commands(folder, (step.mapper, step.combiner, step.reducer))
    return (step,), tuple(code_version(path, folder) for path in files)


def _absolute(folder: str) -> str:
    return folder if folder.startswith("/") else str(Path(folder).absolute())


def _roles(steps: Sequence[Step]) -> list[tuple[str, int]]:
    """For each phase its side, and the number of its step."""
    return [
        (side, number)
        for number, step in enumerate(steps)
        for side in (("map", "reduce") if step.has_reducer else ("map",))
    ]


def _phases(job: Job, steps: Sequence[Step], splits: int, reduces: int) -> tuple[Phase, ...]:
    phases: list[Phase] = []
    for side, number in _roles(steps):
        name = side if number == 0 else f"{side}-{number + 1}"
        before = phases[-1].tasks if phases else max(1, splits)
        phase = Phase(
            name=name,
            kind=SlotKind.MAP if side == "map" else SlotKind.REDUCE,
            tasks=before if side == "map" else reduces,
            after=(len(phases) - 1,) if phases else (),
        )
        phases.append(_with_profile(phase, job.phases))
    return tuple(phases)


def _with_profile(phase: Phase, given: Sequence[Phase]) -> Phase:
    """The phase of that name in the file; its lengths count only for the same number of tasks."""
    for known in given:
        if known.name == phase.name and known.kind is phase.kind:
            kept = replace(known, tasks=phase.tasks, after=phase.after, tasks_max=None)
            agrees = known.tasks == phase.tasks
            return kept if agrees else replace(kept, lengths=None, fetch=None)
    return phase
