"""Which stages of a Spark application read what which others wrote.

Spark records the parents of a stage by number. When an earlier job has already written a shuffle, a
later job lists the writing stage again, under a new number that never runs (adaptive execution does
so all the time). Both end in the same data set (RDD), which is how the one that ran is found
again. Logs of Spark 1.x have no parents; there a stage that reads a shuffle is taken to follow
those stages that wrote one and were complete before it was submitted.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from sluice.ingest.logs.spark_stages import Stage

_LOOKED_BACK_MAX = 100


def stages_before(ran: Sequence[Stage], known: Mapping[int, Stage]) -> list[tuple[int, ...]]:
    """For each stage that ran, in the order of their numbers: positions of those it reads from.

    known: all stages that the log names, by number, also those that never ran.
    """
    positions = {stage.stage_id: position for position, stage in enumerate(ran)}
    by_rdd: dict[int, list[int]] = {}
    for position, stage in enumerate(ran):
        if stage.own_rdd is not None:
            by_rdd.setdefault(stage.own_rdd, []).append(position)
    found = []
    for position, stage in enumerate(ran):
        if stage.parents is None:
            before = _writers_before(stage, ran, position)
        else:
            before = _from_parents(position, stage.parents, positions, known, by_rdd)
        found.append(tuple(sorted(one for one in before if one < position)))
    return found


def _from_parents(
    position: int,
    parents: Sequence[int],
    positions: Mapping[int, int],
    known: Mapping[int, Stage],
    by_rdd: Mapping[int, Sequence[int]],
) -> set[int]:
    found: set[int] = set()
    for parent in parents:
        twin = known.get(parent)
        if parent in positions:
            found.add(positions[parent])
        elif twin is not None and twin.own_rdd is not None:
            same = by_rdd.get(twin.own_rdd, ())
            # The last of them before this one: numbers rise with time.
            found.update(same[bisect_left(same, position) - 1 :][:1])
    return found


def _writers_before(stage: Stage, ran: Sequence[Stage], position: int) -> set[int]:
    submitted_at_ms = stage.submitted_at_ms
    if not stage.sums.shuffle_read_bytes or submitted_at_ms is None:
        return set()
    return {
        earlier
        for earlier in range(max(0, position - _LOOKED_BACK_MAX), position)
        if ran[earlier].sums.shuffle_write_bytes
        and submitted_at_ms >= (ran[earlier].completed_at_ms or math.inf)
    }
