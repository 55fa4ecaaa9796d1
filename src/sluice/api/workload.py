"""Check a workload file, and print the schema of its format."""

from __future__ import annotations

from sluice.api.options.argument_types import Source
from sluice.api.sources import read_workload, settings_of
from sluice.bootstrap.policy_classes import ChosenPolicy
from sluice.bootstrap.settings import declarations
from sluice.ingest.schema import json_schema
from sluice.model.arguments import checked_arguments
from sluice.model.errors import InvalidInput
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

        tasks, *_ = Scheduling().completed(workload).chosen()
        _check_jobs(workload, tasks)
    return workload


def _check_jobs(workload: Workload, tasks: ChosenPolicy) -> None:
    """Raise InvalidInput for a job that the policy of the file refuses, such as its demand.

    Jobs whose lengths come from the store may get their demands from there.
    """
    phases = [phase for job in workload.jobs for phase in job.phases]
    if workload.cluster is None or any(phase.lengths is None for phase in phases):
        return
    from sluice.bootstrap.scheduler import policy
    from sluice.core.protocols import TaskPolicy

    made = policy("tasks", tasks, settings_of(workload))
    assert isinstance(made, TaskPolicy), "it is one of `tasks`"
    try:
        made.check(workload.jobs, workload.cluster.nodes)
    except InvalidInput as error:
        raise error.within(workload.source) from error


def schema() -> dict[str, object]:
    """The JSON Schema of the workload file."""
    return json_schema(declarations())
