"""A table of jobs as the document of a workload file.

A row is a job, or a stage of one: rows of one name, each with a stage, are stages of one job. A
stage without `after` comes after the stage before it. `after` may also name other jobs. Without
stages each row is a job of its own, also where a history has several runs of one name: of one
phase, or of maps and reduces where the table has columns for both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sluice.ingest.document import Document
from sluice.ingest.tables.cells import SHORT_CLOCKS, is_short_clock
from sluice.ingest.tables.columns import Column, job_fields, recognised
from sluice.ingest.tables.dates import DateError, DateOrder, date_order
from sluice.ingest.tables.job_rows import NEEDS, JobRow
from sluice.ingest.tables.rows import Table
from sluice.model.errors import InvalidInput

_HEADERS_SHOWN: Final = 200
_INSTANTS: Final = ("submitted_at_s", "deadline_s")
_DATES: Final = "dates"  # the key of --map that says what is first in 03/04/2021
_TOTALS: Final = frozenset({"total", "totals", "grand total", "sum", "summe", "gesamt", "all"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TableJobs:
    """The document of a workload file, and sentences on what was recognised or chosen.

    value: what the file holds.  document: the same, with the lines that jobs have in the table.
    """

    value: dict[str, Any]
    document: Document
    notes: tuple[str, ...]


def jobs_document(
    table: Table, chosen: Mapping[str, str] | None = None, containers: int | None = None
) -> TableJobs:
    """The workload of a table. chosen: headers by key.  containers: slots of the cluster.

    Raises InvalidInput naming line and column.
    """
    chosen = dict(chosen or {})
    order = chosen.pop(_DATES, None)
    fields = job_fields(table.headers, chosen)
    columns = recognised(table.headers, fields, chosen, table.where)
    by_key = {column.key: column for column in columns}
    dates = _date_order(table, by_key, order)
    known: set[str] = set()
    read: dict[tuple[str, str], float] = {}
    rows = [JobRow(table, number, by_key, known, dates, read) for number in range(len(table.rows))]
    rows = [row for row in rows if not row.is_blank]
    totals = rows.pop() if _are_totals(rows) else None
    known.update(name for row in rows for name in (row.name, row.stage))
    if not rows:
        raise InvalidInput("it has no rows", where=table.where, hint="give a row for each job")
    notes = [f"{table.where}: {_said(table, columns)}{_unused(table, columns)}"]
    if totals is not None:
        notes.append(f"{totals.place} is left out: it is the total of the rows above it")
    if "stage" in by_key:
        jobs: dict[str, list[JobRow]] = {}
        for row in rows:
            jobs.setdefault(row.name, []).append(row)
    else:
        jobs, repeated = _own_jobs(rows)
        if repeated:
            notes.append(f"names that are there more than once get a number, as in {repeated[0]}")
    first_s = _first_date_s(rows)
    listed = [_job(name, its_rows, first_s, jobs.keys()) for name, its_rows in jobs.items()]
    slots = containers
    if slots is None:
        slots = max(row.tasks for row in rows)
        counted = "1 container" if slots == 1 else f"{slots} containers"
        notes.append(f"the cluster has {counted}, as many as the largest stage has tasks")
    node: dict[str, Any] = {"containers": slots}
    needs = {key: most for key in NEEDS if (most := _most(rows, key)) is not None}
    if needs:  # each slot is as large as the largest task
        node["resources"] = {key: slots * most for key, most in needs.items()}
    cluster = {"nodes": 1, "node": node}
    value = {"version": 1, "cluster": cluster, "jobs": listed}
    document = Document(
        value=value,
        text="",
        source=table.where,
        is_json=False,
        job_lines=tuple(its_rows[0].line for its_rows in jobs.values()),
        line=table.line,
    )
    return TableJobs(value=value, document=document, notes=tuple(notes))


def _said(table: Table, columns: Sequence[Column]) -> str:
    """The columns that are read, and what `1:30` is in them."""
    said = []
    for column in columns:
        clock = SHORT_CLOCKS.get(column.factor, "h:mm" if column.key == "submitted_at_s" else "")
        has_clock = clock and any(is_short_clock(row[column.place]) for row in table.rows)
        said.append(f"{column} as {clock}" if has_clock else str(column))
    return ", ".join(said)


def _unused(table: Table, columns: Sequence[Column]) -> str:
    """The columns that are not read, as the end of a sentence."""
    read = {column.header for column in columns}
    left = [header for header in table.headers if header and header not in read]
    return f"; not used: {', '.join(left)[:_HEADERS_SHOWN]}" if left else ""


def _date_order(
    table: Table, columns: Mapping[str, Column], chosen: str | None
) -> DateOrder | None:
    """Which of day and month is first in the dates of a table. chosen: as the user says.

    Raises InvalidInput.
    """
    if chosen is not None:
        if chosen not in list(DateOrder):
            hint = f"use one of {', '.join(DateOrder)}"
            raise InvalidInput(f"{chosen[:60]!r} is no order", where=f"--map {_DATES}", hint=hint)
        return DateOrder(chosen)
    places = [columns[key].place for key in _INSTANTS if key in columns]
    texts = (
        cell.strip() for row in table.rows for at in places if isinstance(cell := row[at], str)
    )
    try:
        return date_order(texts)
    except DateError as error:
        what, hint = error.args
        raise InvalidInput(what, where=table.where, hint=hint) from None


def _are_totals(rows: Sequence[JobRow]) -> bool:
    """Whether the last row sums up the others, as reports end: it has no name, or `Total`."""
    if len(rows) < 2:  # noqa: PLR2004  # one row sums up nothing
        return False
    *above, last = rows
    is_named = last.has("name")
    if is_named and last.name.lower().rstrip(":") not in _TOTALS:
        return False
    key = "maps" if last.is_two_phase else "tasks"
    if not last.has(key):
        return is_named
    return last.count(key) == sum(row.count(key) for row in above)


def _own_jobs(rows: Sequence[JobRow]) -> tuple[dict[str, list[JobRow]], list[str]]:
    """A job for each row, by its id; and the ids that are a name with a number.

    Raises InvalidInput where a row comes after a name that several have.
    """
    names = [row.name for row in rows]
    taken = set(names)
    counts: dict[str, int] = {}
    jobs: dict[str, list[JobRow]] = {}
    repeated = []
    for name, row in zip(names, rows, strict=True):
        job_id = name
        while job_id in jobs or (job_id != name and job_id in taken):
            counts[name] = counts.get(name, 1) + 1
            job_id = f"{name}-{counts[name]}"
        jobs[job_id] = [row]
        if job_id != name:
            repeated.append(job_id)
    several = counts.keys()
    for row in rows if several else ():
        if unclear := next((one for one in _after(row) if one in several), None):
            what = f"{unclear!r} is the name of {counts[unclear]} jobs"
            raise row.wrong("after", what, "give each job a name of its own")
    return jobs, repeated


def _first_date_s(rows: Sequence[JobRow]) -> float:
    """The first submission, where submissions are dates; else 0.

    Raises InvalidInput if only some are.
    """
    given = [row for row in rows if row.has("submitted_at_s")]
    found = [(row, *row.instant_s("submitted_at_s")) for row in given]
    dates = [seconds for _, seconds, is_date in found if is_date]
    if dates and len(dates) < len(found):
        odd = next(row for row, _, is_date in found if is_date != found[0][2])
        what = f"{odd.text('submitted_at_s')!r} is {'not a date' if found[0][2] else 'a date'}"
        raise odd.wrong(
            "submitted_at_s", f"{what}, unlike those above", "give all as dates, or all as seconds"
        )
    return min(dates) if dates else 0.0


def _most(rows: Sequence[JobRow], key: str) -> float | None:
    return max((row.number(key) for row in rows if row.has(key)), default=None)


def _job(
    name: str, rows: Sequence[JobRow], first_s: float, names: Collection[str]
) -> dict[str, Any]:
    """The job of some rows. names: of all jobs."""
    first = rows[0]
    job = _facts(name, first, first_s)
    stages = [row.stage for row in rows]
    before = _jobs_before(name, rows, stages, names)
    if before:
        job["after"] = before
    for row, stage in zip(rows, stages, strict=True):
        if stages.count(stage) > 1:
            raise row.wrong(
                "stage" if row.has("stage") else "name",
                f"stage {stage!r} of job {name!r} is there twice",
                "give each stage of a job a name of its own, or each job",
            )
    if first.is_two_phase:
        job |= _two_phases(first)
    else:
        job["phases"] = [_stage(row, stages) for row in _sorted(rows, stages)]
    return job


def _facts(name: str, first: JobRow, first_s: float) -> dict[str, Any]:
    """The facts that the first row of a job gives for all of it."""
    job: dict[str, Any] = {"id": name}
    if first.has("queue"):
        job["pool"] = first.text("queue")
    if first.has("user"):
        job["customer"] = first.text("user")
        job.setdefault("pool", job["customer"])
    if first.has("submitted_at_s"):
        seconds, is_date = first.instant_s("submitted_at_s")
        job["submitted_at_s"] = seconds - first_s if is_date else seconds
    if first.has("deadline_s"):
        job["deadline_s"] = first.deadline_s()
    if first.has("weight"):
        job["weight"] = first.number("weight")
    return job


def _jobs_before(
    name: str, rows: Sequence[JobRow], stages: Sequence[str], names: Collection[str]
) -> list[str]:
    """The other jobs that rows of a job name; all that they name are jobs or stages of this one."""
    found: dict[str, None] = {}
    for row in rows:
        for before in _after(row):
            if before in stages:
                continue
            if before not in names or before == name:
                what = f"{before!r} is no other job, and no stage of job {name!r}"
                raise row.wrong("after", what, "name stages of the same job, or other jobs")
            found[before] = None
    return list(found)


def _sorted(rows: Sequence[JobRow], stages: Sequence[str]) -> list[JobRow]:
    """The rows with each stage behind those that it comes after, else in the order of the table."""
    if len(rows) == 1:
        return list(rows)
    left, done, ordered = list(rows), set[str](), []
    while left:
        ready = next(
            (row for row in left if all(one in done or one not in stages for one in _after(row))),
            None,
        )
        if ready is None:
            row = _in_circle(left)
            raise row.wrong("after", "the stages wait for each other in a circle", "break it")
        left.remove(ready)
        done.add(ready.stage)
        ordered.append(ready)
    return ordered


def _in_circle(left: Sequence[JobRow]) -> JobRow:
    """A row that waits for itself. left: rows that each wait for another one of them."""
    row, seen = left[0], list[JobRow]()
    while row not in seen:
        seen.append(row)
        before = _after(row)
        row = next(one for one in left if one.stage in before)
    return row


def _after(row: JobRow) -> list[str]:
    return row.names("after") if row.has("after") else []


def _two_phases(row: JobRow) -> dict[str, Any]:
    found: dict[str, Any] = {
        f"{phase}s": {"tasks": tasks, "avg_s": seconds} for phase, tasks, seconds in row.phases
    }
    if needs := _needs(row):
        found["demand"] = {phase: needs for phase, *_ in row.phases}
    return found


def _stage(row: JobRow, stages: Sequence[str]) -> dict[str, Any]:
    ((name, tasks, seconds),) = row.phases
    stage: dict[str, Any] = {"name": name, "tasks": tasks, "avg_s": seconds}
    if needs := _needs(row):
        stage["demand"] = needs
    inside = [one for one in _after(row) if one in stages and one != row.stage]
    if inside:
        stage["after"] = inside
    elif row.stage == stages[0] or row.has("after"):
        stage["after"] = []
    return stage


def _needs(row: JobRow) -> dict[str, Any]:
    """The demand of one task of a row, as in a workload file; empty where the row has none."""
    found = {key: row.number(key) for key in NEEDS if row.has(key)}
    return {"resources": found} if found else {}
