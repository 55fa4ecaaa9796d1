"""`phases` of a job: the DAG of stages that a file describes becomes the model's phases."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sluice
from sluice.model.errors import InvalidInput
from sluice.model.slot_kind import SlotKind


def job_with(phases, **more):
    document = {
        "version": 1,
        "cluster": {"containers": 4},
        "jobs": [{"id": "j", "phases": phases, **more}],
    }
    (job,) = sluice.parse_workload(json.dumps(document)).jobs
    return job


def stage(name, after=None, tasks=1, **more):
    return {"name": name, "tasks": tasks, "avg_s": 1, **more} | (
        {} if after is None else {"after": after}
    )


def test_a_stage_without_after_follows_the_one_before_it():
    job = job_with([stage("a"), stage("b"), stage("c")])

    assert [phase.after for phase in job.phases] == [(), (0,), (1,)]
    assert {phase.kind for phase in job.phases} == {SlotKind.CONTAINER}


def test_after_names_stages_and_an_empty_one_starts_at_once():
    job = job_with([stage("a"), stage("b", []), stage("c", ["b", "a", "b"]), stage("d")])

    assert [phase.after for phase in job.phases] == [(), (), (0, 1), (2,)]


def test_stages_may_be_listed_in_any_order():
    job = job_with([stage("c", ["a", "b"]), stage("b", []), stage("a", [])])

    assert [phase.name for phase in job.phases] == ["b", "a", "c"]
    assert job.phases[2].after == (0, 1)


def test_what_follows_a_stage_without_tasks_follows_its_predecessors():
    job = job_with([stage("a"), stage("b", []), stage("none", ["a", "b"], 0), stage("c")])

    assert [(phase.name, phase.after) for phase in job.phases] == [
        ("a", ()), ("b", ()), ("c", (0, 1)),
    ]  # fmt: skip


def test_a_stage_has_lengths_units_and_a_demand_of_its_own():
    job = job_with(
        [{"name": "a", "tasks": 2, "durations_s": [1, 2], "units": 3, "demand": {"cpu": 30}}],
        driver_s=5,
    )

    assert job.driver_s == 5
    assert job.phases[0].units == 3
    assert job.phases[0].demand.work.cpu == 30
    assert job.phases[0].lengths.max_s(2) == 2


@pytest.mark.parametrize(
    ("phases", "more", "named"),
    [
        ([stage("a"), stage("a")], {}, ("phases[1].name", "twice")),
        ([stage("a", ["b"]), stage("b", ["a"])], {}, ("circle", '"a"', '"b"')),
        ([stage("a", ["a"])], {}, ("circle", '"a"')),
        ([stage("scan"), stage("b", ["scam"])], {}, ("phases[1].after[0]", '"scam"', "scan")),
        ([stage("a")], {"maps": {"tasks": 1, "avg_s": 1}}, ("maps", "phases")),
        ([stage("a")], {"demand": {}}, ("demand", "phases")),
        ([stage("a")], {"run": {"input": ["x"], "output": "y", "mapper": "cat"}}, ("run",)),
        ([{"name": "a", "avg_s": 1}], {}, ("phases[0].tasks", "missing")),
        ([{"name": "a", "tasks": 1}], {}, ("phases[0]", "no lengths")),
        ([{"name": "a", "tasks": 2, "durations_s": [1]}], {}, ("phases[0].durations_s",)),
        ([{"name": "a", "tasks": 1, "avg_s": 2, "max_s": 1}], {}, ("phases[0]", "max_s")),
        ([{"name": "a\n", "tasks": 1, "avg_s": 2}], {}, ("phases[0].name",)),
        ([stage("a", tasks=0)], {}, ("no task",)),
        ([stage("a", tasks=60_000_000), stage("b", tasks=60_000_000)], {}, ("tasks",)),
        ([], {}, ("phases",)),
        ([stage("a")], {"driver_s": -1}, ("driver_s",)),
    ],
)
def test_a_wrong_stage_is_named(phases, more, named):
    with pytest.raises(InvalidInput) as caught:
        job_with(phases, **more)

    assert all(text in str(caught.value) for text in ('job "j"', *named)), str(caught.value)


@st.composite
def graphs(draw):
    """Stages in any order of the file, each after some that precede it in a hidden order."""
    count = draw(st.integers(1, 8))
    stages = [
        stage(f"s{index}", [f"s{one}" for one in draw(st.sets(st.integers(0, index - 1)))])
        if index
        else stage("s0", [])
        for index in range(count)
    ]
    return draw(st.permutations(stages))


@given(graphs())
def test_each_stage_comes_after_those_that_it_follows(stages):
    wanted = {one["name"]: set(one["after"]) for one in stages}

    phases = job_with(stages).phases

    found = {phase.name: {phases[index].name for index in phase.after} for phase in phases}
    assert found == wanted
    assert all(before < index for index, one in enumerate(phases) for before in one.after)
