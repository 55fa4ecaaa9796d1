"""How good a set of plans is beside the exact frontier, and how long it took to find."""

from __future__ import annotations

import time
from bisect import bisect_right
from statistics import fmean

from sluice.planning.pareto.plan_search import PlanSearch, find_frontier
from sluice.planning.pareto.problem import ParetoProblem
from sluice.planning.pareto.tradeoff import hypervolume
from sluice.reporting.extras import MissingExtra
from sluice.reporting.reproductions.pareto_peers import PEERS, Points

DRAWN = "Task lengths and counts drawn as told in the paper, what lies below 1 counted as 1 (E19)."
_WINDOW = 4  # hypervolumes count makespans of up to so many times the fastest


def points_of(problem: ParetoProblem, search: PlanSearch) -> tuple[Points, float]:
    """The frontier that a search finds, and the milliseconds that it took."""
    began_s = time.perf_counter()
    found = list(find_frontier(problem, search).points())
    return found, 1000 * (time.perf_counter() - began_s)


def peer_points(name: str, problem: ParetoProblem, seed: int) -> tuple[Points | None, float | None]:
    """The same of a peer; None where its library is not installed."""
    began_s = time.perf_counter()
    try:
        found = PEERS[name](problem, seed)
    except MissingExtra:
        return None, None
    return found, 1000 * (time.perf_counter() - began_s)


def volume_ratio(points: Points, exact: Points) -> float:
    """Hypervolume over that of the exact frontier.

    Reference: four times the fastest makespan, and what the fastest plan costs.
    """
    reference = (_WINDOW * exact[0][0], exact[0][1])
    whole = hypervolume(exact, reference)
    return hypervolume(points, reference) / whole if whole else 1.0


def overspent(points: Points, exact: Points) -> float:
    """How much plans cost above the cheapest plan that is at least as fast, on average."""
    times_s = [time_s for time_s, _ in exact]
    shares = (
        usd / exact[bisect_right(times_s, time_s * (1 + 1e-12)) - 1][1] - 1
        for time_s, usd in points
    )
    return fmean(shares)
