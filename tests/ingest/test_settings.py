"""Settings come from the file, then from --set, over their defaults."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.ingest.settings import SETTINGS, Setting, SettingKind, resolve_settings
from sluice.model.errors import InvalidInput


def test_the_defaults_are_within_their_own_ranges():
    for setting in SETTINGS.values():
        assert setting.checked(setting.default) == setting.default


def test_defaults_are_those_of_the_table():
    settings = resolve_settings({})

    assert (settings.heartbeat_s, settings.slowstart, settings.contention) == (0, 1, "none")
    assert (settings.kappa_cpu, settings.kappa_io, settings.kappa_memory) == (0.1, 0.5, 2)
    assert (settings.peak, settings.thread_cpu) == (1.25, 50)
    assert (settings.fetch_bytes_per_s, settings.nic_bytes_per_s) == (20e6, 110e6)
    assert (settings.replicas, settings.rack_factor, settings.remote_factor) == (3, 1.3, 1.6)
    assert (settings.task_timeout_s, settings.task_wall_s, settings.failures_max) == (600, None, 4)
    assert settings.given == frozenset()


def test_set_wins_over_the_file_and_the_last_set_wins():
    settings = resolve_settings({"jitter": 0.1, "slowstart": 0.5}, ["jitter=0.2", "jitter=3e-1"])

    assert (settings.jitter, settings.slowstart) == (0.3, 0.5)
    assert settings.given == {"jitter", "slowstart"}


def test_a_prefix_holds_for_one_policy():
    settings = resolve_settings({"slowstart": 0.5, "fair.slowstart": 0.05}, ["fifo.heartbeat_s=3"])

    assert settings.slowstart == 0.5
    assert settings.for_policy("fair").slowstart == 0.05
    assert settings.for_policy("fifo").slowstart == 0.5
    assert settings.for_policy("fifo").heartbeat_s == 3
    assert "heartbeat_s" in settings.for_policy("fifo").given


@pytest.mark.parametrize(
    ("raw", "span"), [("3", (3, 3)), ("3..6", (3, 6)), ("[3, 6]", (3, 6)), ("1.5..2", (1.5, 2))]
)
def test_a_slow_factor_is_a_number_or_a_range(raw, span):
    assert resolve_settings({}, [f"slow_factor={raw}"]).slow_factor == span


def test_none_switches_a_limit_off():
    assert resolve_settings({}, ["task_timeout_s=none"]).task_timeout_s is None
    assert resolve_settings({"task_timeout_s": None}).task_timeout_s is None


@pytest.mark.parametrize(
    ("override", "fragments"),
    [
        ("jiter=0.1", ["jiter", "Did you mean jitter?"]),
        ("zzz=1", ["unknown setting zzz"]),
        ("jitter", ["--set jitter", "key=value"]),
        ("jitter=1", ["jitter is 1", "below 1"]),
        ("jitter=NaN", ["jitter is 'NaN'"]),
        ("jitter=true", ["jitter is true"]),
        ("jitter=", ["jitter is null"]),
        ("p_slow=1.5", ["p_slow is 1.5", "from 0 to 1"]),
        ("peak=0", ["peak is 0", "above 0"]),
        ("replicas=2.5", ["replicas is 2.5", "whole"]),
        ("contention=shard", ["contention is 'shard'", "none or shared"]),
        ("slow_factor=6..3", ["slow_factor is '6..3'"]),
        ("slow_factor=0.5", ["slow_factor is 0.5"]),
        ("slow_factor=[" * 3000, ["slow_factor"]),
        ("heartbeat_s=1e999", ["heartbeat_s is"]),
        ("fare.slowstart=0.1", ["fare", "Did you mean fair?"]),
        ("=1", ["unknown setting"]),
    ],
)
def test_a_wrong_override_is_named_with_its_mend(override, fragments):
    with pytest.raises(InvalidInput) as caught:
        resolve_settings({}, [override])

    message = str(caught.value)
    assert [] == [fragment for fragment in fragments if fragment not in message], message


def test_another_packages_policy_may_have_settings():
    settings = resolve_settings({"mine.slowstart": 0.25}, policies=["mine"])

    assert settings.for_policy("mine").slowstart == 0.25


@given(st.sampled_from(sorted(SETTINGS)), st.text(max_size=20))
def test_any_text_is_a_value_or_invalid_input(name, text):
    try:
        value = getattr(resolve_settings({}, [f"{name}={text}"]), name)
    except InvalidInput as error:
        message = str(error)
    else:
        assert value == SETTINGS[name].checked(value)
        return
    assert name in message


def test_the_mend_tells_the_range():
    def mend(**limits):
        return Setting(name="x", kind=SettingKind.NUMBER, default=1, meaning="", **limits).hint

    assert mend() == "give a number from 0 up"
    assert mend(high=1.0) == "give a number from 0 to 1"
    assert mend(below=1.0) == "give a number from 0 to below 1"
    assert mend(above=0.0) == "give a number above 0"
    assert mend(above=0.0, may_be_none=True) == "give a number above 0, or none"


def test_an_override_wins_over_all_that_the_file_says_of_its_key():
    """Also over what the file says for one policy; one for a policy wins over a general one."""
    file = {"slowstart": 0.1, "fair.slowstart": 0.2, "fifo.slowstart": 0.3}

    assert 0.2 == resolve_settings(file).for_policy("fair").slowstart
    assert 0.5 == resolve_settings(file, ["slowstart=0.5"]).for_policy("fair").slowstart
    both = resolve_settings(file, {"fifo.slowstart": 0.6, "slowstart": 0.5})
    assert 0.6 == both.for_policy("fifo").slowstart


def test_what_one_policy_alone_knows_takes_its_name():
    settings = resolve_settings({"mrorder.policy": "fti"}, ["mrorder.interval_s=4"])

    assert {"policy": "fti", "interval_s": 4.0, "jobs_min": 2} == {
        name: settings.for_policy("mrorder").values()[name]
        for name in ("policy", "interval_s", "jobs_min")
    }
    assert "interval_s" not in settings.for_policy("fifo").values()
    with pytest.raises(InvalidInput, match=r"unknown setting interval_s"):
        resolve_settings({}, ["interval_s=4"])
    with pytest.raises(InvalidInput, match=r"Did you mean mrorder.interval_s"):
        resolve_settings({}, ["mrorder.intervall_s=4"])
