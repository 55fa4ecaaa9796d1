"""A store that cannot be opened, read or written says so in one message of the right kind."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.skips import skip
from tests.store.histories import past_run

from sluice.model.errors import InvalidInput, StoreCorrupt
from sluice.store.database import StoreUnavailable
from sluice.store.profiles import Profiles, database
from sluice.store.profiles.address import address_of

# --- addresses ------------------------------------------------------------------------------------


def test_by_default_the_store_is_in_the_state_folder(tmp_path):
    address = address_of(None, {"SLUICE_HOME": str(tmp_path)})

    assert (tmp_path / "profiles.db", False) == (address.path, address.is_named)
    assert str(tmp_path / "profiles.db") == str(address)


@pytest.mark.parametrize("given", ["sub/p.db", "sqlite:///sub/p.db", "sqlite+pysqlite:///sub/p.db"])
def test_a_path_and_a_url_name_the_same_file(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tmp_path / "sub" / "p.db" == address_of(given).path


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_server_is_shown_without_its_password(scheme):
    address = address_of(f"{scheme}://ann:secret@db.example:5433/team?sslmode=require")

    assert "postgresql://ann@db.example:5433/team" == str(address)
    assert "postgresql+psycopg" == address.url.drivername
    assert "require" == address.url.query["sslmode"]


def test_what_is_given_wins_over_the_environment(tmp_path):
    environ = {"SLUICE_STORE": str(tmp_path / "b.db"), "SLUICE_HOME": str(tmp_path)}

    assert tmp_path / "a.db" == address_of(str(tmp_path / "a.db"), environ).path
    assert tmp_path / "b.db" == address_of(None, environ).path
    assert tmp_path / "profiles.db" == address_of(None, environ | {"SLUICE_STORE": ""}).path


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("mysql://ann:secret@host/db", "'mysql' is not a kind of database"),
        ("postgresql+psycopg2://host/db", "'postgresql+psycopg2' is not a kind"),
        ("http://host/", "'http' is not a kind"),
        ("postgresql://ann:secret@host:port/db", "not the URL of a database"),
        ("://", "not the URL of a database"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite://host/x.db", "names no file"),
        ("sqlite:///x.db?mode=memory", "names no file"),
        ("  ", "names no store"),
        ("a\0b", "names no store"),
    ],
)
@pytest.mark.parametrize("where", ["--store", "SLUICE_STORE"])
def test_what_is_no_address_is_refused_without_showing_passwords(given, said, where):
    with pytest.raises(InvalidInput) as caught:
        address_of(*((given,) if where == "--store" else (None, {"SLUICE_STORE": given})))

    assert said in str(caught.value)
    assert where == caught.value.where
    assert "secret" not in str(caught.value)


# --- files ----------------------------------------------------------------------------------------


def test_folders_on_the_way_are_made(tmp_path):
    with Profiles.open(str(tmp_path / "a" / "b" / "p.db")) as profiles:
        profiles.add([past_run()])

    assert (tmp_path / "a" / "b" / "p.db").exists()


def test_who_asks_what_a_store_holds_must_name_one_that_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    with pytest.raises(InvalidInput, match="there is no such store"):
        Profiles.existing(str(tmp_path / "typo.db"))
    assert not (tmp_path / "typo.db").exists()
    with Profiles.existing() as profiles:
        assert [] == profiles.names(), "the account's own store begins empty"


def test_a_file_that_is_no_database_is_kept_as_evidence(tmp_path):
    path = tmp_path / "p.db"
    path.write_text("it was a store once" * 100)
    with pytest.raises(StoreCorrupt, match=r"p\.db: file is not a database.* evidence"):
        Profiles.open(str(path))
    assert path.read_text().startswith("it was a store once")


def test_the_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "p.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE invoices (id INTEGER)")
    connection.close()

    with pytest.raises(InvalidInput, match="the database of another program"):
        Profiles.open(str(path))
    connection = sqlite3.connect(path)
    assert [("invoices",)] == connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()


@pytest.mark.parametrize("place", ["folder", "file/p.db"])
def test_a_place_where_no_file_can_be_is_shown(place, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match=place.split("/", maxsplit=1)[0]):
        Profiles.open(str(tmp_path / place))


def test_a_file_that_may_only_be_read_is_read(tmp_path):
    """Root may write everything, so the whole of it runs without that right."""
    path = tmp_path / "p.db"
    with Profiles.open(str(path)) as profiles:
        profiles.add([past_run()])
    path.chmod(0o444)
    said = run_without_rights(
        "from sluice.store.profiles import Profiles\n"
        "from tests.store.histories import past_run\n"
        f"profiles = Profiles.open({str(path)!r})\n"
        "print(profiles.names())\n"
        "profiles.add([past_run('another')])\n"
    )

    assert "['words']" in said.stdout
    assert "StoreUnavailable" in said.stderr
    assert "attempt to write a readonly database. Allow reading and writing there" in said.stderr


@pytest.mark.parametrize("has_log", [True, False])
def test_a_file_in_a_folder_that_may_only_be_read_is_read(tmp_path, has_log):
    """SQLite cannot make the files of its write-ahead log there. With a log they are there."""
    path = tmp_path / "p.db"
    with Profiles.open(str(path)) as profiles:
        profiles.add([past_run()])
        if not has_log:
            profiles.close()
        assert path.with_name("p.db-wal").exists() == has_log
        tmp_path.chmod(0o500)
        ended = run_without_rights(
            "from sluice.store.profiles import Profiles\n"
            "from tests.store.histories import past_run\n"
            f"with Profiles.open({str(path)!r}) as profiles:\n"
            "    print(profiles.names())\n"
            "    profiles.add([past_run('another')])\n"
        )
    tmp_path.chmod(0o700)

    assert "['words']" in ended.stdout
    assert ("attempt to write a readonly database" in ended.stderr) != has_log


def run_without_rights(program):
    """A process for which files are as they look, whichever user runs the tests."""
    import os
    import shutil

    command = [sys.executable, "-c", program]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            skip("root may read and write everything, and setpriv is not installed to change that")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    house = Path(__file__).parents[2]
    environ = os.environ | {"PYTHONPATH": f"{house}:{house / 'src'}"}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def test_a_file_that_another_process_keeps_locked_is_waited_for_and_then_shown(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(database, "BUSY_S", 0.05)
    path = tmp_path / "p.db"
    with Profiles.open(str(path)) as profiles:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert [] == profiles.names(), "who only reads does not wait"
        with pytest.raises(StoreUnavailable, match=r"another process has been writing.*Try again"):
            profiles.add([past_run()])
        other.execute("COMMIT")
        other.close()
        profiles.add([past_run()])


def test_a_server_s_lock_is_waited_for_and_then_shown(postgres_url, monkeypatch):
    monkeypatch.setattr(
        database, "_PER_WRITE", ("SET LOCAL lock_timeout = 50", database._PER_WRITE[-1])
    )
    with Profiles.open(postgres_url) as profiles, Profiles.open(postgres_url) as other:
        with other._writing():
            assert [] == profiles.names(), "who only reads does not wait"
            with pytest.raises(StoreUnavailable, match=r"another process.*Try again"):
                profiles.add([past_run()])
        profiles.add([past_run()])


# --- servers --------------------------------------------------------------------------------------


@pytest.fixture
def postgres_url(postgres):
    from tests.postgres import database as fresh

    with fresh(postgres) as url:
        yield url


def test_a_server_that_is_down_is_shown(tmp_path):
    with pytest.raises(StoreUnavailable) as caught:
        Profiles.open(f"postgresql://ann:secret@/team?host={tmp_path}")

    assert "postgresql://ann@/team: " in str(caught.value)
    assert "Check that the server runs" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_that_the_server_does_not_have_is_shown(postgres_url):
    from sqlalchemy.engine import make_url

    url = make_url(postgres_url).set(database="nowhere").render_as_string(hide_password=False)
    with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist'):
        Profiles.open(url)


def test_a_missing_library_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreUnavailable, match=r'psycopg.*pip install "sluice\[postgresql\]"'):
        Profiles.open("postgresql://host/db")


def test_a_store_may_share_a_server_s_database_with_other_programs(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE runs (id INTEGER)")
    with Profiles.open(postgres_url) as profiles:
        profiles.add([past_run()])
        assert ["words"] == profiles.names()


def test_a_reader_that_may_only_read_is_served(postgres_url):
    """An up-to-date store is opened without a write."""
    import psycopg
    from sqlalchemy.engine import make_url

    with Profiles.open(postgres_url) as profiles:
        profiles.add([past_run()])
    role = make_url(postgres_url).database.replace("test", "reader")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
    reader = make_url(postgres_url).set(username=role).render_as_string(hide_password=False)
    try:
        with Profiles.open(reader) as profiles:
            assert ["words"] == profiles.names()
            with pytest.raises(StoreUnavailable, match="permission denied"):
                profiles.forget("words")
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {role}")
            connection.execute(f"DROP ROLE {role}")


# --- stores that contradict themselves ------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sluice_phases SET avg_s = avg_s / 2",
        "UPDATE sluice_runs SET profile = 'words', elapsed_s = 99",
        "UPDATE sluice_phases SET timeline = NULL",
        "UPDATE sluice_phases SET kind = 'reduce'",
        "DELETE FROM sluice_phases",
        "DROP TABLE sluice_phases",
        "ALTER TABLE sluice_runs RENAME COLUMN queue TO line",
    ],
)
def test_what_was_changed_behind_its_back_is_found(url, change):
    """Rows are held against their digest; half a run must not pass for a whole one."""
    with Profiles.open(url) as profiles:
        profiles.add([past_run()])
        with profiles._engine.begin() as connection:
            connection.execute(text(change))
        with pytest.raises(StoreCorrupt, match="evidence"):
            profiles.runs("words")


def test_a_bit_that_flipped_in_the_tasks_is_found(url):
    with Profiles.open(url) as profiles:
        profiles.add([past_run()])
        with profiles._engine.begin() as connection:
            (packed,) = connection.execute(text("SELECT timeline FROM sluice_phases")).one()
            broken = bytes(packed[:-1]) + bytes([packed[-1] ^ 1])
            connection.execute(text("UPDATE sluice_phases SET timeline = :b"), {"b": broken})
        with pytest.raises(StoreCorrupt, match="'run-1' of sluice does not fit its digest"):
            profiles.runs("words")


@pytest.mark.parametrize("word", ["tablesluice_", "CREATE TABLE", "version_num VARCHAR"])
@pytest.mark.parametrize("mask", [0x80, 0xFF])
def test_a_schema_that_is_not_text_is_damage(tmp_path, word, mask):
    """SQLite quotes the damaged bytes in its message, which Python then cannot decode."""
    path = tmp_path / "profiles.db"
    Profiles.open(str(path)).close()
    content = path.read_bytes()
    at = content.index(word.encode())
    for offset in (1, 9):
        changed = bytearray(content)
        changed[at + offset] ^= mask
        path.write_bytes(changed)
        with pytest.raises(StoreCorrupt), Profiles.open(str(path)) as profiles:
            profiles.runs("a")


class Busy:
    """A connection whose file is made by another process: its first answers are errors."""

    def __init__(self, *errors):
        self.errors, self.asked = list(errors), 0

    def execute(self, statement):
        if "journal_mode" in statement:
            self.asked += 1
            if self.errors:
                raise self.errors.pop(0)


def failure(code):
    found = sqlite3.OperationalError("no")
    found.sqlite_errorcode = code
    return found


def test_a_file_that_another_process_is_making_is_waited_for(monkeypatch):
    monkeypatch.setattr(database, "_RETRY_S", 0.0)
    busy = Busy(failure(sqlite3.SQLITE_BUSY), failure(sqlite3.SQLITE_LOCKED))
    database._set_up(busy)
    assert busy.asked == 3

    broken = Busy(failure(sqlite3.SQLITE_NOTADB))
    with pytest.raises(sqlite3.OperationalError):
        database._set_up(broken)
    assert broken.asked == 1

    monkeypatch.setattr(database, "BUSY_S", -1.0)
    late = Busy(failure(sqlite3.SQLITE_BUSY))
    with pytest.raises(sqlite3.OperationalError):
        database._set_up(late)
