"""The events of a Spark application, one after the other, to a `PastRun`.

Only sums and small facts are kept of an event, so memory does not grow with the log; the tasks one
by one are kept while they are few (`Limits.timeline_tasks_max` of a log), and dropped for the whole
application when there are more. An event without a required field is reported and left out.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from sluice.ingest.logs.spark_settings import QUEUE, configuration_of, kept, local_cores, task_cores
from sluice.ingest.logs.spark_stages import Odd, Stage, shown_name, whole
from sluice.model.history import PastPhase, PastRun

STAGES_MAX = 100_000
EXECUTORS_MAX = 1_000_000
# An attempt that ended so was not at fault: it was killed, or done already and wanted again.
_NO_FAILURES = frozenset(("TaskKilled", "TaskCommitDenied", "Resubmitted"))


class Application:
    """One application as far as its events were read.

    tasks_kept_max: how many tasks may be kept one by one.
    """

    def __init__(self, tasks_kept_max: int) -> None:
        self.app_id: str | None = None
        self.has_ended = False
        self._kept, self._kept_max = 0, tasks_kept_max
        self._stages: dict[int, Stage] = {}
        self._name: str | None = None
        self._attempt: str | None = None
        self._began_ms: int | None = None
        self._ended_ms: int | None = None
        self._last_ms = 0
        self._exit_code: int | None = None
        self._failed_jobs = 0
        self._settings: Mapping[str, str] = {}
        self._version: str | None = None
        self._cores = _Cores()
        self._hosts: dict[str, int] = {}

    def take(self, kind: str, event: Mapping[str, Any]) -> None:
        """Learn from an event. Raises Odd, KeyError or a TypeError where it is not of its kind."""
        handler = self._HANDLERS.get(kind)
        if handler is not None:
            handler(self, event)

    def is_followed_by(self, kind: str, event: Mapping[str, Any]) -> bool:
        """Whether this event begins another application, in a log that several were written to."""
        if kind == "SparkListenerLogStart":
            return self.has_ended
        if kind != "SparkListenerApplicationStart":
            return False
        return self.has_ended or self.app_id not in (None, shown_name(event.get("App ID")))

    @property
    def tasks_kept(self) -> int:
        """Tasks that it lists one by one."""
        return self._kept if self._kept <= self._kept_max else 0

    # --- tasks and stages ---

    def _on_task_end(self, event: Mapping[str, Any]) -> None:
        reason = event["Task End Reason"]["Reason"]
        stage = self._stage(event["Stage ID"])
        if reason != "Success":
            stage.failed += reason not in _NO_FAILURES
            return
        task = stage.add(event)
        self._last_ms = max(self._last_ms, task.end_ms)
        if self._kept < self._kept_max:
            host = shown_name(event["Task Info"].get("Host")) or ""
            stage.keep(task, self._hosts.setdefault(host, len(self._hosts)))
        elif self._kept == self._kept_max:
            for one in self._stages.values():
                one.forget_tasks()
        self._kept += 1

    def _stage(self, stage_id: object) -> Stage:
        number = whole(stage_id)
        stage = self._stages.get(number)
        if stage is None:
            if len(self._stages) >= STAGES_MAX:
                raise Odd(f"more than {STAGES_MAX} stages")
            stage = self._stages[number] = Stage(number)
        return stage

    def _on_stage(self, event: Mapping[str, Any]) -> None:
        self._stage(event["Stage Info"]["Stage ID"]).learn(event["Stage Info"])

    def _on_job_start(self, event: Mapping[str, Any]) -> None:
        for info in event.get("Stage Infos", ()):
            self._stage(info["Stage ID"]).learn(info)

    def _on_job_end(self, event: Mapping[str, Any]) -> None:
        self._failed_jobs += event["Job Result"]["Result"] != "JobSucceeded"

    # --- the application and its executors ---

    def _on_log_start(self, event: Mapping[str, Any]) -> None:
        self._version = shown_name(event.get("Spark Version"))

    def _on_application_start(self, event: Mapping[str, Any]) -> None:
        self._began_ms = whole(event["Timestamp"])
        self._name = shown_name(event.get("App Name"))
        self.app_id = shown_name(event.get("App ID"))
        self._attempt = shown_name(event.get("App Attempt ID"))

    def _on_application_end(self, event: Mapping[str, Any]) -> None:
        self.has_ended = True
        self._ended_ms = whole(event["Timestamp"])
        code = event.get("ExitCode")
        self._exit_code = code if type(code) is int else None

    def _on_environment(self, event: Mapping[str, Any]) -> None:
        self._settings = kept(event["Spark Properties"])

    def _on_executor_added(self, event: Mapping[str, Any]) -> None:
        self._cores.add(str(event["Executor ID"]), whole(event["Executor Info"]["Total Cores"]))

    def _on_executor_removed(self, event: Mapping[str, Any]) -> None:
        self._cores.remove(str(event["Executor ID"]))

    _HANDLERS: ClassVar[Mapping[str, Callable[[Application, Mapping[str, Any]], None]]] = {
        "SparkListenerTaskEnd": _on_task_end,
        "SparkListenerJobStart": _on_job_start,
        "SparkListenerJobEnd": _on_job_end,
        "SparkListenerStageSubmitted": _on_stage,
        "SparkListenerStageCompleted": _on_stage,
        "SparkListenerLogStart": _on_log_start,
        "SparkListenerApplicationStart": _on_application_start,
        "SparkListenerApplicationEnd": _on_application_end,
        "SparkListenerEnvironmentUpdate": _on_environment,
        "SparkListenerExecutorAdded": _on_executor_added,
        "SparkListenerExecutorRemoved": _on_executor_removed,
    }
    READ: ClassVar[frozenset[str]] = frozenset(_HANDLERS)

    # --- the end ---

    def run(self, name: str) -> tuple[PastRun | None, list[str]]:
        """The application as a run, and notes. name: used if the log has no id or title."""
        ran = sorted(
            (one for one in self._stages.values() if one.tasks), key=lambda one: one.stage_id
        )
        odd = [f"the sums of {stage.title} are beyond reason" for stage in ran if not stage.fits]
        ran = [stage for stage in ran if stage.fits]
        if not ran:
            return None, odd
        slots = self._slots()
        run = PastRun(
            run_id=self._run_id(name),
            profile=self._name or name,
            source="spark",
            phases=self._phases(ran),
            succeeded=self.has_ended and not self._exit_code and not self._failed_jobs,
            submitted_at_s=None if self._began_ms is None else self._began_ms / 1000,
            elapsed_s=self._elapsed_s(),
            queue=self._settings.get(QUEUE),
            slots={"map": slots, "reduce": slots} if slots else {},
            configuration=configuration_of(self._settings, self._version),
            notes=tuple(self._notes(ran, slots)),
        )
        return run, odd

    def _phases(self, ran: Sequence[Stage]) -> tuple[PastPhase, ...]:
        began_ms = self._began_ms
        if began_ms is None:
            began_ms = min((one.began_ms for one in ran if one.began_ms is not None), default=0)
        hosts = list(self._hosts)
        befores = stages_before(ran, self._stages)
        return tuple(
            stage.phase(began_ms, hosts, before) for stage, before in zip(ran, befores, strict=True)
        )

    def _run_id(self, name: str) -> str:
        if self.app_id is None:
            return name
        is_first = self._attempt in (None, "", "1")
        return self.app_id if is_first else f"{self.app_id}_{self._attempt}"

    def _elapsed_s(self) -> float | None:
        end_ms = self._ended_ms or self._last_ms
        if self._began_ms is None or end_ms < self._began_ms:
            return None
        return (end_ms - self._began_ms) / 1000

    def _slots(self) -> int:
        """The most tasks at once: cores over cores of one task; 0 if unknown."""
        cores = self._cores.most or local_cores(self._settings)
        return cores // task_cores(self._settings)

    def _notes(self, ran: Sequence[Stage], slots: int) -> list[str]:
        notes = []
        if self._began_ms is None:
            notes.append("The log does not contain the start of the application.")
        if not self.has_ended:
            notes.append("The log ends before the application: its last stages may be incomplete.")
        if self._failed_jobs:
            failed = "1 Spark job" if self._failed_jobs == 1 else f"{self._failed_jobs} Spark jobs"
            notes.append(f"{failed} of the application failed.")
        if self._exit_code:
            notes.append(f"The application ended with exit code {self._exit_code}.")
        again = ", ".join(str(one.stage_id) for one in ran if one.attempts > 1)
        if again:
            notes.append(f"Stages that Spark ran again, for lost output: {again}.")
        if not slots:
            notes.append("The log does not contain the application's number of cores.")
        if self._kept > self._kept_max:
            notes.append(f"More than {self._kept_max} tasks: averages and maxima only.")
        partial = [one for one in ran if one.tasks < one.tasks_expected and not one.is_complete]
        if partial:
            names = ", ".join(str(one.stage_id) for one in partial[:10])
            notes.append(f"Stages that did not complete, imported up to their last event: {names}.")
        return notes


class _Cores:
    """Cores of the executors that live, and the most that ever lived together."""

    def __init__(self) -> None:
        self._by_executor: dict[str, int] = {}
        self._now = 0
        self.most = 0

    def add(self, executor: str, cores: int) -> None:
        if len(self._by_executor) >= EXECUTORS_MAX:
            raise Odd(f"more than {EXECUTORS_MAX} executors at once")
        self.remove(executor)
        self._by_executor[executor] = cores
        self._now += cores
        self.most = max(self.most, self._now)

    def remove(self, executor: str) -> None:
        self._now -= self._by_executor.pop(executor, 0)


# --- lineage --------------------------------------------------------------------------------------

# Spark records the parents of a stage by number. When an earlier job has already written a
# shuffle, a later job lists the writing stage again, under a new number that never runs (adaptive
# execution does so all the time). Both end in the same data set (RDD), which is how the one that
# ran is found again. Logs of Spark 1.x have no parents; there a stage that reads a shuffle is
# taken to follow those stages that wrote one and were complete before it was submitted.


_LOOKED_BACK_MAX = 100


def stages_before(ran: Sequence[Stage], known: Mapping[int, Stage]) -> list[tuple[int, ...]]:
    """For each stage that ran, in the order of their numbers: positions of those it reads from.

    known: all stages that the log names, by number, also those that never ran.
    """
    positions = {stage.stage_id: position for position, stage in enumerate(ran)}
    by_rdd: dict[int, list[int]] = {}
    for position, stage in enumerate(ran):
        if stage.own_rdd is not None:
            by_rdd.setdefault(stage.own_rdd, []).append(position)
    found = []
    for position, stage in enumerate(ran):
        if stage.parents is None:
            before = _writers_before(stage, ran, position)
        else:
            before = _from_parents(position, stage.parents, positions, known, by_rdd)
        found.append(tuple(sorted(one for one in before if one < position)))
    return found


def _from_parents(
    position: int,
    parents: Sequence[int],
    positions: Mapping[int, int],
    known: Mapping[int, Stage],
    by_rdd: Mapping[int, Sequence[int]],
) -> set[int]:
    found: set[int] = set()
    for parent in parents:
        twin = known.get(parent)
        if parent in positions:
            found.add(positions[parent])
        elif twin is not None and twin.own_rdd is not None:
            same = by_rdd.get(twin.own_rdd, ())
            # The last of them before this one: numbers rise with time.
            found.update(same[bisect_left(same, position) - 1 :][:1])
    return found


def _writers_before(stage: Stage, ran: Sequence[Stage], position: int) -> set[int]:
    submitted_at_ms = stage.submitted_at_ms
    if not stage.sums.shuffle_read_bytes or submitted_at_ms is None:
        return set()
    return {
        earlier
        for earlier in range(max(0, position - _LOOKED_BACK_MAX), position)
        if ran[earlier].sums.shuffle_write_bytes
        and submitted_at_ms >= (ran[earlier].completed_at_ms or math.inf)
    }
