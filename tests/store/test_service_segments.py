"""Segments of a service's journal that are removed once they are too old."""

import math
from dataclasses import replace
from itertools import pairwise

from sluice.store.journal import Journal
from sluice.store.rows import RunHeader
from sluice.store.service.segments import drop_old_segments, origin_of, segments_in

HEADER = RunHeader(
    source="/data/jobs.yaml",
    sha256="0f" * 32,
    started_at="2026-01-01T00:00:00Z",
    policies={"tasks": "fifo"},
    settings={},
)


def test_of_old_segments_only_the_folder_of_the_first_one_stays(tmp_path):
    folders = [tmp_path / f"segment-{number:06d}" for number in range(1, 6)]
    for folder in folders:
        folder.mkdir()
        (folder / "scratch").touch()
    with Journal.create(folders[0], HEADER) as journal:
        for before, after in pairwise(folders):
            journal.go_on_in(after, replace(HEADER, after=before.name), "{}")

    drop_old_segments(tmp_path, 0.0)
    assert segments_in(tmp_path) == folders
    drop_old_segments(tmp_path, math.inf)

    assert segments_in(tmp_path) == folders[-2:]
    assert sorted(tmp_path.iterdir()) == [folders[0], *folders[-2:]]
    assert (folders[0] / "scratch").exists()
    assert origin_of(folders[-2]) == folders[0]
