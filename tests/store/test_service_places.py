"""The files of a service: what is kept can be read again, is private, and is on the disk."""

import os
import stat
from pathlib import Path

import pytest

from sluice.model.ids import JobId
from sluice.store.service.places import ServicePlace

SECRET = {"TOKEN": "größer", "EMPTY": ""}


@pytest.fixture
def place(tmp_path):
    made = ServicePlace(tmp_path / "state")
    made.make()
    return made


@pytest.fixture
def synced(monkeypatch):
    """The files and folders that are synced, by name."""
    names = []
    fsync = os.fsync

    def noted(descriptor):
        names.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    return names


def is_private(path):
    return stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_variables_of_a_job_are_kept_until_it_ends(place, synced):
    one, two = JobId("one"), JobId("two")
    place.keep_environment(two, {})
    place.keep_environment(one, {"TOKEN": "a" * 1000})
    place.keep_environment(one, SECRET)  # shorter: nothing of the first remains

    assert SECRET == place.environment(one)
    assert {} == place.environment(two) == place.environment(JobId("three"))
    assert [one, two] == place.kept_environments()
    assert synced[-2:] == ["one.json", "environments"]
    assert is_private(place.folder / "environments" / "one.json")
    place.drop_environment(one)
    place.drop_environment(one)
    assert {} == place.environment(one)
    assert [two] == place.kept_environments()


def test_queues_are_on_the_disk_before_they_replace_the_last_ones(place, synced):
    assert place.kept_queues() is None
    place.keep_queues({"queues": ["a"] * 100})
    place.keep_queues({"queues": ["b"]})

    assert {"queues": ["b"]} == place.kept_queues()
    assert synced[-2:] == ["queues.new", "service"]
    assert [place.folder / "queues.json"] == list(place.folder.glob("queues*"))
    assert is_private(place.folder / "queues.json")


def test_a_fault_is_shown_until_the_follower_is_started_again(place):
    assert place.fault() is None
    place.keep_fault("segment-000002 is damaged, at its first line")
    place.keep_fault("damaged")

    assert "damaged" == place.fault()
    assert is_private(place.folder / "follower.fault")
    place.drop_fault()
    place.drop_fault()
    assert place.fault() is None


def test_segments_are_numbered_from_1_and_after_unfinished_ones(place):
    assert "segment-000001" == place.next_segment().name
    (place.journal / "segment-000041").mkdir()

    assert "segment-000042" == place.next_segment().name
