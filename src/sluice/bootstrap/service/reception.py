"""The content that a user sends becomes jobs that can be run, or one clear message.

Called from a thread for each user: inputs are listed and code is looked at here, so that the driver
need not wait for any disk but the journal's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from sluice.bootstrap.engines.registry import engine_kind
from sluice.bootstrap.live.real_jobs import customers_apart
from sluice.bootstrap.preparation.checks import check_slots
from sluice.bootstrap.preparation.facts import CLUSTER, NAMES, PREPARED, SCHEDULER, USERS, WORKLOAD
from sluice.bootstrap.preparation.pipeline import Goal
from sluice.bootstrap.preparation.steps import prepared
from sluice.bootstrap.service.config import ServiceConfig
from sluice.bootstrap.service.received import Received
from sluice.engines.mapreduce.layout import PreparedJob
from sluice.ingest.consistency import unknown_pool
from sluice.model.errors import InvalidInput
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.model.workload import Workload
from sluice.store.service.submissions import content_digest

KEY_CHARACTERS_MAX = 200
JOB_ID = "{job_id}"  # in outputs
_OPTIONS = ("folder", "deadline", "labels", "held_by")  # a key must always come with the same


class Reception:
    """Gives each job the next number. first: the first number that is free."""

    def __init__(self, config: ServiceConfig, first: int) -> None:
        self._config = config
        self._cluster = config.cluster
        self._scheduler = config.scheduler()  # only to ask what it can run
        self._users = customers_apart(config.settings, engine_kind(config.options.engine))
        # Shared by threads: taking one is a single step.
        self._ids = map("job-{:06d}".format, count(first))
        self._ids_of_quotes = map("quote-{:06d}".format, count(1))

    def take_up(self, config: ServiceConfig) -> None:
        """The service has other queues from now on."""
        self._config = config

    def receive(self, message: Mapping[str, Any]) -> Received:
        """The jobs of a message with `content`, `source`, `folder`, `tenant`, `key`, `deadline_s`.

        Its `deadline` is as the user gave it: 17:00 is the same when it is sent again. Those of a
        quote, by its `do`, have ids that no job gets.

        Raises InvalidInput.
        """
        key, content = message.get("key"), str(message["content"]).encode()
        check_key(key)
        deadline_s = message.get("deadline_s")
        workload, unused = self._config.workload_of(
            content, str(message["source"]), str(message["folder"])
        )
        names = tuple(str(job.job_id) for job in workload.jobs)
        workload = replace(workload, jobs=tuple(_due(job, deadline_s) for job in workload.jobs))
        if self._users is not None:  # whom a job is for is not for the one who submits it to say
            workload = _of_customer(workload, str(message["tenant"]))
        numbers = self._ids_of_quotes if message.get("do") == "quote" else self._ids
        ids = {job.job_id: JobId(next(numbers)) for job in workload.jobs}
        numbered = replace(workload, jobs=tuple(_renamed(job, ids) for job in workload.jobs))
        ready = self._ready(numbered, names)
        return Received(
            prepared=ready,
            names=names,
            tenant=str(message["tenant"]),
            user=str(message.get("user") or message["tenant"]),
            labels=dict(message.get("labels") or {}),
            held_by=str(message.get("held_by") or ""),
            quota=dict(message.get("quota") or {}),
            key=key,
            digest=content_digest(
                content, {name: message[name] for name in _OPTIONS if name in message}
            ),
            notes=tuple(f"`{key}` has no effect: the service's own counts" for key in unused),
        )

    def check(self, job: Job) -> None:
        """Raise InvalidInput for a job whose new values the queues or the cluster cannot take."""
        workload = self._config.workload
        wrong = unknown_pool(job, [str(pool.pool_id) for pool in workload.pools], ())
        if wrong is not None:
            raise InvalidInput(wrong.what, where="queue", hint=wrong.hint)
        check_slots([job], self._cluster, self._scheduler, workload.source)

    def _ready(self, workload: Workload, names: Sequence[str]) -> tuple[PreparedJob, ...]:
        facts = prepared(
            Goal.RECEIVE,
            {
                WORKLOAD: workload,
                CLUSTER: self._cluster,
                SCHEDULER: self._scheduler,
                USERS: self._users,
                NAMES: names,
            },
        )
        ready = zip(facts[PREPARED], facts[WORKLOAD].jobs, strict=True)
        return tuple(replace(each, job=job) for each, job in ready)


def _of_customer(workload: Workload, customer: str) -> Workload:
    return replace(workload, jobs=tuple(replace(job, customer=customer) for job in workload.jobs))


def check_key(key: object) -> None:
    """Raise InvalidInput for an idempotency key that is none."""
    is_right = key is None or (
        isinstance(key, str)
        and 1 <= len(key) <= KEY_CHARACTERS_MAX
        and all("!" <= letter <= "~" for letter in key)
    )
    if not is_right:
        raise InvalidInput(
            f"{str(key)[:40]!r} cannot be a key",
            where="--idempotency-key",
            hint=f"give 1 to {KEY_CHARACTERS_MAX} visible ASCII characters without spaces",
        )


def _due(job: Job, deadline_s: float | None) -> Job:
    """The job with the deadline of the command, if one is given, counted from its submission."""
    if deadline_s is None:
        return job
    return replace(job, deadline_at_s=job.submitted_at_s + deadline_s)


def _renamed(job: Job, ids: Mapping[JobId, JobId]) -> Job:
    job_id, run = ids[job.job_id], job.run
    if run is not None:
        run = replace(run, output=run.output.replace(JOB_ID, job_id))
    return replace(
        job, job_id=job_id, run=run, after=tuple(ids.get(name, name) for name in job.after)
    )
