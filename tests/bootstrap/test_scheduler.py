"""Policies by name: ours, other packages', and what is said of names that nobody has."""

import sys
from dataclasses import dataclass, fields
from importlib import metadata
from types import ModuleType

import pytest
from tests.runs import map_reduce, totals

import sluice
from sluice.api.sources import settings_of
from sluice.bootstrap import offered_policies
from sluice.bootstrap.policy_classes import policy_names
from sluice.bootstrap.scheduler import policy, scheduler_for
from sluice.bootstrap.setting_owners import general_settings
from sluice.bootstrap.settings import resolved_settings
from sluice.core.rules import FAILURES_MAX, Rules
from sluice.core.settings import CoreSettings
from sluice.model.errors import InvalidInput
from sluice.model.queues import Pool
from sluice.model.workload import Workload
from sluice.policies import BUILT_IN, loaded
from sluice.policies.composition import AXES
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.policies.orders.fair import Fair
from sluice.policies.orders.fifo import Fifo
from sluice.simulation.settings import SimulationSettings

DEFAULTS = resolved_settings({})


def axis_of(full_name):
    return full_name.partition(".")[0]


@pytest.mark.parametrize("full_name", sorted(one for one in BUILT_IN if axis_of(one) not in AXES))
def test_every_policy_in_the_table_can_be_made_under_its_name(full_name):
    kind, _, name = full_name.partition(".")
    made = policy(kind, name, DEFAULTS)

    assert name == made.name
    assert name in policy_names(kind)


def test_every_part_in_the_table_is_a_class_and_has_a_name_of_its_axis():
    parts = {name: path for name, path in BUILT_IN.items() if axis_of(name) in AXES}
    assert all(isinstance(loaded(path), type) for path in parts.values() if path)
    assert {name.partition(".")[2] for name in parts} <= {
        name for axis in AXES for name in policy_names(axis)
    }


def test_names_are_shown_by_kind_in_order():
    assert [
        "decay",
        "dynamicmr",
        "fair",
        "fifo",
        "karma",
        "ltrf",
        "ltyarn",
        "mlrf",
        "queue-tree",
        "ras",
        "static",
        "vm-pools",
        "yarn",
        "yarn-like",
    ] == [name for name in policy_names("tasks") if f"tasks.{name}" in BUILT_IN]
    assert "input" in policy_names("release")
    assert [] == policy_names("nothing")


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("tasks", "fiar", "fair"),
        ("tasks", "yarnlike", "yarn-like"),
        ("release", "inptu", "input"),
        ("admission", "al", "all"),
        ("tasks", "quantum", "fifo"),  # nothing is near, so all are shown
        ("tasks", "", "fifo"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(kind, name, hint):
    with pytest.raises(InvalidInput) as caught:
        policy(kind, name, DEFAULTS)

    assert f"unknown policy {name!r}" == caught.value.what
    assert f"--{kind}" == caught.value.where
    assert hint in caught.value.hint


def test_a_name_of_another_kind_is_unknown():
    with pytest.raises(InvalidInput, match="unknown policy"):
        policy("release", "fifo", DEFAULTS)


# --- another package's ----------------------------------------------------------------------------


class Theirs(Fifo):
    """Made without settings."""

    name = "theirs"


class Tuned(Fifo):
    """Made with settings."""

    name = "tuned"

    @dataclass(frozen=True)
    class Settings:
        patience_s: float = 5.0

    @classmethod
    def build(cls, settings):
        made = cls()
        made.patience_s = settings.patience_s
        return made


@pytest.fixture
def their_package(monkeypatch):
    """An installed package that offers two task policies, and one under a name of ours."""
    module = ModuleType("their_package")
    module.Theirs, module.Tuned = Theirs, Tuned
    monkeypatch.setitem(sys.modules, "their_package", module)
    offered = [
        metadata.EntryPoint(f"tasks.{name}", f"their_package:{kind}", "sluice.policies")
        for name, kind in (("theirs", "Theirs"), ("tuned", "Tuned"), ("fair", "Theirs"))
    ]
    path = "sluice.policies.orders.deadline:EarliestDeadline"
    offered.append(metadata.EntryPoint("order.soonest", path, "sluice.policies"))
    monkeypatch.setattr(offered_policies, "offered", lambda: metadata.EntryPoints(offered))


@pytest.mark.usefixtures("their_package")
def test_another_package_s_policy_is_found_by_its_entry_point():
    assert isinstance(policy("tasks", "theirs", DEFAULTS).inner, Theirs)
    assert {"theirs", "tuned", "fifo"} <= set(policy_names("tasks"))
    assert "theirs" not in policy_names("release")


@pytest.mark.usefixtures("their_package")
def test_another_package_s_policy_simulates_and_compares_like_ours():
    workload = Workload(cluster=totals(2, 1), jobs=(map_reduce("j", 5, 2.0, 1, 1.0),))
    fifo, theirs = sluice.compare(workload, ["fifo", "theirs"], seeds=1).rows

    assert 7.0 == theirs.document()["makespan_s"]
    assert fifo.spreads == theirs.spreads


@pytest.mark.usefixtures("their_package")
def test_another_package_s_order_is_a_part_by_its_entry_point():
    workload = Workload(cluster=totals(2, 1), jobs=(map_reduce("j", 5, 2.0, 1, 1.0),))
    ours, theirs = sluice.compare(workload, ["order=deadline", "order=soonest"], seeds=1).rows

    assert theirs.document()["makespan_s"] == ours.document()["makespan_s"]
    assert "soonest" in policy_names("order")
    with pytest.raises(InvalidInput, match="soonest"):
        sluice.compare(workload, ["order=sooner"], seeds=1)


@pytest.mark.usefixtures("their_package")
def test_another_package_s_policy_has_settings_of_its_own():
    """Its name is a known prefix, of its own settings and of those that all share."""
    given = {"tuned.patience_s": 0.25, "tuned.slowstart": 0.5}
    settings = settings_of(Workload(cluster=totals(1, 1), jobs=(), settings=given))

    assert 0.25 == policy("tasks", "tuned", settings).inner.patience_s
    assert (0.5, 1.0) == tuple(settings.of(CoreSettings, name).slowstart for name in ("tuned", ""))


@pytest.mark.usefixtures("their_package")
def test_nobody_takes_a_name_of_ours():
    """The meaning of `--tasks fair` must not depend on what else is installed."""
    assert type(policy("tasks", "fair", DEFAULTS)) is Fair


@pytest.mark.usefixtures("their_package")
def test_near_names_of_other_packages_are_shown_too():
    with pytest.raises(InvalidInput, match="theirs"):
        policy("tasks", "thiers", DEFAULTS)


# --- schedulers and worlds ------------------------------------------------------------------------


def test_without_names_a_scheduler_is_fifo_over_what_stands():
    scheduler = scheduler_for(settings=DEFAULTS)
    policies = scheduler.policies

    assert (Fifo, ReleaseOnArrival, AdmitAll, KeepPools) == tuple(
        map(type, (policies.tasks, policies.release, policies.admission, policies.pools))
    )
    assert Rules(slowstart=1.0, by_heartbeat=False, failures_max=FAILURES_MAX) == scheduler.rules


def test_rules_are_those_of_the_task_policy():
    settings = resolved_settings({"fair.slowstart": 0.05, "failures_max": 2, "heartbeat_s": 3})
    fair = scheduler_for(settings=settings, tasks="fair")
    fifo = scheduler_for(settings=settings, tasks="fifo")

    assert Rules(slowstart=0.05, by_heartbeat=True, failures_max=2) == fair.rules
    assert Rules(slowstart=1.0, by_heartbeat=True, failures_max=2) == fifo.rules


def test_a_live_engine_does_not_wait_for_heartbeats():
    """It shows of an end as it happens, whatever the simulation of the file does."""
    settings = resolved_settings({"heartbeat_s": 3})

    assert not scheduler_for(settings=settings, is_live=True).rules.by_heartbeat


def test_the_pools_of_the_file_are_those_of_the_scheduler():
    pools = (Pool(pool_id="etl", weight=2.0), Pool(pool_id="adhoc"))
    state = scheduler_for(settings=DEFAULTS, tasks="fair", pools=pools).state

    assert list(pools) == [entry.pool for entry in state.pools.values()]


def test_two_schedulers_share_nothing():
    one, other = (scheduler_for(settings=DEFAULTS, tasks="fair") for _ in range(2))

    assert one.state is not other.state
    assert one.policies.tasks is not other.policies.tasks


def test_the_world_s_settings_and_their_defaults_are_those_of_the_file():
    """Two lists of defaults would drift apart, and a file without settings mean two things."""
    assert SimulationSettings() == DEFAULTS.of(SimulationSettings)
    given = {"jitter": 0.2, "slow_factor": "2..5", "node_mtbf_s": 100}
    world = resolved_settings(given).of(SimulationSettings)
    assert (0.2, (2.0, 5.0), 100.0) == (world.jitter, world.slow_factor, world.node_mtbf_s)
    assert {one.name for one in fields(SimulationSettings)} <= set(general_settings())
