"""Check a workload file, and print the schema of its format."""

from __future__ import annotations

from sluice.api.options.argument_types import Source
from sluice.api.sources import read_workload
from sluice.bootstrap.settings import declarations
from sluice.ingest.schema import json_schema
from sluice.model.arguments import checked_arguments
from sluice.model.workload import Workload


@checked_arguments
def validate(source: Source) -> Workload:
    """The workload, if everything about it is in order. Raises InvalidInput where it is not.

    Profiles by name are not looked up in the store.
    """
    workload = read_workload(source)
    if any(job.run is not None for job in workload.jobs):  # else the engines are not needed
        from sluice.bootstrap.live.run_outputs import check_outputs

        check_outputs(workload.jobs)
    if workload.scheduler:
        from sluice.api.simulate import Scheduling

        Scheduling().completed(workload).chosen()
    return workload


def schema() -> dict[str, object]:
    """The JSON Schema of the workload file."""
    return json_schema(declarations())
