"""The fits on disk: found again, and never a reason to fail."""

import sqlite3
import stat
from contextlib import closing

import pytest

from sluice.store import fit_store
from sluice.store.fit_store import FitStore


@pytest.fixture
def code(tmp_path):
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "fits.py").write_text("one")
    return folder


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def kept(code, home, key=b"k"):
    with FitStore(code, home) as fits:
        return fits.get(key)


def keep(code, home, **records):
    with FitStore(code, home) as fits:
        for key, record in records.items():
            fits.put(key.encode(), record)
            assert fits.get(key.encode()) == record


def test_a_record_is_found_by_the_next_call(code, home):
    keep(code, home, k="[1.5]")

    assert kept(code, home) == "[1.5]"
    assert kept(code, home, b"other") is None


def test_other_code_finds_nothing(code, home):
    keep(code, home, k="[1.5]")
    (code / "fits.py").write_text("two")

    assert kept(code, home) is None


def test_the_file_is_private(code, home):
    keep(code, home, k="[]")

    assert stat.S_IMODE((home / "fits.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_changed_record_is_not_used(code, home):
    keep(code, home, k="[1.5]")
    with closing(sqlite3.connect(home / "fits.db")) as database, database:
        database.execute("UPDATE fits SET record = '[2.5]'")

    assert kept(code, home) is None


def test_a_damaged_file_is_made_again(code, home):
    keep(code, home, k="[1.5]")
    (home / "fits.db").write_bytes(b"no database at all, but long enough to be taken for one" * 99)
    assert kept(code, home) is None
    keep(code, home, k="[1.5]")

    assert kept(code, home) == "[1.5]"


def test_a_folder_that_cannot_be_used_costs_the_records_only(code, home):
    home.write_text("a file is in the way")
    keep(code, home, k="[1.5]")

    assert kept(code, home) is None


def test_the_oldest_are_dropped(code, home, monkeypatch):
    monkeypatch.setattr(fit_store, "ROWS_MAX", 2)
    for key in "abc":
        keep(code, home, **{key: key})

    assert [kept(code, home, key.encode()) for key in "abc"] == [None, "b", "c"]
