"""Run times measured on a grid of VM type, number of VMs and input size, with interpolation.

Between two points of one VM type the time follows a power law, a straight line on logarithmic axes.
It is exact for t = c * n^-a, which is how times scale with VMs and with bytes. A time is
interpolated first between numbers of VMs at each input size, then between the two nearest sizes.
Outside the grid there is no extrapolation: the result says what was measured. Source: the
prediction tables of Cura, spec sections 1 and 2 (t_pred for every type, size and input).
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from sluice.estimate.run_setting import elapsed_s
from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun


class GridPoint(NamedTuple):
    """One measured or predicted time."""

    vm_type: str
    vms: int
    input_bytes: int
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTime:
    """A time in seconds. is_measured: whether it is a grid point; otherwise it is interpolated."""

    time_s: float
    is_measured: bool


@dataclass(frozen=True, slots=True)
class OffGrid:
    """The point is outside the grid; `why` says what was measured."""

    why: str


GridRow = tuple[tuple[int, float], ...]  # (VMs, seconds), rising VMs


@dataclass(frozen=True, slots=True)
class Grid:
    """Times by VM type, then by input size. Use `of` or `from_runs` to make one."""

    rows: Mapping[str, Mapping[int, GridRow]]

    @classmethod
    def of(cls, points: Iterable[GridPoint]) -> Grid:
        """Make a grid of these points, with the median of repeated points.

        The grid can have holes. Raises InvalidInput for an invalid time, size or number of VMs.
        """
        found: dict[str, dict[int, dict[int, list[float]]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(list))
        )
        for point in points:
            _check(point)
            found[point.vm_type][point.input_bytes][point.vms].append(point.time_s)
        return cls(
            {
                vm_type: {
                    size: tuple((vms, median(times)) for vms, times in sorted(row.items()))
                    for size, row in sorted(sizes.items())
                }
                for vm_type, sizes in found.items()
            }
        )

    @classmethod
    def from_runs(cls, runs: Iterable[PastRun]) -> Grid:
        """Make a grid of the past runs of one job, by machine type, machines used, and input.

        Runs without a machine type, a time or the machines they ran on are skipped.
        """
        points = (
            GridPoint(run.machine_type, machines, run.input_bytes, took_s)
            for run in runs
            if run.succeeded and run.machine_type is not None
            if (took_s := elapsed_s(run)) is not None and (machines := _machines(run))
        )
        return cls.of(points)

    def predict(self, vm_type: str, vms: int, input_bytes: int) -> GridTime | OffGrid:
        """Time on `vms` VMs of a type for an input of `input_bytes`.

        >>> grid = Grid.of([GridPoint("small", 10, 100, 80.0), GridPoint("small", 40, 100, 20.0)])
        >>> round(grid.predict("small", vms=20, input_bytes=100).time_s, 9)
        40.0
        >>> grid.predict("small", vms=50, input_bytes=100).why
        'small was measured on 10 to 40 VMs reading 100 bytes, not on 50'
        """
        sizes = self.rows.get(vm_type)
        if sizes is None:
            types = ", ".join(self.rows) or "none"
            return OffGrid(f"VM type {vm_type!r} was not measured; measured: {types}")
        at = {size: _between(row, vms) for size, row in sizes.items()}
        known = [(size, time_s) for size, time_s in at.items() if time_s is not None]
        if not known:
            return OffGrid(f"{vm_type} was measured {_spans(sizes)}, not on {vms}")
        time_s = _between(known, input_bytes)
        if time_s is None:
            low, high = known[0][0], known[-1][0]
            return OffGrid(
                f"{vm_type} on {vms} VMs was measured reading {_span(low, high)} bytes,"
                f" not {input_bytes}"
            )
        measured = vms in dict(sizes.get(input_bytes, ()))
        return GridTime(time_s=time_s, is_measured=measured)


def _check(point: GridPoint) -> None:
    where = f"{point.vm_type}, {point.vms} VMs"
    if point.vms < 1:
        raise InvalidInput(f"vms is {point.vms}", where=where, hint="give 1 or more")
    if point.input_bytes < 0:
        raise InvalidInput(
            f"input_bytes is {point.input_bytes}", where=where, hint="give 0 or more"
        )
    if not 0 < point.time_s < math.inf:
        raise InvalidInput(
            f"time_s is {point.time_s}", where=where, hint="give finite seconds above 0"
        )


def _machines(run: PastRun) -> int:
    return len({task.node for phase in run.phases for task in phase.timeline if task.node})


def _between(points: Iterable[tuple[int, float]], here: int) -> float | None:
    """Interpolate by a power law between the two neighbours of `here`; None outside the points."""
    rising = list(points)
    right = bisect.bisect_left([place for place, _ in rising], here)
    if right < len(rising) and rising[right][0] == here:
        return rising[right][1]
    if right in {0, len(rising)}:
        return None
    (low, low_s), (high, high_s) = rising[right - 1], rising[right]
    if low == 0:  # the logarithm of 0 bytes does not exist, so interpolate linearly
        return low_s + (high_s - low_s) * here / high
    share = math.log(here / low) / math.log(high / low)
    return math.exp((1 - share) * math.log(low_s) + share * math.log(high_s))


def _spans(sizes: Mapping[int, GridRow]) -> str:
    return ", ".join(
        f"on {_span(row[0][0], row[-1][0])} VMs reading {size} bytes" for size, row in sizes.items()
    )


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
