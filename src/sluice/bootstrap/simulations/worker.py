"""The program of a process that simulates for a comparison: it answers tasks with results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sluice.bootstrap.simulations.compared_runs import ComparedRuns, Task, TaskResult
from sluice.bootstrap.simulations.processes import answer_tasks


def _results(packed: bytes) -> Callable[[tuple[Any, ...]], TaskResult | None]:
    """Return the function that answers each task, from the runs as the parent packed them."""
    runs = ComparedRuns.unpacked(packed)

    def result_of(task: tuple[Any, ...]) -> TaskResult | None:
        try:
            return runs.result_of(Task(*task))
        except Exception:  # noqa: BLE001  # the parent meets the same error, and reports it
            return None

    return result_of


if __name__ == "__main__":
    answer_tasks(_results)
