"""What do the models of a simulation cost a task, and what does a policy that is not compiled?

Question: CPU time a task with faults, with heartbeats, with racks, with LATE, and with heartbeats
and stragglers, against the plain model of the same jobs in the same run; with LATE amid heartbeats
and stragglers, which it then copies, against those without LATE; and with the same policy file
interpreted, as a user's own file would be; and with the policy and the part of each axis that the
documents teach, against FIFO. 40,000 tasks of 40 jobs, 10 nodes of 40 map and
10 reduce slots, FIFO and Fair.
Every run ends all tasks; the interpreted policy gives the digest of the compiled one.
Budgets: each model at most 2.5 times the plain cost, and copies of stragglers 3 times the cost
without them; the interpreted policy at most 4 times, and the documented ones 3 times.
Without compiled modules (see the README) the ratios of the last two say nothing.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType, ModuleType

from bench.growth import TASKS, lengths_of
from bench.simulator import jobs_of

import sluice.policies
from sluice.bootstrap.scheduler import scheduler_for
from sluice.bootstrap.settings import resolved_settings
from sluice.core.scheduler import Policies, Scheduler
from sluice.model.cluster import Cluster, Node
from sluice.model.ids import NodeId
from sluice.policies.defaults import AdmitAll, KeepPools, ReleaseOnArrival
from sluice.simulation.driver import Simulation
from sluice.simulation.settings import SimulationSettings

JOBS, NODES, MAP_SLOTS, REDUCE_SLOTS, RACKS = 40, 10, 40, 10, 3
ROUNDS = 3
MODEL_RATIO_MAX, COPIES_RATIO_MAX, INTERPRETED_RATIO_MAX, DOCUMENTED_RATIO_MAX = 2.5, 3.0, 4.0, 3.0
EXAMPLES = Path(__file__).parents[1] / "docs" / "example_policy"
OWN_PARTS = EXAMPLES / "own_parts.py"
DOCUMENTED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "documented": {"tasks": f"{EXAMPLES / 'shortest_remaining.py'}:ShortestRemaining"},
        "own order": {"tasks": f"order={EXAMPLES / 'weighted_smallest.py'}:WeightedSmallest"},
        "own goals": {"tasks": f"order=fifo+goals={OWN_PARTS}:DeadlinesFirst"},
        "own slots": {"tasks": f"order=fifo+slots={OWN_PARTS}:OneReduceEach"},
        "own copies": {"tasks": f"order=fifo+copies={OWN_PARTS}:Old"},
        "own data": {"tasks": f"order=fifo+data={OWN_PARTS}:AfterCopying"},
        "own machines": {"tasks": f"order=fifo+machines={OWN_PARTS}:AllButFirst"},
        "own release": {"tasks": "fifo", "release": f"{OWN_PARTS}:OneAtATime"},
    }
)
PLAIN = "plain"
MODELS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        PLAIN: {},
        "faults": {"p_slow": 0.05, "task_failure": 0.02},
        "heartbeats": {"heartbeat_s": 3.0},
        "racks": {},
        "late": {"speculation": "late"},
        "stragglers": {"heartbeat_s": 3.0, "p_slow": 0.05},
        "late, stragglers": {"heartbeat_s": 3.0, "p_slow": 0.05, "speculation": "late"},
    }
)
WITHOUT: Mapping[str, str] = MappingProxyType({"late, stragglers": "stragglers"})  # others: plain
CLASSES: Mapping[str, str] = MappingProxyType({"fifo": "Fifo", "fair": "Fair"})


def cluster_of(racks: int) -> Cluster:
    """The nodes, spread over so many racks."""
    return Cluster(
        nodes=tuple(
            Node(
                node_id=NodeId(f"node-{index}"),
                map_slots=MAP_SLOTS,
                reduce_slots=REDUCE_SLOTS,
                rack=f"rack-{index % racks}",
            )
            for index in range(NODES)
        ),
        has_racks=racks > 1,
    )


def interpreted(policy: str) -> ModuleType:
    """The module of a policy from its source, whether it was compiled or not."""
    path = Path(sluice.policies.__path__[0], "orders", f"{policy}.py")
    spec = importlib.util.spec_from_file_location(f"interpreted_{policy}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(scheduler: Scheduler, settings: SimulationSettings, racks: int) -> tuple[float, str]:
    """Simulate the jobs; returns CPU seconds and the digest. All tasks must have ended well."""
    jobs = jobs_of(lengths_of(JOBS), alike=False)
    simulation = Simulation(scheduler, cluster_of(racks), jobs, settings=settings)
    start_s = time.process_time()
    simulation.run()
    took_s = time.process_time() - start_s
    state = scheduler.state
    assert sum(phase.done for job in state.jobs.values() for phase in job.phases) == TASKS
    return took_s, state.closed.digest(is_totals=False)


def with_model(policy: str, model: str) -> tuple[float, str]:
    """One run of a policy under a model."""
    given = dict(MODELS[model])
    if model == "racks" and policy == "fair":
        given |= {"node_wait_s": 4.5, "rack_wait_s": 4.5}
    settings = resolved_settings(given)
    scheduler = scheduler_for(tasks=policy, settings=settings)
    return run(scheduler, settings.of(SimulationSettings, policy), RACKS if model == "racks" else 1)


def with_file(policy: str) -> tuple[float, str]:
    """One plain run of a policy that is interpreted."""
    tasks = getattr(interpreted(policy), CLASSES[policy])()
    policies = Policies(
        admission=AdmitAll(), release=ReleaseOnArrival(), tasks=tasks, pools=KeepPools()
    )
    return run(Scheduler(policies), SimulationSettings(), 1)


def documented(name: str) -> tuple[float, str]:
    """One plain run of a policy, or of a part, that the documents teach."""
    scheduler = scheduler_for(settings=resolved_settings({}), **DOCUMENTED[name])
    return run(scheduler, SimulationSettings(), 1)


def measure(policy: str) -> bool:
    """Every model of one policy, in turn; whether the budgets are kept."""
    cells: dict[str, Callable[[], tuple[float, str]]] = {
        name: partial(with_model, policy, name) for name in MODELS
    }
    cells["interpreted"] = partial(with_file, policy)
    if policy == "fifo":
        cells |= {name: partial(documented, name) for name in DOCUMENTED}
    best_s = dict.fromkeys(cells, float("inf"))
    for _ in range(ROUNDS):
        digests = {}
        for name, cell in cells.items():
            took_s, digests[name] = cell()
            best_s[name] = min(best_s[name], took_s)
        assert digests["interpreted"] == digests[PLAIN]
    is_ok = True
    for name, took_s in best_s.items():
        without = WITHOUT.get(name, PLAIN)
        ratio = took_s / best_s[without]
        most = {
            "late, stragglers": COPIES_RATIO_MAX,
            "interpreted": INTERPRETED_RATIO_MAX,
            **dict.fromkeys(DOCUMENTED, DOCUMENTED_RATIO_MAX),
        }
        fits = ratio <= most.get(name, MODEL_RATIO_MAX)
        is_ok = is_ok and fits
        print(
            f"{policy:5} {name:16}: {took_s / TASKS * 1e6:6.2f} us a task, {ratio:.2f} x {without}"
            + ("" if fits else "  <-- over budget")
        )
    return is_ok


def main() -> int:
    """The policies that are asked for; 1 if a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("policies", nargs="*", default=list(CLASSES))
    kept = [measure(policy) for policy in parser.parse_args().policies]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
