"""Which logs of tasks a service removes: by the end of their jobs, then by their size."""

import os
import time
from types import SimpleNamespace

import pytest

from sluice.bootstrap.service.activity import Activity
from sluice.bootstrap.service.config import ServiceConfig
from sluice.bootstrap.service.kept_logs import drop_logs
from sluice.ingest.reading import SourceText
from sluice.model.attempts import AttemptKey
from sluice.model.errors import InvalidInput
from sluice.store.service.places import ServicePlace

DAY_S = 86400.0
NEVER = float("nan")


class Jobs:
    """A service whose jobs have a log each. ends: how many days ago; None for an open job."""

    def __init__(self, folder, **ends):
        self.place, self.now_s = ServicePlace(folder), time.time()
        self.place.make()
        self.ends = ends
        self.segment = self.place.journal / "segment-000002"
        for name in ends:
            self.log("segment-000002", name)

    def log(self, segment, name, *, days=0.0, size=10):
        """Write a log, last written to so long ago."""
        path = self.place.journal / segment / "scratch" / "node-1" / "log" / f"{name}-0-0-1-e1.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
        os.utime(path, (self.now_s - days * DAY_S,) * 2)
        return path

    @property
    def replica(self):
        entries = {
            f"job-{name}": SimpleNamespace(
                finished_at_s=NEVER if days is None else self.now_s - days * DAY_S
            )
            for name, days in self.ends.items()
        }
        known = {
            f"job-{name}": SimpleNamespace(submitted=SimpleNamespace(prepared={"name": name}))
            for name in self.ends
        }
        closed = [
            SimpleNamespace(phase=SimpleNamespace(job_id=job_id, name="map"),
                            key=AttemptKey(job_id, 0, 0, 1), number=1)
            for job_id in known
        ]  # fmt: skip
        return SimpleNamespace(
            segment=self.segment, jobs=known,
            state=SimpleNamespace(jobs=entries, closed=closed, running={}),
            settled={f"job-{name}" for name, days in self.ends.items() if days is not None},
            wall_s=lambda at_s: at_s,
            config=SimpleNamespace(logs_days=14, logs_bytes=5e9, disk_percent_logs=95.0),
        )  # fmt: skip

    def drop(self, **limits):
        """Remove logs; returns the names of those that are left."""
        replica = self.replica
        vars(replica.config).update(limits)
        drop_logs(self.place, replica)
        return sorted(
            path.name.partition("-")[0] for path in self.place.journal.glob("*/scratch/*/log/*.log")
        )


def test_logs_are_kept_for_two_weeks_after_their_job(tmp_path):
    jobs = Jobs(tmp_path, old=14.1, young=13.9, open=None)
    for name in ("old", "young", "open"):
        jobs.log(
            "segment-000002", name, days=40
        )  # the last word of a job may be long before its end
    assert jobs.drop() == ["open", "young"]
    assert jobs.drop(logs_days=13) == ["open"]


def test_the_oldest_go_first_where_all_need_too_much(tmp_path):
    jobs = Jobs(tmp_path, second=2, first=3, third=1, open=None)
    assert jobs.drop(logs_bytes=40) == ["first", "open", "second", "third"]
    assert jobs.drop(logs_bytes=29) == ["open", "third"]
    assert jobs.drop(logs_bytes=1) == ["open"]


def test_the_oldest_day_goes_on_a_disk_that_is_nearly_full(tmp_path, monkeypatch):
    jobs = Jobs(tmp_path, first=3.9, later=3.1, next=2.5, young=0, open=None)
    activity = Activity(jobs.replica, SimpleNamespace(job=lambda *_: None))
    percent = {"now": 94.9}
    monkeypatch.setattr(ServicePlace, "disk_percent", property(lambda _: percent["now"]))
    assert len(jobs.drop()) == 5
    percent["now"] = 95.0
    assert jobs.drop() == ["next", "open", "young"]
    assert "a disk that is 95 % full" in activity.log("job-first", "map-0-1", None)["removed"]
    assert jobs.drop() == ["open", "young"]
    assert jobs.drop() == ["open"]


def test_logs_of_jobs_that_a_service_does_not_know_any_more(tmp_path):
    """Those of earlier rows of segments, all of whose jobs have ended."""
    jobs = Jobs(tmp_path, open=None)
    jobs.log("segment-000001", "gone", days=15)
    jobs.log("segment-000001", "stays", days=13)
    jobs.log("segment-000001", "open", days=15)  # another job of this name
    jobs.log("segment-000002", "new", days=0)  # the replica is not so far yet
    assert jobs.drop() == ["new", "open", "stays"]
    assert jobs.drop(logs_bytes=1) == ["new", "open"]


def test_no_link_is_followed_and_nothing_but_logs_goes(tmp_path):
    jobs = Jobs(tmp_path / "home", known=20)
    (log,) = jobs.place.journal.glob("*/scratch/*/log/*.log")
    node, outside = log.parent.parent, tmp_path / "outside"
    (outside / "log").mkdir(parents=True)
    others = [outside / "log" / log.name, outside / log.name, node / "agent.log"]
    others += [node / "data" / log.name, log.parent / "deeper" / log.name]
    for other in others:
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_bytes(b"other")
        os.utime(other, (0, 0))
    (node.parent / "node-2").symlink_to(outside)
    (node.parent / "node-3").mkdir()
    (node.parent / "node-3" / "log").symlink_to(outside / "log")
    (node.parent.parent.parent / "segment-000001").symlink_to(node.parent.parent)
    link = log.with_name("linked-0-0-1-e1.log")
    link.symlink_to(others[1])
    os.utime(link, (0, 0), follow_symlinks=False)

    jobs.drop()

    assert not log.exists()
    assert [other.read_bytes() for other in others] == [b"other"] * len(others)
    assert link.is_symlink()


def test_a_removed_log_is_answered_with_why(tmp_path):
    jobs = Jobs(tmp_path, old=15, young=13, quiet=12)
    activity = Activity(jobs.replica, SimpleNamespace(job=lambda *_: None))
    next(jobs.place.journal.rglob("quiet-*.log")).unlink()  # nothing was written into it
    jobs.drop()

    def answer(name):
        return activity.log(f"job-{name}", "map-0-1", None)

    assert answer("young")["path"].endswith("young-0-0-1-e1.log")
    assert answer("quiet") == {"path": os.devnull}
    gone = answer("old")
    assert gone["path"] is None
    assert gone["removed"] == (
        "the log was removed: logs are kept for 14 days after their job has ended, and at most"
        " 4.7 GiB of them"
    )


def test_the_file_of_a_service_sets_both():
    def config(section):
        text = f"version: 1\ncluster: {{nodes: 1, node: {{map_slots: 1}}}}\nservice: {section}\n"
        return ServiceConfig.read(
            SourceText(content=text.encode(), name="serve.yaml", file="serve.yaml", folder="/")
        )

    assert (config("{}").logs_days, config("{}").logs_bytes) == (14, 5e9)
    made = config("{logs_days: 0.5e1, logs_bytes: 1000000}")
    assert (made.logs_days, made.logs_bytes) == (5, 1e6)
    for wrong in ("{logs_days: 0}", "{logs_days: long}", "{logs_bytes: 0.5}", "{logs_bytes: true}"):
        with pytest.raises(InvalidInput, match="logs_"):
            config(wrong)
