"""What one choice for one job comes to: its time, its VMs, its rent, its I/O.

The one place where equations (1), (5) to (9), (12) and (13) of pareto are computed. Whoever
searches asks here, and whoever checks an answer asks here again and gets the same numbers.
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

from sluice.estimate.bounds import SingleWave, phase_low_s, phase_up_s
from sluice.model.buffers import BufferSetting
from sluice.model.errors import InvalidInput
from sluice.model.machines import VmOffer
from sluice.planning.pareto.buffers import tuner
from sluice.planning.pareto.problem import BufferTuning, ParetoProblem, PlannedJob, PlannedPhase
from sluice.planning.pareto.spills import MapShare, moved_bytes


class JobChoice(NamedTuple):
    """What is decided for one job."""

    offer: VmOffer
    map_slots: int
    reduce_slots: int
    map_tasks: int
    reduce_tasks: int
    buffer: BufferSetting | None


class PlanEntry(NamedTuple):
    """A choice for one job, and what it comes to."""

    time_s: float
    vm_usd: float
    io_usd: float
    vms: int
    choice: JobChoice

    @property
    def cost_usd(self) -> float:
        """Rent and I/O together."""
        return self.vm_usd + self.io_usd


class PhaseTimes:
    """Seconds of one phase, by task count and slots."""

    def __init__(self, phase: PlannedPhase, single_wave: SingleWave, where: str = "phase") -> None:
        self.phase = phase
        self.where = where  # for messages
        self.is_exact = single_wave is SingleWave.EXACT
        self._spans: dict[int, tuple[tuple[float, float], ...]] = {}

    def spans(self, tasks: int) -> tuple[tuple[float, float], ...]:
        """(average, longest) of each part, when the phase is cut into so many tasks."""
        known = self._spans.get(tasks)
        if known is None:
            known = tuple((part.avg_s(tasks), part.max_s(tasks)) for part in self.phase.parts)
            self._spans[tasks] = known
        return known

    def time_s(self, tasks: int, slots: int) -> float:
        """Mean of the low and the high estimate, over all parts. Source: pareto (5) to (9), E3.

        Halves of sums are sums of halves, so phases add up to the job's time.
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
        """On how many of these slots so many tasks are done first: on all that they can fill.

        But for one case: if a single wave is told exactly and the longest task is far above the
        average, the estimate for two waves is lower, and one slot stays idle.
        """
        if self.is_exact and 1 < tasks <= slots:
            return tasks - (self.time_s(tasks, tasks - 1) < self.time_s(tasks, tasks))
        return min(tasks, slots)


class JobPricing:
    """One job of a problem, with all that its choices are priced by."""

    def __init__(self, problem: ParetoProblem, number: int) -> None:
        self.job: PlannedJob = problem.jobs[number]
        single_wave, where = problem.options.single_wave, f"job {self.job.job_id!r}"
        self.maps = PhaseTimes(self.job.maps, single_wave, f"{where}, maps")
        self.reduces = PhaseTimes(self.job.reduces, single_wave, f"{where}, reduces")
        self._problem = problem
        # A generator for each job: how many draws one takes must not change another's.
        self._draw = random.Random(f"{problem.options.seed}/{number}")
        self._buffers: dict[int, BufferSetting | None] = {}
        self._io_usd: dict[int, float] = {}

    def entry(self, choice: JobChoice) -> PlanEntry:
        """What the choice comes to."""
        offer, map_slots, reduce_slots, map_tasks, reduce_tasks, buffer = choice
        time_s = (
            self.maps.time_s(map_tasks, map_slots) + self.reduces.time_s(reduce_tasks, reduce_slots)
        ) / offer.speed
        vms = offer.shape.vms(map_slots=map_slots, reduce_slots=reduce_slots)
        io_usd = 0.0 if buffer is None else self.io_usd_with(buffer, map_tasks)
        return PlanEntry(time_s, self.rent_usd(offer, vms, time_s), io_usd, vms, choice)

    @property
    def buffer_tuning(self) -> BufferTuning:
        """How settings are found."""
        return self._problem.options.buffers

    @property
    def billing_s(self) -> float:
        """Length of a paid unit of time, seconds; 0 for exact time."""
        return self._problem.prices.billing_s

    def rent_usd(self, offer: VmOffer, vms: int, time_s: float) -> float:
        """Rent of the VMs. Source: pareto (12)."""
        # Machines times hours first: by the hour both are whole, and their product is exact.
        return vms * self._problem.prices.paid_hours(time_s) * offer.hour_usd

    def buffer(self, map_tasks: int) -> BufferSetting | None:
        """The setting for so many maps; None where nobody told what they write."""
        if map_tasks not in self._buffers:
            self._buffers[map_tasks] = self._found_buffer(map_tasks)
        return self._buffers[map_tasks]

    def _found_buffer(self, map_tasks: int) -> BufferSetting | None:
        share = self._share(map_tasks)
        if share is None:
            return None
        options = self._problem.options
        tune = tuner(options.buffers, self._draw)
        return tune(self.job.buffer, share, options.io_model)

    def io_usd(self, map_tasks: int) -> float:
        """Price of the I/O of so many maps, at the setting for them."""
        known = self._io_usd.get(map_tasks)
        if known is None:
            setting = self.buffer(map_tasks)
            known = 0.0 if setting is None else self.io_usd_with(setting, map_tasks)
            self._io_usd[map_tasks] = known
        return known

    def io_usd_with(self, setting: BufferSetting, map_tasks: int) -> float:
        """The same at a given setting. Source: pareto (13). Raises InvalidInput out of bounds."""
        share = self._share(map_tasks)
        assert share is not None, "a setting is given to what writes something"
        moved = map_tasks * moved_bytes(share, setting, self._problem.options.io_model)
        usd = self._problem.prices.io_usd(moved)
        if not math.isfinite(usd):
            raise InvalidInput(
                "the price of its I/O is beyond all numbers",
                where=f"job {self.job.job_id!r}",
                hint="look at map_output and buffer, and at prices.io_bytes_per_op",
            )
        return usd

    @property
    def has_flat_io(self) -> bool:
        """The I/O costs the same however many maps there are: nothing is written, or all is free.

        A closed form that wastes nothing is flat as well, but only a look at all counts tells.
        """
        return self.job.output is None or not self._problem.prices.io_op_usd

    def _share(self, map_tasks: int) -> MapShare | None:
        output = self.job.output
        if output is None:
            return None
        return MapShare(output.bytes / map_tasks, output.records / map_tasks)
