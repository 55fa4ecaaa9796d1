"""Whole runs over Ray: three raylets, each with a root of its own, and nothing shared."""

import json
import shlex

import pytest
from tests.engines.data_plane_runs import jobs, outputs, write_files
from tests.engines.test_local_engine import left_of, marked

import sluice
from sluice.bootstrap.engines.registry import engine_kind
from sluice.bootstrap.live.run_options import RunOptions
from sluice.engines.data_plane.settings import DataPlaneSettings


def workload(folder):
    """A workload file of the jobs of the demo, in small, on three nodes."""
    described = []
    for job in jobs(folder):
        run = {"input": list(job.run.input), "output": job.run.output, "split_bytes": 6_000}
        if job.run.python:
            run["python"] = job.run.python
        for part in ("mapper", "reducer"):
            if argv := getattr(job.run, part):
                run[part] = shlex.join(argv)
        reduces = {} if job.job_id == "grep" else {"reduces": {"tasks": 3}}
        described.append({"id": job.job_id, "run": run, **reduces})
    cluster = {"nodes": 3, "node": {"map_slots": 1, "reduce_slots": 1}}
    path = folder / "jobs.json"
    path.write_text(json.dumps({"version": 1, "cluster": cluster, "jobs": described}))
    return path


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
def test_the_jobs_of_the_demo_give_the_same_bytes_over_ray_without_shared_folders(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path / "home"))
    here, apart = tmp_path / "here", tmp_path / "apart"
    for folder in (here, apart):
        write_files(folder)
    local = sluice.run(workload(here))
    result = sluice.run(workload(apart), engine="ray", settings=["data_plane=network"])

    wanted = outputs(here, jobs(here))
    assert outputs(apart, jobs(apart)) == wanted
    assert all(any(files.values()) for files in wanted.values())
    assert "links" not in local.extra
    moved = result.extra["links"]
    assert {link["peer"] for link in moved} == {"driver", "node-1", "node-2", "node-3"}
    assert {link["locality"] for link in moved} == {"node", "rack", "any"}
    assert [] == left_of(marked(tmp_path / "home"))


@pytest.mark.parametrize(
    ("mode", "is_embedded", "does"),
    [
        ("auto", True, False),
        ("auto", False, True),
        ("network", True, True),
        ("shared", False, False),
    ],
)
def test_a_rule_says_whether_data_moves_over_the_network(mode, is_embedded, does):
    options = RunOptions(engine="ray", address=None if is_embedded else "head:6379")

    assert engine_kind("ray").moves_data(DataPlaneSettings(data_plane=mode), options) is does
