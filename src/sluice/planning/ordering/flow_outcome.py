"""The outcome of an order: the instants of its jobs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderOutcome:
    """Instants of all jobs under an order, in seconds, by job in input order.

    began_s, ended_s: start of the first task and end of the last one.
    mapped_s: end of the last map, None without maps.
    reducing_s: start of the first reduce, None without reduces.
    """

    makespan_s: float
    total_completion_s: float
    began_s: tuple[float, ...]
    mapped_s: tuple[float | None, ...]
    reducing_s: tuple[float | None, ...]
    ended_s: tuple[float, ...]
