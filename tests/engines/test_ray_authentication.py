"""A Ray cluster that asks for no token is said to be open, if others can reach it."""

import pytest

from sluice.engines.ray.authentication import authentication_mode, open_cluster_warning


@pytest.mark.parametrize(
    ("environment", "mode"),
    [
        ({}, "disabled"),
        ({"RAY_AUTH_TOKEN": "t"}, "token"),
        ({"RAY_AUTH_TOKEN_PATH": "/t"}, "token"),
        ({"RAY_AUTH_TOKEN": "t", "RAY_AUTH_MODE": "disabled"}, "disabled"),
        ({"RAY_AUTH_MODE": "token"}, "token"),
    ],
)
def test_the_mode_is_as_set_or_by_the_token(environment, mode):
    assert authentication_mode(environment) == mode


@pytest.mark.parametrize(
    ("address", "environment", "is_said"),
    [
        ("10.0.0.7:6379", {}, True),
        ("head.example:6379", {}, True),
        ("10.0.0.7:6379", {"RAY_AUTH_MODE": "token"}, False),
        ("127.0.0.1:6379", {}, False),
        ("localhost:6379", {}, False),
        ("[::1]:6379", {}, False),
        ("auto", {"RAY_ADDRESS": "10.0.0.7:6379"}, True),
        ("auto", {"RAY_ADDRESS": "ray://10.0.0.7:10001"}, True),
        ("auto", {"RAY_ADDRESS": "127.0.0.1:6379"}, False),
    ],
)
def test_an_open_cluster_is_said_unless_only_this_machine_reaches_it(
    address, environment, is_said, tmp_path
):
    said = open_cluster_warning(address, environment, tmp_path / "none")

    assert (said is not None) == is_said
    assert not is_said or "RAY_AUTH_MODE=token" in str(said)


def test_the_cluster_that_ray_has_noted_is_looked_up(tmp_path):
    (tmp_path / "current").write_text("192.168.1.5:6379\n")

    assert "192.168.1.5" in str(open_cluster_warning("auto", {}, tmp_path / "current"))
    assert open_cluster_warning("auto", {}, tmp_path / "none") is None
