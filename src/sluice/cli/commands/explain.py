"""Commands that explain what happened, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from sluice.api.options.diagnosis import DiagnosisOptions
from sluice.api.options.fields import keywords
from sluice.api.options.parts import PartOptions
from sluice.api.options.scheduling import StoryOptions, WhyOptions
from sluice.cli import completion
from sluice.cli import options as given
from sluice.cli.answers import console, print_answer, print_document, print_views
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.flattened import GivenNames, flattened
from sluice.cli.given_workload import Logs, simulated_workload, workload_with_job
from sluice.cli.hints import talk_note
from sluice.cli.parts import with_parts
from sluice.cli.queues import QueueMap, mapping_in, queues_of
from sluice.cli.run_or_file import (
    OfRunOrFile,
    asked_service,
    is_job_id,
    naming_service,
    observed_by_service,
    simulation_flags,
    subject_of,
)
from sluice.cli.tables import Tables
from sluice.model.errors import InvalidInput
from sluice.reporting.formatting import visible
from sluice.reporting.table_style import plain_text

if TYPE_CHECKING:
    from sluice.model.workload import Workload
    from sluice.reporting.pools.choice import VmChoiceResult


@app.command()
@flattened
def why(
    job: Annotated[str, given.argument("Id of the job.", metavar="JOB")],
    *,
    asked: OfRunOrFile,
    logs: Logs,
    options: WhyOptions,
    as_json: given.AsJson = False,
    tables: Tables,
    parts: PartOptions,
    names: GivenNames,
) -> int:
    """Explain why a job waits, or how it ended: in the newest run, or in a simulation.

    An id such as job-000042 is that of a job of the service, if one runs; one of YARN is that of an
    application that the service observes.

    On VM pools: also why the job gets its VMs, and what it would have cost elsewhere.

    Example: sluice why etl-7 --file jobs.yaml --tasks fair --at-s 120
    """
    from sluice.api import explain as api
    from sluice.api import pools
    from sluice.api.sources import read_workload
    from sluice.cli.progress import steps
    from sluice.reporting.explain.helpful import helpful_lines
    from sluice.reporting.explain.text import why_text

    options = with_parts(options, parts)
    mapping, tables = queues_of(options, tables)
    workload, job = workload_with_job("why", job, asked.file, logs, tables)
    if workload is None and asked.run is None and options.at_s is None:
        served = _of_service(job)
        if served is not None:
            return _print_served(*served, as_json=as_json)
    if workload is not None:
        loaded = read_workload(workload.source)
        if pools.is_about_pools(loaded) and options.tasks != pools.TASKS:
            _refuse_given(asked, options, names)
            return _print_choice(loaded, job, as_json=as_json)
        workload = replace(workload, source=loaded)
    about = subject_of(options, names, workload, asked.run, mapping=mapping)
    is_newest = workload is None and asked.run is None
    with steps("explaining"), naming_service("why", job, is_newest=is_newest):
        answer = api.why(job, **about.arguments, on_message=talk_note)
    if as_json:
        print_document(about.noted(answer.document()))
    else:
        lines = [] if answer.diagnosis is None else [f"  {x}" for x in answer.diagnosis.in_short()]
        if answer.helpful is not None:
            lines += ["what would help", *(f"  {line}" for line in helpful_lines(answer.helpful))]
        found = why_text(answer, answer.asked_as, answer.waited_for)
        print_views(*found.split("\n"), *map(plain_text, lines))
        if answer.vms is not None:
            _print_vms(answer.vms)
        about.talk()
    return DONE


def _of_service(job: str) -> tuple[Mapping[str, Any], Sequence[str]] | None:
    """The answer of the service about a job of its own or of others, and its lines."""
    from sluice.reporting.service.tables import observed_lines, why_lines

    served = asked_service(job) if is_job_id(job) else None
    if served is not None:
        return served, why_lines(served)
    observed = observed_by_service(job)
    return None if observed is None else (observed, observed_lines(observed))


def _print_served(served: Mapping[str, Any], lines: Sequence[str], *, as_json: bool) -> int:
    """An answer of the service, and its lines."""
    print_answer(lambda: served, lambda: map(plain_text, lines), as_json=as_json)
    return DONE


def _refuse_given(asked: OfRunOrFile, options: WhyOptions, names: GivenNames) -> None:
    """Refuse options that have no effect for VM pools."""
    others = {"--run": asked.run, "--at-s": options.at_s, "--by": options.by_s}
    flags = [flag for flag, value in others.items() if value is not None]
    for flag in (*flags, *simulation_flags(options, names)):
        raise InvalidInput(
            "it has no effect for a file of VM pools", where=flag, hint="leave it out"
        )


def _print_choice(workload: Workload, job: str, *, as_json: bool) -> int:
    from sluice.api import pools

    result = pools.vm_choice(workload, job)
    if as_json:
        print_document(result.document())
    else:
        console().print(f"job {visible(job)}", style="bold", markup=False, highlight=False)
        _print_vms(result)
    return DONE


def _print_vms(found: VmChoiceResult) -> None:
    from sluice.reporting.pools.choice import alternatives_table, choice_text

    if not (found.is_past and found.outcome.is_refused):  # else the refusal has been printed
        print_views(*choice_text(found).split("\n"))
    print_views(alternatives_table(found))


@app.command()
@flattened
def story(
    subject: Annotated[
        str, given.argument("Id of a job or a node, or JOB/PHASE/TASK.", metavar="ID")
    ],
    *,
    asked: OfRunOrFile,
    logs: Logs,
    options: StoryOptions,
    as_json: given.AsJson = False,
    tables: Tables,
    parts: PartOptions,
    names: GivenNames,
) -> int:
    """List what happened to a job, a task or a node, in order of time.

    Jobs and nodes of a service that runs are its own; --run asks about a run.

    Example: sluice story etl-7/map/3 --file jobs.yaml
    """
    from sluice.api import explain as api
    from sluice.api import service
    from sluice.cli.progress import steps
    from sluice.reporting.explain.text import story_view
    from sluice.reporting.service.tables import story_lines

    options = with_parts(options, parts)
    mapping, tables = queues_of(options, tables)
    workload = simulated_workload("story", asked.file, logs, tables)
    if workload is None and asked.run is None:
        served = service.known_story(subject)
        if served is not None:
            return _print_served(served, story_lines(served), as_json=as_json)
    about = subject_of(options, names, workload, asked.run, mapping=mapping)
    is_newest = workload is None and asked.run is None
    with steps("explaining"), naming_service("story", subject, is_newest=is_newest):
        answer = api.story(subject, **about.arguments, on_message=talk_note)
    if as_json:
        print_document(about.noted(answer.document()))
    else:
        print_views(story_view(answer))
        about.talk()
    return DONE


@app.command()
@flattened
def explain(
    subject: Annotated[
        str,
        given.argument(
            "Log file or folder, or a stored run or application (its newest run).",
            metavar="RUN|APPLICATION|LOG",
            completes=completion.runs_profiles_and_files,
        ),
    ],
    *,
    options: DiagnosisOptions,
    queues: QueueMap,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Explain why a finished run took that long: critical path, skew, idle slots, advice.

    Example: sluice explain eventlog.zstd

    Example: sluice explain logs/ --job job_12 --config capacity-scheduler.xml
    """
    from sluice.api.explain import explain as diagnose
    from sluice.reporting.explain.diagnosis_tables import diagnosis_views

    files = Files.checked(subject, plot=plot)
    if queues.mapping and options.config is None:
        raise InvalidInput(
            "it has no effect without --config", where="--map", hint="name the configuration"
        )
    found = diagnose(subject, **keywords(options), mapping=mapping_in(queues.mapping))
    files.draw(found.plot)
    print_answer(found.document, lambda: diagnosis_views(found), as_json=as_json)
    return DONE
