"""Files of Hadoop's Scheduler Load Simulator (SLS): traces, nodes, and SYNTH descriptions.

All three are JSON objects one after the other, and what an object is shows in its members. Jobs of
a trace become runs (`sls_trace`). Racks of a node file, and jobs drawn from the distributions of a
SYNTH description, become a workload (`sls_nodes`, `sls_synth`): the jobs to run, where there are
any, and the cluster to run them on.
"""

from __future__ import annotations

from pathlib import Path

from sluice.ingest.logs.hadoop_jobs import Timelines
from sluice.ingest.logs.hadoop_objects import json_objects
from sluice.ingest.logs.hadoop_values import Members, Unreadable, items, members, text, whole
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Contents, Report, nothing_in_lines
from sluice.ingest.logs.sls_options import Options
from sluice.ingest.logs.sls_synth import synth_of
from sluice.ingest.logs.sls_trace import FORMAT, JobPlace, run_of, trace_notes
from sluice.ingest.scheduler_configs.capacity_scheduler import properties_of
from sluice.ingest.scheduler_configs.xml_elements import read_xml
from sluice.model.cluster import Cluster, Node
from sluice.model.history import PastRun
from sluice.model.ids import NodeId
from sluice.model.job import Job
from sluice.model.workload import JOBS_MAX, Workload

__all__ = ["FORMAT", "Options", "read", "recognises"]

_MARKS = (b'"job.tasks"', b'"container.', b'"job_classes"')


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """A file with jobs, containers or job classes of SLS, or with its racks."""
    if head.lstrip()[:1] not in (b"{", b"["):
        return False
    return any(mark in head for mark in _MARKS) or (b'"rack"' in head and b'"nodes"' in head)


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The runs of a trace, or the workload of the other two. Raises InvalidInput on nothing."""
    found = _Found(path, report, options, limits)
    for line, fields in json_objects(path, report, limits):
        try:
            found.take(line, fields)
        except Unreadable as error:
            report.skip(line, str(error))
    contents = found.contents()
    if not contents.runs and contents.workload is None:
        raise nothing_in_lines(
            path,
            report,
            "job, rack or workload of SLS",
            hint="give a trace, a node file or a SYNTH description of SLS",
        )
    return contents


class _Found:
    """The runs of a file's objects."""

    def __init__(self, path: Path, report: Report, options: Options, limits: Limits) -> None:
        self._timelines = Timelines(limits)
        self._report = report
        self._options = options
        self._path = path
        self._runs: dict[str, PastRun] = {}
        self._containers = node_containers(path)
        self._racks = Racks(options, self._containers)
        self._jobs: dict[str, Job] = {}
        self._notes: list[str] = []

    def take(self, line: int, fields: Members) -> None:
        """One object. Raises Unreadable where it is of no use."""
        if "job.tasks" in fields:
            place = JobPlace(self._path.stem, line, self._report)
            run = run_of(fields, self._options, place)
            if run.run_id in self._runs:
                raise Unreadable(f"job {run.run_id} is given twice")
            self._runs[run.run_id] = self._timelines.fitted(run)
        elif "workloads" in fields:
            self._draw(line, fields)
        elif isinstance(fields.get("nodes"), list):
            self._racks.add(fields, line, self._report)
        elif "num.nodes" not in fields:
            raise Unreadable("an object that is not a job, a rack or a workload")
        nodes = whole(fields.get("num.nodes"), NODES_MAX)
        if nodes:
            self._racks.add_alike(nodes, -(-nodes // (whole(fields.get("num.racks"), nodes) or 1)))

    def _draw(self, line: int, fields: Members) -> None:
        if self._jobs:
            raise Unreadable("a second SYNTH description")
        options = self._options
        count = whole(fields.get("num_jobs"), JOBS_MAX) if options.jobs is None else options.jobs
        seed = _seed(fields) if options.seed is None else options.seed
        if not count or count > JOBS_MAX:
            raise Unreadable(f"num_jobs is not a whole number from 1 to {JOBS_MAX}")
        synth = synth_of(fields, lambda why: self._report.skip(line, why))
        jobs = synth.jobs(count, seed, options.unit_s)
        self._jobs = {job.job_id: job for job in jobs}
        self._racks.add_alike(
            whole(fields.get("num_nodes"), NODES_MAX) or 0,
            whole(fields.get("nodes_per_rack"), NODES_MAX) or 1,
        )
        self._notes += _drawn_notes(options, seed, count, len(jobs))

    def contents(self) -> Contents:
        """All of it."""
        cluster = self._racks.cluster()
        notes = [*trace_notes(self._options)] if self._runs else []
        notes += self._notes
        if cluster is not None:
            notes.append(
                _slots_note(self._options)
                if self._containers is None
                else f"Nodes have {self._containers} containers, by the sls-runner.xml."
            )
        return Contents(
            runs=tuple(self._runs.values()), notes=tuple(notes), workload=self._workload(cluster)
        )

    def _workload(self, cluster: Cluster | None) -> Workload | None:
        if cluster is None and not self._jobs:
            return None
        return Workload(cluster=cluster, jobs=tuple(self._jobs.values()), source=str(self._path))


def _seed(fields: Members) -> int:
    seed = fields.get("rand_seed")
    return seed if isinstance(seed, int) else 0


def _drawn_notes(options: Options, seed: int, count: int, made: int) -> list[str]:
    unit = "seconds, as documented" if options.task_time == "s" else "milliseconds, as SLS has it"
    notes = [
        f"seed = {seed}: {count} jobs are drawn, by SLS's distributions, not by its generator.",
        f"task_time = {options.task_time}: task times are taken as {unit}.",
        "Memory, cores and execution types of SYNTH are left out.",
    ]
    if made < count:
        notes.append(f"{count - made} jobs were drawn without a task, and are left out.")
    return notes


def _slots_note(options: Options) -> str:
    slots = f"{options.node_map_slots} and {options.node_reduce_slots}"
    return (
        f"node_map_slots and node_reduce_slots = {slots}: SLS gives nodes memory and cores, here"
        " they have slots. Racks slow no task down."
    )


# --- nodes ----------------------------------------------------------------------------------------

# A node may have memory and cores; then its slots are as many containers of 1 GB and 1 core as it
# has room for, shared out as the options do for a node without entries. An `sls-runner.xml` next
# to the file has the size of nodes and containers that SLS uses; then such a node has containers.


NODES_MAX = 100_000
_CONTAINER_MB = 1024  # SLS: yarn.sls.container.memory.mb, with 1 core
_NODE_MB, _NODE_CORES = 10240, 10  # SLS: yarn.sls.nm.memory.mb, yarn.sls.nm.vcores
_AMOUNT_MAX = 10**9
_RUNNER = {
    "nm.memory.mb": _NODE_MB,
    "nm.vcores": _NODE_CORES,
    "container.memory.mb": _CONTAINER_MB,
    "container.vcores": 1,
}


def node_containers(trace: Path) -> int | None:
    """Containers of a node, from the sls-runner.xml next to a trace; None without one.

    Raises InvalidInput where that file is not XML.
    """
    path = trace.with_name("sls-runner.xml")
    if not path.is_file():
        return None
    given = properties_of(read_xml(path.read_bytes(), str(path)), str(path))
    amounts = {
        key: whole(_number(given.get(f"yarn.sls.{key}")), _AMOUNT_MAX) or default
        for key, default in _RUNNER.items()
    }
    return min(
        amounts["nm.memory.mb"] // amounts["container.memory.mb"],
        amounts["nm.vcores"] // amounts["container.vcores"],
        20_000,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None


class Racks:
    """The nodes, rack by rack."""

    def __init__(self, options: Options, containers: int | None = None) -> None:
        self._options = options
        self._containers = containers
        self._nodes: dict[str, Node] = {}

    def add(self, rack: Members, line: int, report: Report) -> None:
        """The nodes of a rack of a node file; those without a name are reported."""
        name = text(rack.get("rack")) or "rack-1"
        for index, one in enumerate(items(rack.get("nodes"))):
            fields = members(one)
            node_id = text(fields.get("node"))
            if not node_id:
                report.skip(line, f"rack {name!r}, node {index + 1}: it has no name")
            elif node_id in self._nodes:
                report.skip(line, f"node {node_id!r} is given twice")
            else:
                self._add(node_id, name, *self._slots(fields))

    def add_alike(self, nodes: int, nodes_per_rack: int) -> None:
        """Add nodes without entries of their own."""
        for index in range(nodes):
            rack = f"rack-{index // max(1, nodes_per_rack) + 1}"
            slots = self._options.node_map_slots, self._options.node_reduce_slots
            if self._containers is not None:
                slots = 0, 0
            self._add(f"node-{index + 1}", rack, *slots, containers=self._containers or 0)

    def _add(
        self, node_id: str, rack: str, map_slots: int, reduce_slots: int, containers: int = 0
    ) -> None:
        if len(self._nodes) == NODES_MAX:
            raise Unreadable(f"more than {NODES_MAX} nodes")
        self._nodes[node_id] = Node(
            node_id=NodeId(node_id),
            rack=rack,
            map_slots=map_slots,
            reduce_slots=reduce_slots,
            containers=containers,
        )

    def _slots(self, fields: Members) -> tuple[int, int]:
        """Map slots and reduce slots of a node."""
        options = self._options
        if "memory-mb" not in fields and "vcores" not in fields:
            return options.node_map_slots, options.node_reduce_slots
        memory_mb = whole(fields.get("memory-mb"), _AMOUNT_MAX) or _NODE_MB
        cores = whole(fields.get("vcores"), _AMOUNT_MAX) or _NODE_CORES
        containers = min(memory_mb // _CONTAINER_MB, cores, 20_000)
        all_slots = options.node_map_slots + options.node_reduce_slots
        map_slots = -(-containers * options.node_map_slots // all_slots) if all_slots else 0
        return map_slots, containers - map_slots

    def cluster(self) -> Cluster | None:
        """The cluster; None without a node. Racks are named, but slow no task down.

        SLS's tasks take equally long on every node.
        """
        return Cluster(nodes=tuple(self._nodes.values())) if self._nodes else None
