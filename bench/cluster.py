"""What does the network between the engine and its agents cost?

Question: commands that do nothing (`true`), on 1 node and on 3, 4 in flight per node: attempts a
second; one at a time: seconds from `launch` to its TaskFinished, median and p95; CPU seconds of an
attempt in the engine's process. Each through pipes (the local engine) and through node servers on
this machine, in turns, in the same run; with --ray also on the raylets of an embedded Ray cluster,
then on 3 nodes only, and with fewer attempts: starting a cluster takes most of that minute. Before
it times an engine, it checks that each of 60 attempts (or --checked N) runs once, on its node.
Budgets: over the network 800 attempts/s on 3 nodes, median under 4 ms; on a busy machine, where the
local engine makes less than 1,600/s: half of the local engine's rate, and twice its median.
Machine: 2 cores, 24 GiB, Python 3.11.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench._figures import quantile, verdict
from bench.agent import ALONE, ATTEMPTS, IN_FLIGHT, ROUNDS, Bench, local
from tests.engines.local_servers import LocalServersLauncher

from sluice.engines.agent_engine import AgentEngine
from sluice.engines.base import Engine
from sluice.engines.cluster.handshake import new_token, token_key
from sluice.engines.cluster.managed import ManagedEngine
from sluice.engines.cluster.remote_agent import Access
from sluice.engines.cluster.server_settings import ServerSettings
from sluice.engines.ray.bridge_process import RayPlace
from sluice.engines.ray.launcher import RayLauncher
from sluice.engines.ray.nodes import NodeRule
from sluice.model.cluster import Node

CHECKED = 60
RAY_ATTEMPTS, RAY_ALONE, RAY_ROUNDS = 400, 60, 2
LEASE_S = 10.0
RATE_MIN, MEDIAN_S_MAX = 800.0, 0.004
BUSY_LOCAL_RATE, BUSY_SHARE_MIN, BUSY_MEDIAN_MAX = 1_600.0, 0.5, 2.0


def network(scratch: Path) -> Callable[[tuple[Node, ...]], Engine]:
    """Makes an engine over node servers on this machine."""
    token = new_token()
    access = Access(key=token_key(token), lease_s=LEASE_S)
    settings = ServerSettings(token=token)

    def made(nodes: tuple[Node, ...]) -> Engine:
        launcher = LocalServersLauncher(nodes, scratch, access, 1, settings)
        return AgentEngine(launcher, 1, time.monotonic)

    return made


def raylets(scratch: Path) -> Callable[[tuple[Node, ...]], Engine]:
    """Makes an engine over an embedded Ray cluster."""

    def made(nodes: tuple[Node, ...]) -> Engine:
        place = RayPlace(raylets=len(nodes))
        rule = NodeRule(embedded=nodes)
        launcher = RayLauncher(
            scratch / "ray", scratch / "scratch", place, rule, epoch=1, lease_s=LEASE_S
        )
        return ManagedEngine(launcher, 1, time.monotonic)

    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much is measured: attempts of a burst, attempts one at a time, rounds of both.

    checked: attempts whose answers are checked first.
    """

    attempts: int
    alone: int
    rounds: int
    checked: int


def measured(nodes: int, load: Load, *, with_ray: bool) -> bool:
    """Print what the engines do; whether those over the network are within the budget."""
    made = {"pipes": local, "network": network} | ({"ray": raylets} if with_ray else {})
    bursts: dict[str, list[tuple[float, float]]] = {name: [] for name in made}
    alone_s: dict[str, list[list[float]]] = {name: [] for name in made}
    with ExitStack() as open_ones:
        benches = {}
        for name, make in made.items():
            print(f"{nodes} node(s), {name:>7}: starts", file=sys.stderr, flush=True)
            began_s = time.perf_counter()
            folder = Path(open_ones.enter_context(tempfile.TemporaryDirectory()))
            bench = benches[name] = open_ones.enter_context(Bench(nodes, make(folder)))
            up_s = time.perf_counter() - began_s
            bench.check(load.checked, folder)
            took_s = time.perf_counter() - began_s - up_s
            print(
                f"  up after {up_s:.1f} s; {load.checked} answers are right, {took_s:.1f} s",
                file=sys.stderr,
                flush=True,
            )
        for bench in benches.values():
            bench.burst(100, IN_FLIGHT)
        for _ in range(load.rounds):
            for name, bench in benches.items():
                burst = bench.burst(load.attempts, IN_FLIGHT * nodes)
                bursts[name].append((burst.wall_s, burst.engine_s))
                alone_s[name].append(bench.alone_s(load.alone))
    rates, medians_s = {}, {}
    for name in benches:
        rates[name] = load.attempts / min(wall_s for wall_s, _ in bursts[name])
        medians_s[name] = min(quantile(times_s, 0.5) for times_s in alone_s[name])
        p95_s = min(quantile(times_s, 0.95) for times_s in alone_s[name])
        engine_ms = min(engine_s for _, engine_s in bursts[name]) / load.attempts * 1e3
        print(
            f"{nodes} node(s), {name:>7}: {rates[name]:6,.0f}/s with {IN_FLIGHT} in flight a node;"
            f" one at a time p50 {medians_s[name] * 1e3:.2f} ms, p95 {p95_s * 1e3:.2f} ms;"
            f" engine {engine_ms:.2f} CPU ms each",
            flush=True,
        )
    is_busy = rates["pipes"] < BUSY_LOCAL_RATE
    answers = []
    for name in benches.keys() - {"pipes"}:
        rate, median_s = rates[name], medians_s[name]
        fits = (rate >= RATE_MIN or (is_busy and rate >= BUSY_SHARE_MIN * rates["pipes"])) and (
            median_s < MEDIAN_S_MAX or (is_busy and median_s < BUSY_MEDIAN_MAX * medians_s["pipes"])
        )
        print(f"{nodes} node(s): {name}{verdict(fits=fits)}")
        answers.append(fits)
    return all(answers)


def main() -> int:
    """Exit code: 0 if all is within the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--ray", action="store_true", help="also on an embedded Ray cluster")
    parser.add_argument("--checked", type=int, default=CHECKED, help="attempts to check first")
    given = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    if given.ray:
        rounds = given.rounds or RAY_ROUNDS
        load = Load(attempts=RAY_ATTEMPTS, alone=RAY_ALONE, rounds=rounds, checked=given.checked)
        return 0 if measured(3, load, with_ray=True) else 1
    rounds = given.rounds or ROUNDS
    load = Load(attempts=ATTEMPTS, alone=ALONE, rounds=rounds, checked=given.checked)
    answers = [measured(nodes, load, with_ray=False) for nodes in (1, 3)]
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
