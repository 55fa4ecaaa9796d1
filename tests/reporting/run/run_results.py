"""Runs to report on: small simulations under FIFO."""

from io import StringIO

from rich.console import Console
from tests.runs import even_nodes, map_reduce, simulate, totals

from sluice.reporting.run.result import RunResult

# The worked example of the ordering spec, section 3: makespan 44, total completion 94.
PAPER = ((10, 4.0, 2, 8.0), (4, 2.0, 4, 2.0), (2, 6.0, 4, 10.0), (24, 6.0, 6, 8.0))

STORMY = {
    "heartbeat_s": 3.0,
    "node_mtbf_s": 60.0,
    "node_repair_s": 5.0,
    "node_timeout_s": 10.0,
    "p_hang": 0.02,
    "task_timeout_s": 20.0,
    "task_failure": 0.05,
    "p_slow": 0.1,
}


def paper_jobs():
    """J1 to J4, in order."""
    return [map_reduce(f"J{number}", *shape) for number, shape in enumerate(PAPER, 1)]


def result_of(cluster, jobs, *, seed=0, **settings):
    """The result of a simulated run."""
    state = simulate(cluster, jobs, seed=seed, **settings)
    return RunResult.of(state, cluster, seed=seed, events=len(state.closed))


def paper_result():
    """The worked example on 8 map and 4 reduce slots."""
    return result_of(totals(8, 4), paper_jobs())


def stormy_state(seed=0):
    """A run in which tasks fail and hang and nodes are lost."""
    return simulate(even_nodes(4, 2, 1, racks=2), paper_jobs(), seed=seed, **STORMY)


def stormy_result(seed=0):
    """The result of such a run."""
    return RunResult.of(stormy_state(seed), even_nodes(4, 2, 1, racks=2), seed=seed, events=1)


def printed(renderable, width=80):
    """A table or panel as text."""
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(renderable)
    return console.file.getvalue()
