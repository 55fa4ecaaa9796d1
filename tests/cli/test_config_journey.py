"""A scheduler's own configuration in `simulate`, `why` and `story`: what YARN decides, and why."""

import json

import pytest
from tests.cli.terminal import sluice as cli
from tests.ingest.scheduler_configs.configs import YUNIKORN

import sluice
from sluice.model.errors import InvalidInput

HEAD = "yarn.scheduler.capacity"


def capacity(**more):
    properties = {"root.queues": "prod,dev", "root.prod.capacity": 80, "root.dev.capacity": 20}
    inner = "".join(
        f"<property><name>{HEAD}.{key}</name><value>{value}</value></property>"
        for key, value in {**properties, **more}.items()
    )
    return f"<configuration>{inner}</configuration>"


@pytest.fixture
def files(tmp_path):
    jobs = [
        {"id": f"app{n}", "pool": "dev", "submitted_at_s": n, "maps": {"tasks": 1, "avg_s": 120}}
        for n in range(8)
    ]
    document = {"version": 1, "cluster": {"containers": 20}, "jobs": jobs}
    (tmp_path / "jobs.json").write_text(json.dumps(document))
    (tmp_path / "queues.xml").write_text(capacity())
    return tmp_path


def starts(result):
    return [job.started_at_s for job in result.jobs]


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ({}, [0, 1, 120, 121, 240, 241, 360, 361]),  # 10 % of 20 containers: two masters
        ({"maximum-am-resource-percent": 0.2}, [0, 1, 2, 3, 120, 121, 122, 123]),
        ({"root.dev.maximum-am-resource-percent": 0.01}, [120.0 * n for n in range(8)]),
        ({"maximum-am-resource-percent": 1, "root.dev.user-limit-factor": 5}, list(range(8))),
    ],
)
def test_so_many_applications_run_at_once_as_their_masters_may(files, share, expected):
    (files / "queues.xml").write_text(capacity(**share))
    found = sluice.simulate(files / "jobs.json", config=files / "queues.xml")

    assert starts(found) == expected


def test_the_fair_scheduler_limits_masters_to_half_of_a_fair_share(files):
    (files / "queues.xml").write_text("<allocations><queue name='dev'/></allocations>")
    document = json.loads((files / "jobs.json").read_text()) | {"cluster": {"containers": 6}}
    (files / "jobs.json").write_text(json.dumps(document))

    found = sluice.simulate(files / "jobs.json", config=files / "queues.xml")
    assert starts(found) == [0, 1, 2, 120, 121, 122, 240, 241]


def test_why_names_the_limit(files):
    about = {"source": files / "jobs.json", "config": files / "queues.xml", "at_s": 60}

    reason = sluice.why("app5", **about).reason
    assert reason.code.name == "MASTERS_AT_MAX"
    assert "root.dev runs 2 jobs" in reason.text()
    assert "10 % of its containers" in reason.text()
    assert [line.what for line in sluice.story("app0", **about).lines][-1] != "job done"


def test_why_names_the_limit_of_a_user_and_what_is_free(files):
    job = {"id": "solo", "pool": "dev", "customer": "ann", "maps": {"tasks": 100, "avg_s": 60}}
    document = {"version": 1, "cluster": {"containers": 50}, "jobs": [job]}

    answer = sluice.why("solo", source=document, config=files / "queues.xml", at_s=30)
    said = answer.phases[0].reason.text()
    assert said.startswith("its user holds 10 containers, the limit of one user in root.dev")
    assert said.endswith("40 of 50 containers are free")


def test_why_of_an_ended_job_names_the_limit_that_held_back_its_tasks(files, monkeypatch):
    job = {"id": "solo", "pool": "dev", "customer": "ann", "maps": {"tasks": 100, "avg_s": 60}}
    document = {"version": 1, "cluster": {"containers": 50}, "jobs": [job]}

    answer = sluice.why("solo", source=document, config=files / "queues.xml")
    assert (answer.state.value, answer.waited_s, answer.waited_for.at_s) == ("done", 0, 300)
    (phase,) = answer.waited_for.phases
    assert (phase.waiting, phase.running) == (40, 10)
    assert phase.reason.text().startswith("its user holds 10 containers, the limit of one user")

    monkeypatch.chdir(files)
    (files / "jobs.json").write_text(json.dumps(document))
    said = " ".join(cli("why", "solo", "--file", "jobs.json", "--config", "queues.xml").out.split())
    assert "at 5 m 00 s 40 tasks of map waited: its user holds 10 containers" in said

    job["maps"]["tasks"] = 10
    assert sluice.why("solo", source=document, config=files / "queues.xml").waited_for is None


def test_pools_are_mapped_to_queues_on_the_command_line(files, monkeypatch):
    monkeypatch.chdir(files)
    document = json.loads((files / "jobs.json").read_text())
    for job in document["jobs"]:
        job["pool"] = "nightly"
    (files / "jobs.json").write_text(json.dumps(document))

    refused = cli("simulate", "jobs.json", "--config", "queues.xml")
    assert refused.code == 2
    assert "--map" in refused.err
    found = cli("simulate", "jobs.json", "--config", "queues.xml", "--map", "night*=dev", "--json")
    assert found.code == 0
    assert {row["pool"] for row in json.loads(found.out)["jobs"].values()} == {"root.dev"}
    both = cli("simulate", "jobs.json", "--config", "queues.xml", "--tasks", "fair")
    assert (both.code, both.out) == (2, "")
    assert "given together" in both.err


def test_the_queues_run_with_masters_and_heartbeats_as_in_yarn(files, monkeypatch):
    """Eight applications of one task: `why` names the limit, and each has a master before that."""
    monkeypatch.chdir(files)
    words = ("jobs.json", "--config", "queues.xml", "--tasks", "yarn")

    found = cli("simulate", *words, "--set", "yarn.master_containers=2", "--json")
    assert found.code == 0, found.err
    rows = json.loads(found.out)["jobs"].values()
    assert {row["state"] for row in rows} == {"done"}
    why = cli("why", "app5", "--file", *words, "--at-s", "60")
    assert "10 % of its containers" in " ".join(why.out.split())
    large = cli("simulate", *words, "--set", "yarn.master_containers=500")
    assert large.code == 2
    assert "a master takes 500 containers" in large.err


def test_a_task_policy_and_a_configuration_exclude_each_other(files):
    with pytest.raises(InvalidInput, match="given together"):
        sluice.simulate(files / "jobs.json", tasks="fair", config=files / "queues.xml")


def test_compare_has_a_row_for_the_configuration_beside_named_schedulers(files):
    """In the row the workload is in its queues; in the others it is as the file has it."""
    words = ("compare", files / "jobs.json", "--schedulers", "yarn-like", "--seeds", 1)
    alone = json.loads(cli(*words, "--json").out)
    both = json.loads(cli(*words, "--config", files / "queues.xml", "--json").out)
    simulated = sluice.simulate(files / "jobs.json", config=files / "queues.xml")

    assert [row["scheduler"] for row in both["rows"]] == ["yarn-like", "queues.xml"]
    assert both["rows"][0] == alone["rows"][0]
    found = sluice.compare(files / "jobs.json", ["yarn-like"], config=files / "queues.xml", seeds=1)
    assert found.rows[-1].document()["makespan_s"] == simulated.makespan_s
    only = sluice.compare(files / "jobs.json", [], config=files / "queues.xml", seeds=1)
    assert [row.scheduler for row in only.rows] == ["queues.xml"]


@pytest.fixture
def nodes(files):
    """Short tasks on four nodes, which are known."""
    jobs = [{"id": f"app{n}", "pool": "dev", "maps": {"tasks": 6, "avg_s": 4}} for n in range(3)]
    cluster = {"nodes": 4, "node": {"containers": 5}}
    document = {"version": 1, "cluster": cluster, "jobs": jobs}
    (files / "nodes.json").write_text(json.dumps(document))
    return files / "nodes.json"


def compared(nodes, *schedulers, config="queues.xml"):
    """Makespans by row, and what is said on stderr."""
    words = ("compare", nodes, "--schedulers", ",".join(schedulers), "--seeds", 1, "--json")
    found = cli(*words, "--config", nodes.parent / config)
    assert found.code == 0, found.err
    rows = json.loads(found.out)["rows"]
    return {row["scheduler"]: row["makespan_s"] for row in rows}, found.err


def test_compare_runs_a_configuration_of_yarn_as_yarn_does(files, nodes):
    """Masters and heartbeats need nodes; where these are unknown the queues run alone."""
    rows, said = compared(nodes, "fair")
    how = {"config": files / "queues.xml", "tasks": "yarn"}
    assert rows["queues.xml"] == sluice.simulate(nodes, **how).makespan_s
    alone = sluice.simulate(nodes, config=files / "queues.xml").makespan_s or 0.0
    assert rows["queues.xml"] > 1.5 * alone > 0, "what a cluster of short tasks waits for"
    assert "with YARN's masters and heartbeats" in said

    rows, said = compared(files / "jobs.json", "fair")
    totals = sluice.simulate(files / "jobs.json", config=files / "queues.xml")
    assert rows["queues.xml"] == totals.makespan_s
    assert "without YARN's masters and heartbeats" in said


def test_rows_that_name_a_policy_of_queues_are_those_of_the_configuration(files, nodes):
    rows, said = compared(nodes, "fair", "yarn[master_s=2]", "queue-tree")
    config = {"config": files / "queues.xml"}
    slow = sluice.simulate(nodes, **config, tasks="yarn", settings={"yarn.master_s": 2})
    assert list(rows) == ["fair", "yarn[master_s=2]", "queue-tree"]
    assert rows["yarn[master_s=2]"] == slow.makespan_s
    assert rows["queue-tree"] == sluice.simulate(nodes, **config).makespan_s
    assert "heartbeats" not in said


def test_queues_that_are_not_those_of_yarn_have_no_masters(nodes):
    path = nodes.parent / "queues.yaml"
    path.write_text(YUNIKORN.replace("adhoc", "dev"))
    rows, said = compared(nodes, "fair", config="queues.yaml")
    assert rows["queues.yaml"] == sluice.simulate(nodes, config=path).makespan_s
    assert "heartbeats" not in said


def test_a_cluster_of_typed_slots_is_one_of_containers_in_the_row_alone(files):
    jobs = [{"id": f"app{n}", "pool": "dev", "maps": {"tasks": 6, "avg_s": 10}} for n in range(3)]
    document = {"version": 1, "cluster": {"map_slots": 4, "reduce_slots": 4}, "jobs": jobs}
    (files / "typed.json").write_text(json.dumps(document))
    answer = cli(
        "compare", files / "typed.json", "--schedulers", "fair", "--config", files / "queues.xml",
        "--seeds", 1,
    )  # fmt: skip

    assert answer.code == 0
    assert "queues.xml" in answer.out


def test_a_gang_under_a_configuration_is_said_to_start_one_by_one(files):
    """Kueue admits whole workloads; the queues of a configuration do not model that."""
    jobs = [{"id": "g", "gang": True, "pool": "dev", "maps": {"tasks": 2, "avg_s": 9}}]
    document = {"version": 1, "cluster": {"containers": 20}, "jobs": jobs}
    (files / "gang.json").write_text(json.dumps(document))
    found = cli("simulate", files / "gang.json", "--config", files / "queues.xml")
    assert "job 'g' starts as a whole (gang)" in " ".join(found.err.split())
    plain = cli("simulate", files / "jobs.json", "--config", files / "queues.xml")
    assert "(gang)" not in plain.err
