import pytest
from tests.hadoop.cluster import Hadoop


@pytest.fixture(scope="session")
def hadoop(tmp_path_factory):
    """A real Hadoop with three nodes; no test leaves it otherwise than it was."""
    made = Hadoop(tmp_path_factory.mktemp("hadoop"))
    try:
        made.start()
        yield made
    finally:
        made.stop()
