"""Stores of older releases are brought up to date with all they hold; newer ones are refused."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text
from tests.store.histories import past_run, phase_of

from sluice.model.errors import InvalidInput
from sluice.store.profiles import Profiles, migrations, schema
from sluice.store.profiles.address import address_of
from sluice.store.profiles.database import engine_of, writing
from sluice.store.profiles.schema import VERSION_TABLE, VERSIONS, migrate
from sluice.store.profiles.tables import METADATA

# What each release wrote, as rows; a version that adds columns adds its own line here.
_RUN_0001 = (
    "INSERT INTO sluice_runs VALUES (7, 'jhist', 'job_1', 'Sleep', true, 5.0, 9.5, NULL, NULL,"
    " '{\"map\":2}', '{}', '[]', 2, 5, 'c355aea496c86adf8d5f1b3c7e5e56c2', NULL, 100.0)"
)
_PHASE_0001 = (
    "INSERT INTO sluice_phases VALUES (7, 0, 'map', 'map', 2, 0, 3.0, 4.0, 10, 0, 0, 0, 0, 0,"
    " NULL, NULL, '[]', NULL, NULL)"
)
_RUN_0002 = _RUN_0001.replace(", NULL, 100.0)", ", NULL, 100.0, NULL)")
_PHASE_0003 = _PHASE_0001.replace(" NULL, NULL)", " NULL, NULL, NULL)")
ROWS_OF = {
    "0001": (_RUN_0001, _PHASE_0001),
    "0002": (_RUN_0002, _PHASE_0001),
    "0003": (_RUN_0002, _PHASE_0003),
    "0004": (_RUN_0002, _PHASE_0003),
}
OLD = past_run(
    "job_1",
    phase_of(2.0, 4.0, input_bytes=10),
    source="jhist", profile="Sleep", submitted_at_s=5.0, elapsed_s=9.5, slots={"map": 2},
)  # fmt: skip


@pytest.fixture
def engine(url):
    made = engine_of(address_of(url))
    yield made
    made.dispose()


def versions_in_the_folder():
    folder = migrations.__path__[0]
    script = ScriptDirectory(folder, version_locations=[folder])
    return tuple(reversed([step.revision for step in script.walk_revisions()]))


def test_every_migration_is_known_in_its_order():
    assert versions_in_the_folder() == VERSIONS
    assert set(VERSIONS) == set(ROWS_OF)


def test_the_migrations_make_the_tables_that_are_used(engine):
    with writing(engine) as connection:
        migrate(connection, VERSIONS[-1])
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "version_table": VERSION_TABLE}
        )
        assert [] == compare_metadata(context, METADATA)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_an_older_release_wrote_is_read(url, engine, version):
    """Its rows stand here as it wrote them, digest and all."""
    said = replace(OLD, phases=(replace(OLD.phases[0], timeline=()),))
    with writing(engine) as connection:
        migrate(connection, version)
        for row in ROWS_OF[version]:
            connection.execute(text(row.replace(":", r"\:")))
    with Profiles.open(url) as profiles:
        assert [said] == profiles.runs("Sleep")
        assert (0, 1, 0) == profiles.add([OLD]), "a newer account takes its place"
    with Profiles.open(url) as profiles:
        assert [OLD] == profiles.runs("Sleep")


@pytest.mark.parametrize("opening", [Profiles.open, Profiles.existing])
def test_the_store_of_a_newer_release_is_refused_and_left_alone(url, engine, opening):
    with Profiles.open(url) as profiles:
        profiles.add([OLD])
        with profiles._engine.begin() as connection:
            connection.execute(text("UPDATE sluice_version SET version_num = '0099'"))
    with pytest.raises(InvalidInput, match=r"its schema is 0099.* newer release of Sluice"):
        opening(url)
    with engine.connect() as connection:
        assert "0099" == connection.execute(text("SELECT * FROM sluice_version")).scalar()


def test_a_store_that_is_up_to_date_is_opened_without_alembic(url, monkeypatch):
    """It costs a third of a second to import, more than most questions to the store."""
    Profiles.open(url).close()

    def refuse(*_arguments):
        raise AssertionError("nothing is to be migrated")

    monkeypatch.setattr(schema, "migrate", refuse)
    Profiles.open(url).close()


def test_a_migration_that_fails_leaves_nothing_behind(url, engine):
    """The next one to open the store begins anew."""
    with suppress(KeyError), writing(engine) as connection:
        migrate(connection, VERSIONS[0])
        raise KeyError("stop")
    with engine.connect() as connection:
        assert [] == inspect(connection).get_table_names()
    with Profiles.open(url) as profiles:
        assert [] == profiles.names()


@pytest.mark.slow
def test_the_installed_package_brings_its_migrations(tmp_path):
    """They are data of the package as much as modules: a wheel without them makes no store."""
    ask = (
        "import sys; from sluice.store.profiles import Profiles; print(Profiles.open(sys.argv[1]))"
    )
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    child = subprocess.run(
        [sys.executable, "-P", "-c", ask, str(tmp_path / "p.db")],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (0, "") == (child.returncode, child.stderr)
