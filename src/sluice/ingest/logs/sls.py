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
from sluice.ingest.logs.hadoop_values import Members, Unreadable, whole
from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.report import Contents, Report, nothing_in_lines
from sluice.ingest.logs.sls_nodes import NODES_MAX, Racks, node_containers
from sluice.ingest.logs.sls_options import Options
from sluice.ingest.logs.sls_synth import synth_of
from sluice.ingest.logs.sls_trace import FORMAT, JobPlace, run_of, trace_notes
from sluice.model.cluster import Cluster
from sluice.model.history import PastRun
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
