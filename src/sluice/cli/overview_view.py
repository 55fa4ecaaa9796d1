"""The overview of a workload for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sluice.bootstrap.advising.days import DAY_S, Days
from sluice.cli.overview import Overview, deadlines
from sluice.model.cluster import Cluster
from sluice.model.slot_kind import SlotKind
from sluice.reporting.formatting import count, counted, duration, shortened, visible
from sluice.reporting.table_style import plain_grid, plain_text

if TYPE_CHECKING:
    from rich.console import RenderableType

_LISTED_MAX = 8
_NAME_WIDTH = 24


def overview_views(overview: Overview, *, of_logs: bool = False) -> Sequence[RenderableType]:
    """A headline, a list of what is in the file, and the warnings.

    of_logs: whether the headline says what was found, because no file was written by hand.
    """
    from rich.text import Text

    grid = plain_grid()
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for name, value in _rows(overview):
        grid.add_row(name, plain_text(value))
    found = f": {_found(overview)}" if of_logs else ""
    name = visible(overview.workload.source)
    headline = Text.assemble((name, "bold"), f" is a valid workload{found}.")
    warnings = [plain_text(f"warning: {warning}", "yellow") for warning in overview.warnings]
    return [headline, grid, *warnings]


def _found(overview: Overview) -> str:
    """Return what logs held, in a line."""
    jobs = overview.workload.jobs
    pools = len({job.pool for job in jobs})
    words = [
        f"{counted(len(jobs), 'job')} of {counted(pools, 'pool')}",
        counted(sum(overview.tasks.values()), "task"),
    ]
    if len(jobs) > 1:
        submitted = [job.submitted_at_s for job in jobs]
        span_s = max(submitted) - min(submitted)
        # `advise` draws from days that have a job, and a log may have years between two jobs.
        days = (
            f"on {counted(Days.of(overview.workload).with_jobs, 'day')} " if span_s > DAY_S else ""
        )
        words.append(f"submitted {days}within {duration(span_s)}")
    return ", ".join(words)


def _rows(overview: Overview) -> Iterator[tuple[str, str]]:
    workload = overview.workload
    cluster = workload.cluster
    yield "cluster", "none" if cluster is None else _cluster(cluster)
    queues = [pool.pool_id for pool in workload.pools if pool.queue is not None]
    pools = [pool.pool_id for pool in workload.pools if pool.queue is None]
    if queues:
        yield "queues", _listed(queues)
    if pools:
        yield "pools", _listed(pools)
    with_deadline = deadlines(workload)
    yield (
        "jobs",
        count(len(workload.jobs))
        + (f", {count(with_deadline)} with a deadline" if with_deadline else ""),
    )
    yield "tasks", _by_kind({kind: count(overview.tasks[kind]) for kind in _used(overview)})
    yield "work", _by_kind({kind: duration(overview.work_s[kind]) for kind in _used(overview)})
    if overview.makespan_lower_s is not None:
        yield "makespan", f"at least {duration(overview.makespan_lower_s)} (lower bound)"
    if overview.unmeasured:
        lengths = (
            f"of {counted(overview.unmeasured, 'job')} unknown: the file can be run, not simulated"
        )
        yield "lengths", lengths
    if workload.settings:
        yield "settings", _listed([f"{key}={value}" for key, value in workload.settings.items()])


def _used(overview: Overview) -> list[SlotKind]:
    """Kinds to show: maps and reduces, unless there are only stages."""
    has_stages = SlotKind.CONTAINER in overview.tasks
    return [kind for kind, tasks in overview.tasks.items() if tasks or not has_stages]


def _cluster(cluster: Cluster) -> str:
    slots = [counted(cluster.slots(kind), f"{kind.value} slot") for kind in _typed(cluster)]
    containers = sum(node.containers for node in cluster.nodes)
    slots += [counted(containers, "container")] * bool(containers)
    room = " and ".join(slots) or "no slots, resources only"
    if cluster.is_totals:
        return room
    nodes = len(cluster.nodes)
    racks = len({node.rack for node in cluster.nodes})
    where = f"{count(nodes)} node{'s' * (nodes > 1)}"
    where += f" in {count(racks)} rack{'s' * (racks > 1)}" if cluster.has_racks else ""
    return f"{where}, {room}"


def _typed(cluster: Cluster) -> list[SlotKind]:
    return [kind for kind in (SlotKind.MAP, SlotKind.REDUCE) if cluster.slots(kind)]


def _by_kind(values: dict[SlotKind, str]) -> str:
    words = {SlotKind.CONTAINER: "in stages"}
    return ", ".join(f"{value} {words.get(kind, kind.value)}" for kind, value in values.items())


def _listed(names: Sequence[str]) -> str:
    shown = [shortened(name, _NAME_WIDTH) for name in names[:_LISTED_MAX]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {count(more)} more" if more else "")
