"""The frontier of jobs in series and in parallel, composed from the staircases of the jobs.

Times of blocks in series add up, so their choices are the undominated pairs of choices. Blocks in
parallel end with the later one, so each takes its cheapest choice up to a time. A graph of jobs is
reduced by both rules; one that is series-parallel (chains, forks with joins, nested) ends as one
block, and its staircase is the exact frontier. Every other graph leaves several blocks, for
`graph_sweep`. Source: De, Dunne, Ghosh, Wells, *Complexity of the discrete time-cost tradeoff
problem for project networks*, Operations Research 1997.

Sums of real numbers can have exponentially many undominated pairs. Beyond `CHOICES_MAX` a block
keeps the cheapest choice of each narrow band of times, so that all plans together stay within
`SLACK` of the best time for their cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from sluice.planning.pareto.precedence import Precedence
from sluice.planning.pareto.rounding import ROUNDING
from sluice.planning.pareto.staircase import Staircase

if TYPE_CHECKING:
    from numpy import float64, intp
    from numpy.typing import NDArray

    Numbers = NDArray[float64]
    Places = NDArray[intp]

CHOICES_MAX = 20_000
SLACK = 0.01


@dataclass(frozen=True, kw_only=True)
class Block:
    """Jobs that are planned together. times_s: rising.  usd: falling, of the same choices.

    picks: yields (job, position in its staircase) of every job of the block, for a choice.
    is_thinned: whether some choices were left out.
    """

    times_s: Numbers
    usd: Numbers
    picks: Callable[[int], Iterator[tuple[int, int]]]
    is_thinned: bool = False


def blocks_of(
    staircases: Sequence[Staircase], precedence: Precedence
) -> tuple[list[Block], Precedence]:
    """Reduce the graph: its blocks, and which of them wait for which. One is left if it can be."""
    band = 1 + SLACK / len(staircases)
    blocks = {job: _single(job, staircase) for job, staircase in enumerate(staircases)}
    before = dict(enumerate(precedence.links()))
    while _merge_parallel(blocks, before, band) or _merge_series(blocks, before, band):
        pass
    places = {name: place for place, name in enumerate(blocks)}
    waits = (tuple(sorted(places[one] for one in before[name])) for name in blocks)
    return list(blocks.values()), Precedence(tuple(waits))


def _merge_parallel(blocks: dict[int, Block], before: dict[int, set[int]], band: float) -> bool:
    """Merge blocks that wait for the same and that the same wait for. Returns whether any did."""
    after = _after(before)
    alike = sorted(blocks, key=lambda one: (sorted(before[one]), sorted(after[one]), one))
    groups = [
        list(group)
        for _, group in groupby(alike, key=lambda one: (sorted(before[one]), sorted(after[one])))
    ]
    for first, *others in groups:
        for other in others:
            blocks[first] = _parallel(blocks[first], blocks.pop(other), band)
            del before[other]
            for one in after[other]:
                before[one].discard(other)
    return len(groups) < len(alike)


def _merge_series(blocks: dict[int, Block], before: dict[int, set[int]], band: float) -> bool:
    """Merge the first pair of which each has only the other next to it. Returns whether it did."""
    after = _after(before)
    for second in sorted(blocks):
        if len(before[second]) != 1:
            continue
        (first,) = before[second]
        if len(after[first]) != 1:
            continue
        blocks[first] = _series(blocks[first], blocks.pop(second), band)
        del before[second]
        for one in after[second]:
            before[one] = (before[one] - {second}) | {first}
        return True
    return False


def _after(before: dict[int, set[int]]) -> dict[int, set[int]]:
    after: dict[int, set[int]] = {name: set() for name in before}
    for name, waits in before.items():
        for one in waits:
            after[one].add(name)
    return after


def _single(job: int, staircase: Staircase) -> Block:
    import numpy as np

    def picks(choice: int) -> Iterator[tuple[int, int]]:
        yield job, choice

    return Block(
        times_s=np.array([entry.time_s for entry in staircase]),
        usd=np.array([entry.cost_usd for entry in staircase]),
        picks=picks,
    )


def _series(first: Block, second: Block, band: float) -> Block:
    """All undominated pairs of choices, one after the other."""
    import numpy as np

    times_s = np.add.outer(first.times_s, second.times_s).ravel()
    usd = np.add.outer(first.usd, second.usd).ravel()
    kept = _undominated(times_s, usd)
    lefts, rights = np.divmod(kept, len(second.times_s))
    return _joined(first, second, times_s[kept], usd[kept], (lefts, rights), band)


def _parallel(first: Block, second: Block, band: float) -> Block:
    """At each time the cheapest choice of each that has ended by then."""
    import numpy as np

    least_s = max(first.times_s[0], second.times_s[0])
    times_s = np.union1d(first.times_s, second.times_s)
    times_s = times_s[times_s >= least_s]
    lefts = np.searchsorted(first.times_s, times_s, side="right") - 1
    rights = np.searchsorted(second.times_s, times_s, side="right") - 1
    usd = first.usd[lefts] + second.usd[rights]
    kept = _undominated(times_s, usd)
    return _joined(first, second, times_s[kept], usd[kept], (lefts[kept], rights[kept]), band)


def _joined(
    first: Block,
    second: Block,
    times_s: Numbers,
    usd: Numbers,
    pairs: tuple[Places, Places],
    band: float,
) -> Block:
    lefts, rights = pairs
    is_thinned = first.is_thinned or second.is_thinned
    if len(times_s) > CHOICES_MAX:
        kept = _one_of_each_band(times_s, band)
        times_s, usd, lefts, rights = times_s[kept], usd[kept], lefts[kept], rights[kept]
        is_thinned = True

    def picks(choice: int) -> Iterator[tuple[int, int]]:
        yield from first.picks(int(lefts[choice]))
        yield from second.picks(int(rights[choice]))

    return Block(times_s=times_s, usd=usd, picks=picks, is_thinned=is_thinned)


def _undominated(times_s: Numbers, usd: Numbers) -> Places:
    """Positions of the undominated choices, by rising time; of equal times the cheapest."""
    import numpy as np

    by_time = np.lexsort((usd, times_s))
    usd = usd[by_time]
    lowest = np.minimum.accumulate(usd)
    is_better = np.ones(len(usd), dtype=bool)
    is_better[1:] = usd[1:] < lowest[:-1] * (1 - ROUNDING)
    kept = by_time[is_better]
    # Sums of the same times in another order differ by rounding, which makes no plan faster.
    is_last = np.ones(len(kept), dtype=bool)
    is_last[:-1] = times_s[kept[1:]] > times_s[kept[:-1]] * (1 + ROUNDING)
    return kept[is_last]


def _one_of_each_band(times_s: Numbers, band: float) -> Places:
    """The last choice of each band, which is its cheapest; and the fastest of all."""
    import numpy as np

    numbers = np.floor(np.log(np.maximum(times_s, 1e-9)) / np.log(band))
    is_last = np.append(numbers[1:] != numbers[:-1], True)  # a value of an array
    is_last[0] = True
    return np.flatnonzero(is_last)


def thinned(block: Block, choices: int) -> Block:
    """The block with at most so many choices, spread over its times, both ends among them."""
    import numpy as np

    if len(block.times_s) <= choices:
        return block
    kept = np.unique(np.linspace(0, len(block.times_s) - 1, choices).round().astype(np.intp))

    def picks(choice: int) -> Iterator[tuple[int, int]]:
        return block.picks(int(kept[choice]))

    return Block(times_s=block.times_s[kept], usd=block.usd[kept], picks=picks, is_thinned=True)
