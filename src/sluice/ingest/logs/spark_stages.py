"""One stage of a Spark application: sums over its tasks, and its tasks one by one.

The tasks of all attempts of a stage count together: when a lost output makes Spark try a stage
again, the new attempt runs only what is missing. Numbers are checked as they come; a task that
contains nonsense raises `Odd` before any of it is added.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sluice.model.history import PastPhase, PastTask, TaskCosts

# No file has 2 PiB and no clock shows the year 71,000; sums of them also fit where they are stored.
WHOLE_MAX = 2**51
NAME_CHARACTERS_MAX = 120
_SUM_MAX = 2**63 - 1
_NONE: Mapping[str, Any] = {}
_REMOTE = frozenset(("RACK_LOCAL", "ANY"))  # input on another node; NO_PREF has no place
_RSS = ("ProcessTreeJVMRSSMemory", "ProcessTreePythonRSSMemory", "ProcessTreeOtherRSSMemory")


class Odd(Exception):
    """An event whose content does not match its kind."""


def whole(known: Any) -> int:  # noqa: ANN401  # any JSON value
    """A number of 0 to WHOLE_MAX. Raises Odd."""
    if type(known) is not int or not 0 <= known <= WHOLE_MAX:
        raise Odd(f"{str(known)[:40]!r} where a count should be")
    return known


def shown_name(known: object) -> str | None:
    """A name that fits a line; None where there is none."""
    if not isinstance(known, str):
        return None
    shown = known[:NAME_CHARACTERS_MAX]
    if not shown.isprintable():  # one question for all characters: most names are asked for often
        shown = "".join(one if one.isprintable() else " " for one in shown)
    return shown.strip() or None


class Sums(NamedTuple):
    """The work of a task, or of all tasks of a stage together."""

    input_bytes: int = 0
    output_bytes: int = 0
    shuffle_read_bytes: int = 0
    shuffle_write_bytes: int = 0
    input_records: int = 0
    output_records: int = 0
    cpu_ns: int = 0

    @classmethod
    def of(cls, metrics: Mapping[str, Any]) -> Sums:
        """The sums of one task. Raises Odd, or what comes of metrics that are no mappings."""
        read = metrics.get("Input Metrics") or _NONE
        written = metrics.get("Output Metrics") or _NONE
        fetched = metrics.get("Shuffle Read Metrics") or _NONE
        passed_on = metrics.get("Shuffle Write Metrics") or _NONE
        return cls(
            whole(read.get("Bytes Read", 0)),
            whole(written.get("Bytes Written", 0)),
            whole(fetched.get("Remote Bytes Read", 0)) + whole(fetched.get("Local Bytes Read", 0)),
            whole(passed_on.get("Shuffle Bytes Written", 0)),
            whole(read.get("Records Read", 0)) + whole(fetched.get("Total Records Read", 0)),
            whole(written.get("Records Written", 0))
            + whole(passed_on.get("Shuffle Records Written", 0)),
            whole(metrics.get("Executor CPU Time", 0)),
        )

    def plus(self, other: Sums) -> Sums:
        """Both together."""
        return Sums._make(map(int.__add__, self, other))


class CostSums(NamedTuple):
    """The costs of a task apart from its work, or of all tasks of a stage: see `TaskCosts`."""

    launch_ms: int = 0
    gc_ms: int = 0
    fetch_wait_ms: int = 0
    spilled_bytes: int = 0
    remote_tasks: int = 0
    remote_ms: int = 0

    @classmethod
    def of(cls, metrics: Mapping[str, Any], locality: object, length_ms: int) -> CostSums:
        """The record of one task. Raises Odd, or as `Sums.of`."""
        fetched = metrics.get("Shuffle Read Metrics") or _NONE
        ran_ms = whole(metrics.get("Executor Run Time", length_ms))
        is_remote = locality in _REMOTE
        return cls(
            max(0, length_ms - ran_ms),
            min(whole(metrics.get("JVM GC Time", 0)), length_ms),
            min(whole(fetched.get("Fetch Wait Time", 0)), length_ms),
            whole(metrics.get("Disk Bytes Spilled", 0)),
            int(is_remote),
            length_ms if is_remote else 0,
        )

    def plus(self, other: CostSums) -> CostSums:
        """Both together."""
        return CostSums._make(map(int.__add__, self, other))

    def costs(self) -> TaskCosts:
        """The costs as a value of the model."""
        return TaskCosts(
            launch_s=self.launch_ms / 1000,
            gc_s=self.gc_ms / 1000,
            fetch_wait_s=self.fetch_wait_ms / 1000,
            spilled_bytes=self.spilled_bytes,
            remote_tasks=self.remote_tasks,
            remote_s=self.remote_ms / 1000,
        )


class EndedTask(NamedTuple):
    """A task that ended well. task: its number within the stage."""

    task: int
    start_ms: int
    end_ms: int
    input_bytes: int
    input_records: int


class Stage:
    """The facts that are known of a stage so far.

    tasks_expected: how many it has, as Spark says.  attempts: how often it was tried.
    parents, own_rdd: see `spark_lineage`.
    """

    __slots__ = (
        "_kept", "attempts", "completed_at_ms", "costs", "failed", "has_cpu", "is_complete",
        "max_ms", "name", "own_rdd", "parents", "rss_bytes_max", "stage_id",
        "submitted_at_ms", "sums", "tasks", "tasks_expected", "total_ms",
    )  # fmt: skip

    def __init__(self, stage_id: int) -> None:
        self.stage_id = stage_id
        self.name: str | None = None
        self.parents: tuple[int, ...] | None = None
        self.own_rdd: int | None = None
        self.tasks_expected = self.attempts = 0
        self.submitted_at_ms: int | None = None
        self.completed_at_ms: int | None = None
        self.is_complete = self.has_cpu = False
        self.tasks = self.failed = self.total_ms = self.max_ms = self.rss_bytes_max = 0
        self.sums = Sums()
        self.costs: CostSums | None = None
        self._kept = array("q")  # six numbers a task: an EndedTask, and the number of its host

    def learn(self, info: Mapping[str, Any]) -> None:
        """Take Spark's own record of the stage. Raises Odd, or as `Sums.of`."""
        self.name = shown_name(info.get("Stage Name")) or self.name
        parents, tasks = info.get("Parent IDs"), info.get("Number of Tasks")
        if parents is not None:
            self.parents = tuple(whole(one) for one in parents)
        self.attempts = max(self.attempts, 1 + whole(info.get("Stage Attempt ID", 0)))
        for rdd in info.get("RDD Info", ())[:1]:  # its own is first
            self.own_rdd = whole(rdd["RDD ID"])
        if tasks is not None:
            self.tasks_expected = max(self.tasks_expected, whole(tasks))
        submitted_at_ms, completed_at_ms = info.get("Submission Time"), info.get("Completion Time")
        if submitted_at_ms is not None and self.submitted_at_ms is None:
            self.submitted_at_ms = whole(submitted_at_ms)
        if completed_at_ms is not None:
            self.completed_at_ms = whole(completed_at_ms)
            self.is_complete = not info.get("Failure Reason")

    def add(self, event: Mapping[str, Any]) -> EndedTask:
        """Count the task of an event, which ended well. Raises Odd, or as `Sums.of`."""
        info, metrics = event["Task Info"], event.get("Task Metrics") or _NONE
        start_ms, end_ms = whole(info["Launch Time"]), whole(info["Finish Time"])
        if end_ms < start_ms:
            raise Odd("a task that ends before it begins")
        sums, index = Sums.of(metrics), whole(info["Index"])
        costs = CostSums.of(metrics, info.get("Locality"), end_ms - start_ms)
        memory = event.get("Task Executor Metrics") or _NONE
        rss_bytes = sum(whole(memory.get(name, 0)) for name in _RSS)
        # From here on nothing is refused.
        self.tasks += 1
        self.total_ms += end_ms - start_ms
        self.max_ms = max(self.max_ms, end_ms - start_ms)
        self.sums = self.sums.plus(sums)
        if metrics:
            self.costs = costs if self.costs is None else self.costs.plus(costs)
        self.has_cpu = self.has_cpu or "Executor CPU Time" in metrics
        self.rss_bytes_max = max(self.rss_bytes_max, rss_bytes)
        read_bytes = sums.input_bytes + sums.shuffle_read_bytes
        return EndedTask(index, start_ms, end_ms, read_bytes, sums.input_records)

    def keep(self, task: EndedTask, host: int) -> None:
        """Remember a task for the timeline."""
        self._kept.extend(task)
        self._kept.append(host)

    def forget_tasks(self) -> None:
        """Keep the sums alone."""
        del self._kept[:]

    @property
    def began_ms(self) -> int | None:
        """When the first of the tasks kept was launched."""
        return min(self._kept[1::6], default=None)

    @property
    def kind(self) -> str:
        """Return what its tasks read: a shuffle ("reduce") or anything else ("map")."""
        return "reduce" if self.parents or self.sums.shuffle_read_bytes else "map"

    @property
    def title(self) -> str:
        """Its number and name: "stage 3: reduceByKey at words.py:28"."""
        return f"stage {self.stage_id}: {self.name}" if self.name else f"stage {self.stage_id}"

    @property
    def fits(self) -> bool:
        """Whether its sums are such as can be stored."""
        return max(*self.sums, *(self.costs or ())) <= _SUM_MAX

    def phase(self, began_ms: int, hosts: Sequence[str], after: tuple[int, ...]) -> PastPhase:
        """It as a phase. began_ms: when the application did; hosts: their names by number."""
        sums = self.sums._asdict()
        cpu_ns = sums.pop("cpu_ns")
        return PastPhase(
            name=self.title,
            kind=self.kind,
            tasks=self.tasks,
            avg_s=self.total_ms / self.tasks / 1000,
            max_s=self.max_ms / 1000,
            failed=self.failed,
            cpu_s=cpu_ns / 1e9 if self.has_cpu else None,
            rss_bytes_max=self.rss_bytes_max or None,
            timeline=self._timeline(began_ms, hosts),
            after=after,
            costs=None if self.costs is None else self.costs.costs(),
            **sums,
        )

    def _timeline(self, began_ms: int, hosts: Sequence[str]) -> tuple[PastTask, ...]:
        columns = (self._kept[column::6] for column in range(6))
        # A task that ran well twice (its output was lost) is given twice, in order of time.
        return tuple(
            PastTask(
                started_at_s=(start_ms - began_ms) / 1000,
                finished_at_s=(end_ms - began_ms) / 1000,
                node=hosts[host] or None,
                input_bytes=input_bytes,
                input_records=input_records,
            )
            for _, start_ms, end_ms, input_bytes, input_records, host in sorted(
                zip(*columns, strict=True)
            )
        )
