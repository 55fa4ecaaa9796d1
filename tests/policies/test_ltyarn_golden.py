"""LTYARN against the golden cases of its spec, through the workload file and the simulator."""

import pytest
from tests.planning.sharing_problems import GOLDEN
from tests.policies.ltyarn_worlds import running_at, starts, workload

import sluice

CASES = GOLDEN["s_ltmm"]


def golden(name):
    """(result, expected) of a golden case."""
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    queues = [
        {"id": queue["name"], "weight": queue["weight"], "order": queue["policy"]}
        for queue in given["queues"]
    ]
    apps = [
        (app["name"], app["queue"], app["arrival"], [task[2] for task in app["tasks"]])
        for app in given["apps"]
    ]
    settings = {
        "ltyarn.quantum_s": given["Q0"],
        "ltyarn.adaptive": given.get("adaptive", False),
        "ltyarn.head_of_line": "wait",
        "ltyarn.probe_s": given["probe"],
        "ltyarn.round_s": given["L"],
    }
    load = workload(given["R"], queues, apps, settings)
    return sluice.simulate(load, tasks="ltyarn"), expected


@pytest.mark.parametrize("name", CASES)
def test_starts_and_end_are_exact(name):
    result, expected = golden(name)

    assert expected["starts"] == starts(result)
    assert expected["end"] == result.makespan_s


@pytest.mark.parametrize("name", CASES)
def test_counters_are_exact_at_every_probe(name):
    """Use and quanta of the whole tree, before tasks start at that instant."""
    result, expected = golden(name)
    probes = result.document()["probes"]

    assert list(expected["probes"]) == list(probes)
    for at, counters in expected["probes"].items():
        wanted = {key: float(f) for key, f in (counters["apps"] | counters["queues"]).items()}
        assert wanted == {key: probes[at]["f"][key] for key in wanted}
        quanta = {key: float(seconds) for key, seconds in counters["quantum"].items()}
        assert quanta == {key: probes[at]["quantum_s"][key] for key in quanta}
    last = probes[list(probes)[-1]]["phi"]
    assert {name: float(phi) for name, phi in expected["par"].items()}.items() <= last.items()


def test_a_charge_that_was_not_frozen_would_starve_the_late_application():
    """Erratum E5: with the charge frozen, B starts at once as soon as a container is free."""
    load = workload(1, ["q"], [("A", "q", 0, [5] * 10), ("B", "q", 10, [5] * 2)])

    result = sluice.simulate(load, tasks="ltyarn", settings={"ltyarn.adaptive": False})

    assert starts(result)["B"][0] <= 15


@pytest.mark.slow
def test_an_idle_registered_queue_is_not_charged():
    """Erratum E7: lending gives credit; with `queue_par` the credit is lost (spec 8.3)."""
    apps = [("busy", "b", 0, [1] * 200), ("late", "a", 50, [1] * 200)]
    load = workload(2, ["a", "b"], apps)

    lent = sluice.simulate(load, tasks="ltyarn")
    charged = sluice.simulate(load, tasks="ltyarn", settings={"ltyarn.queue_par": True})

    assert {"a": 2.0} == running_at(lent, 75.5), "it catches up first"
    assert {"a": 1.0, "b": 1.0} == running_at(charged, 75.5)


def test_a_discount_counts_borrowed_units_at_their_price():
    """Two containers, each queue paid for one: 10 s of both count 10 + 5 at half price."""
    load = workload(2, ["a", "b"], [("x", "a", 0, [10, 10]), ("y", "b", 10, [10, 10])])

    settings = {"ltyarn.discount_price": 0.5, "ltyarn.probe_s": [10], "ltyarn.adaptive": False}
    result = sluice.simulate(load, tasks="ltyarn", settings=settings)

    assert 15.0 == result.document()["probes"]["10"]["f"]["a"]


def test_long_term_drf_in_the_scheduler_gives_back_what_was_lent():
    """Spec 8.5 in tasks of one second: 45/45 tasks under DRF, 54/36 under long-term DRF."""
    file = """{
      "version": 1,
      "cluster": {"node_groups": [{"id": "n", "nodes": 1, "cpu": 9, "memory": 18}]},
      "queues": [{"id": "a"}, {"id": "b"}],
      "jobs": [
        {"id": "A", "pool": "a", "submitted_at_s": 5, "maps": {"tasks": 200, "avg_s": 1},
         "demand": {"map": {"cpu": 1, "memory": 4}}},
        {"id": "B", "pool": "b", "maps": {"tasks": 200, "avg_s": 1},
         "demand": {"map": {"cpu": 3, "memory": 1}}}
      ]}"""
    load = sluice.parse_workload(file)

    def tasks(policy, **options):
        result = sluice.simulate(load, tasks=policy, settings={"shared": "dominant", **options})
        started = starts(result)
        return tuple(sum(at_s < 20 for at_s in started[name]) for name in "AB")

    assert (45, 45) == tasks("mlrf")
    assert (54, 36) == tasks("ltrf") == tasks("karma")
    assert (45, 45) == tasks("karma", alpha=0), "a guaranteed half of the dominant shares"
