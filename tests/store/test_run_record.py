"""`run.json` names folders that may be removed, so a damaged one counts for nothing."""

import json

import pytest

from sluice.store.run_record import RECORD_NAME, RunIdentity, RunRecord

RECORD = RunRecord(
    home="h",
    run_id="run-000001-a",
    identity=RunIdentity(source="/w/a.yaml", folder="/w", sha256="00"),
    started_at="2026-11-27T10:00:00+00:00",
    staging=("/w/.out.sluice-a-b",),
)


def test_a_record_is_read_as_it_was_written(tmp_path):
    RECORD.write(tmp_path)

    assert RunRecord.read(tmp_path) == RECORD


@pytest.mark.parametrize(
    ("before", "after"), [("/w/.out", "/w/.oui"), ("run-000001", "run-000002"), ('"h"', '"g"')]
)
def test_a_changed_record_counts_for_nothing(tmp_path, before, after):
    RECORD.write(tmp_path)
    path = tmp_path / RECORD_NAME
    path.write_text(path.read_text().replace(before, after))

    assert RunRecord.read(tmp_path) is None


def test_a_record_of_an_older_release_is_read(tmp_path):
    RECORD.write(tmp_path)
    path = tmp_path / RECORD_NAME
    plain = json.loads(path.read_text())
    del plain["sha256"]
    path.write_text(json.dumps(plain))

    assert RunRecord.read(tmp_path) == RECORD
