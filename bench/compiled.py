"""Does each compiled module earn its place?

Question: the share of time that each module of `COMPILED` in `hatch_build.py` takes in runs of the
other benchmarks, made smaller. They run on the sources, where nothing is compiled. A sample is
taken four times a millisecond, and counts for the module of the package whose function runs; time
in built-in functions counts for their caller. What runs outside of the package does not count.
Budget: every compiled module takes at least 1 % of one run. Those of `CALLED_OFTEN` take less, and
a build without them was measured to be slower: what is compiled is several times as fast, so that a
call of what is not weighs more there than here.

    python -m bench.compiled [--runs RUN ...]
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import FrameType

from bench import decisions, growth, models, ordering, sharing, simulator
from bench._figures import verdict

import sluice
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.planning.ordering.compilation import plain_kernels
from sluice.planning.ordering.enumeration import enumerate_orders
from sluice.planning.ordering.objectives import Objective
from sluice.planning.ordering.search_budget import SearchBudget
from sluice.planning.ordering.search_context import SearchContext
from sluice.planning.ordering.solver import OrderingMethod, solve
from sluice.planning.ordering.workloads import benchmarks, facebook
from sluice.simulation.settings import SimulationSettings

SHARE_MIN = 0.01
SAMPLE_S, SAMPLES = 0.000_25, 10_000  # of a share of 1 %, the standard error is 0.1 %
OTHERS_MIN = 0.03  # of modules that are not compiled
# The loss of CPU time in builds without them; docs/decisions/0005 has the figures.
CALLED_OFTEN = frozenset(
    {
        "sluice/core/checks.py",
        "sluice/core/indexes/group_sizes.py",
        "sluice/core/job_decisions.py",
        "sluice/core/faults/repeats.py",
        "sluice/planning/ordering/kernels/enumeration_kernel.py",
        "sluice/policies/copies/gate.py",
        "sluice/policies/dynamicmr/policy.py",
        "sluice/policies/data/nodes_near_data.py",
        "sluice/policies/rooms/static_slots.py",
    }
)
SOURCES = Path(__file__).resolve().parent.parent / "src"
OWN_PARTS = SOURCES.parent / "docs" / "example_policy" / "own_parts.py"
TASKS, WAITING_JOBS, QUEUES, APPLICATIONS, DAYS = 40_000, 1_000, 100, 1_000, 0.25


def compiled() -> tuple[str, ...]:
    """The modules that a wheel has compiled."""
    tree = ast.parse((SOURCES.parent / "hatch_build.py").read_text("utf-8"))
    found: tuple[str, ...] = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMPILED"
    )
    return found


def simulated(policy: str) -> None:
    """`bench.simulator`: tasks that each have their own length."""
    simulator.sluice_run(
        policy, simulator.jobs_of(simulator.lengths_of(TASKS, seed=1), alike=False)
    )


def grown(policy: str, cell: growth.Cell) -> None:
    """`bench.growth`: many nodes, with waits for data, or many jobs."""
    growth.sluice_run(policy, cell, growth.lengths_of(cell.jobs))


def modelled(policy: str, model: str) -> None:
    """`bench.models`: faults, heartbeats, racks and copies of slow attempts."""
    models.with_model(policy, model)


def in_parts(spec: str) -> None:
    """`bench.models`: a scheduler of parts, some of them from outside the package."""
    scheduler = scheduler_for(tasks=spec, settings=resolved_settings({}))
    models.run(scheduler, SimulationSettings(), 1)


def decided(case: decisions.Case) -> None:
    """`bench.decisions`: heartbeats among many waiting jobs, each event through `handle`."""
    decisions.turns_s(case, WAITING_JOBS)


def shared(tasks: str, options: Mapping[str, float]) -> None:
    """`bench.sharing`: choices among many queues."""
    sharing.cost_of((QUEUES, APPLICATIONS), tasks, options)


def shared_for_days() -> None:
    """`bench.sharing`: a part of the week."""
    sharing.week("ltrf", every_h=6.0, days=DAYS)


def ordered_by_search() -> None:
    """`bench.ordering`: the walk that searches, plain."""
    ordering.walk_rate(facebook(50, random.Random(50)), plain_kernels(), 1.0)


def ordered_by_proof() -> None:
    """`bench.ordering`: the nine benchmarks proved best, plain."""
    for objective in ordering.OPTIMA:
        context = SearchContext(benchmarks(9), SearchBudget(time.perf_counter, seconds=30.0))
        solve(context, OrderingMethod.EXACT, objective, random.Random(0))


def ordered_by_enumeration() -> None:
    """A release policy of few jobs: all orders, plain."""
    context = SearchContext(benchmarks(7), SearchBudget(time.perf_counter, seconds=30.0))
    enumerate_orders(context, Objective.TCT)


def runs() -> dict[str, Callable[[], None]]:
    """Each run by its name."""
    cells = [cell for cell in growth.CELLS if cell.tasks == growth.TASKS and cell.size == 1_000]
    policies = ("fifo", "fair", "yarn-like", "dynamicmr")
    return {
        **{f"simulator, {name}": partial(simulated, name) for name in ("fifo", "fair", "static")},
        **{
            f"growth, {name}, {cell.axis}": partial(grown, name, cell)
            for name in policies
            for cell in cells
        },
        **{
            f"models, {name}, {model}": partial(modelled, name, model)
            for name in ("fifo", "fair")
            for model in models.MODELS
        },
        "parts, order": partial(in_parts, "order=fewest+slots=typed"),
        "parts, room": partial(in_parts, f"order=fifo+slots={OWN_PARTS}:OneReduceEach"),
        "parts, copies": partial(in_parts, f"order=fifo+copies={OWN_PARTS}:Old"),
        "parts, policy": partial(
            in_parts, f"{OWN_PARTS.parent}/shortest_remaining.py:ShortestRemaining"
        ),
        **{f"decisions, {case.name}": partial(decided, case) for case in decisions.CASES},
        **{
            " ".join(("sharing,", tasks, *options)): partial(shared, tasks, options)
            for tasks, options in sharing.RULES
        },
        "sharing, days": shared_for_days,
        "ordering, search": ordered_by_search,
        "ordering, proof": ordered_by_proof,
        "ordering, enumeration": ordered_by_enumeration,
    }


def samples_of(run: Callable[[], None]) -> Counter[str]:
    """How many samples each file of the package has; "" for what it calls in other packages."""
    found: Counter[str] = Counter()
    package = str(SOURCES) + os.sep

    def sample(_: int, frame: FrameType | None) -> None:
        # A method that `dataclass` wrote has no file; it counts for its caller.
        while frame is not None and frame.f_code.co_filename == "<string>":
            frame = frame.f_back
        top = frame
        while frame is not None and not frame.f_code.co_filename.startswith(package):
            frame = frame.f_back
        if frame is not None:
            found[frame.f_code.co_filename.removeprefix(package) if frame is top else ""] += 1

    signal.signal(signal.SIGALRM, sample)
    while found.total() < SAMPLES:
        gc.collect()  # what the run before left
        signal.setitimer(signal.ITIMER_REAL, SAMPLE_S, SAMPLE_S)
        run()
        signal.setitimer(signal.ITIMER_REAL, 0)
    return found


def shares(names: Sequence[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """The share of each file in each of the runs, in a process that has the sources."""
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.compiled", "--samples", "--runs", *names],
        env=os.environ | {"PYTHONPATH": str(SOURCES)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    for name in names:
        found = next(json.loads(line) for line in child.stdout if line.startswith("{"))
        yield name, {file: count / sum(found.values()) for file, count in found.items()}
    assert child.wait() == 0


def main() -> int:
    """Each compiled module with the run where it matters most; 1 if one matters in none."""
    every = runs()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--runs", nargs="+", choices=list(every), default=list(every), metavar="RUN"
    )
    parser.add_argument("--samples", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.samples:
        assert Path(sluice.__path__[0]).parent == SOURCES, "these are not the sources"
        for name in given.runs:
            print(json.dumps(samples_of(every[name])), flush=True)
        return 0
    return 0 if report(compiled(), shares(given.runs)) else 1


def report(modules: Sequence[str], found: Iterable[tuple[str, Mapping[str, float]]]) -> bool:
    """Print where each module matters most; whether each has its place."""
    most: dict[str, tuple[float, str]] = dict.fromkeys(modules, (0.0, "no run"))
    for name, by_file in found:
        for file, share in by_file.items():
            most[file] = max(most.get(file, (0.0, "")), (share, name))
    for file, (share, name) in sorted(most.items(), key=lambda row: -row[1][0]):
        if file in CALLED_OFTEN:
            note = "  (called often)"
        elif file in modules:
            note = verdict(fits=share >= SHARE_MIN)
        elif file and share >= OTHERS_MIN:
            note = "  (not compiled)"
        else:
            continue
        print(f"{share:6.1%}  {file.removeprefix('sluice/'):50} {name}{note}")
    return set(modules) >= CALLED_OFTEN and all(
        most[file][0] >= SHARE_MIN for file in modules if file not in CALLED_OFTEN
    )


if __name__ == "__main__":
    sys.exit(main())
