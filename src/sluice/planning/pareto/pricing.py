"""Time, VMs, rent and I/O cost of one choice for one job.

Only this module computes equations (1), (5) to (9), (12) and (13) of pareto. All searches and all
checks use it, so they get the same numbers.
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

from sluice.estimate.bounds import SingleWave, phase_low_s, phase_up_s
from sluice.model.buffers import BufferSetting
from sluice.model.errors import InvalidInput
from sluice.model.machines import VmOffer, time_at_speed_s
from sluice.planning.pareto.buffers import tuner
from sluice.planning.pareto.problem import BufferTuning, ParetoProblem, PlannedJob, PlannedPhase
from sluice.planning.pareto.spills import MapShare, moved_bytes


class JobChoice(NamedTuple):
    """Decision for one job: VM offer, slots, task counts and buffer.

    containers: of a job of stages, which has no typed slots; else 0.
    """

    offer: VmOffer
    map_slots: int
    reduce_slots: int
    map_tasks: int
    reduce_tasks: int
    buffer: BufferSetting | None
    containers: int = 0


class PlanEntry(NamedTuple):
    """A choice for one job, with its time, costs and VMs."""

    time_s: float
    vm_usd: float
    io_usd: float
    vms: int
    choice: JobChoice

    @property
    def cost_usd(self) -> float:
        """Rent plus I/O."""
        return self.vm_usd + self.io_usd


class PhaseTimes:
    """Time of one phase, as a function of task count and slots."""

    def __init__(self, phase: PlannedPhase, single_wave: SingleWave, where: str = "phase") -> None:
        self.phase = phase
        self.where = where  # for messages
        self.is_exact = single_wave is SingleWave.EXACT
        self._spans: dict[int, tuple[tuple[float, float], ...]] = {}

    def spans(self, tasks: int) -> tuple[tuple[float, float], ...]:
        """(average, longest) of each part of a task, if the phase has `tasks` tasks."""
        known = self._spans.get(tasks)
        if known is None:
            known = tuple((part.avg_s(tasks), part.max_s(tasks)) for part in self.phase.parts)
            self._spans[tasks] = known
        return known

    def time_s(self, tasks: int, slots: int) -> float:
        """Mean of the low and high estimate, summed over all parts. Source: pareto (5) to (9), E3.

        The mean is linear, so the times of the phases add up to the time of the job.
        """
        total_s = 0.0
        for avg_s, max_s in self.spans(tasks):
            if self.is_exact and tasks <= slots:
                total_s += max_s
            else:
                total_s += (
                    phase_low_s(tasks, slots, avg_s) + phase_up_s(tasks, slots, avg_s, max_s)
                ) / 2
        return total_s

    def useful_slots(self, tasks: int, slots: int) -> int:
        """Number of these slots on which the tasks end first: usually all that they can fill.

        There is one exception. If a single wave has its exact time and the longest task is far
        above the average, the estimate for two waves is lower, and one slot stays idle.
        """
        if self.is_exact and 1 < tasks <= slots:
            return tasks - (self.time_s(tasks, tasks - 1) < self.time_s(tasks, tasks))
        return min(tasks, slots)


class JobPricing:
    """Computes time and cost of the choices of one job."""

    def __init__(self, problem: ParetoProblem, number: int) -> None:
        self.job: PlannedJob = problem.jobs[number]
        single_wave, where = problem.options.single_wave, f"job {self.job.job_id!r}"
        self.maps = PhaseTimes(self.job.maps, single_wave, f"{where}, maps")
        self.reduces = PhaseTimes(self.job.reduces, single_wave, f"{where}, reduces")
        self.stages = [
            PhaseTimes(stage, single_wave, f"{where}, phase {number}")
            for number, stage in enumerate(self.job.stages, start=1)
        ]
        self._problem = problem
        # Each job has its own generator, so that the draws of one job do not affect another. It is
        # made when a buffer is tuned: to seed 100,000 of them takes half a second.
        self._seed = f"{problem.options.seed}/{number}"
        self._draw: random.Random | None = None
        self._buffers: dict[int, BufferSetting | None] = {}
        self._io_usd: dict[int, float] = {}

    def entry(self, choice: JobChoice) -> PlanEntry:
        """Return time, costs and VMs of a choice."""
        offer, map_slots, reduce_slots, map_tasks, reduce_tasks, buffer, containers = choice
        if self.stages:
            tasks_s = self.stages_s(containers)
        else:
            tasks_s = self.maps.time_s(map_tasks, map_slots) + self.reduces.time_s(
                reduce_tasks, reduce_slots
            )
        time_s = time_at_speed_s(tasks_s, self.job.driver_s, offer.speed)
        vms = offer.shape.vms(map_slots=map_slots, reduce_slots=reduce_slots, containers=containers)
        maps = map_tasks or self.job.map_tasks  # the choice of stages has no tasks
        io_usd = 0.0 if buffer is None else self.io_usd_with(buffer, maps)
        return PlanEntry(time_s, self.rent_usd(offer, vms, time_s), io_usd, vms, choice)

    def stages_s(self, containers: int) -> float:
        """Time of all stages in turn, each in as many of these containers as it can use."""
        return sum(
            stage.time_s(tasks, stage.useful_slots(tasks, containers))
            for stage in self.stages
            for tasks in (stage.phase.tasks,)
        )

    @property
    def buffer_tuning(self) -> BufferTuning:
        """How buffer settings are found."""
        return self._problem.options.buffers

    @property
    def billing_s(self) -> float:
        """Length of a billing unit, seconds; 0 for exact time."""
        return self._problem.prices.billing_s

    def rent_usd(self, offer: VmOffer, vms: int, time_s: float) -> float:
        """Rent of the VMs. Source: pareto (12)."""
        # Multiply VMs and hours first: with hourly billing both are integers, so this is exact.
        return vms * self._problem.prices.paid_hours(time_s) * offer.hour_usd

    def buffer(self, map_tasks: int) -> BufferSetting | None:
        """Buffer setting for `map_tasks` maps; None if their output size is unknown."""
        if map_tasks not in self._buffers:
            self._buffers[map_tasks] = self._found_buffer(map_tasks)
        return self._buffers[map_tasks]

    def _found_buffer(self, map_tasks: int) -> BufferSetting | None:
        share = self._share(map_tasks)
        if share is None:
            return None
        options = self._problem.options
        if self._draw is None:
            self._draw = random.Random(self._seed)
        tune = tuner(options.buffers, self._draw)
        return tune(self.job.buffer, share, options.io_model)

    def io_usd(self, map_tasks: int) -> float:
        """Price of the I/O of `map_tasks` maps with their buffer setting."""
        known = self._io_usd.get(map_tasks)
        if known is None:
            setting = self.buffer(map_tasks)
            known = 0.0 if setting is None else self.io_usd_with(setting, map_tasks)
            self._io_usd[map_tasks] = known
        return known

    def io_usd_with(self, setting: BufferSetting, map_tasks: int) -> float:
        """The price of I/O with a setting. Source: pareto (13). Raises InvalidInput on overflow."""
        share = self._share(map_tasks)
        assert share is not None, "a job with a buffer setting has a map output"
        moved = map_tasks * moved_bytes(share, setting, self._problem.options.io_model)
        usd = self._problem.prices.io_usd(moved)
        if not math.isfinite(usd):
            raise InvalidInput(
                "the price of its I/O is too large for a number",
                where=f"job {self.job.job_id!r}",
                hint="check map_output, buffer and prices.io_bytes_per_op",
            )
        return usd

    @property
    def has_flat_io(self) -> bool:
        """Whether I/O certainly costs the same for any number of maps: no output, or free I/O.

        The cost is also constant if the closed form wastes nothing, but that is known only after
        all counts are priced.
        """
        return self.job.output is None or not self._problem.prices.io_op_usd

    def _share(self, map_tasks: int) -> MapShare | None:
        output = self.job.output
        if output is None:
            return None
        return MapShare(output.bytes / map_tasks, output.records / map_tasks)
