"""A service whose admission rents VMs for jobs that do not fit, and gives them back."""

import pytest
from tests.live.command_line import awaited
from tests.service.services import LOCAL, killed, serving
from tests.skips import required

from sluice.bootstrap.engines.local import LocalKind
from sluice.bootstrap.service.config import ServiceConfig
from sluice.bootstrap.service.messages import ask
from sluice.ingest.reading import SourceText
from sluice.model.errors import InvalidInput

CONFIG = """version: 1
cluster: {nodes: 2, node: {containers: 1}}
scheduler: {admission: capacity, tasks: yarn-like}
prices: {on_demand_vm_usd: 0.40, reserved_vm_usd: 0.15, billing_s: 1}
settings: {capacity.interval_s: 0.5, capacity.vms_max: 4, capacity.vm_start_s: 0.3}
service: {promise_wait_s: 1, segment_rows: 40}
"""
# Tasks are shorter than the file says, so that a busy machine misses no deadline.
JOB = """
  - id: {name}
    deadline_s: {deadline_s}
    penalty_usd: 1
    maps: {{tasks: {tasks}, avg_s: 10, max_s: 12}}
    reduces: {{tasks: 1, avg_s: 0.2, max_s: 0.5}}
    run:
      input: [in-{name}]
      output: out/{name}
      mapper: sh -c 'sleep {map_s}; cat'
      reducer: cat
"""
TASKS = {"first": (16, 150), "second": (6, 80)}  # how many maps, and the deadline


def submitted(service, map_s):
    """Submit two jobs, of which only one fits, and return their ids by name."""
    for name, (tasks, _) in TASKS.items():
        (service.folder / f"in-{name}").mkdir()
        for number in range(tasks):
            (service.folder / f"in-{name}" / f"{number:02}.txt").write_text(f"line {number:02}\n")
    jobs = [
        JOB.format(name=name, tasks=tasks, deadline_s=deadline_s, map_s=map_s)
        for name, (tasks, deadline_s) in TASKS.items()
    ]
    (service.folder / "both.yaml").write_text("version: 1\njobs:" + "".join(jobs))
    made = service.document("submit", "both.yaml")["jobs"]
    return {one["name"]: one["job_id"] for one in made}


def story(service, subject):
    code, shown, err = service.run("story", subject)
    assert 0 == code, err
    return " ".join(shown.split())


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [False, True], ids=["plain", "killed"])
@pytest.mark.parametrize(
    ("engine", "start_s", "map_s"),  # a raylet takes many seconds on a busy machine
    [("local", 0.3, 1), pytest.param("ray", 24, 3, marks=pytest.mark.xdist_group("ray"))],
)
def test_a_job_that_does_not_fit_gets_rented_nodes(tmp_path, engine, start_s, map_s, kills):
    """Also if the driver is killed while they are there. The nodes of the file stay."""
    if engine == "ray":
        required("ray")
    config = CONFIG.replace("vm_start_s: 0.3", f"vm_start_s: {start_s}")
    follower = tmp_path / "home" / "service" / "follower.sock"

    def nodes():
        return {row["node_id"] for row in ask(follower, {"do": "nodes", "tenant": None})["nodes"]}

    with serving(tmp_path, *LOCAL, "--engine", engine, config=config) as service:
        awaited(lambda: {"node-1", "node-2"} == nodes(), "the nodes of the file")
        driver = service.pid("driver")
        ids = submitted(service, map_s)
        if kills:
            awaited(lambda: "rented-1" in nodes(), "a rented node")
            killed(driver)
        rows = service.settled()
        awaited(lambda: {"node-1", "node-2"} == nodes(), "all rented nodes are given back")
        of_node = story(service, "rented-1")
        of_jobs = [story(service, job_id) for job_id in ids.values()]

    assert {"done"} == {row["state"] for row in rows.values()}
    for name, (tasks, _) in TASKS.items():
        parts = sorted((tmp_path / "out" / name).glob("part*"))
        lines = [line for part in parts for line in part.read_text().splitlines()]
        assert [f"line {number:02}" for number in range(tasks)] == lines
    assert any("rented for it for $" in one for one in of_jobs)
    assert any(f"rented for {job_id}, for $0.40 an hour" in of_node for job_id in ids.values())
    assert "given back: the promised jobs need" in of_node


def config_of(text):
    source = SourceText(content=text.encode(), name="serve.yaml", file="serve.yaml", folder="/")
    return ServiceConfig.read(source)


def test_what_cannot_be_rented_is_refused_before_a_service_starts(monkeypatch):
    """An engine of another package may give back no nodes, and a rented node is like all others."""
    config = config_of(CONFIG)
    larger = CONFIG.replace("settings: {", "settings: {capacity.vm_containers: 3, ")

    config.check()
    with pytest.raises(InvalidInput, match="a node has 1 containers"):
        config_of(larger).check()
    monkeypatch.setattr(LocalKind, "gives_back", False)
    with pytest.raises(InvalidInput, match="'local' gives back no single nodes"):
        config.scheduler()
