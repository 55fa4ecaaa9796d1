"""The order of a round of MROrder: simulated for few jobs, else by a rule."""

from dataclasses import replace

import pytest
from tests.runs import map_reduce

from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.slot_kind import SlotKind
from sluice.planning.ordering.batch_orderer import BatchOrderer


def three_phases(job_id, *lengths_s):
    kinds = (SlotKind.MAP, SlotKind.REDUCE, SlotKind.REDUCE)
    phases = tuple(
        Phase(name=f"p{at}", kind=kind, tasks=1, lengths=ConstantLengths(length_s, length_s),
              after=(at - 1,) if at else ())
        for at, (kind, length_s) in enumerate(zip(kinds, lengths_s, strict=True))
    )  # fmt: skip
    return Job(job_id=job_id, pool="p", phases=phases)


@pytest.mark.parametrize(("objective", "order"), [("tct", [0, 1, 2]), ("makespan", [1, 2, 0])])
def test_jobs_of_more_than_two_phases_are_ordered_by_their_work(objective, order):
    """4 map slots, 1 reduce slot: 8/4 + 3 s of work, 1/4 + 6 s and 3/4 + 9 s.

    All have less of maps, in slots, than of reduces, so for the makespan the shortest map is first.
    """
    jobs = (three_phases("a", 8, 1, 2), three_phases("b", 1, 2, 4), three_phases("c", 3, 4, 5))

    assert list(BatchOrderer(objective, 7)(jobs, 4, 1)) == order


@pytest.mark.parametrize(
    ("objective", "exact_jobs_max", "order"),
    [
        ("tct", 2, [1, 0, 2]),
        ("tct", 3, [1, 0, 2]),
        ("makespan", 2, [1, 2, 0]),
        ("makespan", 3, [1, 0, 2]),
    ],
)
def test_many_jobs_are_ordered_by_a_rule_and_few_by_trying(objective, exact_jobs_max, order):
    """One slot each. Work of 6 + 3, 1 + 6 and 3 + 9 s.

    The makespan is 1 + 6 + 9 + 3 s in the orders b c a, which is Johnson's, and b a c, in which the
    jobs end earlier.
    """
    jobs = [
        map_reduce("a", 1, 6.0, 1, 3.0),
        map_reduce("b", 1, 1.0, 1, 6.0),
        map_reduce("c", 1, 3.0, 1, 9.0),
    ]

    assert list(BatchOrderer(objective, exact_jobs_max)(jobs, 1, 1)) == order


@pytest.mark.parametrize("change", [{"driver_s": 50.0}, {"lengths": None}])
def test_a_driver_that_is_done_and_lengths_that_are_unknown_do_not_prevent_a_simulation(change):
    """The jobs from above, with as many tasks of the assumed 1 s as they had seconds."""
    shapes = {"a": (6, 3), "b": (1, 6), "c": (3, 9)}
    jobs = [map_reduce(name, maps, 1.0, reduces, 1.0) for name, (maps, reduces) in shapes.items()]
    if "lengths" in change:
        jobs = [
            replace(job, phases=tuple(replace(phase, **change) for phase in job.phases))
            for job in jobs
        ]
    else:
        jobs[0] = replace(jobs[0], **change)

    assert list(BatchOrderer("makespan", 3)(jobs, 1, 1)) == [1, 0, 2]
