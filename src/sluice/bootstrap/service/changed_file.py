"""A service goes on with a changed file although jobs are open.

What the scheduler remembers must stay true: it goes on from the opening that an orderly stop has
left, with the same policies and settings. Limits and prices of the service, its nodes, and settings
that only the driver reads may be others; so may its queues, if the task policy takes up queues that
change. The new segment of the journal names in its header what was changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sluice.bootstrap.policy_classes import KINDS, chosen_policy
from sluice.bootstrap.service.begun_segments import next_folder, with_kept_queues
from sluice.bootstrap.service.config import POOL_KEYS, ServiceConfig
from sluice.bootstrap.setting_notes import owners_of
from sluice.core.events import QueuesChanged
from sluice.core.scheduler import Scheduler
from sluice.engines.segments import SegmentOpening
from sluice.engines.settings import TaskLimitSettings
from sluice.ingest.document import read_document
from sluice.model.ids import PoolId
from sluice.model.queues import Pool
from sluice.store.journal import Journal
from sluice.store.rows import EntryKind, entries
from sluice.store.service.places import ServicePlace
from sluice.store.service.submissions import SubmittedJob

# The scheduler ends attempts by this one, too.
_OF_DRIVER = {one.name for one in fields(TaskLimitSettings)} - {"task_wall_s"}
_KEPT_OPTIONS = ("tasks", "release", "admission", "engine", "address", "seed", "advice")
_CLUSTER_OPTIONS = ("nodes", "map_slots", "reduce_slots")
_ELSEWHERE = ("settings", "scheduler")  # of the file: compared as what they lead to
_NO_LIMITS = (None, None, None)  # on slots of each kind
_SHOWN_MAX = 40  # letters of a value


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The changes in a file and its options, each as a line such as "a.b: 1 -> 2".

    kept: what an open job rests on, so that it cannot change before all of them have ended.
    """

    taken_over: tuple[str, ...]
    kept: tuple[str, ...]


def file_changes(old: ServiceConfig, new: ServiceConfig, scheduler: Scheduler) -> FileChanges:
    """Return the changes in a new file. scheduler: of the old one."""
    kept = [*_option_changes(old, new, _KEPT_OPTIONS), *_setting_changes(old, new)]
    taken = list(_option_changes(old, new, _CLUSTER_OPTIONS))
    before, after = _values(old), _values(new)
    follows = _can_follow(old, new, scheduler)
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) == after.get(key):
            continue
        line = _line(key, before.get(key), after.get(key))
        (taken if follows or key.partition(".")[0] not in POOL_KEYS else kept).append(line)
    taken += _setting_changes(old, new, of_driver=True)
    return FileChanges(taken_over=tuple(taken), kept=tuple(kept))


def _option_changes(
    old: ServiceConfig, new: ServiceConfig, names: tuple[str, ...]
) -> Iterator[str]:
    for name in names:
        before, after = getattr(old.options, name), getattr(new.options, name)
        if before != after:
            yield _line(f"--{name.replace('_', '-')}", before, after)


def _setting_changes(
    old: ServiceConfig, new: ServiceConfig, *, of_driver: bool = False
) -> list[str]:
    """The settings that differ: those that only the driver reads, or all others."""
    before, after = _flat_settings(old), _flat_settings(new)
    names = [one for one in dict.fromkeys((*before, *after)) if before.get(one) != after.get(one)]
    return [
        _line(name, before.get(name), after.get(name))
        for name in names
        if (name in _OF_DRIVER) is of_driver
    ]


def _flat_settings(config: ServiceConfig) -> dict[str, object]:
    """The settings in effect; `prices` give some to policies that the service does not have."""
    settings, options = config.settings, config.options
    used = owners_of([chosen_policy(kind, str(getattr(options, kind))) for kind in KINDS])
    given = settings.by_policy.items()
    own = {f"{p}.{name}": v for p, values in given if p in used for name, v in values.items()}
    return {**settings.general, **own}


def _values(config: ServiceConfig) -> dict[str, object]:
    """The values of the file by their paths, with the queues that are in effect."""
    found: Any = read_document(config.text.content, source=config.text.name).value
    pools = {key: config.document[key] for key in POOL_KEYS if key in config.document}
    return dict(
        _flat({key: one for key, one in {**found, **pools}.items() if key not in _ELSEWHERE})
    )


def _flat(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        value = {row.get("id", place): row for place, row in enumerate(value)}
    if not isinstance(value, dict):
        yield path, value
        return
    for key, each in value.items():
        yield from _flat(each, f"{path}.{key}" if path else str(key))


def _line(name: str, before: object, after: object) -> str:
    return f"{name}: {_shown(before)} -> {_shown(after)}"


def _shown(value: object) -> str:
    return "not given" if value is None else f"{value!s:.{_SHOWN_MAX}}"


def _shape(pools: Mapping[PoolId, Pool], common: Collection[PoolId]) -> list[tuple[object, ...]]:
    """Return what of queues cannot change: their parents, and for which limits there are parts."""
    return [
        (
            None if pool.queue is None else (pool.queue.parent, pool.queue.order),
            pool.map_slots_max, pool.reduce_slots_max, pool.containers_max,
        )
        for pool in (pools[one] for one in common)
    ]  # fmt: skip


def _can_follow(old: ServiceConfig, new: ServiceConfig, scheduler: Scheduler) -> bool:
    before, after = ({one.pool_id: one for one in of.workload.pools} for of in (old, new))
    common = [one for one in before if one in after]
    follows = scheduler.policies.tasks.follows_queues
    # A limit on slots may need a part of the policy that is made when the scheduler is.
    has_new_limits = any(_shape(after, [one])[0][1:] != _NO_LIMITS for one in after.keys() - before)
    return follows and _shape(before, common) == _shape(after, common) and not has_new_limits


class OrderlyEnd:
    """The opening at the end of a segment after which nothing has happened."""

    def __init__(self, segment: Path, line: str) -> None:
        self.segment = segment
        self.line = line
        self.opening = SegmentOpening.of(line)
        self.jobs = [SubmittedJob.of(each["submitted"]) for each in self.opening.users["jobs"]]

    @classmethod
    def of(cls, segment: Path) -> OrderlyEnd | None:
        """The end of a segment; None if its driver was not stopped in order."""
        rows = iter(entries(segment))
        first = list(islice(rows, 2))
        if len(first) < 2 or first[1].kind is not EntryKind.OPENING:  # noqa: PLR2004  # both rows
            return None
        is_over = all(row.kind is EntryKind.EPOCH for row in rows)
        return cls(segment, first[1].payload) if is_over else None

    def lost_queues(self, old: ServiceConfig, new: ServiceConfig) -> list[str]:
        """Queues of open jobs that the new file no longer has."""
        before, after = ({one.pool_id for one in of.workload.pools} for of in (old, new))
        return sorted({job.job.pool for job in self.jobs} & before - after)

    def go_on(self, place: ServicePlace, config: ServiceConfig, changed: tuple[str, ...]) -> None:
        """Begin a segment with the new file. Raises InvalidInput if the policies refuse it."""
        present = with_kept_queues(config, place)
        scheduler = present.scheduler(self.opening.scheduler)
        state, pools = scheduler.state, present.workload.pools
        known = {pool_id: entry.pool for pool_id, entry in state.pools.items()}
        journal = Journal.reopened(self.segment)
        try:
            rows = None if present is config else present.document["queues"]
            header = replace(config.header(), after=self.segment.name, changed=changed)
            journal.go_on_in(next_folder(place, config, rows), header, self.line)
            if any(known.get(pool.pool_id) != pool for pool in pools):
                journal.append([QueuesChanged(state.now_s, pools)])
        finally:
            journal.close()
