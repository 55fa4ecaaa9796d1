"""The pool manager at work: pools that begin equal, and follow the jobs while these run.

Source: Cura, spec sections 5.4 and 8.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from sluice.model.vm_pools import ReconfigureRule
from sluice.planning.pools.least_servers import on_servers
from sluice.planning.pools.online import vm_aware
from sluice.planning.pools.schedule import PoolSchedule
from sluice.reproductions.cura.figures import EQUAL, matched_shares, problem
from sluice.reproductions.cura.workloads import Load
from sluice.reproductions.runner import Cell, Experiment, OnProgress

_LOAD = Load(jobs=500, mean_deadline_s=400, rate_per_s=0.2)
_SERVERS, _WINDOW_S = 10, 300.0


def changes_while_running(seeds: int, on_progress: OnProgress) -> Experiment:
    """Deadlines, cost and response on the same servers: equal pools, changed ones, matched ones."""
    made: dict[str, list[PoolSchedule]] = {}
    rule = ReconfigureRule(window_s=_WINDOW_S)
    for seed in range(seeds):
        on_progress(f"pool manager, seed {seed}")
        drawn = problem(_LOAD, seed)
        equal = on_servers(drawn, _SERVERS, EQUAL)
        equal = replace(equal, pools=replace(equal.pools, reconfigure=rule))
        matched = on_servers(drawn, _SERVERS, matched_shares(drawn))
        for name, schedule in (
            ("equal", vm_aware(equal)),
            ("equal, then reconfigured", vm_aware(equal, reconfigures=True)),
            ("matched", vm_aware(matched)),
        ):
            made.setdefault(name, []).append(schedule)
    return Experiment(
        rows=tuple([_row(name, found) for name, found in made.items()]),
        name="pool-manager",
        title="Pools that follow the jobs while these run",
        setup=(
            f"{_LOAD.jobs} light jobs at {_LOAD.rate_per_s:g} a second on {_SERVERS} servers, mean"
            f" deadline {_LOAD.mean_deadline_s:g} s, checks every {_WINDOW_S:g} s; {seeds} seeds."
        ),
        why=(
            "The paper has up to 45 % fewer servers with reconfiguration. Here the servers are the"
            " same, and the change shows in deadlines and cost. All units go to the smallest type,"
            " which is the best for nearly every light job; matched pools have them from the start."
        ),
    )


def _row(name: str, schedules: list[PoolSchedule]) -> dict[str, Cell]:
    jobs = _LOAD.jobs
    return {
        "pools": name,
        "met": fmean(1 - len(one.missed) / jobs for one in schedules),
        "server-s per job": fmean(one.total_cost_server_s / jobs for one in schedules),
        "response s": fmean(one.mean_response_s or 0.0 for one in schedules),
        "changes": fmean(sum(change.done for change in one.changes) for one in schedules),
    }
