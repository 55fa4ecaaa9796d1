"""The work of real map-reduce jobs, as the driver asks for it: a `WorkSource` over `engines.work`.

What was prepared is journaled when the run starts and taken from the journal when it is resumed:
by then inputs may have changed and outputs stand where nothing stood.

A split lies on the node that wrote its file, where that is known; all others lie nowhere in
particular, for all nodes of one machine are equally near to its disk.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sluice.core.commands import Launch
from sluice.engines.mapreduce.layout import PreparedJob, abort_job, begin_job, commit_job
from sluice.engines.work_source import JobOutputs
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job
from sluice.store.run_record import mark

_EPOCH_OF = re.compile(r".*-e(\d+)\.(tmp|writing)")


class JobRunner:
    """Prepared jobs by id. A `WorkSource`.

    scratch: where the nodes of the engine keep their files, in one folder for each.
    writers: for input files that a node wrote, which one.
    """

    def __init__(
        self,
        prepared: Iterable[PreparedJob],
        scratch: Path,
        writers: Mapping[str, NodeId] | None = None,
    ) -> None:
        self._prepared = {each.job.job_id: each for each in prepared}
        self._scratch = scratch
        self._writers = writers or {}
        self._begun: set[JobId] = set()

    @classmethod
    def reopened(
        cls, jobs: Iterable[Job], records: Mapping[JobId, Mapping[str, Any]], scratch: Path
    ) -> JobRunner:
        """The workshop of a run to be resumed, from what its journal holds of each job."""
        return cls([PreparedJob.from_json(job, records[job.job_id]) for job in jobs], scratch)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs with their real phases, for the driver."""
        return tuple(each.job for each in self._prepared.values())

    def records(self) -> dict[JobId, Mapping[str, Any]]:
        """What the journal is to keep of each job."""
        return {job_id: each.to_json() for job_id, each in self._prepared.items()}

    def sweep(self, epoch: int) -> None:
        folders = [each.staging.attempts for each in self._prepared.values()]
        folders += self._scratch.glob("*/data")
        for folder in folders:
            for path in folder.glob("*.*"):
                found = _EPOCH_OF.fullmatch(path.name)
                if found and int(found[1]) < epoch:
                    _remove(path)

    def locations(self, job: Job) -> Mapping[int, tuple[tuple[NodeId, ...], ...]]:
        splits = self._prepared[job.job_id].splits
        nodes = [self._writers.get(split.path) for split in splits]
        if not any(nodes):
            return {}
        return {0: tuple((node,) if node else () for node in nodes)}

    def work(self, launch: Launch, outputs: JobOutputs) -> Mapping[str, Any]:
        key = launch.key
        prepared = self._prepared[key.job_id]
        if key.job_id not in self._begun:
            with _told(key.job_id):
                begin_job(prepared)
                mark(prepared.staging.folder, self._scratch.parent)
            self._begun.add(key.job_id)
        work = prepared.work(key.phase, key.task, _ByTask(outputs))
        # Python is loaded once for a job and node, and each attempt starts from there.
        return {**work, "host": prepared.name if work["step"]["python"] else None}

    def commit(self, job_id: JobId, outputs: JobOutputs) -> None:
        with _told(job_id):
            commit_job(self._prepared[job_id], _ByTask(outputs))
        self._drop_spills(job_id)

    def abort(self, job_id: JobId) -> None:
        abort_job(self._prepared[job_id])
        self._drop_spills(job_id)

    def clear(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _drop_spills(self, job_id: JobId) -> None:
        """What maps left for the reduces of a job that is over."""
        for data in self._scratch.glob("*/data"):
            for path in data.iterdir():
                if path.name.startswith(f"{self._prepared[job_id].name}-"):
                    _remove(path)


class _ByTask(Mapping[tuple[int, int], Sequence[str]]):
    """Outputs as `engines.work` asks for them; a view, for each launch wants one."""

    def __init__(self, outputs: JobOutputs) -> None:
        self._outputs = outputs

    def __getitem__(self, place: tuple[int, int]) -> Sequence[str]:
        phase, task = place
        return self._outputs[phase][task].files

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((phase, task) for phase, tasks in self._outputs.items() for task in tasks)

    def __len__(self) -> int:
        return sum(map(len, self._outputs.values()))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _told(job_id: JobId) -> Iterator[None]:
    """Faults of the disk as an error of the house."""
    try:
        yield
    except OSError as error:
        raise EngineUnavailable(
            f"job {job_id!r}: {error.filename or 'the disk'}: {error.strerror}."
            " Mend that, then continue with --resume."
        ) from error
