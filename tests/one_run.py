"""An eventful run. `python -m tests.one_run JSON` prints the traces of several.

Run in processes with different hash seeds to show that no set or dictionary order leaks out.
"""

import json
import sys

from tests.policies.registered import task_policy
from tests.runs import even_nodes, map_reduce, simulate, trace

EVENTFUL = {
    "jitter": 0.2,
    "p_slow": 0.1,
    "p_hang": 0.02,
    "task_timeout_s": 20.0,
    "task_failure": 0.05,
    "node_mtbf_s": 60.0,
    "node_repair_s": 5.0,
    "node_timeout_s": 10.0,
}


def run(policy, seed, heartbeat_s, **more):
    """Faults, stragglers and hangs on a cluster with racks; `more` settings win."""
    jobs = [
        map_reduce(f"job-{index}", 6 + index, 3.0, 3, 4.0, pool=f"p{index % 3}", at_s=index * 1.5)
        for index in range(8)
    ]
    cluster = even_nodes(5, 2, 1, racks=2)
    settings = EVENTFUL | more | {"heartbeat_s": heartbeat_s}
    return simulate(cluster, jobs, task_policy(policy), seed=seed, **settings)


if __name__ == "__main__":
    traces = [trace(run(*how)) for how in json.loads(sys.argv[1])]
    sys.stdout.write(json.dumps(traces))
