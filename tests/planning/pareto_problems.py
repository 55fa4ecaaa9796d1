"""Small planning problems: those of the spec, and random ones."""

from sluice.estimate.bounds import SingleWave
from sluice.model.buffers import BufferRanges, BufferSetting, Range
from sluice.model.job import MapOutput
from sluice.model.lengths import ConstantLengths, TableLengths, WorkLengths
from sluice.model.limits import PlanLimits
from sluice.model.machines import Rent, VmOffer, VmShape
from sluice.model.prices import Prices
from sluice.planning.pareto.problem import (
    BufferTuning,
    IoModel,
    ParetoProblem,
    PlannedJob,
    PlannedPhase,
    PlanOptions,
    TaskTuning,
)

BILLINGS_S = (3600.0, 600.0, 1.0, 0.0)


def phase(tasks, avg_s, max_s=None, *, tasks_max=None):
    """A phase with constant lengths."""
    lengths = ConstantLengths(avg_s, avg_s if max_s is None else max_s)
    return PlannedPhase(tasks=tasks, tasks_max=tasks_max or tasks, parts=(lengths,))


def problem_of(*jobs, vm=(2, 2), usd=1.0, billing_s=3600.0, options=None, **limits):
    """A problem with one VM type."""
    return ParetoProblem(
        jobs=jobs,
        offers=(offer(vm[0], vm[1], usd),),
        prices=Prices(vm_hour_usd=usd, billing_s=billing_s),
        limits=PlanLimits(**limits),
        options=options or PlanOptions(),
    )


def offer(map_slots, reduce_slots, usd, *, name="vm", speed=1.0):
    shape = VmShape(map_slots=map_slots, reduce_slots=reduce_slots)
    return VmOffer(vm_type=name, rent=Rent.ON_DEMAND, shape=shape, hour_usd=usd, speed=speed)


JOB_A = PlannedJob(job_id="A", maps=phase(5, 600.0, 900.0), reduces=phase(4, 1200.0, 1500.0))
JOB_B = PlannedJob(job_id="B", maps=phase(3, 900.0), reduces=phase(1, 600.0))


# --- random ones: of a seeded generator, so that a failure is repeated by its number -------------


def random_problem(draw, *, tuning=None, is_capped=None, jobs_max=3):
    """One to three small jobs with any options, small enough for full enumeration."""
    tuning = tuning or draw.choice(list(TaskTuning))
    jobs = draw.randint(1, jobs_max)
    limit = _limit(tuning, jobs)
    options = PlanOptions(
        tasks=tuning,
        buffers=draw.choice([BufferTuning.DEFAULT, BufferTuning.CLOSED_FORM]),
        io_model=draw.choice(list(IoModel)),
        # The hill climb of the referee climbs the estimate as it was printed.
        single_wave=SingleWave.ESTIMATED if tuning is TaskTuning.HILL else _wave(draw),
    )
    made = tuple(_job(draw, f"j{number}", limit, number == 0) for number in range(jobs))
    offers = [offer(draw.randint(1, 3), draw.randint(1, 3), draw.choice([0.1, 0.3, 1.0, 2.0]))]
    if draw.random() < 0.2 and jobs < 3:
        offers.append(offer(draw.randint(1, 4), draw.randint(1, 2), 0.7, name="big", speed=1.5))
    capped = draw.random() < 0.4 if is_capped is None else is_capped
    return ParetoProblem(
        jobs=made,
        offers=tuple(offers),
        prices=Prices(
            vm_hour_usd=1.0,
            billing_s=draw.choice(BILLINGS_S),
            io_op_usd=draw.choice([0.0, 5e-8, 1e-6]),
            io_bytes_per_op=draw.choice([1.0, 4096.0]),
        ),
        limits=PlanLimits(vms_max=draw.randint(1, 3 * jobs) if capped else None),
        options=options,
    )


def _wave(draw):
    return draw.choice(list(SingleWave))


def _limit(tuning, jobs):
    """Most tasks of a phase, so that there are at most a million combinations."""
    if tuning is TaskTuning.SCAN:
        return {1: 16, 2: 6, 3: 4}[jobs]
    return {1: 30, 2: 16, 3: 8}[jobs]


def _job(draw, name, limit, is_first):
    output = None
    if is_first or draw.random() < 0.6:
        output = MapOutput(bytes=draw.uniform(1e7, 2e9), records=float(draw.randint(10**4, 10**7)))
    return PlannedJob(
        job_id=name,
        maps=_phase(draw, limit, 1),
        reduces=_phase(draw, limit, draw.choice([1, 2])),
        output=output,
        buffer=_buffer(draw),
        driver_s=draw.choice([0.0, 0.0, 137.0]),
    )


def _phase(draw, limit, parts):
    tasks = draw.randint(1, limit)
    return PlannedPhase(
        tasks=tasks,
        tasks_max=draw.randint(1, limit),
        parts=tuple(_lengths(draw, limit) for _ in range(parts)),
    )


def _lengths(draw, limit):
    kind = draw.randrange(3)
    if kind == 0:
        avg_s = draw.choice([300.0, 600.0, 900.0, draw.uniform(10, 3000)])
        return ConstantLengths(avg_s, avg_s * draw.choice([1.0, 1.5, 6.0]))
    if kind == 1:
        return WorkLengths(draw.choice([0.0, draw.uniform(1, 400)]), draw.uniform(300, 2e4), 2.0)
    # Three rows may form a valley, in which neither end is best.
    tasks = sorted(draw.sample(range(1, limit + 3), draw.choice([2, 3])))
    rows = [(n, avg_s := draw.uniform(50, 3000), avg_s * draw.uniform(1, 2)) for n in tasks]
    return TableLengths(tuple(rows))


def _buffer(draw):
    low = draw.uniform(2e7, 2e8)
    return BufferRanges(
        bytes=Range(low, low * draw.uniform(1, 4)),
        metadata_share=Range(draw.uniform(0.01, 0.2), draw.uniform(0.2, 0.5)),
        spill_threshold=Range(draw.uniform(0.4, 0.7), draw.uniform(0.7, 0.95)),
        default=BufferSetting(bytes=draw.choice([1e8, 2.5e7])),
    )
