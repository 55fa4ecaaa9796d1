"""Settings come from the file, then from --set, over their defaults."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sluice
from sluice.bootstrap.policy_classes import chosen_policy
from sluice.bootstrap.setting_notes import settings_notes
from sluice.bootstrap.setting_owners import general_settings
from sluice.bootstrap.settings import declarations, resolved_settings
from sluice.core.settings import CoreSettings, HeartbeatSettings
from sluice.engines.settings import TaskLimitSettings
from sluice.ingest.settings import FOREIGN_NAMES
from sluice.model.errors import InvalidInput
from sluice.model.settings import Setting, SettingKind
from sluice.policies.release.mrorder import MrOrder
from sluice.policies.settings import FairSettings, FifoSettings
from sluice.simulation.settings import SimulationSettings

SETTINGS = general_settings()


def world(file=None, overrides=()):
    """The simulator's settings."""
    return resolved_settings(file or {}, overrides).of(SimulationSettings)


def core(file=None, overrides=(), policy=""):
    """The core's settings, as one policy sees them."""
    return resolved_settings(file or {}, overrides).of(CoreSettings, policy)


def test_the_defaults_are_within_their_own_ranges():
    for setting in declarations().all_settings().values():
        assert setting.checked(setting.default) == setting.default


def test_defaults_are_those_of_the_table():
    settings = world()

    assert (settings.heartbeat_s, core().slowstart, settings.contention) == (0, 1, "none")
    assert (settings.kappa_cpu, settings.kappa_io, settings.kappa_memory) == (0.1, 0.5, 2)
    assert (settings.peak, settings.thread_cpu) == (1.25, 50)
    assert (settings.fetch_bytes_per_s, settings.nic_bytes_per_s) == (20e6, 110e6)
    assert (settings.replicas, settings.rack_factor, settings.remote_factor) == (3, 1.3, 1.6)
    assert (settings.task_timeout_s, core().failures_max) == (600, 4)
    assert resolved_settings({}).of(TaskLimitSettings).task_wall_s is None


def test_set_wins_over_the_file_and_the_last_set_wins():
    settings = resolved_settings({"jitter": 0.1, "slowstart": 0.5}, ["jitter=0.2", "jitter=3e-1"])

    assert settings.of(SimulationSettings).jitter == 0.3
    assert settings.of(CoreSettings).slowstart == 0.5
    assert settings.overrides == ("jitter",)


def test_the_part_that_owns_a_setting_is_the_prefix_of_its_key():
    found = resolved_settings({}, ["copies.spec_cap=0.5", "data.node_wait_s=3"])
    fair = found.of(FairSettings, "fair")

    assert (fair.spec_cap, fair.node_wait_s) == (0.5, 3)


def test_one_policy_may_differ_from_what_holds_for_all():
    found = resolved_settings({"fair.spec_cap": 0.2}, ["copies.spec_cap=0.5", "fifo.spec_cap=0.3"])

    assert found.of(FairSettings, "fair").spec_cap == 0.5, "the command line wins over the file"
    assert found.of(FifoSettings, "fifo").spec_cap == 0.3


def test_only_settings_of_the_core_and_the_simulator_have_no_owner():
    bare = {
        one.name
        for kind in (CoreSettings, HeartbeatSettings, SimulationSettings)
        for one in fields(kind)
    }

    assert {key for key in declarations().all_settings() if "." not in key} == bare


def test_an_old_key_without_its_owner_works_and_is_noted():
    found = resolved_settings({"node_wait_s": 3}, ["copies.speculation=late", "spec_cap=0.5"])
    notes = settings_notes(found, [chosen_policy("tasks", "fair")])

    assert found.of(FairSettings, "fair").spec_cap == 0.5
    assert notes == [
        "`node_wait_s` is called `data.node_wait_s`; version 0.4 takes no other name",
        "`spec_cap` is called `copies.spec_cap`; version 0.4 takes no other name",
    ]


def test_a_prefix_holds_for_one_policy():
    file, overrides = {"slowstart": 0.5, "fair.slowstart": 0.05}, ["fifo.heartbeat_s=3"]

    assert core(file, overrides).slowstart == 0.5
    assert core(file, overrides, "fair").slowstart == 0.05
    assert core(file, overrides, "fifo").slowstart == 0.5
    assert resolved_settings(file, overrides).of(FifoSettings, "fifo").heartbeat_s == 3
    assert world(file, overrides).heartbeat_s == 0


@pytest.mark.parametrize(
    ("raw", "span"), [("3", (3, 3)), ("3..6", (3, 6)), ("[3, 6]", (3, 6)), (".5e1..6", (5, 6))]
)
def test_a_slow_factor_is_a_number_or_a_range(raw, span):
    assert world({}, [f"slow_factor={raw}"]).slow_factor == span


def test_none_switches_a_limit_off():
    assert world({}, ["task_timeout_s=none"]).task_timeout_s is None
    assert world({"task_timeout_s": None}).task_timeout_s is None


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("jitter=.1", 0.1),
        ("p_slow=10%", 0.1),
        ("p_slow=2.5%", 0.025),
        ("jitter=1e-1", 0.1),
        ("replicas=2.0", 2),
        ("contention=SHARED", "shared"),
        ("node_mtbf_s=None", None),
    ],
)
def test_a_value_is_read_as_people_write_it(override, value):
    assert value == getattr(world({}, [override]), override.partition("=")[0])


@pytest.mark.parametrize("text", ["true", "YES", "On"])
def test_a_switch_is_read_as_people_write_it(text):
    assert resolved_settings({}, [f"kill_slow={text}"]).of(FairSettings).kill_slow
    off = {"true": "false", "YES": "No", "On": "OFF"}[text]
    assert not resolved_settings({}, [f"kill_slow={off}"]).of(FairSettings).kill_slow


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("mapred.idle.mapslots.borrowedforReduceTasks", "slots.pct_map"),
        ("mapreduce.job.reduce.slowstart.completedmaps", "slowstart"),
    ],
)
def test_a_hadoop_name_is_refused_with_the_key_to_use(name, key):
    with pytest.raises(InvalidInput, match=f"{name} is called {key} here. Set {key}"):
        resolved_settings({}, [f"{name}=0.5"])


def test_every_foreign_name_leads_to_a_setting():
    assert set(FOREIGN_NAMES.values()) <= set(SETTINGS)


@pytest.mark.parametrize(
    ("override", "fragments"),
    [
        ("jiter=0.1", ["jiter", "Did you mean jitter?"]),
        ("zzz=1", ["unknown setting zzz", "sluice settings"]),
        ("jitter", ["settings jitter: no =", "key=value"]),
        ("jitter=1", ["jitter is 1", "below 1"]),
        ("jitter=1e-320", ["jitter is 1e-320"]),
        ("jitter=NaN", ["jitter is 'NaN'"]),
        ("jitter=true", ["jitter is 'true'"]),
        ("jitter=", ["jitter is ''"]),
        ("p_slow=1.5", ["p_slow is 1.5", "from 0 to 1"]),
        ("peak=0", ["peak is 0", "above 0"]),
        ("replicas=2.5", ["replicas is 2.5", "whole"]),
        ("contention=shard", ["contention is 'shard'", "none or shared"]),
        ("slow_factor=6..3", ["slow_factor is '6..3'"]),
        ("slow_factor=0.5", ["slow_factor is 0.5"]),
        ("slow_factor=" + "[" * 3000, ["slow_factor"]),
        ("heartbeat_s=1e999", ["heartbeat_s is"]),
        ("fare.slowstart=0.1", ["fare", "Did you mean fair?"]),
        ("zz.slowstart=1", ["unknown policy 'zz'. Use one of ", "fair, "]),
        ("=1", ["unknown setting"]),
    ],
)
def test_a_wrong_override_is_named_with_its_fix(override, fragments):
    with pytest.raises(InvalidInput) as caught:
        resolved_settings({}, [override])

    message = str(caught.value)
    assert [] == [fragment for fragment in fragments if fragment not in message], message


@given(st.sampled_from(sorted(SETTINGS)), st.text(max_size=20))
def test_any_text_is_a_value_or_invalid_input(name, text):
    try:
        value = resolved_settings({}, [f"{name}={text}"]).general[name]
    except InvalidInput as error:
        message = str(error)
    else:
        assert value == SETTINGS[name].checked(value)
        return
    assert name in message


def test_the_hint_names_the_range():
    def hint(**limits):
        return Setting(name="x", kind=SettingKind.NUMBER, default=1, meaning="", **limits).hint

    assert hint() == "give a number from 0 up"
    assert hint(high=1.0) == "give a number from 0 to 1"
    assert hint(below=1.0) == "give a number from 0 to below 1"
    assert hint(above=0.0) == "give a number above 0"
    assert hint(above=0.0, may_be_none=True) == "give a number above 0, or none"


def test_an_override_wins_over_all_that_the_file_says_of_its_key():
    """Also over what the file says for one policy; one for a policy wins over a general one."""
    file = {"slowstart": 0.1, "fair.slowstart": 0.2, "fifo.slowstart": 0.3}

    assert 0.2 == core(file, (), "fair").slowstart
    assert 0.5 == core(file, ["slowstart=0.5"], "fair").slowstart
    assert 0.6 == core(file, {"fifo.slowstart": 0.6, "slowstart": 0.5}, "fifo").slowstart


def test_a_setting_of_one_policy_takes_its_name():
    settings = resolved_settings({"mrorder.policy": "fti"}, ["mrorder.interval_s=4"])
    own = settings.of(MrOrder.Settings, "mrorder")

    assert ("fti", 4.0, 2) == (own.policy, own.interval_s, own.jobs_min)
    with pytest.raises(InvalidInput, match=r"unknown setting interval_s"):
        resolved_settings({}, ["interval_s=4"])
    with pytest.raises(InvalidInput, match=r"Did you mean mrorder.interval_s"):
        resolved_settings({}, ["mrorder.intervall_s=4"])


@pytest.mark.parametrize(
    "key",
    ["heartbeat_s", "capacity.interval_s", "machines.vm_check_s", "order.tick_s", "goals.every_s",
     "mrorder.interval_s"],
)  # fmt: skip
def test_no_pause_is_so_short_that_a_run_consists_of_looks(key):
    small = {
        "version": 1,
        "cluster": {"map_slots": 1},
        "jobs": [{"id": "a", "maps": {"tasks": 1, "avg_s": 1}}],
    }
    with pytest.raises(InvalidInput, match=r"0\.001"):
        sluice.simulate(small, admission="capacity", settings={key: 1e-6})
