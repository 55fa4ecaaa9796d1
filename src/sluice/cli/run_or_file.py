"""What `why` and `story` are about: a run that was recorded, or a simulation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sluice.cli.given_workload import GivenWorkload
from sluice.model.errors import InvalidInput

_JOB_ID = re.compile(r"job-\d{6,}")


def is_job_id(name: str) -> bool:
    """Whether a name looks like one that a service gives."""
    return _JOB_ID.fullmatch(name) is not None


def asked_service(job: str) -> Mapping[str, Any] | None:
    """Why a job of the service waits; None if no service runs, or it has no such job."""
    from sluice.api import service

    return service.why_job(job) if service.knows(job) else None


@dataclass(frozen=True, slots=True)
class Subject:
    """Arguments for the verb, and what is to be said of the workload that is simulated."""

    arguments: Mapping[str, Any]
    workload: GivenWorkload | None = None

    def noted(self, document: Mapping[str, object]) -> Mapping[str, object]:
        """See `GivenWorkload.noted`."""
        return document if self.workload is None else self.workload.noted(document)

    def talk(self) -> None:
        """See `GivenWorkload.talk`."""
        if self.workload is not None:
            self.workload.talk()


def subject_of(
    *,
    run: str | None,
    workload: GivenWorkload | None,
    at_s: float | None,
    run_name: str = "--run",
    simulation: Mapping[str, object],
) -> Subject:
    """The subject that flags name. Raises InvalidInput where they do not go together.

    run_name: how the verb takes a run, for messages.
    simulation: the flags that go with a workload; those that were not given are None or empty.
    """
    given = {name: value for name, value in simulation.items() if value not in (None, [])}
    if workload is None:
        if given:
            raise InvalidInput(
                "it has no effect without --file",
                where=f"--{next(iter(given))}",
                hint="name the workload with --file, or ask about a run without it",
            )
        return Subject({"run_id": run, "at_s": at_s})
    if run is not None:
        raise InvalidInput(
            f"it is given together with {'--file' if workload.file != '-' else '--from-log'}",
            where=run_name,
            hint="ask about one of the two",
        )
    settings = given.pop("set", [])
    return Subject(
        {"source": workload.source, "at_s": at_s, "settings": settings, **given}, workload
    )
