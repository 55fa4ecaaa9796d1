"""The subject of `why` and `story`: a run that was recorded, or a simulation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sluice.api.options.fairness import FairnessOptions
from sluice.api.options.fields import flags_of, keywords, option
from sluice.api.options.scheduling import Queued, SchedulerOfFile, SeededOfFile, StoryOptions
from sluice.cli.flattened import GivenNames
from sluice.cli.given_workload import GivenWorkload
from sluice.model.errors import EngineUnavailable, InvalidInput

_OF_SIMULATION = frozenset(
    name for kind in (SchedulerOfFile, SeededOfFile, Queued) for name, _ in flags_of(kind)
)
_JOB_ID = re.compile(r"job-\d{6,}")
_APPLICATION_ID = re.compile(r"application_\d+_\d+")


def is_job_id(name: str) -> bool:
    """Whether a name looks like one that a service gives."""
    return _JOB_ID.fullmatch(name) is not None


def observed_by_service(job: str) -> Mapping[str, Any] | None:
    """An application of YARN that the service observes; None if there is none of this id."""
    from sluice.api import service

    return service.observed_job(job) if _APPLICATION_ID.fullmatch(job) else None


def asked_service(job: str) -> Mapping[str, Any] | None:
    """Why a job of the service waits; None if no service runs, or it has no such job."""
    from sluice.api import service

    return service.why_job(job) if service.knows(job) else None


@contextmanager
def naming_service(command: str, name: str, *, is_newest: bool) -> Iterator[None]:
    """Let an error about a job that the newest run lacks name the service, where one runs.

    is_newest: whether the newest run is asked about, and was not named by the user.
    """
    try:
        yield
    except InvalidInput as wrong:
        is_about_name = not wrong.where.startswith("--") or wrong.where == "--run"
        if is_newest and is_about_name:
            _raise_if_serving(command, name)
        raise


def _raise_if_serving(command: str, name: str) -> None:
    """Raise InvalidInput about a job that a service, which runs, does not have."""
    from sluice.api import service

    try:
        of_name = service.jobs(name=name, limit=1)["jobs"]
    except EngineUnavailable:
        return
    hint = "`sluice jobs` lists its jobs; --run asks about a recorded run"
    if of_name:
        job_id = of_name[0]["job_id"]
        hint = f"jobs have ids: `sluice {command} {job_id}` is about the newest of this name"
    raise InvalidInput(
        f"the service has no job {name!r:.60}, and the newest recorded run has none either",
        where=command,
        hint=hint,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OfFile:
    """A simulation instead of a recorded run."""

    file: str | None = option("Simulate FILE instead of reading a run.", metavar="FILE")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OfRun:
    """A recorded run by its id."""

    run: str | None = option(
        "Run to explain (default: the newest).", completes="run_ids", metavar="RUN_ID"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OfRunOrFile(OfFile, OfRun):
    """A recorded run, or a simulation."""


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
    options: StoryOptions | FairnessOptions,
    given: GivenNames,
    workload: GivenWorkload | None,
    run: str | None,
    *,
    mapping: Mapping[str, str] | None = None,
    run_name: str = "--run",
) -> Subject:
    """The subject that flags name. Raises InvalidInput where they do not go together.

    run_name: how the verb takes a run, for messages.
    """
    arguments = keywords(options)
    if isinstance(options, StoryOptions):
        arguments["mapping"] = mapping
    if workload is None:
        simulation = simulation_flags(options, given)
        if simulation:
            raise InvalidInput(
                "it has no effect without --file",
                where=simulation[0],
                hint="name the workload with --file, or ask about a run without it",
            )
        return Subject({**arguments, "run_id": run})
    if run is not None:
        raise InvalidInput(
            f"it is given together with {'--file' if workload.file != '-' else '--from-log'}",
            where=run_name,
            hint="ask about one of the two",
        )
    return Subject({**arguments, "source": workload.source}, workload)


def simulation_flags(options: StoryOptions | FairnessOptions, given: GivenNames) -> list[str]:
    """The options of a simulation that are given, or were chosen by a preset."""
    return [
        flag.flag
        for name, flag in flags_of(type(options))
        if name in _OF_SIMULATION
        and (flag.name in given or (name != "seed" and getattr(options, name)))
    ]
