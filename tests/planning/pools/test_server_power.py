"""Servers that are shut down: worked out by hand, and against the VMs in use at each instant."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.planning.pool_problems import example, problems

import sluice
from sluice.model.errors import InvalidInput
from sluice.model.vm_pools import PowerRule
from sluice.planning.pools.online import vm_aware, waiting_for_servers
from sluice.planning.pools.schedule import peak_servers
from sluice.planning.pools.server_power import power_of
from sluice.reporting.exports.workload_document import workload_document

RULE = PowerRule(down_after_s=10.0, up_s=5.0)


def servers():
    """Two servers of 4 units: one with two VMs of 2 units, one with three of 1 unit."""
    return power_of(RULE, 4.0, [(1.0, 3), (2.0, 2)], 0.0)


def test_a_server_is_off_from_the_delay_on_until_it_is_needed():
    power = servers()

    assert 5.0 == power.take(0, [0], 30.0)  # off from 10 s to 30 s
    assert (2, 60.0, 40.0, 1) == power.use(30.0)
    assert 3.0 == power.take(0, [1], 32.0)
    assert 0.0 == power.take(0, [2], 36.0)


def test_a_reservation_starts_the_server_ahead_and_keeps_it_on():
    power = servers()
    power.update({1: 1}, 30.0)

    assert 0.0 == power.take(1, [0], 36.0)
    power.give_back(1, [0], 40.0)
    power.update({1: 2}, 40.0)
    assert 0.0 == power.take(1, [0, 1], 100.0)
    assert 1 == power.use(100.0).starts


def test_a_server_is_on_while_any_of_its_vms_is_used():
    power = servers()
    power.take(1, [0, 1], 0.0)
    power.give_back(1, [0], 20.0)
    power.update({}, 20.0)
    power.give_back(1, [1], 50.0)
    power.update({}, 50.0)

    assert (100.0 - 10.0) + (100.0 - 60.0) == power.use(100.0).off_server_s


def test_the_first_free_places_are_taken():
    power = servers()
    power.take(0, power.first_free(0, 2), 0.0)
    power.give_back(0, [0], 1.0)

    assert [0, 2] == power.first_free(0, 2)
    assert [0, 2] == power.first_free(0, 9)


@settings(max_examples=80)
@given(problem=problems(), down_s=st.sampled_from([0.0, 20.0, 200.0, 1e6]), up_s=st.integers(0, 40))
def test_servers_are_off_only_while_nothing_runs_on_them(problem, down_s, up_s):
    """And the deadlines that the plan counts on are met although servers must start first."""
    pools = replace(problem.pools, power=PowerRule(down_after_s=down_s, up_s=float(up_s)))
    made = vm_aware(waiting_for_servers(replace(problem, pools=pools)))
    power = made.power
    assert power is not None
    event(f"starts: {min(power.starts, 3)}")

    ran = [
        (one.option, one.finished_at_s - one.started_at_s)
        for one in made.outcomes
        if one.option and one.started_at_s is not None and one.finished_at_s is not None
    ]
    used_s = math.fsum(
        held_s * option.vms * problem.units[option.pool] / problem.server_units
        for option, held_s in ran
    )
    assert 0 <= power.off_server_s <= power.server_s - used_s + 1e-6
    assert power.servers >= peak_servers(made.outcomes, made.problem)
    if down_s == 1e6:
        assert (0.0, 0) == (power.off_server_s, power.starts)
    assert all(one.met for one in made.outcomes if one.option is not None)
    for option, held_s in ran:
        assert -1e-6 <= held_s - problem.run_length_s(option) <= up_s + 1e-6


def test_no_server_is_counted_without_a_rule():
    assert vm_aware(waiting_for_servers(example())).power is None


@pytest.mark.parametrize("text", ["power: {}", "power: {up_s: 5}", "power: {down_after_s: 0}"])
def test_a_rule_survives_writing_its_file(text):
    pools = "server_units: 4\nvm_types: [{id: t, units: 1, vms: 2}]\n"
    jobs = "jobs: [{id: a, deadline_s: 9, predictions: {t: {'1': 5}}}]\n"
    workload = sluice.parse_workload(f"version: 1\n{pools}{text}\n{jobs}")
    again = sluice.parse_workload(json.dumps(workload_document(workload)))

    assert workload.vm_pools == again.vm_pools
    assert workload.vm_pools is not None
    assert workload.vm_pools.power is not None


@pytest.mark.parametrize("name", ["down_after_s", "up_s"])
@pytest.mark.parametrize("value", [-1.0, math.inf, math.nan])
def test_a_rule_without_finite_seconds_is_refused(name, value):
    with pytest.raises(InvalidInput, match=f"{name} is"):
        PowerRule(**{name: value})
