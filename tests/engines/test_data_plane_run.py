"""Real jobs on nodes that share no disk: the same bytes as on the local engine."""

import json
import os
import signal
from pathlib import Path

import pytest
from tests.effort import first_of
from tests.engines.data_plane_runs import (
    NODES,
    jobs,
    outputs,
    run_apart,
    run_local,
    wanted_jobs,
    write_files,
)
from tests.engines.test_local_engine import left_of, marked

from sluice.core.transitions import AttemptState, JobState
from sluice.engines.tls_files import TlsFiles
from sluice.model.cluster import Cluster, Locality
from sluice.model.ids import JobId
from sluice.reporting.run.links import links


@pytest.mark.slow
def test_the_jobs_of_the_demo_give_the_same_bytes_without_shared_folders(tmp_path):
    here, apart = tmp_path / "here", tmp_path / "apart"
    for folder in (here, apart):
        write_files(folder)
    run_local(here, jobs(here))
    _, result = run_apart(apart, jobs(apart))

    assert {job.state for job in result.jobs.values()} == {JobState.DONE}
    wanted = outputs(here, jobs(here))
    assert outputs(apart, jobs(apart)) == wanted
    assert all(any(files.values()) for files in wanted.values())
    moved = [(attempt, dict(attempt.usage.fetched)) for attempt in result.closed]
    assert {source for _, links in moved for source in links} == {"driver", "n0", "n1", "n2"}
    input_bytes = sum(path.stat().st_size for path in (apart / "in").iterdir())
    read_by_maps = sum(links["driver"] for attempt, links in moved if attempt.phase.index == 0)
    assert read_by_maps >= 5 * input_bytes
    assert [] == left_of(marked(apart / "roots"))
    between = links(result.closed, Cluster(nodes=NODES))
    assert {link.locality for link in between} == {*Locality}
    assert sum(link.moved_bytes for link in between) == sum(sum(own.values()) for _, own in moved)


def test_the_maps_of_an_agent_that_was_killed_are_made_again(tmp_path):
    def kill(engine, node_id):
        """Kill the agent of the node whose map has just finished, and nothing else of it."""
        server = engine.launcher.servers[node_id].pid
        (agent,) = (
            int(pid)
            for pid in Path(f"/proc/{server}/task/{server}/children").read_text().split()
            if Path(f"/proc/{pid}/comm").read_text() == "sluice-agent\n"
        )
        os.kill(agent, signal.SIGKILL)
        killed.append(node_id)

    killed: list[str] = []
    here, apart = tmp_path / "here", tmp_path / "apart"
    for folder in (here, apart):
        write_files(folder)
    given = wanted_jobs(jobs(apart, pause_s=0.2), {"scripts"})
    run_local(here, wanted_jobs(jobs(here), {"scripts"}))
    engine, result = run_apart(apart, given, on_map=kill)

    assert engine.lost == killed
    assert result.jobs[JobId("scripts")].state is JobState.DONE
    assert outputs(apart, given) == outputs(here, given)
    maps = [attempt for attempt in result.closed if attempt.phase.index == 0]
    done = [attempt for attempt in maps if attempt.state is AttemptState.DONE]
    tasks = {attempt.key.task for attempt in maps}
    assert len(done) > len(tasks)  # the finished map of the lost node was made again


def flip(path):
    """Change a byte in the middle of the first segment."""
    with path.open("r+b") as file:
        byte = file.seek(20) and file.read(1)
        file.seek(20)
        file.write(bytes([byte[0] ^ 1]))


@pytest.mark.parametrize("damage", [Path.unlink, flip])
def test_map_output_that_is_gone_or_damaged_is_made_again(tmp_path, damage):
    def spoil(engine, node_id):
        spill = min((apart / "roots").glob("*/*/data/*.spill"))  # the second may be there too
        damage(spill)

    here, apart = tmp_path / "here", tmp_path / "apart"
    for folder in (here, apart):
        write_files(folder)
    given = wanted_jobs(jobs(apart, split_bytes=50_000), {"word-count"})
    run_local(here, wanted_jobs(jobs(here, split_bytes=50_000), {"word-count"}))
    engine, result = run_apart(apart, given, on_map=spoil, fetch_tries=2)

    assert engine.lost == []
    assert outputs(apart, given) == outputs(here, given)
    blamed = [attempt for attempt in result.closed if attempt.state is AttemptState.FAILED]
    assert all("1 map output is lost or damaged" in attempt.detail for attempt in blamed)
    maps = [attempt for attempt in result.closed if attempt.phase.index == 0]
    assert blamed
    assert len(maps) > 2  # one of the two was made again


def test_part_files_for_a_url_go_straight_to_the_store(tmp_path):
    here, apart = tmp_path / "here", tmp_path / "apart"
    for folder in (here, apart):
        write_files(folder)
    given = wanted_jobs(jobs(here), {"word-count"})
    run_local(here, given)
    at_url = wanted_jobs(jobs(apart, output=f"local://{apart}/{{}}"), {"word-count"})
    _, result = run_apart(apart, at_url)

    assert result.jobs[JobId("word-count")].state is JobState.DONE
    parts = [files["word-count"] for files in (outputs(here, given), outputs(apart, at_url))]
    assert json.loads(parts[1].pop("_SUCCESS"))["files"]
    assert parts[0].pop("_SUCCESS") == b""
    assert parts[0] == parts[1]
    reduces = [attempt for attempt in result.closed if attempt.phase.index == 1]
    assert {peer for one in reduces for peer, _ in one.usage.fetched} <= {"n0", "n1", "n2"}


@pytest.mark.slow
@pytest.mark.parametrize("mode", first_of(["network", "auto"], 1))
def test_data_servers_use_the_certificates_of_the_agents(tmp_path, certificate, mode):
    tls = TlsFiles(certificate=certificate[0], key=certificate[1])
    here, apart = tmp_path / "here", tmp_path / "apart"
    for folder in (here, apart):
        write_files(folder)
    given = wanted_jobs(jobs(apart), {"word-count"})
    run_local(here, wanted_jobs(jobs(here), {"word-count"}))
    _, result = run_apart(apart, given, tls=tls, mode=mode)

    assert outputs(apart, given) == outputs(here, given)
    moved = {peer for attempt in result.closed for peer, _ in attempt.usage.fetched}
    # Nodes that see the driver's files read them there; map output moves in any case.
    assert moved >= ({"driver", "n0"} if mode == "network" else {"n0"})
    read_from_driver = sum(
        dict(attempt.usage.fetched).get("driver", 0)
        for attempt in result.closed
        if attempt.phase.index == 0
    )
    input_bytes = sum(path.stat().st_size for path in (apart / "in").iterdir())
    assert (read_from_driver >= input_bytes) is (mode == "network")
