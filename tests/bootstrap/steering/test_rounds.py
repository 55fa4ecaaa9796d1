"""Rounds of steering: each decision is made once, recorded, and can be taken back."""

import json
from contextlib import suppress

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.resource_manager import CONF, SteeredResourceManager, application, served

from sluice.bootstrap.steering import rounds
from sluice.bootstrap.steering.kinds import EFFECTS, KINDS
from sluice.bootstrap.steering.policies import POLICIES, Decision
from sluice.bootstrap.steering.rounds import SteeringRounds
from sluice.engines.yarn.rest import ResourceManagerRest
from sluice.model.steering import ApplicationWish, SteeringPlan

CONFIGURED = {
    "root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50",
}  # fmt: skip
ROWS = [application(number, "RUNNING") for number in (1, 2, 3)]
IDS = [row["id"] for row in ROWS]


class Killed(BaseException):
    """Ends a round as kill -9 does: nothing after it is done."""


@pytest.fixture
def cluster():
    used = application(9, "FINISHED", queue="root.a", vcoreSeconds=1000)
    with served(SteeredResourceManager([*ROWS, used], CONFIGURED)) as fake:
        yield fake


@pytest.fixture
def wanted(monkeypatch):
    """The decision of the policy `wanted`, which a test may change."""
    found = {"plan": SteeringPlan(), "reasons": {}}
    monkeypatch.setitem(POLICIES, "wanted", lambda *_: Decision(**found))
    return found


def rounds_of(cluster, folder, *, applies=True):
    return SteeringRounds(ResourceManagerRest(cluster.address), folder, applies=applies, rate=100)


def lines(folder):
    text = (folder / rounds.RECORD_NAME).read_text()
    return [json.loads(line) for line in text.split("\n") if line]


def undo(folder):
    path = folder / rounds.UNDO_NAME
    return yaml.safe_load(path.read_text()) if path.exists() else None


def priorities(cluster):
    return [row["priority"] for row in cluster.applications[:3]]


def all_to(priority):
    return SteeringPlan(applications={one: ApplicationWish(priority=priority) for one in IDS})


def test_each_policy_that_steers_has_a_kind_of_change():
    assert set(KINDS) == set(POLICIES)
    assert set(KINDS.values()) == set(EFFECTS)


def test_capacities_are_set_once_and_taken_back_whole(cluster, tmp_path):
    steering = rounds_of(cluster, tmp_path)
    steering.go_round(["ltyarn"])
    steering.go_round(["ltyarn"])

    assert [path for path, _ in cluster.puts] == [CONF]
    assert cluster.configured["root.a.capacity"] != "50"
    capacities = [cluster.configured[f"root.{name}.capacity"] for name in "ab"]
    assert sum(map(float, capacities)) == pytest.approx(100)
    done = [one for one in lines(tmp_path) if one["outcome"] == "done"]
    assert {one["target"] for one in done} == {"root.a", "root.b"}
    assert "core-seconds, and its share is 50 %" in done[0]["reason"]
    steering.take_back("the service stops")
    assert cluster.configured == CONFIGURED
    assert undo(tmp_path) is None


def test_the_undo_plan_has_the_values_from_before_the_first_change(cluster, tmp_path, wanted):
    steering = rounds_of(cluster, tmp_path)
    for priority in (4, 7, 9):
        wanted["plan"] = all_to(priority)
        steering.go_round(["wanted"])
    assert priorities(cluster) == [9, 9, 9]
    assert len(cluster.puts) == 9
    assert {wish["priority"] for wish in undo(tmp_path)["applications"].values()} == {0}

    rounds_of(cluster, tmp_path).take_back("the service stops")
    assert priorities(cluster) == [0, 0, 0]


def test_a_value_that_others_have_set_meanwhile_is_what_the_undo_plan_goes_back_to(
    cluster, tmp_path, wanted
):
    wanted["plan"] = all_to(4)
    rounds_of(cluster, tmp_path).go_round(["wanted"])
    cluster.applications[1]["priority"] = 2
    wanted["plan"] = all_to(7)
    rounds_of(cluster, tmp_path).go_round(["wanted"])

    rounds_of(cluster, tmp_path).take_back("the service stops")
    assert priorities(cluster) == [0, 2, 0]


def test_an_application_that_has_ended_is_forgotten(cluster, tmp_path, wanted):
    wanted["plan"] = all_to(4)
    steering = rounds_of(cluster, tmp_path)
    steering.go_round(["wanted"])
    cluster.applications[1]["state"] = "FINISHED"
    steering.go_round(["wanted"])

    assert set(undo(tmp_path)["applications"]) == {IDS[0], IDS[2]}
    assert steering.problems == {}


def test_without_applying_decisions_are_only_listed_each_once(cluster, tmp_path, wanted):
    wanted |= {"plan": all_to(4), "reasons": dict.fromkeys(IDS, "it is short")}
    for _ in range(3):
        rounds_of(cluster, tmp_path, applies=False).go_round(["wanted"])

    assert cluster.puts == []
    assert undo(tmp_path) is None
    found = [(one["target"], one["outcome"], one["reason"]) for one in lines(tmp_path)]
    assert found == [(one, "listed", "it is short") for one in IDS]


def test_a_wrong_sum_changes_nothing_and_says_why(cluster, tmp_path, wanted):
    plan = all_to(4)
    wanted["plan"] = SteeringPlan(
        queues={"root.a": {"capacity": "90"}}, applications=plan.applications
    )
    steering = rounds_of(cluster, tmp_path)
    steering.go_round(["wanted"])
    steering.go_round(["wanted"])

    assert cluster.configured == CONFIGURED
    assert priorities(cluster) == [4, 4, 4], "the sums are no fault of the applications"
    assert "a 90 + b 50 = 140, not 100" in steering.problems["wanted"]
    (problem,) = [one for one in lines(tmp_path) if one["outcome"] == "problem"]
    assert "not 100" in problem["why"]


def test_a_cluster_that_is_silent_is_a_problem_and_no_end(cluster, tmp_path):
    steering = SteeringRounds(
        ResourceManagerRest("http://127.0.0.1:9"), tmp_path, applies=True, rate=100
    )
    steering.go_round(["mrorder", "ltyarn"])
    assert list(steering.problems) == ["mrorder", "ltyarn"]
    assert "no ResourceManager answers" in steering.problems["ltyarn"]


def test_a_change_that_is_refused_leaves_the_others_and_is_not_repeated(cluster, tmp_path, wanted):
    wanted["plan"] = all_to(4)
    steering = rounds_of(cluster, tmp_path)
    refuse = cluster.application
    cluster.application = lambda app_id: None if app_id == IDS[1] else refuse(app_id)
    steering.go_round(["wanted"])
    steering.go_round(["wanted"])

    assert priorities(cluster) == [4, 0, 4]
    assert len(cluster.puts) == 3
    (refused,) = [one for one in lines(tmp_path) if one["outcome"] == "refused"]
    assert (refused["target"], "(400)" in refused["why"]) == (IDS[1], True)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 11)), min_size=1, max_size=4))
def test_a_round_that_is_killed_anywhere_is_made_up_for_and_the_undo_plan_stays_whole(
    tmp_path_factory, crashes
):
    """crashes: the priority that is wanted, and after how many steps the round is killed."""
    folder = tmp_path_factory.mktemp("steering")
    with (
        served(SteeredResourceManager(ROWS, CONFIGURED)) as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        for priority, changes in crashes:
            steering = rounds_of(cluster, folder)
            patch.setitem(POLICIES, "wanted", lambda *_, of=priority: Decision(plan=all_to(of)))
            kill_at(steering, changes, patch)
            with suppress(Killed):
                steering.go_round(["wanted"])
            patch.undo()
            patch.setitem(POLICIES, "wanted", lambda *_, of=priority: Decision(plan=all_to(of)))
            before = [row["priority"] for row in cluster.applications]
            made = len(cluster.puts)
            rounds_of(cluster, folder).go_round(["wanted"])
            assert priorities(cluster) == [priority] * 3
            assert len(cluster.puts) - made == sum(one != priority for one in before)
        rounds_of(cluster, folder).take_back("the service stops")
        assert priorities(cluster) == [0, 0, 0]
        assert undo(folder) is None


def kill_at(steering, steps, patch):
    """Kill it at one of its steps: before or after a change is on record, and after it is made."""
    left = [steps]

    def counted(work):
        def step(*given, **more):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return work(*given, **more)

        return step

    patch.setattr(steering.record, "begin", counted(steering.record.begin))
    patch.setattr(steering.record, "end", counted(steering.record.end))
    patch.setattr(steering.undo, "keep", counted(steering.undo.keep))
    patch.setattr(rounds, "made", counted(rounds.made))


def test_half_a_line_of_a_crash_spoils_no_other(cluster, tmp_path, wanted):
    wanted["plan"] = all_to(4)
    rounds_of(cluster, tmp_path).go_round(["wanted"])
    with (tmp_path / rounds.RECORD_NAME).open("a") as file:
        file.write('\n{"at": "20')
    wanted["plan"] = all_to(5)
    steering = rounds_of(cluster, tmp_path)
    steering.go_round(["wanted"])
    assert len(steering.record.newest) == 6
    assert priorities(cluster) == [5, 5, 5]
