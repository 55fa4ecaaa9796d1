"""Commands that explain what happened, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.cli import options as given
from sluice.cli.answers import console, print_document, print_views
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.given_workload import simulated_workload
from sluice.cli.hints import talk_note
from sluice.cli.run_or_file import subject_of


@app.command()
def why(
    job: Annotated[str, typer.Argument(metavar="JOB", show_default=False, help="Id of the job.")],
    *,
    run: given.Run = None,
    file: given.OfFile = None,
    from_log: given.FromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    at_s: given.AtS = None,
    tasks: given.TasksOrNone = None,
    release: given.ReleaseOrNone = None,
    admission: given.AdmissionOrNone = None,
    settings: given.SetOrNone = None,
    seed: given.SeedOrNone = None,
    as_json: given.AsJson = False,
) -> int:
    """Explain why a job waits, or how it ended: in the newest run, or in a simulation.

    Example: sluice why etl-7 --file jobs.yaml --tasks fair --at-s 120
    """
    from sluice.api import explain as api
    from sluice.reporting.explain.text import why_text

    simulation = {
        "tasks": tasks, "release": release, "admission": admission, "set": settings, "seed": seed,
    }  # fmt: skip
    workload = simulated_workload("why", file, from_log, from_log_format, from_log_set)
    about = subject_of(run=run, workload=workload, at_s=at_s, simulation=simulation)
    answer = api.why(job, **about.arguments, on_message=talk_note)
    if as_json:
        print_document(about.noted(answer.document()))
    else:
        console().print(why_text(answer), end="")
        about.talk()
    return DONE


@app.command()
def story(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="ID", show_default=False, help="Id of a job or a node, or JOB/PHASE/TASK."
        ),
    ],
    *,
    run: given.Run = None,
    file: given.OfFile = None,
    from_log: given.FromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    at_s: given.AtS = None,
    tasks: given.TasksOrNone = None,
    release: given.ReleaseOrNone = None,
    admission: given.AdmissionOrNone = None,
    settings: given.SetOrNone = None,
    seed: given.SeedOrNone = None,
    as_json: given.AsJson = False,
) -> int:
    """List what happened to a job, a task or a node, in order of time.

    Example: sluice story etl-7/map/3 --file jobs.yaml
    """
    from sluice.api import explain as api
    from sluice.reporting.explain.text import story_view

    simulation = {
        "tasks": tasks, "release": release, "admission": admission, "set": settings, "seed": seed,
    }  # fmt: skip
    workload = simulated_workload("story", file, from_log, from_log_format, from_log_set)
    about = subject_of(run=run, workload=workload, at_s=at_s, simulation=simulation)
    answer = api.story(subject, **about.arguments, on_message=talk_note)
    if as_json:
        print_document(about.noted(answer.document()))
    else:
        print_views(story_view(answer))
        about.talk()
    return DONE
