"""A service whose disk is full pauses, says so, and goes on when there is room."""

import os
import subprocess
import time

import pytest
from tests.service.services import PATIENCE_S, TEXT, Service
from tests.skips import skip

DISK_MIB = 8


@pytest.fixture
def small_disk(tmp_path):
    """A disk of a few MiB for the state of the service."""
    folder = tmp_path / "home"
    folder.mkdir()
    options = f"size={DISK_MIB}m,mode=700"
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode != 0:
        skip("no small disk can be mounted by this user")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def until(holds):
    """Wait until something holds."""
    until_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.2)


def codes(service):
    """The codes of all that keeps its jobs from running."""
    return [one["code"] for one in service.document("serve", "status")["driver"]["conditions"]]


def filled(folder):
    """A file that takes all the room that is left."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1 << 9):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return ballast


@pytest.mark.slow
def test_a_full_disk_pauses_the_service(tmp_path, small_disk):
    service = Service(tmp_path)
    service.start()
    try:
        before = service.document("submit", service.nap("before"))["job_id"]
        service.settled()
        driver = service.pid("driver")
        long = service.document("submit", service.nap("long", 3))["job_id"]
        ballast = filled(small_disk)
        until(lambda: codes(service) == ["paused"])
        code, out, err = service.run("serve", "status")
        assert code == 0
        assert "The service runs" in out
        assert "The service is paused, and goes on when there is room" in err
        assert "Make room" in err
        assert "is paused" in service.run("queue")[2]
        code, out, err = service.run("submit", service.nap("refused"))
        assert (code, out) == (3, "")
        assert "Make room" in err
        assert service.run("jobs")[0] == 0  # what was is shown all the time
        ballast.unlink()
        until(lambda: not codes(service))
        assert "paused" not in service.run("serve", "status")[2]
        after = service.document("submit", service.nap("after"))["job_id"]
        rows = service.settled()
        assert {rows[each]["state"] for each in (before, long, after)} == {"done"}
        assert service.output(after) == service.output(long) == TEXT
        assert service.pid("driver") == driver  # it waited, and was not started again
        assert service.run("serve", "verify")[0] == 0
    finally:
        service.stop()


@pytest.mark.slow
def test_no_job_is_taken_on_a_disk_that_is_nearly_full(tmp_path, small_disk):
    """Jobs that were taken before run to their end, and a repetition gets its answer."""
    service = Service(tmp_path)
    service.start()
    try:
        file, key = service.nap("long", 3), ("--idempotency-key", "once")
        long = service.document("submit", file, *key)["job_id"]
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes((DISK_MIB << 20) * 92 // 100 - used_bytes(small_disk)))
        assert codes(service) == ["disk"]
        assert "92 % full" in service.run("queue")[2]
        code, out, err = service.run("submit", service.nap("refused"))
        assert (code, out) == (3, "")
        assert "92 % full" in err
        assert "service.disk_percent_max" in err
        assert service.document("submit", file, *key)["job_id"] == long
        assert service.document("submit", service.nap("asked"), "--quote")["job_id"] is None
        assert service.settled()[long]["state"] == "done"
        ballast.unlink()
        after = service.document("submit", service.nap("after", 0.1))["job_id"]
        assert service.settled()[after]["state"] == "done"
    finally:
        service.stop()


def used_bytes(folder):
    found = os.statvfs(folder)
    return (found.f_blocks - found.f_bfree) * found.f_frsize
