"""How long each job would take if it had the cluster to itself: the base of its slowdown.

A job alone is simulated under first-in, first-out, with the seed and the settings of the run that
it is compared with, so that its tasks have the same lengths. Where that policy cannot run the
workload, the given one runs the job. Jobs that are alike are simulated once.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

from sluice.bootstrap.policy_classes import chosen_policy
from sluice.bootstrap.simulations.simulation import Trio, simulated_run
from sluice.ingest.settings import Settings
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.workload import Workload
from sluice.simulation.settings import SimulationSettings

_NODES_STARTED_MAX = 2_000_000  # over all simulations of single jobs: some ten seconds

AloneTimes = dict[JobId, float | None]


def depends_on_seed(workload: Workload, resolved: Settings, seeds: int) -> bool:
    """Whether jobs alone take different times under different seeds.

    Where so many simulations of single jobs would take long, those of the first seed serve for all.
    """
    world = resolved.of(SimulationSettings, "fifo")
    cluster = workload.required_cluster()
    is_random = world.tells_tasks_apart or world.node_mtbf_s is not None or cluster.has_racks
    return is_random and len(workload.jobs) * len(cluster.nodes) * seeds <= _NODES_STARTED_MAX


def alone_s(workload: Workload, fallback: Trio, resolved: Settings, seed: int) -> AloneTimes:
    """Seconds from submission to end of each job alone; None for one that never ends.

    fallback: the policies to use where first-in, first-out cannot run the workload.
    """
    fifo = tuple(
        chosen_policy(kind, name)
        for kind, name in (("tasks", "fifo"), ("release", "input"), ("admission", "all"))
    )
    world = resolved.of(SimulationSettings, "fifo")
    is_apart = world.tells_tasks_apart or world.node_mtbf_s is not None
    has_places = workload.required_cluster().has_racks
    known: dict[object, float | None] = {}
    found: AloneTimes = {}
    chosen: Trio = fifo  # type: ignore[assignment]  # three kinds, one of each
    for job in workload.jobs:
        key: object = (job.phases, job.driver_s, job.submitted_at_s if world.heartbeat_s else 0.0)
        if is_apart or has_places:
            key = job.job_id  # its tasks are drawn for this job
        if key not in known:
            try:
                known[key] = _response_s(workload, job, chosen, resolved, seed)
            except InvalidInput:
                if chosen is fallback:
                    raise
                chosen = fallback
                known[key] = _response_s(workload, job, chosen, resolved, seed)
        found[job.job_id] = known[key]
    return found


def _response_s(
    workload: Workload, job: Job, chosen: Trio, resolved: Settings, seed: int
) -> float | None:
    tasks, release, admission = chosen
    fresh = replace(tasks, made=deepcopy(tasks.made))
    alone = replace(workload, jobs=(job,))
    result = simulated_run(alone, (fresh, release, admission), resolved, seed)[1]
    outcome = result.jobs[0]
    return outcome.response_s if outcome.state == "done" else None
