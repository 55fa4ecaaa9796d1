"""The data server of the driver listens where the nodes reach the driver, and nowhere else."""

import socket

import pytest
from tests.engines.data_plane_runs import jobs, run_apart, wanted_jobs, write_files

from sluice.core.transitions import JobState
from sluice.engines.cluster.handshake import new_token, token_key
from sluice.engines.data_plane.plane import DataPlane
from sluice.engines.data_plane.settings import DataPlaneSettings
from sluice.engines.job_runner import JobRunner
from sluice.engines.mapreduce.layout import prepare
from sluice.model.errors import EngineUnavailable

HERE, THERE = "127.0.0.1", "127.0.0.2"


@pytest.fixture
def plane(tmp_path):
    key = token_key(new_token())
    with DataPlane((), key, DataPlaneSettings(), port_file=tmp_path / "port") as made:
        yield made


def answers(tmp_path):
    """The addresses of this machine at which the data server can be reached."""
    port = int((tmp_path / "port").read_text()) if (tmp_path / "port").exists() else 0
    found = []
    for host in (HERE, THERE):
        with socket.socket() as asking:
            if port and asking.connect_ex((host, port)) == 0:
                found.append(host)
    return found


def test_it_listens_only_where_the_nodes_reach_the_driver(plane, tmp_path):
    plane.start()
    assert answers(tmp_path) == []  # no node has been reached yet, so none can ask
    plane.listen_at(HERE)
    port = (tmp_path / "port").read_text()
    assert answers(tmp_path) == [HERE]
    plane.listen_at(THERE)  # of nodes in another network
    plane.listen_at(THERE)

    assert answers(tmp_path) == [HERE, THERE]
    assert (tmp_path / "port").read_text() == port


def test_another_process_at_its_port_is_an_error(plane, tmp_path):
    with socket.create_server((HERE, 0)) as other:
        (tmp_path / "port").write_text(str(other.getsockname()[1]))
        plane.start()
        with pytest.raises(EngineUnavailable, match="another process"):
            plane.listen_at(HERE)


@pytest.mark.parametrize(
    ("given", "fetches", "compression"),
    [({}, 4, "auto"), ({"fetches_max": 7, "fetch_compression": "zstd"}, 7, "zstd")],
)
def test_each_attempt_gets_the_settings_of_fetching(tmp_path, given, fetches, compression):
    write_files(tmp_path)
    (job,) = wanted_jobs(jobs(tmp_path), {"grep"})
    prepared = JobRunner([prepare(job)], tmp_path / "scratch").prepared
    with DataPlane(prepared, token_key(new_token()), DataPlaneSettings(**given)) as plane:
        plane.listen_at(HERE)
        sent = plane.added_to({"job_name": prepared[0].name, "split": None})["plane"]

    assert (fetches, compression) == (sent["fetches"], sent["compression"])


def test_a_run_finds_the_address_by_its_connections(tmp_path):
    """The nodes of this run are at 127.0.0.1, so that this is where they find the driver."""
    write_files(tmp_path)
    given = wanted_jobs(jobs(tmp_path), {"grep"})
    seen = []

    def look(engine, node_id):
        seen.extend(answers(tmp_path))

    _, result = run_apart(tmp_path, given, on_map=look, port_file=tmp_path / "port")
    assert {job.state for job in result.jobs.values()} == {JobState.DONE}
    assert seen == [HERE]
