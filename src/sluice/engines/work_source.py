"""Where a live run gets its work from: what an attempt does, and what becomes of a job's output.

The driver knows jobs, phases and tasks, but not what a task does. A `WorkSource` knows: it is
asked at each launch, and called when a job has ended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol

from sluice.core.commands import Launch
from sluice.model.attempts import AttemptKey
from sluice.model.ids import JobId, NodeId
from sluice.model.job import Job


class TaskOutput(NamedTuple):
    """The output of a done task, on the node where it ran: `files` as the attempt reported them."""

    key: AttemptKey
    node_id: NodeId
    files: tuple[str, ...]


JobOutputs = Mapping[int, Mapping[int, TaskOutput]]  # by phase, by task


class WorkSource(Protocol):
    """Work for one run. Errors it raises are SluiceErrors; all calls come from one thread."""

    def check_unchanged(self, job_id: JobId) -> None:
        """Raise InvalidInput if an input or the code of a job changed since the run started.

        Called when a run is resumed, before anything else, for every job that is not over.
        """

    def check_runnable(self, job_id: JobId) -> None:
        """Raise InvalidInput if the tasks of a job cannot run, or would run in vain.

        Called when a run is resumed, before anything else, for every job with tasks left to run.
        """

    def lay_out(self, job_id: JobId) -> tuple[Job, Mapping[str, Any]] | None:
        """Find what the job reads of the outputs of jobs before it, which are in their places now.

        Returns the job with its real phases, and its new record for the journal; None for a job
        that was laid out before the run. Raises InvalidInput if its input is not there.
        """

    def job_name(self, job_id: JobId) -> str:
        """The `job_name` in the work of a job's attempts."""

    def sweep(self, epoch: int, kept: Collection[str] = ()) -> None:
        """Remove what attempts of epochs before this one left unfinished. Called once, first.

        kept: names of attempts that may still run.
        """

    def locations(self, job: Job) -> Mapping[int, tuple[tuple[NodeId, ...], ...]]:
        """Per phase, per task, the nodes that hold its input; phases left out: anywhere."""

    def work(self, launch: Launch, outputs: JobOutputs) -> Mapping[str, Any]:
        """Return what the attempt does, as plain JSON values, given what earlier phases left.

        All phases that it reads are done, or its phase `starts_early`: then outputs may be
        missing. Holds a `job_name`, which is the job's own and fit for a file name whatever its id
        is. An error fails the attempt, as one not started.
        """

    def starts_early(self, job_id: JobId, phase: int) -> bool:
        """Whether the tasks of a phase can start before those that they read from have ended.

        Their engine then lets them know where further outputs are.
        """

    def broken_outputs(self, job_id: JobId, outputs: Mapping[int, TaskOutput]) -> Mapping[int, str]:
        """Return the tasks of the last phase whose output is not what they wrote, and why.

        outputs: of all its tasks. Called before the job ends, so that these tasks can run again.
        """

    def commit(self, job_id: JobId, outputs: JobOutputs) -> None:
        """All tasks are done: put the output in its place, durably. May be called again after a
        crash, also when the first call had got all the way.
        """

    def abort(self, job_id: JobId) -> None:
        """The job ended otherwise and nothing of it runs: remove what it left. As `commit`."""

    def forget(self, job_ids: Collection[JobId]) -> None:
        """These jobs are over, and nothing is asked about them any more. Some may be unknown."""

    def clear(self) -> None:
        """The run is over for good: remove what only served it. Called once, last."""
