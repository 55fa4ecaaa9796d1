"""Admission rents nodes while real jobs run, and gives them back, also after a kill."""

import json
import signal
import time

import pytest
from tests.live.command_line import Place, awaited

RENTING = ("--tasks", "yarn-like", "--admission", "capacity")
PRICES = {"on_demand_vm_usd": 0.40, "reserved_vm_usd": 0.15, "billing_s": 1}
TASKS = {"first": 28, "second": 6}  # the first one ends seconds after the other
SETTINGS = {"capacity.interval_s": 0.5, "capacity.vms_max": 3, "capacity.vm_start_s": 0.3}


@pytest.fixture
def place(tmp_path):
    """One node of two containers, and two jobs of which it can promise only the first.

    Tasks are much shorter than the file says, so that a busy machine misses no deadline.
    """
    made = Place(tmp_path)
    for job_id, tasks in TASKS.items():
        made.write_input(f"in-{job_id}", *(f"line {number:02}\n" for number in range(tasks)))
    (tmp_path / "slow.sh").write_text("sleep 0.5; cat\n")
    made.write(
        [a_job("first", 0.0, 110), a_job("second", 0.2, 28)],
        cluster={"nodes": 1, "node": {"containers": 2}},
        prices=PRICES,
        settings=SETTINGS,
    )
    yield made
    made.end()


def a_job(job_id, submitted_at_s, deadline_s):
    return {
        "id": job_id,
        "submitted_at_s": submitted_at_s,
        "deadline_s": deadline_s,
        "penalty_usd": 1,
        "maps": {"tasks": TASKS[job_id], "avg_s": 5, "max_s": 6},
        "reduces": {"tasks": 1, "avg_s": 0.2, "max_s": 0.5},
        "run": {
            "input": [f"in-{job_id}"],
            "output": job_id,
            "mapper": "sh slow.sh",
            "reducer": "cat",
        },
    }


def story(place, subject):
    code, shown, err = place.sluice("story", subject)
    assert 0 == code, err
    return " ".join(shown.split())


def assert_whole(place):
    """Both jobs have all their lines, and nothing is left."""
    for job_id, tasks in TASKS.items():
        assert [f"line {number:02}".encode() for number in range(tasks)] == place.lines(job_id)
    assert not place.processes_left()


def test_a_job_that_does_not_fit_gets_rented_nodes_and_they_are_given_back(place):
    code, found = place.document(*RENTING)

    assert 0 == code
    assert_whole(place)
    machines = found["machines"]
    assert 1 == machines["vms_fixed"]
    assert machines["leases"]
    assert machines["rented_usd"] > 0
    assert machines["bill_usd"] == pytest.approx(
        machines["fixed_usd"] + machines["rented_usd"] + machines["penalties_usd"]
    )
    assert found["jobs"]["second"]["deadline_met"]
    of_node = story(place, "rented-1")
    assert "is rented for second, for $0.40 an hour" in of_node
    assert "given back: the promised jobs need" in of_node
    assert "cordoned" not in of_node
    assert "rented for it for $" in story(place, "second")


def test_prices_decide_whether_a_node_is_rented(place):
    """A penalty below the rent is not worth it, so that no figure is fixed."""
    dear = {**PRICES, "on_demand_vm_usd": 4000}
    workload = json.loads(place.file.read_text())
    place.file.write_text(json.dumps({**workload, "prices": dear}))

    _, found = place.document(*RENTING)

    assert [] == found["machines"]["leases"]


def test_after_a_kill_the_rented_nodes_are_there_again(place):
    process = place.started("run", "jobs.json", *RENTING)
    awaited(lambda: list(place.folder.glob(".second.sluice-*")), "the second job has begun")
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    code, found = place.document("--resume")

    assert 0 == code
    assert_whole(place)
    nodes = [lease["node"] for lease in found["machines"]["leases"]]
    assert "rented-1" in nodes
    assert len(nodes) == len(set(nodes)) <= 2
    assert "cordoned" not in story(place, "rented-1")


def test_what_cannot_rent_is_refused_before_the_run(place):
    code, _, err = place.run(*RENTING, "--set", "capacity.vm_containers=3")

    assert (2, True) == (code, "a node has 2 containers" in err), err
