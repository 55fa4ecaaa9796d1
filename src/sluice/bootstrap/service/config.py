"""The input of a service at its start: a file like a workload's, without jobs, and options.

The file is read as a workload without jobs, plus the section `service:`, whose fields are few and
checked here. A segment of the journal begins with a copy of the file, so that what a segment did is
replayed with the file of its time (`segment_config`); queues that were changed since are a second
file next to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sluice.bootstrap.engines.registry import checked_engine, engine_kind
from sluice.bootstrap.live.run_options import RunOptions
from sluice.bootstrap.preparation.checks import check_rentable
from sluice.bootstrap.presets import completed_by
from sluice.bootstrap.scheduler import live_scheduler
from sluice.bootstrap.service.steering_options import (
    SteeringOptions,
    checked_steering,
    steering_options,
)
from sluice.bootstrap.settings import declarations, settings_of
from sluice.core.scheduler import Scheduler
from sluice.engines.data_plane.settings import DataPlaneSettings
from sluice.engines.retention import FORGET_S
from sluice.engines.segments import SEGMENT_ROWS, SEGMENT_S
from sluice.engines.yarn.rest import checked_address
from sluice.ingest.document import Document, read_document
from sluice.ingest.reading import SourceText
from sluice.ingest.settings import Settings
from sluice.ingest.suggestions import suggestion
from sluice.ingest.workload import workload_of
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.store.rows import RunHeader
from sluice.store.run_record import RunIdentity
from sluice.store.service.submissions import content_digest

FILE_NAME = "serve.yaml"  # of a segment: the text that it began with
QUEUES_NAME = "queues.json"  # of a segment: the queues that it began with, if not those of the file
OPEN_JOBS_MAX = 10_000
LOGS_DAYS = 14.0  # how long the logs of a job that has ended are kept; service spec, section 12,
LOGS_BYTES = 5e9  # and how many bytes all of them may have
KEEP_DAYS = 400.0  # how long the journal is kept
DISK_PERCENT_MAX = 90.0  # of the disk, above which no jobs are taken,
DISK_PERCENT_LOGS = 95.0  # and above which logs go, the oldest day first
PROMISE_WAIT_S = 1.5  # how long a submission waits for its promise; service spec, section 5
POOL_KEYS = ("queues", "pools")
_KINDS: dict[str, type] = {"limits": dict, "listen": str, "observe": str, "shared_user": bool}
_LIMITS = {
    "open_jobs_max": (OPEN_JOBS_MAX, 10**6),
    "promise_wait_s": (PROMISE_WAIT_S, 3600),
    "forget_s": (FORGET_S, 10**7),
    "segment_rows": (SEGMENT_ROWS, 10**8),
    "segment_s": (SEGMENT_S, 10**9),
    "keep_days": (KEEP_DAYS, 10**5),
    "logs_days": (LOGS_DAYS, 10**5),
    "logs_bytes": (LOGS_BYTES, 10**15),
    "disk_percent_max": (DISK_PERCENT_MAX, 100),
    "disk_percent_logs": (DISK_PERCENT_LOGS, 100),
}


@dataclass(frozen=True, kw_only=True)
class ServiceConfig:
    """The file and the options of a service.

    document: the file's values without its jobs and its own section.
    open_jobs_max: jobs that may be open at a time.
    promise_wait_s: how long a submission waits for its promise; without one it is taken then.
    forget_s: how long the driver keeps a job that is over; answers about it stay.
    segment_rows, segment_s: when the journal goes on in a new segment; see `engines.segments`.
    keep_days: how long segments of the journal are kept.
    logs_days, logs_bytes, disk_percent_logs: which logs of tasks are removed; see `kept_logs`.
    disk_percent_max: how full the disk of the service may be for a job to be taken.
    shared_user: whether the commands of all tenants may run as the account of the service.
    listen: where the page is, as `sluice serve --listen`; None for the default.
    observe: a ResourceManager's web address, whose applications are listed, too; None for none.
    steer: the section of that name, checked; None if that cluster is not changed.
    """

    text: SourceText
    document: Mapping[str, Any]
    workload: Workload
    options: RunOptions
    open_jobs_max: int
    promise_wait_s: float
    forget_s: float
    segment_rows: int
    segment_s: float
    keep_days: float
    logs_days: float
    logs_bytes: float
    disk_percent_max: float
    disk_percent_logs: float
    shared_user: bool
    listen: str | None
    observe: str | None
    steer: Mapping[str, Any] | None

    @classmethod
    def read(cls, text: SourceText, options: RunOptions | None = None) -> ServiceConfig:
        """The service of a file. Raises InvalidInput.

        options: those of the command line; tasks, release and admission are those of the file where
        they are None. None: all of the file.
        """
        read = read_document(text.content, source=text.name)
        found = read.value
        if not isinstance(found, dict):
            raise InvalidInput("it is no mapping", where=text.name, hint="give KEY: VALUE pairs")
        if found.get("jobs"):
            raise InvalidInput(
                "it has jobs",
                where=text.name,
                hint="leave them out, and give them to `sluice submit`",
            )
        own = _own_section(found.get("service") or {}, text.name)
        document = {key: value for key, value in found.items() if key not in {"jobs", "service"}}
        workload = _parsed(read, document, text.folder)
        if options is None:
            tasks, release, admission, settings = completed_by(workload, None, None, None)
            options = RunOptions(
                tasks=str(tasks), release=str(release), admission=str(admission), settings=settings
            )
        return cls(text=text, document=document, workload=workload, options=options, **own)

    @property
    def file_queues_digest(self) -> str:
        """A digest of the queues and pools that the file has, whichever are in effect."""
        found: Any = read_document(self.text.content, source=self.text.name).value
        own = {key: found.get(key) for key in POOL_KEYS}
        return content_digest(json.dumps(own, sort_keys=True).encode(), {})

    def with_queues(self, rows: Sequence[Mapping[str, Any]]) -> ServiceConfig:
        """The service with other queues than its file has. Raises InvalidInput.

        rows: as in the section `queues`. The file's pools of these names have their weights.
        """
        read = read_document(self.text.content, source=self.text.name)
        weights = {row["id"]: row["weight"] for row in rows}
        document = dict(self.document) | {"queues": list(rows)}
        if document.get("pools"):
            document["pools"] = [
                {**pool, "weight": weights[pool["id"]]} if pool["id"] in weights else pool
                for pool in document["pools"]
            ]
        workload = _parsed(read, document, self.text.folder)
        cluster = self.workload.cluster  # an engine may have found its nodes
        return replace(self, document=document, workload=replace(workload, cluster=cluster))

    @property
    def cluster(self) -> Cluster:
        """The nodes of the service."""
        return self.options.cluster(self.workload)

    @property
    def settings(self) -> Settings:
        """The settings of the file with those of the options over them."""
        return settings_of(self.workload, self.options)

    @property
    def steering(self) -> SteeringOptions | None:
        """How the observed cluster is changed; None if it is not. Raises InvalidInput."""
        chosen, where = (self.options.tasks, self.options.release), f"{self.text.name}, service"
        return steering_options(self.steer, self.observe, chosen, where)

    def check(self) -> None:
        """Raise InvalidInput for an engine or a policy that cannot serve, or cannot steer."""
        _ = self.steering
        engine = checked_engine(self.options)
        data = self.settings.of(DataPlaneSettings)
        if engine.moves_data(data, self.options):
            raise InvalidInput(
                "its nodes would get the data of a job over the network, and a service does not"
                " move data of jobs that come later",
                where="--address",
                hint="let the nodes share a file system, and set data_plane=shared",
            )
        self.scheduler()

    def scheduler(self, opening: str | None = None) -> Scheduler:
        """A scheduler. Raises InvalidInput for a policy whose waits have no bound.

        opening: where it goes on from, as `opening_of` makes it; a fresh one without.
        """
        scheduler = live_scheduler(self.workload, self.settings, self.options, opening)
        check_rentable(scheduler, self.cluster, engine_kind(self.options.engine))
        for policy in (scheduler.policies.admission, scheduler.policies.release):
            why = policy.waits_without_bound
            if why:
                raise InvalidInput(
                    f"{policy.name} {why}, and users of a service submit jobs without an end",
                    where=self.text.name,
                    hint="choose another policy, or another setting of it",
                )
        return scheduler

    def header(self) -> RunHeader:
        """The header of a new segment."""
        identity = RunIdentity(
            source=self.text.file, folder=self.text.folder, sha256=self.text.sha256
        )
        return self.options.header(self.workload, identity)

    def workload_of(self, content: bytes, source: str, folder: str) -> tuple[Workload, list[str]]:
        """The jobs of a user's file, on the cluster and in the queues of the service.

        Returns them, and the keys of the file that have no effect. Raises InvalidInput.
        """
        read = read_document(content, source=source)
        found = read.value
        if not isinstance(found, dict):
            raise InvalidInput("it is no mapping", where=source, hint="give `version` and `jobs`")
        unused = sorted(found.keys() - {"version", "jobs", "rejects"})
        document = {**self.document, "jobs": found.get("jobs")}
        return _parsed(read, document, folder), unused


def segment_config(folder: Path, header: RunHeader) -> ServiceConfig:
    """The service of a segment, as it began."""
    text = SourceText(
        content=(folder / FILE_NAME).read_bytes(),
        name=header.source,
        file=header.source,
        folder=header.folder,
    )
    config = ServiceConfig.read(text, RunOptions.of(header))
    path = folder / QUEUES_NAME
    return config.with_queues(json.loads(path.read_text("utf-8"))) if path.exists() else config


def _parsed(read: Document, values: Mapping[str, Any], folder: str) -> Workload:
    """The workload of other values than the file has; messages name the file's lines."""
    return workload_of(replace(read, value=values), folder, declarations())


def _own_section(given: object, where: str) -> dict[str, Any]:
    """The fields of the section `service:`. Raises InvalidInput.

    Limits may be in a mapping of their own, `limits`.
    """
    where = f"{where}, service"
    section = _mapping(given, where)
    limits = section | _mapping(section.get("limits") or {}, f"{where}, limits")
    for key, value in limits.items():
        if key in _LIMITS:
            _check_limit(key, value, where)
        elif key == "steer":
            checked_steering(value, where)
        elif key not in _KINDS:
            raise InvalidInput(
                f"unknown key {key!r:.60}",
                where=where,
                hint=suggestion(str(key), [*_LIMITS, *_KINDS, "steer"]),
            )
        elif not isinstance(value, _KINDS[key]):
            kind = "true or false" if _KINDS[key] is bool else "text"
            raise InvalidInput(f"{key} is {value!r:.60}", where=where, hint=f"give {kind}")
        elif key == "observe":
            checked_address(str(value), f"{where}, {key}")
    return {
        "shared_user": False,
        "listen": None,
        "observe": None,
        **{key: default for key, (default, _) in _LIMITS.items()},
        **{key: value for key, value in limits.items() if key != "limits"},
        "steer": checked_steering(limits.get("steer"), where),
    }


def _mapping(given: object, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidInput("it is no mapping", where=where, hint="give KEY: VALUE pairs")
    return given


def _check_limit(key: str, value: object, where: str) -> None:
    default, high = _LIMITS[key]
    is_number = isinstance(value, int | type(default)) and not isinstance(value, bool)
    if not is_number or not 1 <= float(str(value)) <= high:
        raise InvalidInput(
            f"{key} is {value!r:.60}", where=where, hint=f"give a number from 1 to {high}"
        )
