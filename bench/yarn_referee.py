"""Record what Hadoop's own schedulers make of traces: `python -m bench.yarn_referee SEED ...`.

Each seed gives a trace with its queues, `preemption-SEED` one in which a queue that comes late
takes its containers back, and `nodes-SEED` one whose maps have their input on one node each.
Hadoop's Scheduler Load Simulator 3.3.5 runs it in real time (about two minutes) under
CapacityScheduler and FairScheduler, and `recorded.json` of the reproduction `yarn` gets the results
as one run more. Needs Java 17 and Maven.
"""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sluice.reproductions.yarn.recorded import NODES, PREEMPTION, RecordedTrace

RECORDED = Path(__file__).resolve().parents[1] / "src/sluice/reproductions/yarn/recorded.json"
LIBRARY = Path(os.environ.get("SLS_LIB", tempfile.gettempdir() + "/sls-lib"))
VERSION = "3.3.5"  # the reader of traces of 3.4.2 is broken
ARTIFACTS = (
    "hadoop-sls", "hadoop-yarn-server-timelineservice", "hadoop-common",
    "hadoop-mapreduce-client-jobclient", "hadoop-yarn-server-resourcemanager",
)  # fmt: skip
# The ResourceManager allocates nothing in its first ten seconds. Then an application that does not
# count comes, because the first one of a process waits until it has loaded its classes.
WARM_UP_MS = 15_000
FIRST_MS = 45_000
PORT = 24_000
_RACK = "/default-rack"  # where YARN puts nodes that no script has a rack for
_SCHEDULER = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
_METRICS = "org.apache.hadoop.yarn.sls.scheduler."
_CAPACITY = "yarn.scheduler.capacity."


_MONITORS = "yarn.resourcemanager.scheduler.monitor.enable"
_MONITOR = "yarn.resourcemanager.monitor.capacity.preemption."
# Without YARN's limits of one round, which are not part of the model.
_TAKES_BACK = {
    _MONITORS: "true",
    _MONITOR + "monitoring_interval": "1000", _MONITOR + "max_wait_before_kill": "3000",
    _MONITOR + "total_preemption_per_round": "1.0",
    _MONITOR + "natural_termination_factor": "1.0",
    _MONITOR + "max_ignored_over_capacity": "0.0",
    "yarn.scheduler.fair.preemption": "true",
    "yarn.scheduler.fair.waitTimeBeforeKill": "1000",
}  # fmt: skip
_MISSED = 3  # opportunities, before a map may run on another node
_WAITS = {f"yarn.scheduler.fair.locality.threshold.{one}": "0.6" for one in ("node", "rack")}
_FAIR_WAIT = (
    "<defaultFairSharePreemptionTimeout>3</defaultFairSharePreemptionTimeout>"
    "<defaultFairSharePreemptionThreshold>1.0</defaultFairSharePreemptionThreshold>"
)


def trace(seed: int) -> dict[str, Any]:
    """A trace as in `recorded.json`, without results."""
    rng = random.Random(seed)
    nodes, slots = rng.randint(3, 8), rng.choice([3, 4, 4, 6])
    jobs = rng.randint(6, 14)
    shares = rng.choice([
        {"a": 70, "b": 30}, {"a": 50, "b": 50}, {"a": 60, "b": 40}, {"a": 50, "b": 30, "c": 20},
    ])  # fmt: skip
    masters, order = rng.choice([0.2, 0.3, 0.5]), rng.choice(["fifo", "fifo", "fair"])
    users, factor = rng.randint(1, 3), rng.choice([10, 10, 1.5])
    most = {name: rng.choice([100, 100, 80]) for name in shares}
    span_s = rng.uniform(10, 60)
    capacity: dict[str, object] = {
        "root.queues": ",".join(shares),
        "maximum-am-resource-percent": masters,
        "node-locality-delay": -1,
    }
    fair = f"<allocations>\n<queueMaxAMShareDefault>{masters}</queueMaxAMShareDefault>\n"
    for name, share in shares.items():
        capacity |= {
            f"root.{name}.capacity": share,
            f"root.{name}.maximum-capacity": most[name],
            f"root.{name}.user-limit-factor": factor,
            f"root.{name}.ordering-policy": order,
        }
        policy = "<schedulingPolicy>fifo</schedulingPolicy>" if order == "fifo" and seed % 2 else ""
        fair += f'<queue name="{name}"><weight>{share / 10:g}</weight>{policy}</queue>\n'
    return {
        "name": f"trace-{seed}", "nodes": nodes, "containers_per_node": slots,
        "capacity": _xml({_CAPACITY + key: value for key, value in capacity.items()}),
        "fair": fair + "</allocations>\n",
        "jobs": sorted(_jobs(rng, jobs, span_s, sorted(shares), users), key=_start),
    }  # fmt: skip


def preemption_trace(seed: int) -> dict[str, Any]:
    """One queue fills the cluster with long tasks, and the other one comes with short ones."""
    rng = random.Random(seed)
    share = rng.choice([40, 50, 60])
    shares = {"a": 100 - share, "b": share}
    capacity: dict[str, object] = {
        "root.queues": ",".join(shares), "maximum-am-resource-percent": 0.5,
        "node-locality-delay": -1,
    }  # fmt: skip
    fair = f"<allocations>\n<queueMaxAMShareDefault>0.5</queueMaxAMShareDefault>\n{_FAIR_WAIT}\n"
    for name, each in shares.items():
        capacity |= {
            f"root.{name}.capacity": each, f"root.{name}.maximum-capacity": 100,
            f"root.{name}.user-limit-factor": 10,
        }  # fmt: skip
        fair += f'<queue name="{name}"><weight>{each / 10:g}</weight></queue>\n'
    jobs: list[dict[str, Any]] = []
    for queue, starts_s, tasks, length_ms in (
        ("a", (0, 5), (10, 16), 35_000), ("b", (15, 30), (6, 12), 7_000),
    ):  # fmt: skip
        for _ in range(rng.randint(2, 3)):
            maps = [_length_ms(rng, length_ms) for _ in range(rng.randint(*tasks))]
            jobs.append({
                "queue": queue, "user": "u1", "start_ms": int(1000 * rng.uniform(*starts_s)),
                "maps_ms": maps, "reduces_ms": [_length_ms(rng, 4_000)], "sls_s": {},
            })  # fmt: skip
    first_ms = min(map(_start, jobs))
    for job in jobs:
        job["start_ms"] -= first_ms
    return {
        "name": f"{PREEMPTION}-{seed}", "nodes": rng.randint(4, 6), "containers_per_node": 4,
        "kind": PREEMPTION, "site": _TAKES_BACK, "fair": fair + "</allocations>\n",
        "capacity": _xml({_CAPACITY + key: value for key, value in capacity.items()}),
        "jobs": sorted(jobs, key=_start),
    }  # fmt: skip


def nodes_trace(seed: int) -> dict[str, Any]:
    """As `trace`, with the input of each map on one node, for which the jobs wait a while."""
    made = {**trace(seed), "name": f"{NODES}-{seed}", "kind": NODES, "site": _WAITS}
    made["capacity"] = made["capacity"].replace("<value>-1</value>", f"<value>{_MISSED}</value>")
    recorded = RecordedTrace(made)
    for job, names in zip(made["jobs"], recorded.input_nodes(), strict=True):
        job["maps_on"] = list(names)
    return made


def _jobs(
    rng: random.Random, jobs: int, span_s: float, queues: list[str], users: int
) -> list[dict[str, Any]]:
    made = []
    for index in range(jobs):
        start_ms = int(rng.uniform(0, span_s * 1000)) if index else 0
        maps = rng.randint(3, 20)
        reduces = rng.randint(0 if rng.random() < 0.2 else 1, 4)
        mean_ms = rng.uniform(3000, 15000)
        lengths = [_length_ms(rng, mean_ms) for _ in range(maps)]
        later = [_length_ms(rng, 1.3 * mean_ms) for _ in range(reduces)]
        made.append({
            "queue": rng.choice(queues), "user": f"u{rng.randint(1, users)}", "start_ms": start_ms,
            "maps_ms": lengths, "reduces_ms": later, "sls_s": {},
        })  # fmt: skip
    return made


def _length_ms(rng: random.Random, mean_ms: float) -> int:
    return max(500, int(rng.gauss(mean_ms, mean_ms / 4)))


def _start(job: dict[str, Any]) -> int:
    start_ms: int = job["start_ms"]
    return start_ms


def _xml(properties: dict[str, object]) -> str:
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>\n"
        for name, value in properties.items()
    )
    return f"<configuration>\n{rows}</configuration>\n"


def resolve() -> None:
    """Fetch the jars of the simulator, once."""
    if LIBRARY.is_dir():
        return
    rows = "".join(
        f"<dependency><groupId>org.apache.hadoop</groupId><artifactId>{one}</artifactId>"
        f"<version>{VERSION}</version></dependency>"
        for one in ARTIFACTS
    )
    with tempfile.TemporaryDirectory() as folder:
        pom = Path(folder, "pom.xml")
        pom.write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>local</groupId><artifactId>sls</artifactId><version>1</version>"
            f"<packaging>pom</packaging><dependencies>{rows}</dependencies></project>"
        )
        words = ["mvn", "-q", "-f", str(pom), "dependency:copy-dependencies"]
        words += ["-DincludeScope=runtime", f"-DoutputDirectory={LIBRARY}"]
        subprocess.run(words, check=True)


def run(given: dict[str, Any], scheduler: str, folder: Path) -> None:
    """Run the simulator, and add start and end of each application, in seconds, to its job."""
    _configure(given, scheduler, folder)
    warm_up = {"queue": given["jobs"][0]["queue"], "user": given["jobs"][0]["user"],
               "maps_ms": [1000], "reduces_ms": [1000]}  # fmt: skip
    objects = [_application("warm_up", warm_up, WARM_UP_MS)]
    for index, job in enumerate(given["jobs"]):
        objects.append(_application(f"job_{index}", job, FIRST_MS + job["start_ms"]))
    (folder / "trace.json").write_text("\n".join(map(json.dumps, objects)))
    nodes = [{"node": f"node-{one + 1}"} for one in range(given["nodes"])]
    (folder / "nodes.json").write_text(json.dumps({"rack": _RACK.strip("/"), "nodes": nodes}))
    words = [
        "java", f"-Djdk.net.hosts.file={folder}/hosts", "-Xmx512m", "-XX:+UseSerialGC",
        "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", f"{folder}/conf:{LIBRARY}/*",
        "org.apache.hadoop.yarn.sls.SLSRunner", "--tracetype=SLS",
        f"--tracelocation={folder}/trace.json", f"--nodes={folder}/nodes.json",
        f"--output={folder}/out", "--printsimulation",
    ]  # fmt: skip
    (folder / "out").mkdir()
    with (folder / "log").open("w") as log:
        subprocess.run(words, check=True, stdout=log, stderr=log, timeout=900)
    spans = _spans(folder / "out/jobruntime.csv")
    if len(spans) != len(given["jobs"]):
        raise SystemExit(f"{len(spans)} of {len(given['jobs'])} jobs have run: see {folder}/log")
    for job in given["jobs"]:
        job["sls_s"].setdefault(scheduler, []).append(spans[job["start_ms"]])


def _application(name: str, job: dict[str, Any], start_ms: int) -> dict[str, Any]:
    """One application as the simulator reads it."""
    tasks = [
        {"container.start.ms": 0, "container.end.ms": length, "container.priority": priority,
         "container.type": kind} | ({"container.host": f"{_RACK}/{node}"} if node else {})
        for kind, priority in (("map", 20), ("reduce", 10))
        for length, node in zip_longest(job[f"{kind}s_ms"], job.get(f"{kind}s_on", ()))
    ]  # fmt: skip
    return {
        "am.type": "mapreduce", "job.start.ms": start_ms, "job.end.ms": start_ms + 1000,
        "job.queue.name": job["queue"], "job.id": name, "job.user": job["user"],
        "job.tasks": tasks,
    }  # fmt: skip


def _spans(path: Path) -> dict[int, list[float]]:
    """Start and end of each application by its given start; the first row of each counts."""
    with path.open() as file:
        first: dict[str, dict[str, str]] = {}
        for row in csv.DictReader(file):
            if int(row["real_start_time"]) >= FIRST_MS:
                first.setdefault(row["JobID"], row)
    given_ms = {one: int(row["real_start_time"]) for one, row in first.items()}
    zero_ms = min(int(row["simulate_start_time"]) - given_ms[one] for one, row in first.items())
    zero_ms += min(given_ms.values())
    return {
        given_ms[one] - min(given_ms.values()): [
            (int(row[f"simulate_{which}_time"]) - zero_ms) / 1000 for which in ("start", "end")
        ]
        for one, row in first.items()
    }


def _configure(given: dict[str, Any], scheduler: str, folder: Path) -> None:
    (folder / "conf").mkdir()
    ports = {
        "address": 0, "scheduler.address": 1, "resource-tracker.address": 2, "admin.address": 3,
        "webapp.address": 4,
    }  # fmt: skip
    kind = "capacity.CapacityScheduler" if scheduler == "capacity" else "fair.FairScheduler"
    site: dict[str, object] = {
        "yarn.resourcemanager.scheduler.class": _SCHEDULER + kind,
        "yarn.resourcemanager.hostname": "127.0.0.1",
        **{f"yarn.resourcemanager.{name}": f"127.0.0.1:{PORT + at}" for name, at in ports.items()},
        "yarn.node-attribute.fs-store.root-dir": f"file://{folder}/attributes",
        "hadoop.tmp.dir": str(folder / "state"),
        "yarn.scheduler.minimum-allocation-mb": 1024,
        "yarn.scheduler.maximum-allocation-mb": 8192,
        "yarn.scheduler.increment-allocation-mb": 1024,
        "yarn.scheduler.fair.allocation.file": f"{folder}/conf/fair-scheduler.xml",
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 1000,
        "yarn.scheduler.fair.assignmultiple": "true",
        **given.get("site", {}),
    }
    if scheduler == "fair":  # it would look for the queues of the other one
        site.pop(_MONITORS, None)
    slots = given["containers_per_node"]
    names = ("FairScheduler", "CapacityScheduler")
    runner: dict[str, object] = {
        "yarn.sls.runner.pool.size": 10, "yarn.sls.nm.memory.mb": 1024 * slots,
        "yarn.sls.nm.vcores": slots, "yarn.sls.nm.heartbeat.interval.ms": 1000,
        "yarn.sls.am.heartbeat.interval.ms": 1000, "yarn.sls.am.type": "mapreduce",
        "yarn.sls.am.type.mapreduce": "org.apache.hadoop.yarn.sls.appmaster.MRAMSimulator",
        "yarn.sls.container.memory.mb": 1024, "yarn.sls.container.vcores": 1,
        "yarn.sls.runner.metrics.switch": "ON", "yarn.sls.metrics.web.address.port": PORT + 20,
        "yarn.sls.metrics.timer.window.size": 100, "yarn.sls.metrics.record.interval.ms": 1000,
        **{
            f"{_SCHEDULER}{one.removesuffix('Scheduler').lower()}.{one}": f"{_METRICS}{one}Metrics"
            for one in names
        },
    }  # fmt: skip
    files = {
        "yarn-site.xml": _xml(site), "sls-runner.xml": _xml({**site, **runner}),
        "core-site.xml": _xml({"fs.defaultFS": "file:///"}),
        "capacity-scheduler.xml": given["capacity"], "fair-scheduler.xml": given["fair"],
    }  # fmt: skip
    for name, text in files.items():
        (folder / "conf" / name).write_text(text)
    hosts = [f"127.0.0.1 localhost {os.uname().nodename} node0"]
    hosts += [f"127.0.0.{10 + one} node-{one}" for one in range(1, given["nodes"] + 1)]
    (folder / "hosts").write_text("\n".join(hosts) + "\n")


TRACES = {"": trace, PREEMPTION: preemption_trace, NODES: nodes_trace}


def main() -> None:
    """Record one run more of each trace of the seeds on the command line."""
    resolve()
    known = {one["name"]: one for one in json.loads(RECORDED.read_text())}
    for word in sys.argv[1:]:
        kind, _, seed = word.rpartition("-")
        made = TRACES[kind](int(seed))
        given = known.setdefault(made["name"], made)
        for scheduler in ("capacity", "fair"):
            folder = Path(tempfile.mkdtemp(prefix="sls-"))
            run(given, scheduler, folder)
            shutil.rmtree(folder)
            RECORDED.write_text("[\n" + ",\n".join(map(json.dumps, known.values())) + "\n]\n")


if __name__ == "__main__":
    main()
