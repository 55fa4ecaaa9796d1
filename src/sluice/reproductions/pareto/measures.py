"""The quality of a set of plans relative to the exact frontier, and the time to find it."""

from __future__ import annotations

import time
from bisect import bisect_right
from statistics import fmean

from sluice.planning.pareto.plan_search import PlanSearch, find_frontier
from sluice.planning.pareto.problem import ParetoProblem
from sluice.planning.pareto.tradeoff import hypervolume
from sluice.reporting.extras import MissingExtra
from sluice.reproductions.pareto.peers import PEERS, Points

DRAWN = "Task lengths and counts drawn as in the paper, with values below 1 counted as 1 (E19)."
_WINDOW = 4  # hypervolumes count makespans up to this multiple of the fastest


def points_of(problem: ParetoProblem, search: PlanSearch) -> tuple[Points, float]:
    """The frontier that a search finds, and its time in milliseconds."""
    began_s = time.perf_counter()
    found = list(find_frontier(problem, search).points())
    return found, 1000 * (time.perf_counter() - began_s)


def peer_points(name: str, problem: ParetoProblem, seed: int) -> tuple[Points | None, float | None]:
    """The frontier of a peer and its time; None if its library is not installed."""
    began_s = time.perf_counter()
    try:
        found = PEERS[name](problem, seed)
    except MissingExtra:
        return None, None
    return found, 1000 * (time.perf_counter() - began_s)


def volume_ratio(points: Points, exact: Points) -> float:
    """Hypervolume over that of the exact frontier.

    Reference: four times the fastest makespan, and the cost of the fastest plan.
    """
    reference = (_WINDOW * exact[0][0], exact[0][1])
    whole = hypervolume(exact, reference)
    return hypervolume(points, reference) / whole if whole else 1.0


def overspent(points: Points, exact: Points) -> float:
    """Mean extra cost of plans over the cheapest plan that is at least as fast."""
    times_s = [time_s for time_s, _ in exact]
    shares = (
        usd / exact[bisect_right(times_s, time_s * (1 + 1e-12)) - 1][1] - 1
        for time_s, usd in points
    )
    return fmean(shares)
