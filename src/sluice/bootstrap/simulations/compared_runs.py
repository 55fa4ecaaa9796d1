"""The simulations of a comparison: every scheduler with every seed, in one process or in several.

The result does not depend on the number of processes. Other processes are started only where the
rest of the work would take seconds, because each needs a moment to start; and only for policies
that it can find by name, for a class or an object lives in this process.
"""

from __future__ import annotations

import os
import pickle  # what it reads comes from processes that this module started
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from sluice.bootstrap.policy_classes import ChosenPolicy, chosen_policy, policy_names
from sluice.bootstrap.settings import resolved_settings
from sluice.bootstrap.simulations.processes import SimulationProcess
from sluice.bootstrap.simulations.simulation import (
    AloneTimes,
    Trio,
    alone_s,
    depends_on_seed,
    simulated_run,
)
from sluice.ingest.settings import Settings
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.reporting.compare.run_summary import RunSummary

if TYPE_CHECKING:  # only runs with a ledger need it, and NumPy with it
    from sluice.reporting.fairness.result import FairnessResult

_TRIAL_S = 1.0  # how long this process works alone before it asks whether others would help
_WORTHWHILE_S = 4.0  # of work left

OnRun = Callable[[str, int], None]


class Task(NamedTuple):
    """One simulation. scheduler: "" for the jobs alone.  alone: their times, for the slowdowns."""

    scheduler: str
    seed: int
    alone: AloneTimes


class TaskResult(NamedTuple):
    """The result of one simulation: a summary, or the times of the jobs alone."""

    summary: RunSummary | None
    ledger: FairnessResult | None
    alone: AloneTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsDone:
    """By scheduler: its summaries by seed, or why it cannot run the workload; and its ledger."""

    summaries: Mapping[str, list[RunSummary]]
    refused: Mapping[str, InvalidInput]
    ledgers: Mapping[str, FairnessResult]


@dataclass(frozen=True, kw_only=True)
class ComparedRuns:
    """The simulations to run. schedulers: by the names of their rows.

    settings: as given, to resolve them again elsewhere.  has_ledger: whether to keep the ledger of
    the first seed.  is_lenient: whether a scheduler that cannot run the workload is left out.
    configured: by scheduler with the queues of a configuration, the workload in these.
    """

    workload: Workload
    schedulers: Mapping[str, Trio]
    resolved: Settings
    settings: object
    seeds: int
    has_ledger: bool = False
    is_lenient: bool = False
    configured: Mapping[str, Workload] = field(default_factory=dict)

    def carried_out(
        self,
        processes: int | None,
        on_run: OnRun | None = None,
        on_fraction: Callable[[float], None] | None = None,
    ) -> RunsDone:
        """Run everything. processes: None to choose.

        Raises InvalidInput for the first scheduler that cannot run the workload.
        """
        work = _Work(self, processes, on_run, on_fraction)
        is_seeded = depends_on_seed(self.workload, self.resolved, self.seeds)
        seeds = range(self.seeds) if is_seeded else range(1)
        work.expect(len(seeds) + len(self.schedulers) * self.seeds)
        work.carry_out([Task("", seed, {}) for seed in seeds])
        alone = [work.results["", seed].alone for seed in seeds]
        work.carry_out(
            [
                Task(name, seed, alone[seed if is_seeded else 0])
                for name in self.schedulers
                for seed in range(self.seeds)
            ]
        )
        return work.done()

    def result_of(self, task: Task) -> TaskResult:
        """The result of one simulation, in this process. Raises InvalidInput."""
        if not task.scheduler:
            return TaskResult(None, None, self._alone_s(task.seed))
        tasks, release, admission = self.schedulers[task.scheduler]
        # An object has a state of its own, so that each simulation gets a fresh one.
        if task.scheduler in self.configured:
            workload, fresh = self.configured[task.scheduler], tasks
        else:
            workload, fresh = self.workload, replace(tasks, made=deepcopy(tasks.made))
        trio = (fresh, release, admission)
        run = simulated_run(workload, trio, self.settings_of(trio), task.seed)[1]
        ledger = None
        if self.has_ledger and task.seed == 0:
            from sluice.reporting.fairness.result import FairnessResult

            rule = task.scheduler.rpartition("+")[2]
            ledger = FairnessResult.of_run(run, workload.pools, rule)
        return TaskResult(RunSummary.of(run, workload, task.alone), ledger, {})

    def settings_of(self, trio: Trio) -> Settings:
        """The settings of a row, which may have some of its own."""
        if not trio[0].settings:
            return self.resolved
        return resolved_settings(self.workload.settings, self.settings, trio)  # type: ignore[arg-type]  # as given

    def _alone_s(self, seed: int) -> AloneTimes:
        """Nothing is known where no job can run; the schedulers then say why."""
        first = next(iter(self.schedulers.values()))
        try:
            return alone_s(self.workload, first, self.resolved, seed)
        except InvalidInput:
            return {}

    def packed(self) -> bytes | None:
        """All that another process needs; None where it could not find a policy by name."""
        if not all(_is_portable(policy) for trio in self.schedulers.values() for policy in trio):
            return None
        labels = {
            name: tuple(policy.label for policy in trio) for name, trio in self.schedulers.items()
        }
        given = (self.workload, labels, self.settings, self.seeds, self.has_ledger)
        try:
            return pickle.dumps(given)
        except (pickle.PicklingError, TypeError, AttributeError):
            return None  # settings of a kind that cannot be sent

    @classmethod
    def unpacked(cls, content: bytes) -> ComparedRuns:
        """Return the same in another process."""
        workload, labels, settings, seeds, has_ledger = pickle.loads(content)  # noqa: S301  # our own
        kinds = ("tasks", "release", "admission")
        schedulers: dict[str, Any] = {
            name: tuple(map(chosen_policy, kinds, of_name)) for name, of_name in labels.items()
        }
        everyone = [policy for trio in schedulers.values() for policy in trio]
        return cls(
            workload=workload,
            schedulers=schedulers,
            resolved=resolved_settings(workload.settings, settings, everyone),
            settings=settings,
            seeds=seeds,
            has_ledger=has_ledger,
        )


def _is_portable(policy: ChosenPolicy) -> bool:
    if policy.queues is not None:
        return False
    is_text = policy.composition is not None or bool(policy.settings)
    return bool(policy.files) or is_text or policy.label in policy_names(policy.kind)


@dataclass
class _Work:
    """The simulations that are done and those in progress."""

    runs: ComparedRuns
    processes: int | None
    on_run: OnRun | None
    on_fraction: Callable[[float], None] | None
    results: dict[tuple[str, int], TaskResult] = field(default_factory=dict)
    refused: dict[str, tuple[int, InvalidInput]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began_s = time.monotonic()
        self._lock = threading.Lock()
        self._expected = 1
        self._ended = 0

    def expect(self, tasks: int) -> None:
        """Set how many simulations there will be."""
        self._expected = tasks

    def carry_out(self, tasks: list[Task]) -> None:
        """Run the simulations, which do not depend on each other."""
        left = deque(tasks)
        while left and not self._are_more_worthwhile():
            self._take(left.popleft(), None)
        if not left:
            return
        packed = self.runs.packed()
        if packed is None:
            self.processes = 1
            self.carry_out(list(left))
        else:
            self._spread(iter(left), min(len(left), self.processes or _cores()), packed)

    def _are_more_worthwhile(self) -> bool:
        """Whether the rest should run in several processes."""
        if self.processes is not None:
            return self.processes > 1
        took_s = time.monotonic() - self._began_s
        if _cores() == 1 or took_s < _TRIAL_S or not self._ended:
            return False
        return took_s / self._ended * (self._expected - self._ended) > _WORTHWHILE_S

    def _spread(self, tasks: Iterator[Task], processes: int, packed: bytes) -> None:
        """Run the simulations in other processes, one thread for each."""
        stopping = threading.Event()
        children = [SimulationProcess(packed) for _ in range(processes)]
        errors: list[Exception] = []

        def serve(child: SimulationProcess) -> None:
            try:
                while not stopping.is_set():
                    with self._lock:
                        task = next(tasks, None)
                    if task is None:
                        return
                    self._take(task, child, stopping)
            except Exception as error:  # noqa: BLE001  # raised again where the threads are joined
                stopping.set()
                errors.append(error)

        threads = [threading.Thread(target=serve, args=(one,), daemon=True) for one in children]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            stopping.set()
            for child in children:
                child.end()
        if errors:
            raise errors[0]

    def _take(
        self, task: Task, child: SimulationProcess | None, stopping: threading.Event | None = None
    ) -> None:
        """Run a simulation, in a child or here, and keep its result or why it is refused."""
        if task.scheduler and self.on_run is not None:
            with self._lock:
                self.on_run(task.scheduler, task.seed)
        result: TaskResult | None = None if child is None else child.result_of(task)
        if stopping is not None and stopping.is_set():
            return
        error = None
        try:
            # A failure in a child comes again here, with its own error.
            result = self.runs.result_of(task) if result is None else result
        except InvalidInput as refusal:
            if not self.runs.is_lenient:
                raise
            error = refusal
        with self._lock:
            if result is not None:
                self.results[task.scheduler, task.seed] = result
            elif error is not None:
                known = self.refused.get(task.scheduler, (task.seed, error))
                self.refused[task.scheduler] = min(known, (task.seed, error), key=itemgetter(0))
            self._ended += 1
            if self.on_fraction is not None:
                self.on_fraction(self._ended / self._expected)

    def done(self) -> RunsDone:
        """All results. Raises InvalidInput if no scheduler can run the workload."""
        runs = self.runs
        refused = {name: self.refused[name][1] for name in runs.schedulers if name in self.refused}
        if refused and (len(refused) == len(runs.schedulers) or not runs.is_lenient):
            raise next(iter(refused.values()))
        if self.on_fraction is not None:
            self.on_fraction(1.0)
        summaries: dict[str, list[RunSummary]] = {}
        ledgers: dict[str, FairnessResult] = {}
        for name in runs.schedulers:
            if name in refused:
                continue
            found = [self.results[name, seed] for seed in range(runs.seeds)]
            summaries[name] = [one.summary for one in found if one.summary is not None]
            if found[0].ledger is not None:
                ledgers[name] = found[0].ledger
        return RunsDone(summaries=summaries, refused=refused, ledgers=ledgers)


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))
