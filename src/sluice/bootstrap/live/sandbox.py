"""Runs of single jobs in a sandbox: alone, on one node of so many slots, and nothing is left.

State, scratch and output are in a folder of the sandbox's own, which goes with it; the job's own
output is not touched, nor has it to be free. What the commands write elsewhere is theirs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.bootstrap.history.profiles import measured_runs
from sluice.bootstrap.live import live_run
from sluice.bootstrap.live.run_options import RunOptions
from sluice.core.transitions import JobState
from sluice.engines.interruption import RunInterrupted
from sluice.engines.progress import Watcher
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun
from sluice.model.job import Job
from sluice.model.workload import Workload
from sluice.store.run_record import RunIdentity

_PREFIX = "sluice-sandbox-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of a job in the sandbox.

    run: what was measured; None where nothing of it ended well.
    failure: why the job did not end well; None where it did.
    """

    job: Job
    slots: int
    run: PastRun | None
    failure: str | None


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Runs jobs of one workload, one at a time. Made by `opened`."""

    workload: Workload
    folder: Path

    def trial(self, job: Job, slots: int, watcher: Watcher | None = None) -> Trial:
        """Run the job alone with so many slots of each kind.

        Raises InvalidInput where it cannot run, RunInterrupted at Ctrl-C, and what a live run
        raises besides.
        """
        assembly = live_run.begin(
            self._alone(job),
            RunIdentity(source=self.workload.source, folder=self.workload.folder, sha256=""),
            RunOptions(nodes=1, map_slots=slots, reduce_slots=slots),
            watcher,
            home=self.folder,
        )
        try:
            done = assembly.carried_out()
        except RunInterrupted:
            raise RunInterrupted(
                "The sandbox was stopped; nothing runs any more. Runs that had ended are kept."
            ) from None
        runs = measured_runs(
            done.result, run_id=assembly.run_id, header=assembly.header, cluster=assembly.cluster
        )
        entry = done.result.jobs[job.job_id]
        failure = done.uncommitted.get(job.job_id)
        if entry.state is not JobState.DONE:
            failure = entry.reason or entry.state.value
        return Trial(job=job, slots=slots, run=runs[0] if runs else None, failure=failure)

    def _alone(self, job: Job) -> Workload:
        if job.run is None:
            raise InvalidInput(
                "run is missing",
                where=f"job {job.job_id!r}",
                hint="say what runs (input, output, mapper); only real jobs can be measured",
            )
        output = tempfile.mkdtemp(prefix="output-", dir=self.folder)
        alone = replace(
            job,
            submitted_at_s=0.0,
            deadline_at_s=None,
            run=replace(job.run, output=str(Path(output, "out"))),
        )
        return replace(self.workload, jobs=(alone,))


@contextmanager
def opened(workload: Workload) -> Iterator[Sandbox]:
    """A sandbox for the jobs of a workload; its folder is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
        yield Sandbox(workload, Path(folder))
