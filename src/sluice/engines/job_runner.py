"""The work of real map-reduce jobs for the driver: a `WorkSource` over `engines.mapreduce`.

Prepared jobs are journaled when the run starts, and are read from the journal when it is resumed.
A resumed run first checks that inputs and code are what they were when the run started.

A split is on the nodes that have most of it: the node that wrote its file, or those with its blocks
of HDFS. Other splits have no location, because all nodes of one machine are equally near to its
disk.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from sluice.core.commands import Launch
from sluice.engines.data_plane.plane import DataPlane
from sluice.engines.data_plane.stores import StoreFailed
from sluice.engines.local.customer_folders import CustomerFolders
from sluice.engines.mapreduce.commit import Staging, why_broken
from sluice.engines.mapreduce.errors import MACHINE_FAULTS
from sluice.engines.mapreduce.input_places import PlacedPart, nearest_nodes
from sluice.engines.mapreduce.layout import PreparedJob, abort_job, begin_job, commit_job, laid_out
from sluice.engines.unix_users import acting_as
from sluice.engines.work_source import JobOutputs, TaskOutput
from sluice.model.errors import EngineUnavailable, InvalidInput, SluiceError, sentence
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job
from sluice.store.output_locks import OutputLocks
from sluice.store.run_record import mark

_EPOCH_OF = re.compile(r"(.*)-e(\d+)\.(tmp|writing)")


class JobRunner:
    """Prepared jobs by id. A `WorkSource`.

    scratch: folder in which each node of the engine has a folder for its files.
    places: where the parts of an input file are, by path, where that is known.
    """

    def __init__(
        self,
        prepared: Iterable[PreparedJob],
        scratch: Path,
        places: Mapping[str, Sequence[PlacedPart]] | None = None,
    ) -> None:
        self._prepared = {each.job.job_id: each for each in prepared}
        self._scratch = scratch
        self._places = places or {}
        self._data_plane: DataPlane | None = None
        self._begun: set[JobId] = set()
        self._customers: CustomerFolders | None = None
        self._outputs: OutputLocks | None = None

    @classmethod
    def reopened(
        cls, jobs: Iterable[Job], records: Mapping[JobId, Mapping[str, Any]], scratch: Path
    ) -> JobRunner:
        """The runner for a resumed run, from the journal's record of each job."""
        return cls([PreparedJob.from_json(job, records[job.job_id]) for job in jobs], scratch)

    def add(self, prepared: Iterable[PreparedJob]) -> None:
        """Jobs that are submitted while others run."""
        self._prepared |= {each.job.job_id: each for each in prepared}

    def reserve_by(self, locks: OutputLocks) -> None:
        """Outputs of jobs that `reserve` names are locked until they are committed or removed."""
        self._outputs = locks

    def reserve(self, prepared: Iterable[PreparedJob]) -> None:
        """Lock the outputs of jobs, or none of them. Raises InvalidInput if another run has one."""
        locked: list[str] = []
        try:
            for output in filter(None, map(_local_output, prepared)):
                if self._outputs is not None:
                    self._outputs.hold(output)
                    locked.append(output)
        except BaseException:
            for output in locked:
                self._let_go(output)
            raise

    def reserve_again(self, job_ids: Iterable[JobId]) -> None:
        """Lock the outputs of jobs that a former life left, unless a run has taken them since."""
        for job_id in self._prepared.keys() & set(job_ids):
            with suppress(InvalidInput):  # its commit will say so
                self.reserve([self._prepared[job_id]])

    def _let_go(self, output: str | None) -> None:
        if self._outputs is not None and output is not None:
            self._outputs.let_go(output)

    def change(self, job: Job) -> None:
        """A job that has started nothing gets other values; what its tasks do stays."""
        self._prepared[job.job_id] = replace(self._prepared[job.job_id], job=job)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs with their real phases, for the driver."""
        return tuple(each.job for each in self._prepared.values())

    @property
    def input_bytes(self) -> Mapping[JobId, int]:
        """The known bytes of each job's input, by job."""
        return {
            job_id: sum(one.end - one.start for one in each.splits if one.end is not None)
            for job_id, each in self._prepared.items()
        }

    @property
    def prepared(self) -> tuple[PreparedJob, ...]:
        """The prepared jobs, for the data plane."""
        return tuple(self._prepared.values())

    def move_data_by(self, data_plane: DataPlane) -> None:
        """The nodes share no disk: their tasks get all data by this data plane."""
        self._data_plane = data_plane

    def keep_apart(self, customers: CustomerFolders) -> None:
        """Tasks run as the users of their customers, and outputs are made with their rights."""
        self._customers = customers

    def records(self) -> dict[JobId, Mapping[str, Any]]:
        """The journal's record of each job."""
        return {job_id: each.to_json() for job_id, each in self._prepared.items()}

    def check_unchanged(self, job_id: JobId) -> None:
        with self._acting(self._prepared[job_id]):
            changes = self._prepared[job_id].changes()
        if not changes:
            return
        more = len(changes) - 1
        files = "file has" if more == 1 else "files have"
        raise InvalidInput(
            changes[0] + (f"; {more} more {files} changed" if more else ""),
            where=f"job {job_id!r}",
            hint="restore it with its modification time, or run without --resume to start again",
        )

    def check_runnable(self, job_id: JobId) -> None:
        prepared, where = self._prepared[job_id], f"job {job_id!r}"
        missing = prepared.missing_programs()
        if missing:
            names = ", ".join(map(repr, missing))
            what = f"program {names} is" if len(missing) == 1 else f"programs {names} are"
            raise InvalidInput(
                f"{what} not found any more, or may not be executed",
                where=where,
                hint="set PATH as it was when the run started",
            )
        if isinstance(prepared.staging, Staging):
            prepared.staging.refuse_foreign_output(where)

    def lay_out(self, job_id: JobId) -> tuple[Job, Mapping[str, Any]] | None:
        prepared = self._prepared[job_id]
        if not prepared.awaits_input:
            return None
        with self._acting(prepared):
            prepared = self._prepared[job_id] = laid_out(prepared)
        return prepared.job, prepared.to_json()

    def lay_out_again(self, job_id: JobId, record: Mapping[str, Any]) -> None:
        """A job of a resumed run was laid out before, as the journal has it."""
        known = self._prepared[job_id]
        self._prepared[job_id] = replace(PreparedJob.from_json(known.job, record), env=known.env)

    def job_name(self, job_id: JobId) -> str:
        return self._prepared[job_id].name

    def sweep(self, epoch: int, kept: Collection[str] = ()) -> None:
        if self._data_plane is not None:
            self._data_plane.start()  # attempts of the former life may be waiting for it
        stagings = (each.staging for each in self._prepared.values())
        folders = [one.attempts for one in stagings if isinstance(one, Staging)]
        folders += self._data_folders()
        for folder in folders:
            for path in folder.glob("*.*"):
                found = _EPOCH_OF.fullmatch(path.name)
                if found and int(found[2]) < epoch and found[1] not in kept:
                    _remove(path)

    def locations(self, job: Job) -> Mapping[int, tuple[tuple[NodeId, ...], ...]]:
        prepared = self._prepared[job.job_id]
        found = {}
        for phase in range(len(job.phases)):
            splits = prepared.splits_of(phase)
            nodes = tuple(nearest_nodes(one, self._places.get(one.path, ())) for one in splits)
            if any(nodes):
                found[phase] = nodes
        return found

    def work(self, launch: Launch, outputs: JobOutputs) -> Mapping[str, Any]:
        key = launch.key
        prepared = self._prepared[key.job_id]
        if key.job_id not in self._begun:
            try:
                with self._acting(prepared):
                    begin_job(prepared)
                # A customer may have changed its folder already: root writes nothing there.
                if isinstance(prepared.staging, Staging) and self._customers is None:
                    mark(prepared.staging.folder, self._scratch.parent)
            except OSError as error:
                raise _cannot_begin(prepared, error) from error
            self._begun.add(key.job_id)
        work = prepared.work(key.phase, key.task, _ByTask(outputs))
        if self._data_plane is not None:
            work = self._data_plane.added_to(work)
        # Python is loaded once for a job and node, and each attempt is forked from there.
        apart = {} if self._customers is None else {"customer": prepared.job.customer}
        return {**work, **apart, "host": prepared.host(key.phase)}

    def starts_early(self, job_id: JobId, phase: int) -> bool:
        return self._prepared[job_id].roles[phase].side == "reduce"

    def broken_outputs(self, job_id: JobId, outputs: Mapping[int, TaskOutput]) -> Mapping[int, str]:
        staging = self._prepared[job_id].staging
        if not isinstance(staging, Staging):
            return {}  # a store checks what it is given
        with self._acting(self._prepared[job_id]):
            found = {
                task: why_broken(Path(one.files[0])) for task, one in outputs.items() if one.files
            }
        return {task: why for task, why in found.items() if why}

    def commit(self, job_id: JobId, outputs: JobOutputs) -> None:
        try:
            with self._acting(self._prepared[job_id]):
                commit_job(self._prepared[job_id], _ByTask(outputs))
        except OSError as error:
            raise _disk_fault(self._prepared[job_id], error) from error
        self._let_go(_local_output(self._prepared[job_id]))
        self._drop_spills(job_id)
        if self._data_plane is not None:
            done = (one for tasks in outputs.values() for one in tasks.values())
            self._data_plane.drop(
                self._prepared[job_id].name, (file for one in done for file in one.files)
            )

    def abort(self, job_id: JobId) -> None:
        with self._acting(self._prepared[job_id]):
            abort_job(self._prepared[job_id])
        self._let_go(_local_output(self._prepared[job_id]))
        self._drop_spills(job_id)

    def forget(self, job_ids: Collection[JobId]) -> None:
        for job_id in job_ids:
            self._prepared.pop(job_id, None)
            self._begun.discard(job_id)

    def clear(self) -> None:
        if self._customers is not None:
            self._customers.clear()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _acting(self, prepared: PreparedJob) -> AbstractContextManager[None]:
        """Inside, this thread has the rights of the job's customer, if customers are kept apart."""
        user = None if self._customers is None else self._customers.users.of(prepared.job)
        return acting_as(user)

    def _data_folders(self) -> list[Path]:
        """Where the nodes of this machine keep map output; each raylet has a folder of its own."""
        return [*self._scratch.glob("*/data"), *self._scratch.glob("root-*/*/data")]

    def _drop_spills(self, job_id: JobId) -> None:
        """Remove the map output of a job that is over."""
        if self._customers is not None:
            self._customers.job_over(job_id)
        for data in self._data_folders():
            for path in data.iterdir():
                if path.name.startswith(f"{self._prepared[job_id].name}-"):
                    _remove(path)


class _ByTask(Mapping[tuple[int, int], Sequence[str]]):
    """Outputs by (phase, task); a view, because every launch needs one."""

    def __init__(self, outputs: JobOutputs) -> None:
        self._outputs = outputs

    def __getitem__(self, place: tuple[int, int]) -> Sequence[str]:
        phase, task = place
        return self._outputs[phase][task].files

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((phase, task) for phase, tasks in self._outputs.items() for task in tasks)

    def __len__(self) -> int:
        return sum(map(len, self._outputs.values()))


def _local_output(prepared: PreparedJob) -> str | None:
    """The output of a job, if it is on a disk."""
    return str(prepared.staging.output) if isinstance(prepared.staging, Staging) else None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _cannot_begin(prepared: PreparedJob, error: OSError) -> SluiceError:
    """A fault of the machine; else the output is where this job cannot write, and others can."""
    if error.errno in MACHINE_FAULTS:
        return _disk_fault(prepared, error)
    hint = getattr(error, "hint", "") or "name another output, or grant permission to write there"
    return InvalidInput(
        f"output {str(prepared.staging.output)!r} cannot be written: {error.strerror}",
        where=f"job {prepared.job.job_id!r}",
        hint=hint,
    )


def _disk_fault(prepared: PreparedJob, error: OSError) -> EngineUnavailable:
    """A fault of the disk, or of a store."""
    what = error.strerror
    if not isinstance(error, StoreFailed):
        # A write to an open file does not name it; all of them are in the staging folder.
        what = f"{error.filename or prepared.staging.folder}: {what}"
    return EngineUnavailable(
        sentence(f"job {prepared.job.job_id!r}: {what}") + " Fix that, then continue with --resume."
    )
