"""The facts that the steps of a preparation pass on, and those that each goal starts with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sluice.bootstrap.preparation.pipeline import Fact, Goal

if TYPE_CHECKING:
    from pathlib import Path

    from sluice.bootstrap.engines.kinds import EngineKind
    from sluice.bootstrap.forecasts.job_forecasts import ProfileForecasts
    from sluice.bootstrap.live.run_options import RunOptions
    from sluice.bootstrap.policy_classes import ChosenPolicy
    from sluice.core.scheduler import Scheduler
    from sluice.engines.mapreduce.layout import PreparedJob
    from sluice.engines.unix_users import CustomerUsers
    from sluice.estimate.job_forecasts import JobForecast
    from sluice.ingest.settings import Settings
    from sluice.model.ids import JobId
    from sluice.model.job import Job
    from sluice.model.queue_tree import QueueTree
    from sluice.model.workload import Workload
    from sluice.store.run_info import RunInfo
    from sluice.store.runs import Runs

OnMessage = Callable[[str], None]

# What commands give.
WORKLOAD: Fact[Workload] = Fact("workload")  # each step that changes it gives it again
GIVEN: Fact[Workload] = Fact("given")  # the workload as the command gives it
ON_MESSAGE: Fact[OnMessage] = Fact("on_message")  # called where past runs cannot be read
ON_NOTE: Fact[OnMessage | None] = Fact("on_note")  # None where no user reads notes
CHOSEN: Fact[Sequence[ChosenPolicy]] = Fact("chosen")  # the policies as they are asked for
OVERRIDES: Fact[Mapping[str, object] | Sequence[str]] = Fact("overrides")  # of settings
QUEUES: Fact[tuple[QueueTree, Mapping[str, str]] | None] = Fact("queues")  # of a configuration
# A trace with lengths of attempts, or jobs with the true lengths.
LENGTHS_FROM: Fact[str | Path | Workload | None] = Fact("lengths_from")
OPTIONS: Fact[RunOptions] = Fact("options")  # of a live run
ENGINE: Fact[EngineKind] = Fact("engine")
RUNS: Fact[Runs] = Fact("runs")
RUN: Fact[RunInfo] = Fact("run")  # that is resumed
USERS: Fact[CustomerUsers | None] = Fact("users")  # of customers who are kept apart
NAMES: Fact[Sequence[str]] = Fact("names")  # of the jobs in the file of the user
OVERWRITE: Fact[bool] = Fact("overwrite")  # whether outputs at URLs are replaced

# What steps give.
PLANS_VMS: Fact[bool] = Fact("plans_vms")  # whether a policy gives jobs VMs of their own
GRIDS: Fact[Mapping[JobId, Mapping[tuple[str, int], JobForecast]]] = Fact("grids")
FORECASTS: Fact[Mapping[JobId, JobForecast]] = Fact("forecasts")
PROFILES: Fact[ProfileForecasts] = Fact("profile_forecasts")
SETTINGS: Fact[Settings] = Fact("settings")
DECIDING: Fact[Sequence[ChosenPolicy]] = Fact("deciding")  # the policies that decide in the end
CLUSTER: Fact[Any] = Fact("cluster")  # on which the jobs run; None where the file has none
IS_LIVE: Fact[bool] = Fact("is_live")  # whether a real run is meant
LAID_OUT_FROM: Fact[Sequence[Job]] = Fact("laid_out_from")  # the jobs as the file has them
HAS_ACCOUNTS: Fact[bool] = Fact("has_accounts")  # whether queues start with earlier use
RUN_ID: Fact[str | None] = Fact("run_id")  # reserved for outputs that are named for their run
PREPARED: Fact[Sequence[PreparedJob]] = Fact("prepared")  # real jobs, ready to run
SCHEDULER: Fact[Scheduler] = Fact("scheduler")

# Marks: how far the workload has come.
NODES: Fact[None] = Fact("nodes")  # it has all nodes that it will have
LENGTHS: Fact[None] = Fact("lengths")  # its jobs have the task lengths that the profiles know
TASKS: Fact[None] = Fact("tasks")  # its real jobs have their tasks
TIMES: Fact[None] = Fact("times")  # its jobs take as long as is predicted
KINDS: Fact[None] = Fact("kinds")  # its tasks have the kinds of slots that they take
DEADLINES: Fact[None] = Fact("deadlines")  # jobs that others run after have deadlines
QUEUED: Fact[None] = Fact("queued")  # its jobs are in the queues of a configuration, if any

_ASKED = (WORKLOAD, GIVEN, ON_MESSAGE, CHOSEN, OVERRIDES)
_ONE_SCHEDULER = (WORKLOAD, GIVEN, CHOSEN, SETTINGS)

STARTS: Mapping[Goal, Sequence[Fact[Any]]] = {
    Goal.SIMULATE: (*_ASKED, ON_NOTE, QUEUES),
    Goal.RECORDED: (*_ASKED, ON_NOTE, QUEUES),
    Goal.COMPARE: (*_ASKED, ON_NOTE),
    Goal.TRIAL: (WORKLOAD, GIVEN, CHOSEN, OVERRIDES),
    Goal.DECIDE: (*_ONE_SCHEDULER, LENGTHS_FROM),
    Goal.NIGHT: _ONE_SCHEDULER,
    Goal.PLAN: (WORKLOAD, GIVEN, ON_MESSAGE),
    Goal.ORDER: (WORKLOAD, GIVEN, ON_MESSAGE),
    Goal.POOLS: (WORKLOAD, GIVEN),
    Goal.LENGTHS: (WORKLOAD, GIVEN, ON_MESSAGE),
    Goal.RUN: (*_ASKED, ON_NOTE, OPTIONS, ENGINE, RUNS, OVERWRITE),
    Goal.RESUME: (*_ASKED, ON_NOTE, OPTIONS, ENGINE, RUN),
    Goal.RECEIVE: (WORKLOAD, GIVEN, CLUSTER, SCHEDULER, USERS, NAMES),
}
