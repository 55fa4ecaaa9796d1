"""The jobs of a workload made ready to run for real: inputs, commands and outputs are checked."""

from __future__ import annotations

import secrets

from sluice.bootstrap.engines.kinds import EngineKind
from sluice.bootstrap.live.run_outputs import check_outputs, check_runnable
from sluice.engines.mapreduce.layout import PreparedJob, prepare
from sluice.engines.mapreduce.made_inputs import made_inputs
from sluice.engines.settings import TaskLimitSettings
from sluice.engines.unix_users import SETTING, CustomerUsers, acting_as
from sluice.ingest.settings import Settings
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.workload import Workload


def prepared_jobs_of(
    workload: Workload, *, overwrite: bool, users: CustomerUsers | None = None
) -> list[PreparedJob]:
    """The jobs, in the order of the workload. Writes nothing.

    overwrite: whether outputs at URLs are replaced; those on a disk have stepped aside by now.
    users: of the customers, if these are kept apart; each job is looked at with their rights.
    Raises InvalidInput if one of them cannot run.
    """
    # Runs of one file may overlap, so each has staging folders of its own.
    token = secrets.token_hex(4)
    check_runnable(workload)
    makers = made_inputs(workload.jobs)
    prepared: dict[JobId, PreparedJob] = {}
    for job in workload.jobs:
        made = {
            pattern: _part_files(prepared.get(maker))
            for pattern, maker in makers.get(job.job_id, {}).items()
        }
        with acting_as(None if users is None else users.of(job)):
            prepared[job.job_id] = prepare(job, run_id=token, replaces=overwrite, made=made)
    check_outputs(workload.jobs)  # once each is known to be one that can be made
    return list(prepared.values())


def customers_apart(
    settings: Settings, engine: EngineKind, *, overwrite: bool = False
) -> CustomerUsers | None:
    """The users of customers who are kept apart; None where all tasks run as this user.

    Raises InvalidInput for an engine or an option that cannot do it, and EngineUnavailable where
    this process may not change users.
    """
    users = settings.of(TaskLimitSettings).customers()
    if users is None:
        return None
    if not engine.is_local:
        raise InvalidInput(
            f"engine {engine.name!r} starts all tasks as one user",
            where=SETTING,
            hint="use --engine local, or leave the setting out",
        )
    if overwrite:
        raise InvalidInput(
            "outputs of customers who are kept apart are not replaced",
            where="--overwrite",
            hint="remove the outputs first",
        )
    users.check_allowed()
    return users


def _part_files(maker: PreparedJob | None) -> int:
    """So many part files a job is expected to make; at least 1 where it is not known yet."""
    return 1 if maker is None else maker.job.phases[-1].tasks
