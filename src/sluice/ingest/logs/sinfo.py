"""The nodes of Slurm: what `sinfo` prints, in any columns, or `sinfo --json`.

It has no jobs: its workload is the cluster, and with the list of `squeue` or the accounts of
`sacct` next to it the cluster is known. Needed is STATE, or NODES(A/I/O/T) or CPUS(A/I/O/T), which
count by state; processors come from CPUS(A/I/O/T) or CPUS, or else a node counts as one. Nodes that
are down, drained, reserved or in maintenance do not count. A node of several partitions counts once
where its name is listed (NODELIST); without names only the largest partition counts, for partitions
may have nodes in common. Source of the format: sinfo(1), Slurm 24.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_head
from sluice.ingest.logs.report import Contents, Report, Unreadable, nothing_found
from sluice.ingest.logs.slurm_tables import is_table, table_rows
from sluice.ingest.logs.slurm_values import count_in, expanded_nodes
from sluice.ingest.logs.whole_json import listed, mapping, whole_json
from sluice.model.cluster import SLOTS_MAX, Cluster
from sluice.model.settings import setting
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import Workload

FORMAT = "sinfo"
_NODES_BY_STATE: Final = "NODES(A/I/O/T)"
_CPUS_BY_STATE: Final = "CPUS(A/I/O/T)"
_STATES: Final = ("STATE", _NODES_BY_STATE, _CPUS_BY_STATE)
_UP: Final = frozenset(
    {"ALLOC", "ALLOCATED", "MIX", "MIXED", "IDLE", "COMP", "COMPLETING", "PLND", "PLANNED"}
)
# Behind a state: powered down or up, planned, about to be. Any other mark takes the node away.
_MARKS_OF_UP: Final = "~#!%^-@+"
_COUNT_MAX: Final = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The part of the cluster that counts. partition: "" for all."""

    partition: str = setting("", "the partition whose nodes count; all without it")


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """Names of columns with a partition and a state, and no job; or objects of nodes."""
    if head.lstrip()[:1] == b"{":
        return b'"sinfo"' in head and b'"partition"' in head and b'"job_state"' not in head
    return is_table(head, _is_header)


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The cluster, of at least one processor. Raises InvalidInput where there is none."""
    is_json = log_head(path).lstrip()[:1] == b"{"
    rows = (_json_rows if is_json else _table_rows)(path, report, limits)
    census = _Census()
    for row in rows:
        if options.partition in ("", row.partition):
            census.count(row)
    processors = min(SLOTS_MAX, round(census.processors()))
    if processors < 1:
        hint = "give what `sinfo -N -o '%N|%P|%t|%c'` prints"
        raise nothing_found(path, report, "node that is up", hint=hint)
    cluster = Cluster.of_slots({SlotKind.CONTAINER: processors})
    workload = Workload(cluster=cluster, jobs=(), source=str(path))
    return Contents(notes=tuple(census.notes(processors)), workload=workload)


class _Row(NamedTuple):
    """Nodes of one state in a partition. processors: of those that are up, together.

    names: of all nodes of the row; empty where they are not listed.
    """

    partition: str
    names: Sequence[str]
    nodes: int
    up: int
    processors: float
    has_processors: bool


@dataclass(slots=True)
class _Census:
    """The totals of the rows. nodes: processors by name; sums: by partition, without names."""

    nodes: dict[str, float] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)
    away: int = 0
    has_processors: bool = True

    def count(self, row: _Row) -> None:
        self.has_processors &= row.has_processors
        if not row.names:
            self.away += row.nodes - row.up
            self.sums[row.partition] = self.sums.get(row.partition, 0.0) + row.processors
            return
        of_each = row.processors / len(row.names)
        others = dict.fromkeys((name for name in row.names if name not in self.nodes), of_each)
        self.nodes |= others
        self.away += (row.nodes - row.up) * len(others) // len(row.names)

    def processors(self) -> float:
        return sum(self.nodes.values()) + max(self.sums.values(), default=0.0)

    def notes(self, processors: int) -> Iterator[str]:
        yield f"processors = {processors}: those of nodes that are up."
        if self.away:
            verb = "node does" if self.away == 1 else "nodes do"
            yield f"{self.away} {verb} not count: down, drained or reserved."
        if not self.has_processors:
            yield "A node counts as one processor: the list has no CPUS (sinfo -o '%P|%t|%c|%N')."
        if len(self.sums) > 1:
            largest = max(self.sums, key=lambda name: self.sums[name])
            yield (
                f"Only partition {largest} counts, the largest: without NODELIST nodes of several"
                " partitions are not known apart."
            )


# --- tables ---------------------------------------------------------------------------------------


def _is_header(cells: Sequence[str]) -> bool:
    return (
        ("PARTITION" in cells or "NODELIST" in cells)
        and any(name in cells for name in _STATES)
        and "JOBID" not in cells
    )


def _table_rows(path: Path, report: Report, limits: Limits) -> Iterator[_Row]:
    for position, cells in table_rows(path, report, limits, _is_header):
        with report.skipping(position):
            yield _row(cells)


def _row(cells: Mapping[str, str]) -> _Row:
    names = expanded_nodes(cells.get("NODELIST", ""))
    by_state, of_nodes = cells.get(_CPUS_BY_STATE), cells.get(_NODES_BY_STATE)
    count = _number(cells.get("NODES"))
    each = _number(cells.get("CPUS"))
    if of_nodes is not None:
        busy, idle, _, nodes = _counts(of_nodes)
        up = busy + idle
    else:
        nodes = len(names) or (1 if count is None else count)
        is_up = "STATE" not in cells or _is_up(cells["STATE"])
        up = nodes if is_up else 0
    processors = float(up * (1 if each is None else each))
    if by_state is not None:
        busy, idle, _, _ = _counts(by_state)
        processors = float(busy + idle) if up or "STATE" not in cells else 0.0
    return _Row(
        partition=cells.get("PARTITION", "").rstrip("*"),
        names=names,
        nodes=nodes,
        up=up,
        processors=processors,
        has_processors=by_state is not None or each is not None,
    )


def _counts(text: str) -> tuple[int, int, int, int]:
    """Allocated, idle, other, total. Raises Unreadable."""
    counts = [count_in(one) for one in text.split("/")]
    if len(counts) != 4 or None in counts:  # noqa: PLR2004  # as many as Slurm prints
        raise Unreadable(f"{text[:40]!r} is not allocated/idle/other/total")
    busy, idle, other, total = (one or 0 for one in counts)
    return busy, idle, other, total


def _number(text: str | None) -> int | None:
    found = None if text is None else count_in(text)
    if text is not None and found is None:
        raise Unreadable(f"{text[:40]!r} is not a number")
    return found


def _is_up(state: str) -> bool:
    """Whether jobs can start on such a node now or once it has power.

    >>> _is_up("idle~"), _is_up("idle*"), _is_up("drng"), _is_up("MIXED+PLANNED")
    (True, False, False, True)
    """
    words = state.upper().rstrip(_MARKS_OF_UP).split("+")
    return all(word in _UP for word in words)


# --- JSON -----------------------------------------------------------------------------------------


def _json_rows(path: Path, report: Report, limits: Limits) -> Iterator[_Row]:
    for group in listed(mapping(whole_json(path, report, limits)).get("sinfo")):
        if isinstance(group, dict):
            yield _json_row(group)
        else:
            report.skip(0, "a group of nodes is not an object")


def _json_row(group: Mapping[str, Any]) -> _Row:
    keys = ("node", "nodes", "cpus", "partition")
    node, nodes, cpus, partition = (mapping(group.get(key)) for key in keys)
    states = node.get("state")
    words = states if isinstance(states, list) else [states]
    parts = listed(nodes.get("nodes"))
    names = [name for part in parts for name in expanded_nodes(str(part))]
    busy, idle = _json_number(cpus, "allocated"), _json_number(cpus, "idle")
    is_up = _is_up("+".join(str(word) for word in words))
    total = _json_number(nodes, "total") or len(names)
    return _Row(
        partition=str(partition.get("name") or ""),
        names=names,
        nodes=total,
        up=total if is_up else 0,
        processors=float(busy + idle) if is_up else 0.0,
        has_processors=True,
    )


def _json_number(members: Mapping[str, Any], key: str) -> int:
    value = members.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 <= value <= _COUNT_MAX else 0
