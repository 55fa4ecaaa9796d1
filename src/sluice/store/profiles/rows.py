"""Runs as rows, and rows as runs: a run that is read equals the run that was written.

Values that some database cannot store are refused or replaced before anything is written, so that
every database has the same rows for the same run. Sizes over 63 bits and times that are not finite
are refused; characters that PostgreSQL or UTF-8 cannot store are replaced.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import orjson

from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun, PastTask, TaskCosts, job_kind
from sluice.store.profiles.statistics import QUANTILES, LengthStatistics, length_statistics
from sluice.store.profiles.timeline import TASKS_KEPT_MAX, packed, unpacked

INTEGER_MAX = 2**63 - 1
KEY_LENGTH_MAX = 500  # characters; PostgreSQL indexes no more than some 2700 bytes

Row = dict[str, Any]

_COUNTS = (
    "tasks", "failed", "input_bytes", "output_bytes", "shuffle_read_bytes", "shuffle_write_bytes",
    "input_records", "output_records", "rss_bytes_max",
)  # fmt: skip
_NOT_IN_LOG = {"id", "run", "digest", "log_digest", "learned_at_s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run with what the store adds to it.

    lengths: statistics of the task lengths of each phase; None if the log has no single tasks.
    log_digest: of the log that it comes from, if known.
    learned_at_s: when it was added; wall clock, seconds since 1970.
    """

    run: PastRun
    lengths: tuple[LengthStatistics | None, ...]
    log_digest: str | None
    learned_at_s: float


class RunRecord(NamedTuple):
    """A run as rows, without its number in the table."""

    run: Row
    phases: tuple[Row, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The kind of job and its id, which identify the run."""
        return job_kind(self.run["source"]), self.run["run_id"]

    @property
    def amount(self) -> tuple[int, int]:
        """How complete it is: tasks, and other facts. The most complete record is kept."""
        return self.run["tasks_told"], self.run["facts_told"]


# --- to rows --------------------------------------------------------------------------------------


def record_of(run: PastRun, *, log_digest: str | None, learned_at_s: float) -> RunRecord:
    """The run as rows. Raises InvalidInput, naming the run, if it cannot be stored."""
    try:
        phases = _phase_rows(run)
        row = _run_row(run)
    except InvalidInput as error:
        raise error.within(f"run {run.run_id[:80]!r}") from None
    row |= {"log_digest": log_digest, "learned_at_s": learned_at_s}
    return RunRecord(row | {"digest": digest_of(row, phases)}, phases)


def _run_row(run: PastRun) -> Row:
    return {
        "source": _key("source", run.source),
        "run_id": _key("run_id", run.run_id),
        "profile": _key("profile", run.profile),
        "succeeded": bool(run.succeeded),
        "submitted_at_s": _seconds("submitted_at_s", run.submitted_at_s),
        "elapsed_s": _seconds("elapsed_s", run.elapsed_s),
        "queue": _plain(run.queue),
        "machine_type": _plain(run.machine_type),
        "slots": _json({kind: _count("slots", slots) for kind, slots in run.slots.items()}),
        "configuration": _json({key: str(value) for key, value in run.configuration.items()}),
        "notes": _json(list(run.notes)),
        "tasks_told": _count("tasks", sum(phase.tasks + phase.failed for phase in run.phases)),
        "facts_told": _facts(run),
        "name": _plain(run.name),
    }


def _facts(run: PastRun) -> int:
    """The number of known facts besides the tasks; a log that was cut short has fewer."""
    single = (run.submitted_at_s, run.elapsed_s, run.queue, run.machine_type)
    known = sum(fact is not None for fact in single) + run.succeeded
    timelines = sum(bool(phase.timeline) for phase in run.phases)
    return known + len(run.phases) + timelines + len(run.slots) + len(run.configuration)


def _phase_rows(run: PastRun) -> tuple[Row, ...]:
    room = TASKS_KEPT_MAX
    rows = []
    for position, phase in enumerate(run.phases):
        is_kept = 0 < len(phase.timeline) <= room
        room -= len(phase.timeline) if is_kept else 0
        rows.append(_phase_row(position, phase, is_kept=is_kept))
    return tuple(rows)


def _phase_row(position: int, phase: PastPhase, *, is_kept: bool) -> Row:
    for task in phase.timeline:
        for each in (task.started_at_s, task.finished_at_s, task.fetched_at_s):
            _seconds("the instant of a task", each)
        _count("input_bytes", task.input_bytes)
    statistics = length_statistics([task.length_s for task in phase.timeline])
    counts = {name: _count(name, getattr(phase, name)) for name in _COUNTS}
    return {
        "position": position,
        "name": _plain(phase.name),
        "kind": _plain(phase.kind),
        **counts,
        "avg_s": float(phase.avg_s),
        "max_s": float(phase.max_s),
        "cpu_s": _seconds("cpu_s", phase.cpu_s),
        "after": _json(list(phase.after)),
        "lengths": None if statistics is None else _json(asdict(statistics)),
        "timeline": packed(phase.timeline) if is_kept else None,
        "costs": None if phase.costs is None else _costs(phase.costs),
    }


def _costs(costs: TaskCosts) -> str:
    # Unknown values are left out, so that a field of a later release does not change old digests.
    known = {name: value for name, value in asdict(costs).items() if value is not None}
    return _json(
        {name: (_seconds if name.endswith("_s") else _count)(name, known[name]) for name in known}
    )


def digest_of(run: Row, phases: Sequence[Row]) -> str:
    """A digest of all values from the log; two records with the same digest are equal.

    NULL is left out, so that a new column of a later release does not change old digests.
    """
    digest = hashlib.blake2b(digest_size=16)
    for row in (run, *phases):
        rest = {name: value for name, value in row.items() if value is not None}
        timeline = bytes(rest.pop("timeline", b""))
        digest.update(
            orjson.dumps(
                {name: rest[name] for name in rest.keys() - _NOT_IN_LOG},
                option=orjson.OPT_SORT_KEYS,
            )
        )
        digest.update(hashlib.blake2b(timeline, digest_size=16).digest())
    return digest.hexdigest()


def _key(name: str, text: str) -> str:
    if not 1 <= len(text) <= KEY_LENGTH_MAX:
        raise InvalidInput(
            f"{name} has {len(text)} characters", where=name, hint=f"give 1 to {KEY_LENGTH_MAX}"
        )
    return _storable(text)


def _plain(text: str | None) -> str | None:
    return None if text is None else _storable(text)


def _storable(text: str) -> str:
    """The text without lone surrogates and NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _count(name: str, number: int | None) -> int | None:
    if number is None or 0 <= number <= INTEGER_MAX:
        return None if number is None else int(number)
    raise InvalidInput(f"{name} is {number}", where=name, hint="give 0 to 2^63 - 1")


def _seconds(name: str, number: float | None) -> float | None:
    if number is None or math.isfinite(number):
        return None if number is None else float(number)
    raise InvalidInput(f"{name} is {number}", where=name, hint="give a finite number of seconds")


def _json(value: Mapping[str, Any] | list[Any]) -> str:
    """JSON text that is equal for equal values; keys may be numbers."""
    how = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(_all_storable(value), option=how).decode()


def _all_storable(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, Mapping):
        return {_all_storable(key): _all_storable(each) for key, each in value.items()}
    return [_all_storable(each) for each in value] if isinstance(value, list) else value


# --- from rows ------------------------------------------------------------------------------------


def stored_summary(run: Row, phases: Sequence[Row]) -> StoredRun:
    """The run of these rows without its single tasks, which may be 100,000. Raises ValueError."""
    return stored_run(run, phases, tasks_of=lambda _: ())


def stored_run(
    run: Row, phases: Sequence[Row], tasks_of: Callable[[bytes], tuple[PastTask, ...]] = unpacked
) -> StoredRun:
    """The run of these rows. Raises ValueError if they do not fit their digest.

    tasks_of: unpacks the tasks of a phase.
    """
    if digest_of(run, phases) != run["digest"]:
        raise ValueError(f"run {run['run_id']!r} of {run['source']} does not fit its digest")
    _check_after(run, phases)
    found = PastRun(
        **{name: run[name] for name in ("run_id", "profile", "source", "succeeded")},
        **{name: run[name] for name in ("submitted_at_s", "elapsed_s", "queue", "machine_type")},
        phases=tuple(_phase(row, tasks_of) for row in phases),
        slots=orjson.loads(run["slots"]),
        configuration=orjson.loads(run["configuration"]),
        notes=tuple(orjson.loads(run["notes"])),
        name=run["name"],
    )
    return StoredRun(
        run=found,
        lengths=tuple(_statistics(row["lengths"]) for row in phases),
        log_digest=run["log_digest"],
        learned_at_s=run["learned_at_s"],
    )


def _check_after(run: Row, phases: Sequence[Row]) -> None:
    """Raise ValueError where a phase comes after others that it names in another way."""
    for row in phases:
        for before in orjson.loads(row["after"]):
            if type(before) is not int or not 0 <= before < len(phases):
                raise ValueError(
                    f"run {run['run_id']!r} of {run['source']}: {before!r} in `after` of its phase"
                    f" {row['name']!r} is not the position of a phase, 0 to {len(phases) - 1}"
                )


def _phase(row: Row, tasks_of: Callable[[bytes], tuple[PastTask, ...]]) -> PastPhase:
    timeline = row["timeline"]
    return PastPhase(
        **{name: row[name] for name in ("name", "kind", "avg_s", "max_s", "cpu_s", *_COUNTS)},
        after=tuple(orjson.loads(row["after"])),
        timeline=() if timeline is None else tasks_of(bytes(timeline)),
        costs=None if row["costs"] is None else TaskCosts(**orjson.loads(row["costs"])),
    )


def _statistics(content: str | None) -> LengthStatistics | None:
    if content is None:
        return None
    fields = orjson.loads(content)
    quantiles_s = {percent: fields["quantiles_s"][str(percent)] for percent in QUANTILES}
    return LengthStatistics(**fields | {"quantiles_s": quantiles_s})
