"""A node's lease: its silence counts while the engine listens, and only then."""

import pytest

from sluice.engines.lease import BEATS_PER_LEASE, Lease


def test_a_node_that_is_silent_for_its_lease_is_lost():
    lease = Lease(3.0)

    assert [lease.pass_time(0.9) for _ in range(4)] == [False, False, False, True]


def test_a_heartbeat_renews_the_lease():
    lease = Lease(3.0)
    for _ in range(50):
        assert not lease.pass_time(0.9)
        assert not lease.pass_time(0.9)
        lease.renew()


def test_a_pause_of_the_engine_is_not_the_silence_of_its_nodes():
    lease = Lease(3.0)

    assert not lease.pass_time(3600.0)
    assert not lease.pass_time(1.9)


def test_without_a_lease_no_silence_is_too_long():
    lease = Lease(None)

    assert not any(lease.pass_time(1.0) for _ in range(10_000))


@pytest.mark.parametrize("lease_s", [0.5, 2.0, 60.0])
def test_a_lease_has_room_for_several_heartbeats(lease_s):
    assert Lease(lease_s).beat_s <= lease_s / BEATS_PER_LEASE
