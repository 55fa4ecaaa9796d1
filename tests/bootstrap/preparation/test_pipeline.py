"""The steps of a preparation: each has what it needs, and commands agree on their order."""

import random

import pytest

import sluice
from sluice.bootstrap.preparation.facts import ON_MESSAGE, STARTS, WORKLOAD
from sluice.bootstrap.preparation.pipeline import Fact, Goal, Step, carried_out
from sluice.bootstrap.preparation.steps import STEPS, prepared


def misplaced(steps, starts):
    """A sentence on each step that cannot have what it needs where it is listed.

    starts: the facts that a command with each goal has at the start.
    """
    for goal in Goal:
        own = [step for step in steps if goal in step.goals]
        known = set(starts[goal])
        for place, step in enumerate(own):
            for fact in step.needs:
                if fact not in known:
                    yield f"{goal.value}: {step.name} needs {fact}, which no step before it gives"
            later = {fact for other in own[place + 1 :] for fact in other.gives}
            for fact in later.intersection(step.after):
                yield f"{goal.value}: {step.name} comes before a step that gives {fact}"
            known |= set(step.gives)


def named(name):
    return next(step for step in STEPS if step.name == name)


def test_each_step_is_listed_after_what_it_needs():
    assert [] == list(misplaced(STEPS, STARTS))


def test_each_step_has_a_goal_and_one_name_within_it():
    for goal in Goal:
        names = [step.name for step in STEPS if goal in step.goals]
        assert len(names) == len(set(names))
        assert names
    assert all(step.goals for step in STEPS)


@pytest.mark.parametrize(
    ("moved", "before", "missing"),
    [
        ("predicted times", "forecasts", "forecasts"),
        ("kinds of slots", "scheduler", "scheduler"),
        ("deadlines", "kinds of slots", "kinds"),
        ("past lengths", "real jobs", "tasks"),
        ("settings", "VMs as nodes", "nodes"),
    ],
)
def test_a_step_listed_before_what_it_needs_is_found(moved, before, missing):
    steps = [step for step in STEPS if step.name != moved]
    steps.insert(steps.index(named(before)), named(moved))

    assert any(
        f"{moved} needs {missing}, which no step before it gives" in found
        for found in misplaced(steps, STARTS)
    )


def test_a_step_listed_before_one_that_should_come_first_is_found():
    """No profile is needed for queues; but a job's time is predicted on its own slots."""
    steps = [step for step in STEPS if step.name != "queues"]
    steps.insert(steps.index(named("profiles")), named("queues"))

    assert "simulate: queues comes before a step that gives times" in set(misplaced(steps, STARTS))


def test_few_other_orders_would_do():
    """The needs hold the order: of a hundred random ones, none passes."""
    rng = random.Random(1)

    assert all(list(misplaced(rng.sample(STEPS, len(STEPS)), STARTS)) for _ in range(100))


def test_a_step_sees_no_fact_that_it_does_not_declare():
    one, other = Fact[int]("one"), Fact[int]("other")
    sly = Step(name="sly", goals=[Goal.PLAN], needs=[one], do=lambda facts: {one: facts[other]})

    with pytest.raises(AssertionError, match="does not declare other"):
        carried_out([sly], Goal.PLAN, {one: 1, other: 2})


def test_a_step_gives_no_fact_that_it_does_not_declare():
    one, other = Fact[int]("one"), Fact[int]("other")
    sly = Step(name="sly", goals=[Goal.PLAN], needs=[one], gives=[one], do=lambda _: {other: 1})

    with pytest.raises(AssertionError, match="sly gives"):
        carried_out([sly], Goal.PLAN, {one: 1})


def test_steps_of_other_goals_do_not_run():
    workload = sluice.parse_workload("{version: 1, jobs: [{id: a, maps: {tasks: 2, avg_s: 3}}]}")
    given = {WORKLOAD: workload, ON_MESSAGE: print}
    assert prepared(Goal.LENGTHS, given)[WORKLOAD] is workload
