"""The tools. Their docstrings are what an agent reads.

They do what the commands of the same names do, with the rights of the account that runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import sluice
from sluice.api import runs as recorded
from sluice.api import service
from sluice.ingest.reading import read_source
from sluice.model.errors import EngineUnavailable
from sluice.service.mcp.answers import Answer, untrusted
from sluice.service.mcp.confirmations import Confirmations

LIST_MAX = 100


def queue(state: str | None = None, limit: int = 20) -> Answer:
    """Jobs that run and wait, when they end, and how busy the cluster is.

    Without a service: the recorded runs of this machine. state: only waiting, running, done,
    failed, killed or refused jobs.
    """
    try:
        busy = service.queues()
        jobs = service.jobs(states=[state] if state else (), limit=max(1, min(limit, LIST_MAX)))
    except EngineUnavailable:
        return untrusted({"service": None, "runs": recorded.runs().document()})
    return untrusted({"service": busy, "jobs": jobs["jobs"], "total": jobs["total"]})


def why(job_id: str, run_id: str | None = None) -> Answer:
    """Why a job waits or runs slowly. run_id: of a recorded run; without it, of the service."""
    if run_id is None:
        return untrusted(service.why_job(job_id))
    return untrusted(sluice.why(job_id, run_id=run_id).document())


def story(job_id: str, run_id: str | None = None) -> Answer:
    """Return what happened to a job, in order of time. run_id: as for `why`."""
    if run_id is None:
        return untrusted(service.story_of(job_id))
    return untrusted(sluice.story(job_id, run_id=run_id).document())


def predict(file: str) -> Answer:
    """When the jobs of a workload file will end, from past runs. file: absolute path."""
    return untrusted(sluice.predict(_path(file)).document())


def quote(file: str, deadline: str | None = None) -> Answer:
    """Return what the service would promise to a workload file; nothing is submitted.

    deadline: seconds from now, or H:MM.
    """
    return untrusted(service.submit(_path(file), deadline=deadline, quotes=True))


def size(file: str, deadline_s: float | None = None) -> Answer:
    """How many machines the jobs of a file need to be done in time. deadline_s: of all."""
    return untrusted(sluice.size(_path(file), deadline_s=deadline_s).document())


def plan(file: str) -> Answer:
    """Plans for the jobs of a file, each with its makespan and its cost."""
    return untrusted(sluice.plan(_path(file)).document())


def whatif(file: str, config: str, against: str) -> Answer:
    """How long jobs would have waited under another configuration of a queue.

    file: a workload or log.  config, against: configuration files of the present and the other.
    """
    return untrusted(sluice.whatif(_path(file), _path(config), _path(against)).document())


def explain(subject: str) -> Answer:
    """Where the time of a past job went, and what would help. subject: a log, or a profile."""
    return untrusted(sluice.explain(subject).document())


def fairness(run_id: str | None = None) -> Answer:
    """Who got how much of the cluster, and who is owed what.

    run_id: of a recorded run; without it, of the service, or without a service of the newest run.
    """
    if run_id is None:
        with suppress(EngineUnavailable):
            return untrusted(service.fairness_ledger())
    return untrusted(sluice.fairness(run_id=run_id).document())


def calibration(by: str = "profile") -> Answer:
    """How many promises of the service were kept. by: profile, queue or tenant."""
    return untrusted(service.calibration(by))


def profiles(name: str | None = None, limit: int = 5) -> Answer:
    """Return what past runs measured. name: of one profile. limit: the most runs of each."""
    newest = max(1, min(limit, LIST_MAX))
    return untrusted(sluice.profiles(name, newest=newest).document())


READS: tuple[Callable[..., Answer], ...] = (
    queue, why, story, predict, quote, size, plan, whatif, explain, fairness, calibration, profiles,
)  # fmt: skip


class Changes:
    """The tools that change something. Each is called twice; see `Confirmations`."""

    def __init__(self) -> None:
        self._confirmations = Confirmations()

    def submit(self, file: str, deadline: str | None = None, confirm: str | None = None) -> Answer:
        """Submit the jobs of a workload file to the service, which runs their commands.

        Without `confirm` it says what would be promised, and gives the word for `confirm`.
        """
        path = _path(file)
        what = {"do": "submit", "file": path, "text": _text(path), "deadline": deadline}
        if confirm is None:
            quoted = service.submit(path, deadline=deadline, quotes=True)
            return self._asked("The jobs of the file would be submitted and run.", what, quoted)
        self._confirmations.use(confirm, what)
        return untrusted(service.submit(path, deadline=deadline))

    def kill(self, job_id: str, confirm: str | None = None) -> Answer:
        """End a job of the service; its output is not written. confirm: as for `submit`."""
        what = {"do": "kill", "job_id": job_id}
        if confirm is None:
            return self._asked("The job would end.", what, service.job(job_id))
        self._confirmations.use(confirm, what)
        return untrusted(service.kill(job_id, reason="killed by an agent"))

    def _asked(self, summary: str, what: dict[str, Any], document: object) -> Answer:
        word = self._confirmations.new(what)
        return {"summary": summary, "confirm": word, **untrusted(document)}


def _path(file: str) -> str:
    return str(Path(file).expanduser().resolve())


def _text(path: str) -> str:
    """Return what the file says now: what is confirmed must be what is submitted."""
    return read_source(path).decode("utf-8", "replace")
