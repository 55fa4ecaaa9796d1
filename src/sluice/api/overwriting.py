"""Outputs of an earlier run that a new run replaces.

An old output steps aside before the run begins, and is removed once the new one is in its place. If
its job fails, or the run is refused, the old output comes back. If the run is interrupted, the old
output stays aside until the run is resumed, removed, or started again. Only an output that a job
wrote is replaced: a folder without `_SUCCESS` is not touched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from sluice.engines.data_plane.stores import is_url
from sluice.engines.mapreduce.commit import SUCCESS
from sluice.engines.mapreduce.layout import output_of
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.store.old_outputs import HeldOutputs, settle_left


class ReplacedOutputs:
    """A context for a run. Inside, the outputs of the workload's jobs are free to be written.

    workload: None replaces nothing.  has_begun: set it once the run can be resumed.
    """

    def __init__(self, workload: Workload | None) -> None:
        self._outputs = [] if workload is None else outputs_of(workload)
        self._held = HeldOutputs()
        self.has_begun = False

    def __enter__(self) -> Self:
        """Raises InvalidInput for an output that no job wrote, before anything is moved."""
        old = [output for output in self._outputs if output.exists() or output.is_symlink()]
        for output in old:
            if output.is_symlink() or not (output / SUCCESS).is_file():
                raise InvalidInput(
                    f"{str(output)!r} is not the output of a job: it has no {SUCCESS}",
                    where="--overwrite",
                    hint="remove it yourself, or name another output",
                )
        try:
            for output in old:
                self._held.step_aside(output)
        except BaseException:
            self._held.settle()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self.has_begun:
            self._held.let_go()  # in its place, the old output would stop the resumed run
        else:
            self._held.settle()


def settle_outputs(workload: Workload) -> None:
    """Remove or put back what interrupted runs left of earlier outputs of these jobs."""
    for output in outputs_of(workload):
        settle_left(output)


def outputs_of(workload: Workload) -> list[Path]:
    """The output folders of the workload's jobs; those at URLs are replaced by their commit."""
    places = (output_of(job.run) for job in workload.jobs if job.run is not None)
    return [Path(place) for place in dict.fromkeys(places) if not is_url(place)]
