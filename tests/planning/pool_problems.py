"""Pool problems for tests: the worked example of Cura's Appendix B, and drawn ones."""

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hypothesis import strategies as st

from sluice.model.job import Prediction
from sluice.model.vm_pools import ReconfigureRule, VmPools, VmType
from sluice.planning.pools.problem import PoolJob, PoolProblem, options_of, ticks_up
from sluice.planning.pools.slots import Book, Booking, cost_server_s

APPENDIX_B = json.loads((Path(__file__).parents[1] / "data/cura/appendix_b.json").read_text())
TYPES = tuple(
    VmType(type_id=name, units=APPENDIX_B["resource_units"][name], vms=vms)
    for name, vms in APPENDIX_B["pool_sizes_without_reconfiguration"].items()
)
SIZES = (10, 20, 30, 40)
LARGE_SIZES = (10, 20, 30, 40, 50, 60, 70)
CORRECTED = {7: 4, 10: 4}  # job types 7 and 10 are misprinted (E21)
ROWS = APPENDIX_B["jobs_and_schedules"]["table5_without_reconfiguration"]


def predictions(job_type, sizes=SIZES):
    """The prediction tables 1 to 4, from their generator."""
    made = APPENDIX_B["generator"]
    return tuple(
        Prediction(
            vm_type=one.type_id,
            vms=vms,
            time_s=made["base_seconds_at_speedup_1"][str(job_type)][one.type_id]
            / made["speedup"][str(vms)],
        )
        for one in TYPES
        for vms in sizes
    )


def example(types=CORRECTED, *, sizes=SIZES, tick_s=1.0, pools=(40, 40, 40), rule=None):
    """The 15 jobs of Table 5. types: corrections of job types. pools: VMs of each type."""
    vm_types = tuple(
        VmType(type_id=one.type_id, units=one.units, vms=vms)
        for one, vms in zip(TYPES, pools, strict=True)
    )
    jobs = tuple(
        PoolJob(
            job_id=str(row["job"]),
            order=order,
            submitted_at_s=row["arrival_s"],
            arrives_at_s=float(row["arrival_s"]),
            deadline_at_s=float(row["deadline_s"]),
            options=options_of(
                predictions(types.get(row["job"], row["type"]), sizes), vm_types, 12, tick_s=tick_s
            ),
        )
        for order, row in enumerate(ROWS)
    )
    settings = VmPools(server_units=12.0, vm_types=vm_types, reconfigure=rule)
    return PoolProblem(pools=settings, server_units=12.0, types=vm_types, jobs=jobs, tick_s=tick_s)


@st.composite
def problems(draw, *, jobs_max=12, tick_s=1.0):
    """Small problems on small pools, most of them short of VMs."""
    types = tuple(
        VmType(type_id=f"t{place}", units=units, vms=draw(st.integers(0, 8)))
        for place, units in enumerate(draw(st.sampled_from([(1,), (2, 4), (1, 2, 4)])))
    )
    jobs = []
    for order in range(draw(st.integers(1, jobs_max))):
        base_s = draw(st.integers(5, 60))
        gain = draw(st.sampled_from([1.0, 0.8, 0.5]))
        speeds = [draw(st.sampled_from([1.0, 1.5, 2.0, 3.0])) for _ in types]
        made = options_of(
            (
                Prediction(
                    vm_type=one.type_id, vms=vms, time_s=base_s / (math.pow(vms, gain) * speed)
                )
                for one, speed in zip(types, speeds, strict=True)
                for vms in (1, 2, 4)
            ),
            types, 8.0, tick_s=tick_s,
        )  # fmt: skip
        arrives_s = draw(st.integers(0, 40))
        jobs.append(
            PoolJob(
                job_id=f"j{order}",
                order=order,
                submitted_at_s=float(arrives_s),
                arrives_at_s=ticks_up(float(arrives_s), tick_s),
                deadline_at_s=float(arrives_s + draw(st.integers(2, 90))),
                options=made,
            )
        )
    rule = ReconfigureRule(
        window_s=float(draw(st.integers(10, 40))), vm_change_server_s=0.1, beta=1.1
    )
    bound_s = draw(st.sampled_from([math.inf, 20.0]))
    pools = VmPools(server_units=8.0, vm_types=types, reconfigure=rule, bound_s=bound_s)
    return PoolProblem(pools=pools, server_units=8.0, types=types, jobs=tuple(jobs), tick_s=tick_s)


@st.composite
def workflows(draw, **arguments):
    """Problems in which some jobs run after others; those may come later in the file."""
    problem = draw(problems(**arguments))
    ranks = draw(st.permutations(range(len(problem.jobs))))
    jobs = []
    for job in problem.jobs:
        earlier = [other for other in range(len(ranks)) if ranks[other] < ranks[job.order]]
        after = draw(st.sets(st.sampled_from(earlier), max_size=2)) if earlier else ()
        jobs.append(replace(job, after=tuple(sorted(after))))
    return replace(problem, jobs=tuple(jobs))


def over_capacity(schedule, sizes=None):
    """Instants at which a pool lends more VMs than it has."""
    sizes = schedule.problem.sizes if sizes is None else sizes
    found = []
    for pool, vms in enumerate(sizes):
        changes = sorted(
            (at_s, change)
            for one in schedule.outcomes
            if one.option is not None and one.option.pool == pool
            for at_s, change in (
                (one.started_at_s, one.option.vms), (one.finished_at_s, -one.option.vms),
            )
        )  # fmt: skip
        used = 0
        for (at_s, change), after in pairwise([*changes, (math.inf, 0)]):
            used += change
            if after[0] > at_s and used > vms:
                found.append((pool, at_s, used))
    return found


class PairwisePass:
    """The pass of spec 5.3 written as it reads: every pair cost is computed each time."""

    def __init__(self, book: Book, jobs, now_s: float) -> None:
        self.left = list(jobs)
        self._book = book
        self._now_s = now_s

    def book_decider(self, pool):
        slots = {job.order: self._book.best(job, self._now_s) for job in self.left}
        candidates = [
            job
            for job in self.left
            if slots[job.order] is not None and slots[job.order].option.pool == pool
        ]
        kept = [job for job in candidates if not self._shuts_out(job, slots)]
        return None if not kept else self._take(self._first(kept, slots, None))

    def book_inside(self, windows):
        while True:
            inside, slots = {}, {}
            for job in self.left:
                slot = self._book.best(job, self._now_s, windows)
                if slot is not None:
                    inside[job.order] = slot
                slots[job.order] = slot or self._book.best(job, self._now_s)
            if not inside:
                return
            candidates = [job for job in self.left if job.order in inside]
            yield self._take(self._guarded(self._first(candidates, slots, windows)))

    def _cost_after(self, job, slots, taken, windows):
        """P(taken, job) less the cost of `taken`."""
        if slots[job.order] is None:
            return cost_server_s(None)
        self._book.take(taken)
        after = None
        if windows is not None:
            after = self._book.best(job, self._now_s, windows)
        after = after or self._book.best(job, self._now_s)
        self._book.give_back(taken)
        return cost_server_s(after)

    def _shuts_out(self, job, slots):
        return any(
            self._cost_after(other, slots, slots[job.order], None) == cost_server_s(None)
            for other in self.left
            if other is not job and slots[other.order] is not None
        )

    def _first(self, candidates, slots, windows):
        def score(job):
            mine = slots[job.order]
            terms = []
            for other in self.left:
                theirs = slots[other.order]
                if other is not job and theirs is not None:
                    terms += [
                        self._cost_after(job, slots, theirs, windows) - cost_server_s(mine),
                        cost_server_s(theirs) - self._cost_after(other, slots, mine, windows),
                    ]
            return math.fsum(terms)

        best = max(candidates, key=lambda job: (score(job), -job.order))
        return Booking(best, slots[best.order])

    def _guarded(self, booking):
        for other in sorted(self.left, key=lambda job: (job.deadline_at_s, job.order)):
            slot = self._book.best(other, self._now_s)
            if other is booking.job or slot is None:
                continue
            self._book.take(booking.slot)
            is_lost = self._book.best(other, self._now_s) is None
            self._book.give_back(booking.slot)
            self._book.take(slot)
            keeps = self._book.best(booking.job, self._now_s) is not None
            self._book.give_back(slot)
            if is_lost and keeps:
                return Booking(other, slot)
        return booking

    def _take(self, booking):
        self._book.take(booking.slot)
        self.left = [job for job in self.left if job is not booking.job]
        return booking
