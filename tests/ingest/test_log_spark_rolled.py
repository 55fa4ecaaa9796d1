"""Spark event logs that something other than Spark has split into parts."""

import gzip
from pathlib import Path

from sluice.ingest.logs.formats import read_log, read_logs
from sluice.ingest.logs.replay import workload_from_logs

ROLLED = Path(__file__).resolve().parents[1] / "data" / "logs" / "spark_rolled"


def test_parts_of_another_roller_are_one_application():
    (log,) = read_logs([ROLLED])
    (run,) = log.runs

    assert run.succeeded
    assert [phase.tasks for phase in run.phases] == [10]
    assert run.notes == ()
    assert len(workload_from_logs([ROLLED]).jobs) == 1


def test_parts_are_in_the_order_of_their_instants_whatever_their_names(tmp_path):
    lines = gzip.decompress(next(ROLLED.glob("*.gz")).read_bytes()).splitlines(keepends=True)
    folder = tmp_path / "driver"
    folder.mkdir()
    (folder / "z").write_bytes(b"".join(lines))
    newest = (ROLLED / "eventlog").read_bytes().splitlines(keepends=True)
    (folder / "a").write_bytes(b"".join(newest[9:]))
    (folder / "b").write_bytes(b"".join(newest[:9]))

    assert read_log(folder).runs[0].phases == read_log(ROLLED).runs[0].phases


def test_two_applications_in_a_folder_are_not_one_log(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(gzip.decompress(next(ROLLED.glob("*.gz")).read_bytes()))

    assert len(list(read_logs([tmp_path]))) == 2
