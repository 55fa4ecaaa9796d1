"""CP-SAT in a process of its own.

OR-Tools and highspy bring two versions of one shared library, and a process can load only one of
them: after a capacity plan, the same process could not prove an optimum. The child is a fresh
interpreter, not a fork, because a script that calls `sluice.offline_optimum` must not be imported
again.
"""

from __future__ import annotations

import os
import pickle  # what it reads comes from the process that this module started
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from sluice.planning.flow_shops.cp_sat import cp_least
from sluice.planning.flow_shops.flow_shop import FlowShop
from sluice.planning.pools.cp_sat import cp_sat
from sluice.planning.pools.offline_optimum import OfflineOptimum, Places
from sluice.planning.pools.problem import PoolProblem
from sluice.planning.stages.bounds import Bounds
from sluice.planning.stages.cp_sat import StageProof, cp_proof
from sluice.planning.stages.task_graph import TaskGraph

_Answer = TypeVar("_Answer")


def cp_sat_apart(problem: PoolProblem, start: Places | None = None) -> OfflineOptimum:
    """See `cp_sat`. Raises subprocess.CalledProcessError if the process fails."""
    return _apart(cp_sat, problem, start)


def cp_proof_apart(
    graph: TaskGraph, bounds: Bounds, first: Sequence[float], seconds: float
) -> StageProof:
    """See `cp_proof`. Raises subprocess.CalledProcessError if the process fails."""
    return _apart(cp_proof, graph, bounds, first, seconds)


def cp_least_apart(shop: FlowShop, least: float, most: float, seconds: float) -> float:
    """See `cp_least`. Raises subprocess.CalledProcessError if the process fails."""
    return _apart(cp_least, shop, least, most, seconds)


def _apart(solve: Callable[..., _Answer], *given: object) -> _Answer:
    path = os.pathsep.join(folder or "." for folder in sys.path)
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__],
        input=pickle.dumps((solve, given)),
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
        check=True,
    )
    found: _Answer = pickle.loads(done.stdout)  # noqa: S301  # from our own child
    return found


def _answer() -> None:
    solve, given = pickle.load(sys.stdin.buffer)  # noqa: S301  # from our own parent
    pickle.dump(solve(*given), sys.stdout.buffer)


if __name__ == "__main__":
    _answer()
