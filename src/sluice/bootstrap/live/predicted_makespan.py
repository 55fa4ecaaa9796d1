"""How long a live run should take: its jobs in the simulator, with the gaps that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sluice.core.scheduler import Scheduler
from sluice.estimate.gaps import Gaps
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster
from sluice.model.job import Job, Phase
from sluice.model.lengths import changed_lengths
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings


def predicted_makespan_s_of(
    jobs: Sequence[Job],
    gaps: Gaps,
    *,
    scheduler: Scheduler,
    cluster: Cluster,
    settings: Settings,
    seed: int,
) -> float:
    """Makespan in the simulator, of jobs whose lengths are known.

    scheduler: a fresh one, with the policies of the run, without heartbeats as live nodes are.
    """
    world = replace(settings.of(SimulationSettings), heartbeat_s=0.0)
    slower = [delayed(job, gaps.between_s) for job in jobs]
    Simulation(scheduler, cluster, slower, settings=world, seed=seed).run()
    ends = [entry.finished_at_s for entry in scheduler.state.jobs.values()]
    # Nodes and interpreters start once, and all jobs wait for them together.
    return max(ends) - min(job.submitted_at_s for job in jobs) + gaps.start_s


def delayed(job: Job, gap_s: float) -> Job:
    """The job with each task that many seconds longer, as an engine starts tasks with a gap."""
    if not gap_s:
        return job
    phases = tuple(_delayed_phase(phase, gap_s) for phase in job.phases)
    return replace(job, phases=phases)


def _delayed_phase(phase: Phase, gap_s: float) -> Phase:
    if phase.lengths is None:
        return phase
    return replace(phase, lengths=changed_lengths(phase.lengths, more_s=gap_s))
