"""Jobs of a workload as a flow shop: chains are taken, in an order of stages that suits all."""

import random

import pytest

from sluice.model.errors import InvalidInput
from sluice.model.job import Job, Phase
from sluice.model.lengths import ListedLengths
from sluice.model.slot_kind import SlotKind
from sluice.planning.flow_shops.problem import flow_problem


def job_of(name, stages, lengths_s=(2.5, 3.0), after=None):
    """A job whose stages follow each other, or as given: by stage, those before it."""
    chain = [()] + [(at,) for at in range(len(stages) - 1)]
    phases = tuple(
        Phase(
            name=stage,
            kind=SlotKind.CONTAINER,
            tasks=len(lengths_s),
            lengths=ListedLengths(lengths_s),
            after=before,
        )
        for stage, before in zip(stages, after or chain, strict=True)
    )
    return Job(job_id=name, pool="p", phases=phases)


def test_each_job_passes_its_stages_in_its_own_order():
    for seed in range(50):
        draw = random.Random(seed)
        order = draw.sample("abcdef", 6)
        passed = [
            [stage for stage in order if draw.random() < 0.5] or order[:1]
            for _ in range(draw.randint(1, 5))
        ]
        found = flow_problem([job_of(f"j{at}", one) for at, one in enumerate(passed)], 1, "file")

        assert sorted(found.columns) == sorted({stage for one in passed for stage in one})
        for stages in passed:
            places = [found.columns.index(stage) for stage in stages]
            assert places == sorted(places)
        tasks = zip(found.shop.tasks, passed, strict=True)
        for at_stages, stages in tasks:
            taken = [name for name, one in zip(found.columns, at_stages, strict=True) if one]
            assert sorted(stages) == sorted(taken)
        named = [f"j{at}/{stage}" for at, stages in enumerate(passed) for stage in stages]
        assert list(found.stages) == named
        assert [found.columns[column] for _, column in found.places] == [
            name.partition("/")[2] for name in named
        ]


@pytest.mark.parametrize("after", [[(), ()], [(), (), (1,)], [(), (0,), (0, 1)], [(), (0,), (0,)]])
def test_a_job_whose_stages_are_no_chain_is_refused(after):
    with pytest.raises(InvalidInput, match="does not follow the one before it"):
        flow_problem([job_of("j", "abc"[: len(after)], after=after)], 1, "file")


@pytest.mark.parametrize("passed", [("ab", "ba"), ("ab", "bc", "ca")])
def test_stages_that_jobs_pass_in_different_orders_are_refused(passed):
    jobs = [job_of(f"j{at}", stages) for at, stages in enumerate(passed)]

    with pytest.raises(InvalidInput, match="in different orders"):
        flow_problem(jobs, 1, "file")


@pytest.mark.parametrize(("slots", "expected"), [(1, (5.5,)), (2, (3.0, 2.5))])
def test_on_one_slot_the_tasks_of_a_stage_are_one_and_else_the_longest_comes_first(slots, expected):
    found = flow_problem([job_of("j", "a")], {"a": slots}, "file")

    assert (slots,) == found.shop.slots
    assert expected == tuple(length / found.unit for length in found.shop.tasks[0][0])


@pytest.mark.parametrize(
    ("slots", "said"),
    [({"a": 1}, "'b' of file has no slots"), ({"c": 1}, "no job has a stage 'c'")],
)
def test_slots_are_of_the_stages_of_the_jobs(slots, said):
    with pytest.raises(InvalidInput, match=said):
        flow_problem([job_of("j", "ab")], slots, "file")
