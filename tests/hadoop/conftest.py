import pytest
from tests.hadoop.cluster import PI, Hadoop


@pytest.fixture(scope="session")
def hadoop(tmp_path_factory):
    """A real Hadoop with three nodes; no test leaves it otherwise than it was."""
    made = Hadoop(tmp_path_factory.mktemp("hadoop"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def pi(hadoop):
    """A job of MapReduce that has ended, as the ResourceManager lists it: five JVMs ran for it."""
    before = {one["id"] for one in hadoop.applications("FINISHED")}
    hadoop.java(*PI)
    (found,) = [one for one in hadoop.applications("FINISHED") if one["id"] not in before]
    assert found["finalStatus"] == "SUCCEEDED"
    return found
