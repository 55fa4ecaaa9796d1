"""The simulations of a race: each combination on each day once, in one process or in several.

What they give does not depend on the number of processes. Others are started only where the rest
of the work would take seconds.
"""

from __future__ import annotations

import os
import pickle  # what it writes is read by processes that this module starts
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from sluice.bootstrap.advising.days import Days
from sluice.bootstrap.advising.measures import CellRun, cell_run
from sluice.bootstrap.preparation.facts import CHOSEN, OVERRIDES, SETTINGS, WORKLOAD
from sluice.bootstrap.preparation.pipeline import Goal
from sluice.bootstrap.preparation.steps import prepared
from sluice.bootstrap.scheduler_rows import row_of
from sluice.bootstrap.simulations.processes import SimulationProcess
from sluice.bootstrap.simulations.simulation import simulated_run
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload

_WORKER = "sluice.bootstrap.advising.day_worker"
_WORTHWHILE_S = 4.0  # of work left
Pair = tuple[str, int]  # a combination's text, and a day's number
Refusal = tuple[str, str, str]  # what an InvalidInput says; itself it cannot be sent


class DayRuns:
    """The runs of combinations on the days of a history. processes: None for one a core."""

    def __init__(self, days: Days, processes: int | None = None) -> None:
        self.days = days
        self._processes = len(os.sched_getaffinity(0)) if processes is None else processes
        self._found: dict[Pair, CellRun | Refusal] = {}
        self._pair_s = 0.0
        self._children: list[SimulationProcess] = []

    def of(self, text: str, day: int) -> CellRun:
        """One run. Raises InvalidInput where the combination cannot run the history."""
        pair = text, day
        if pair not in self._found:
            self._keep(pair, result_of(self.days, pair))
        found = self._found[pair]
        if isinstance(found, tuple):
            what, where, hint = found
            raise InvalidInput(what, where=where, hint=hint)
        return found

    def prepare(self, pairs: Sequence[Pair], on_run: Callable[[], None]) -> None:
        """Simulate all of these that are not known yet. on_run: called after each."""
        missing = deque(dict.fromkeys(pair for pair in pairs if pair not in self._found))
        for _ in range(len(pairs) - len(missing)):
            on_run()
        while missing and not self._is_worth_more(len(missing)):
            pair = missing.popleft()
            begun_s = time.perf_counter()
            self._keep(pair, result_of(self.days, pair))
            self._pair_s = time.perf_counter() - begun_s
            on_run()
        if missing:
            self._share(missing, on_run)

    def end(self) -> None:
        """End the processes."""
        for child in self._children:
            child.end()
        self._children.clear()

    def _is_worth_more(self, pairs: int) -> bool:
        return self._processes > 1 and pairs > 1 and self._pair_s * pairs > _WORTHWHILE_S

    def _share(self, missing: deque[Pair], on_run: Callable[[], None]) -> None:
        """Each child works in the time of a thread; what none could do is done here."""
        if not self._children:
            packed = pickle.dumps(self.days)
            self._children = [
                SimulationProcess(packed, _WORKER) for _ in range(self._processes)
            ]  # fmt: skip
        lock = threading.Lock()

        def work(child: SimulationProcess) -> None:
            while True:
                with lock:
                    if not missing:
                        return
                    pair = missing.popleft()
                found = child.result_of(pair)
                if found is None:  # it has died
                    missing.append(pair)
                    return
                with lock:
                    self._keep(pair, found)
                    on_run()

        threads = [threading.Thread(target=work, args=(child,)) for child in self._children]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        while missing:
            pair = missing.popleft()
            self._keep(pair, result_of(self.days, pair))
            on_run()

    def _keep(self, pair: Pair, found: CellRun | Refusal) -> None:
        self._found[pair] = found


def result_of(days: Days, pair: Pair) -> CellRun | Refusal:
    """The run of a combination on a day, or why it cannot be."""
    text, day = pair
    try:
        return simulated(days.day(day), text, day)
    except InvalidInput as error:
        return error.what, error.where, error.hint


def simulated(workload: Workload, text: str, seed: int, truth: Workload | None = None) -> CellRun:
    """The simulation of a workload under a scheduler, as `compare` takes its text.

    truth: the lengths that tasks really have, where the scheduler expects those of `workload`.
    Raises InvalidInput.
    """
    _, trio = row_of(text)
    facts = prepared(Goal.TRIAL, {WORKLOAD: workload, CHOSEN: trio, OVERRIDES: ()})
    workload = facts[WORKLOAD]
    _, run = simulated_run(workload, trio, facts[SETTINGS], seed, lengths_from=truth)
    return cell_run(run, workload if truth is None else truth)
