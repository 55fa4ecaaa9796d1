"""Brings the store's schema to the version of this release.

The migrations are a folder of this package. Alembic applies them in one transaction under the
writers' lock, so if two processes open an old store at once, the second finds it up to date. For a
store that is up to date, Alembic is not imported, and opening it costs one query.
"""

from __future__ import annotations

from importlib import resources

from sqlalchemy import Connection, Engine, inspect, text

from sluice.model.errors import InvalidInput
from sluice.store.profiles.address import Address
from sluice.store.profiles.database import reading, writing

VERSION_TABLE = "sluice_version"
VERSIONS = (
    "0001",
    "0002",
    "0003",
    "0004",
)  # of the migrations, oldest first; this release writes the last one


def bring_up_to_date(engine: Engine, address: Address) -> None:
    """Make the tables, or change those of an older release.

    Raises InvalidInput for a store of a newer release, and for a file of another program.
    """
    with reading(engine) as connection:
        if _version(connection, address) == VERSIONS[-1]:
            return
    with writing(engine) as connection:
        # Another process may have done it between the two queries.
        if _version(connection, address) != VERSIONS[-1]:
            migrate(connection, VERSIONS[-1])


def migrate(connection: Connection, version: str) -> None:
    """Apply the migrations up to a version, in the transaction of the caller."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    with resources.as_file(resources.files(__package__) / "migrations") as folder:
        script = ScriptDirectory(str(folder), version_locations=[str(folder)])
        # As env.py does for Alembic's own command line, which is not used here.
        context = EnvironmentContext(
            Config(),
            script,
            fn=lambda now, _: script._upgrade_revs(version, now),  # noqa: SLF001  # as alembic.command.upgrade does
        )
        context.configure(connection=connection, version_table=VERSION_TABLE)
        context.run_migrations()


def _version(connection: Connection, address: Address) -> str | None:
    """The version that the store has; None for a database without one."""
    names = set(inspect(connection).get_table_names())
    if VERSION_TABLE not in names:
        if names and address.is_file:
            raise InvalidInput(
                "it is the database of another program",
                where=str(address),
                hint="name another file for the store",
            )
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all()  # noqa: S608  # the name is our own
    version = str(found[0]) if found else None
    if version is not None and version not in VERSIONS:
        raise InvalidInput(
            f"its schema is {version}, and this release knows those up to {VERSIONS[-1]}",
            where=str(address),
            hint="use the newer release of Sluice that wrote it, or name another store",
        )
    return version
