"""What is installed (its hot modules compiled) does what the sources do.

The other tests put the sources first; this one asks the installed package, in a process of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

ASK = """
import pickle, sys
from sluice.api import order, simulate
from sluice.core import state
print(state.__file__)
for tasks in ("fifo", "fair", "static", "yarn-like", "dynamicmr"):
    for settings in ({}, {"jitter": 0.3}, {"heartbeat_s": 3, "slowstart": 0.1, "p_slow": 0.1,
                     "p_hang": 0.02, "task_failure": 0.1, "node_mtbf_s": 400, "node_repair_s": 50}):
        result = simulate.simulate(sys.argv[1], tasks=tasks, settings=settings, seed=7)
        print(tasks, result.digest, result.events, result.makespan_s)
        sent = pickle.loads(pickle.dumps(result))
        print(sent.document() == result.document(), [*sent.trace()] == [*result.trace()])
for objective in ("makespan", "tct", "both"):
    found = order.order(sys.argv[1], method="exact", objective=objective)
    print(found.order, found.makespan_s, found.total_completion_s, found.is_proved)
"""

WORKLOAD = """
version: 1
cluster: {nodes: 6, racks: 2, node: {map_slots: 3, reduce_slots: 2}}
pools: [{id: etl, weight: 2, map_slots_min: 4}, {id: adhoc, order: fifo}]
jobs:
  - {id: a, pool: etl, maps: {tasks: 90, avg_s: 11}, reduces: {tasks: 14, avg_s: 20}}
  - {id: b, pool: adhoc, maps: {tasks: 70, avg_s: 7}, shuffle: {avg_s: 4},
     reduces: {tasks: 9, avg_s: 33}, submitted_at_s: 5}
  - {id: c, pool: adhoc, maps: {tasks: 30, avg_s: 19}, submitted_at_s: 9.5}
  - {id: d, reduces: {durations_s: [3, 14, 15.9, 26.5]}, weight: 2}
"""


def answers(path, *, source):
    """What the package says; from the sources, or as it is installed."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if source:
        env["PYTHONPATH"] = str(SOURCE)
    child = subprocess.run(
        [sys.executable, "-P", "-c", ASK, str(path)],
        env=env, cwd=path.parent, capture_output=True, text=True, check=True,
    )  # fmt: skip
    where, *told = child.stdout.splitlines()
    return where, told


@pytest.mark.slow
def test_the_installed_package_decides_as_the_sources_do(tmp_path):
    """A compiled core that decided otherwise would be another scheduler than the one tested."""
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD)

    installed_at, installed = answers(path, source=False)
    source_at, expected = answers(path, source=True)

    assert str(SOURCE) in source_at
    assert str(SOURCE) not in installed_at
    assert len(expected) == 33
    assert {"True True"} == set(expected[1:30:2])
    assert expected == installed
