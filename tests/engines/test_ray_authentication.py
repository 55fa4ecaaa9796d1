"""A Ray cluster that asks for no token is said to be open, if others can reach it."""

import os
import socket
import sys

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


def test_a_token_in_the_home_folder_counts_as_it_does_for_ray(tmp_path):
    """`ray start` asks for that token: without it, no run would reach the cluster."""
    environment = {"HOME": str(tmp_path)}
    assert authentication_mode(environment) == "disabled"
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("t")
    assert authentication_mode(environment) == "token"
    assert authentication_mode({**environment, "RAY_AUTH_MODE": "disabled"}) == "disabled"


@pytest.mark.parametrize(
    ("address", "environment", "is_said"),
    [
        ("10.0.0.7:6379", {}, True),
        ("head.example:6379", {}, True),
        ("10.0.0.7:6379", {"RAY_AUTH_MODE": "token"}, False),
        ("127.0.0.1:1", {}, False),
        ("localhost:1", {}, False),
        ("[::1]:1", {}, False),
        ("auto", {"RAY_ADDRESS": "10.0.0.7:6379"}, True),
        ("auto", {"RAY_ADDRESS": "ray://10.0.0.7:10001"}, True),
        ("auto", {"RAY_ADDRESS": "127.0.0.1:1"}, False),
    ],
)
def test_an_open_cluster_is_said_unless_only_this_machine_reaches_it(
    address, environment, is_said, tmp_path
):
    said = open_cluster_warning(address, {"TMPDIR": str(tmp_path), **environment})

    assert (said is not None) == is_said
    assert not is_said or "RAY_AUTH_MODE=token" in str(said)


def test_the_cluster_that_ray_has_noted_is_looked_up_where_ray_keeps_its_files(tmp_path):
    """Ray's folder is `ray` in RAY_TMPDIR, or else in TMPDIR."""
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("192.168.1.5:6379")
    for name in ("RAY_TMPDIR", "TMPDIR"):
        assert "192.168.1.5" in str(open_cluster_warning("auto", {name: str(tmp_path)}))
    both = {"RAY_TMPDIR": str(tmp_path / "other"), "TMPDIR": str(tmp_path)}
    assert open_cluster_warning("auto", both) is None


@pytest.mark.skipif(
    sys.platform != "linux", reason="/proc is read; .ci/run is on Linux, and runs this test"
)
@pytest.mark.parametrize(
    ("family", "host", "is_said"),
    [
        (socket.AF_INET, "127.0.0.1", False),
        (socket.AF_INET, "0.0.0.0", True),  # noqa: S104  # for a moment, without an answer
        (socket.AF_INET6, "::", True),
        (socket.AF_INET6, "::1", False),
        (socket.AF_INET6, "::ffff:127.0.0.1", False),
    ],
)
def test_a_loopback_address_of_a_cluster_that_listens_everywhere_is_said_to_be_open(
    family, host, is_said
):
    """`ray start` listens at all addresses of the machine, whichever of them is given to it."""
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        if family == socket.AF_INET6 and "." in host:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind((host, 0))
        listening.listen()
        port = listening.getsockname()[1]
        said = open_cluster_warning(f"127.0.0.1:{port}", {})

    assert (said is not None) == is_said
    assert not is_said or os.uname().nodename in str(said)
