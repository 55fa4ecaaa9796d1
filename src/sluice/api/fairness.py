"""The fairness ledger of a recorded run, of a simulation, or of imported logs."""

from __future__ import annotations

from dataclasses import dataclass

from sluice.api.options.calls import called_with
from sluice.api.options.fairness import AllRuns, FairnessOptions
from sluice.api.simulate import OnMessage, Scheduling, simulated
from sluice.api.sources import RunOrSource, read_workload
from sluice.bootstrap.history import past_runs
from sluice.core.scheduler import Scheduler
from sluice.core.state import ClusterState
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput, wrong_value
from sluice.policies.ltyarn.policy import QueueTreePolicy
from sluice.policies.ltyarn.rules import ShareRules
from sluice.reporting.fairness.result import FairnessResult
from sluice.reporting.fairness.tenants import TenantUse, joined, tenant_use

PERIOD_S_MIN = 1e-3
PERIODS_MAX = 10_000


@dataclass(frozen=True, kw_only=True)
class FairnessCall(FairnessOptions, AllRuns, RunOrSource):
    """Arguments of `fairness`."""

    on_message: OnMessage | None = None


@called_with(FairnessCall)
def fairness(given: FairnessCall) -> FairnessResult:
    """Who paid for what, used, lent and borrowed: in a recorded run, or a simulation of `source`.

    run_id: a recorded run; by default the newest that can be read.
    all_runs: all recorded runs one after the other, without the time between them.
    period_s: length of a period; by default some twelfth of the whole.
    misreports: also search for what tenants could have gained by false demands.
    Raises InvalidInput if there is no such run, or no task has run.

    >>> import sluice
    >>> workload = sluice.parse_workload(
    ...     '''{version: 1, cluster: {containers: 2}, queues: [{id: a}, {id: b}], jobs: [
    ...     {id: x, pool: a, maps: {tasks: 20, avg_s: 1}},
    ...     {id: y, pool: b, submitted_at_s: 5, maps: {tasks: 20, avg_s: 1}}]}'''
    ... )
    >>> found = fairness(source=workload, tasks="ltrf").document()
    >>> found["tenants"]["b"]["lent"], found["tenants"]["b"]["owed"]
    (5.0, 0.0)
    """
    period_s, misreports = given.period_s, given.misreports
    on_message = given.on_message or (lambda _: None)
    if period_s is not None and not period_s >= PERIOD_S_MIN:
        raise wrong_value("period_s", period_s, "period_s", "give a number of seconds above 0")
    if given.source is not None:
        workload = read_workload(given.source)
        how = Scheduling(
            given.tasks, given.release, given.admission, given.settings, given.seed,
            given.on_message,
        ).completed(workload, "ltyarn")  # fmt: skip
        scheduler, result = simulated(workload, how)
        return _of(scheduler, how.chosen()[0].name, period_s, misreports, result.cluster)
    if given.all_runs:
        return _of_all(period_s, misreports, on_message)
    run = past_runs.recorded(given.run_id, on_message, where="fairness")
    scheduler = past_runs.replayed(run)
    name = scheduler.policies.tasks.name
    return _of(scheduler, name, period_s, misreports, None)


def _of_all(
    period_s: float | None,
    misreports: bool,  # noqa: FBT001  # handed on
    on_message: OnMessage,
) -> FairnessResult:
    uses: list[TenantUse] = []
    names: list[str] = []
    for run in past_runs.all_readable(on_message):
        scheduler = past_runs.replayed(run)
        use = _use_of(scheduler.state, None)
        if use is not None:
            uses.append(use)
            names.append(scheduler.policies.tasks.name)
    if not uses:
        raise InvalidInput("no run is recorded yet", where="fairness", hint="run a workload first")
    rules = "+".join(dict.fromkeys(names))
    return _ledger(joined(uses), rules, period_s, misreports)


def _of(
    scheduler: Scheduler,
    name: str,
    period_s: float | None,
    misreports: bool,  # noqa: FBT001  # handed on
    cluster: Cluster | None,
) -> FairnessResult:
    use = _use_of(scheduler.state, cluster)
    if use is None:
        raise InvalidInput("no task has run", where="fairness", hint="run or simulate some jobs")
    policy = scheduler.policies.tasks
    rules = policy.rules() if isinstance(policy, QueueTreePolicy) else None
    return _ledger(use, name, period_s, misreports, rules)


def _use_of(state: ClusterState, cluster: Cluster | None) -> TenantUse | None:
    """The tenants of a state; None if no task has run."""
    attempts = [*state.closed, *state.running.values()]
    if not attempts:
        return None
    nodes = cluster or Cluster(nodes=tuple(entry.node for entry in state.nodes.values()))
    pools = [entry.pool for entry in state.pools.values()]
    return tenant_use(attempts, state.jobs.values(), pools, nodes, state.now_s)


def _ledger(
    use: TenantUse,
    scheduler: str,
    period_s: float | None,
    misreports: bool,  # noqa: FBT001  # handed on
    rules: ShareRules | None = None,
) -> FairnessResult:
    if period_s is not None and use.ends_at_s / period_s > PERIODS_MAX:
        raise InvalidInput(
            f"period_s is {period_s}: {use.ends_at_s / period_s:,.0f} periods",
            where="period_s",
            hint=f"give a length that makes at most {PERIODS_MAX}",
        )
    return FairnessResult.of(use, scheduler, period_s=period_s, misreports=misreports, rules=rules)
