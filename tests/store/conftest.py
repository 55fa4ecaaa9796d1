"""Profile stores to test: in a file, and on a real PostgreSQL server."""

import pytest
from tests.postgres import database, server


@pytest.fixture(scope="session")
def postgres():
    """The URL of a server, one for all tests of a process."""
    with server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """Where a store may be made; nothing is there yet."""
    if request.param == "sqlite":
        yield str(tmp_path / "profiles.db")
        return
    with database(request.getfixturevalue("postgres")) as empty:
        yield empty
