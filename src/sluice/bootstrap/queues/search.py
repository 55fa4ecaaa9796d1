"""Capacities that meet a goal: a search by simulation, one move at a time.

A move gives the goal's queue, or a queue above it, a step of a sibling's capacity, or a higher
maximum. Of the moves that leave no other queue with a p95 wait or slowdown over 10 % above that of
before, the best for the goal is taken, until the goal is met or no move helps. The result is a
configuration that was simulated, not a proof that no better one exists.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from sluice.bootstrap.queues.replay import History
from sluice.model.errors import InvalidInput
from sluice.model.queue_tree import ROOT, AmountKind, ConfiguredQueue, QueueAmount, QueueTree
from sluice.reporting.whatif.result import DECISIVE

WORSE_MAX = 0.10
_STEP = 0.05  # of what the siblings have together
_STEPS = (1, 2, 4)
_DONORS_MAX = 8  # the largest siblings
_TINY = 1e-9
_MAXIMUM_STEP = 10.0  # percent
_ROUNDS_MAX = 20
_SEEDS_MAX = 4  # for each candidate; the result is simulated with all
_SHORT_S = 1.0  # waits below count as this, so that 10 % of nothing is no limit
_GOAL = re.compile(
    r"(?P<queue>\S+)\.(?P<measure>(?:wait_s|slowdown)_p(?:50|95|99))\s*<=?\s*(?P<value>\d+(\.\d+)?)"
)

Means = Mapping[str, Mapping[str, float]]  # by queue and measure


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueGoal:
    """A measure of a queue that shall be below a value. text: as it was given."""

    queue: str
    measure: str
    value: float
    text: str

    @classmethod
    def read(cls, text: str, tree: QueueTree) -> QueueGoal:
        """The goal in a text such as `root.a.wait_s_p95<60`. Raises InvalidInput."""
        found = _GOAL.fullmatch(text.strip())
        if found is None:
            raise InvalidInput(
                f"{text[:80]!r} is not a goal",
                where="--suggest",
                hint="write it as root.a.wait_s_p95<60 (wait_s or slowdown; p50, p95 or p99)",
            )
        if found["queue"] not in tree.leaves:
            raise InvalidInput(
                f"there is no leaf queue {found['queue']!r}",
                where="--suggest",
                hint=f"use one of {', '.join(tree.leaves[:10])}",
            )
        value = float(found["value"])
        return cls(queue=found["queue"], measure=found["measure"], value=value, text=text.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSuggestion:
    """The result of the search. value: of the goal's measure, over the seeds of the search.

    simulations: how many it took.
    """

    goal: QueueGoal
    tree: QueueTree
    value: float
    is_met: bool
    simulations: int

    def document(self) -> dict[str, object]:
        """The fields as plain JSON values."""
        return {
            "goal": self.goal.text,
            "met": self.is_met,
            "value": self.value if math.isfinite(self.value) else None,
            "simulations": self.simulations,
        }


def suggested_queues(
    history: History,
    tree: QueueTree,
    goal: QueueGoal,
    *,
    mapping: Mapping[str, str],
    seeds: int,
    on_fraction: Callable[[float], None] | None = None,
) -> QueueSuggestion:
    """The best tree found from a tree. seeds: at most; the search uses a few of them.

    Raises InvalidInput if the goal's queue has no jobs.
    """
    search = _Search(history, goal, mapping, min(seeds, _SEEDS_MAX))
    before = search.means(tree)
    if goal.measure not in before.get(goal.queue, {}):
        raise InvalidInput(
            f"queue {goal.queue!r} has no jobs in the history", where="--suggest",
            hint="name a queue with jobs, or map pools to it with --map",
        )  # fmt: skip
    best, value = tree, before[goal.queue][goal.measure]
    for step in range(_ROUNDS_MAX):
        if value <= goal.value:
            break
        if on_fraction is not None:
            on_fraction(step / _ROUNDS_MAX)
        found = search.best_move(best, before)
        if found is None or found[0] >= value:
            break
        value, best = found
    return QueueSuggestion(
        goal=goal,
        tree=best,
        value=value,
        is_met=value <= goal.value,
        simulations=search.simulations,
    )


class _Search:
    def __init__(
        self, history: History, goal: QueueGoal, mapping: Mapping[str, str], seeds: int
    ) -> None:
        self._history = history
        self._goal = goal
        self._mapping = mapping
        self._seeds = seeds
        self.simulations = 0

    def means(self, tree: QueueTree) -> Means:
        """The means over seeds, of measures that every seed has."""
        runs = [self._history.figures(tree, self._mapping, seed) for seed in range(self._seeds)]
        self.simulations += len(runs)
        found: dict[str, dict[str, float]] = {}
        for name in runs[0]:
            of_name = [run[name] for run in runs if name in run]
            for measure in of_name[0]:
                values = [value for one in of_name if (value := one[measure]) is not None]
                if len(values) == len(of_name):
                    found.setdefault(name, {})[measure] = math.fsum(values) / len(values)
        return found

    def best_move(self, tree: QueueTree, before: Means) -> tuple[float, QueueTree] | None:
        """The least value of the goal among the moves that harm no other queue, and its tree."""
        best: tuple[float, QueueTree] | None = None
        for candidate in moves(tree, self._goal.queue, self._history.containers):
            means = self.means(candidate)
            value = means.get(self._goal.queue, {}).get(self._goal.measure, math.inf)
            if (best is None or value < best[0]) and not self._harms(means, before):
                best = (value, candidate)
        return best

    def _harms(self, means: Means, before: Means) -> bool:
        # A slowdown is at least 1, so that the floor of short waits does not touch it.
        return any(
            max(_SHORT_S, means.get(name, {}).get(measure, math.inf))
            > (1 + WORSE_MAX) * max(_SHORT_S, of_name[measure])
            for name, of_name in before.items()
            for measure in DECISIVE
            if name != self._goal.queue and measure in of_name
        )


def moves(tree: QueueTree, target: str, containers: int) -> Iterator[QueueTree]:
    """Trees one step away, in which the target has more. containers: of the cluster."""
    by_path = {queue.path: queue for queue in tree.queues}
    amounts = tree.containers(containers)
    path = target
    while path != ROOT:
        queue = by_path[path]
        parent = queue.parent or ROOT
        kind = queue.capacity.kind
        alike = [one for one in tree.children(parent) if one.capacity.kind is kind]
        total = math.fsum(one.capacity.value for one in alike)
        # Less than a container changes nothing.
        share = max(_STEP, 1 / max(1.0, amounts[parent][0]))
        least = share * total if kind is not AmountKind.CONTAINERS else max(1, round(share * total))
        if queue.maximum is not None:
            yield _changed(tree, {path: replace(queue, maximum=_raised(queue.maximum))})
        donors = sorted(
            (one for one in alike if one is not queue), key=lambda one: -one.capacity.value
        )
        for donor in donors[:_DONORS_MAX]:
            for times in _STEPS:
                step = times * least
                if donor.capacity.value - step >= -_TINY:
                    changes = {path: _given(queue, step), donor.path: _given(donor, -step)}
                    yield _changed(tree, changes)
        path = parent


def _given(queue: ConfiguredQueue, step: float) -> ConfiguredQueue:
    """The queue with more capacity, or less; its maximum is at least that."""
    kind, value = queue.capacity.kind, round(max(0.0, queue.capacity.value + step), 6)
    maximum = queue.maximum
    if maximum is not None and maximum.kind is kind and maximum.value < value:
        maximum = QueueAmount(kind, value)
    return replace(queue, capacity=QueueAmount(kind, value), maximum=maximum)


def _raised(maximum: QueueAmount) -> QueueAmount | None:
    if maximum.kind is AmountKind.PERCENT:
        value = maximum.value + _MAXIMUM_STEP
        return QueueAmount(AmountKind.PERCENT, value) if value < 100 else None  # noqa: PLR2004  # all
    return QueueAmount(maximum.kind, max(maximum.value + 1, math.floor(maximum.value * 1.1)))


def _changed(tree: QueueTree, queues: Mapping[str, ConfiguredQueue]) -> QueueTree:
    return replace(tree, queues=tuple(queues.get(one.path, one) for one in tree.queues))
