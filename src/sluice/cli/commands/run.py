"""`run`: a workload's jobs for real."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sluice.api.options.fields import keywords
from sluice.api.options.live import LiveOptions
from sluice.api.options.parts import PartOptions
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import WithSettings, app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.cli.hints import pasted
from sluice.cli.outputs import RunFiles
from sluice.cli.parts import talk_of_preset
from sluice.model.errors import InvalidInput

if TYPE_CHECKING:
    from sluice.ingest.reading import SourceText
    from sluice.reporting.run.result import RunResult


_REASON_CHARACTERS_MAX = 500  # it names the output


@app.command(cls=WithSettings)
@flattened
def run(
    file: Annotated[
        str,
        given.argument(
            "Workload file, YAML or JSON; - reads stdin. Or Python code: FILE.py:Name.",
            metavar="FILE",
        ),
    ],
    inputs: Annotated[
        list[str] | None,
        given.argument("Input of Python code: files, folders or patterns.", metavar="INPUT"),
    ] = None,
    *,
    options: LiveOptions,
    outputs: RunFiles,
    as_json: given.AsJson = False,
    parts: PartOptions,
) -> int:
    """Run a workload's jobs on this machine or a cluster, with the same policies as simulate.

    Example: sluice run wordcount.yaml --nodes 2

    Example: sluice run wc.py:WordCount text/ --output out
    """
    from sluice.api import run as api
    from sluice.cli.live import live_watcher

    talk_of_preset(parts)
    source = _source(file, inputs or [], options)
    files = Files.checked(file, trace=outputs.trace, plot=outputs.plot)
    # The output of Python code is written in its workload.
    options = replace(options, output=None, part_files=None)
    with live_watcher() as watcher:
        result = api.run(source, **keywords(options, parts), watcher=watcher)
    files.write(result)
    if as_json:
        print_document(result.document())
    else:
        _print_run(result)
    _talk_of_failures(result, file)
    missing = result.extra["missing_outputs"]
    assert isinstance(missing, Mapping)
    if result.extra["was_finished"]:
        talk(f"Run {result.extra['run_id']} has already finished; nothing was run now.")
    _talk_of_missing(missing)
    is_whole = set(result.states) <= {"done"} and not missing
    return DONE if is_whole else NO


def _source(file: str, inputs: list[str], options: LiveOptions) -> str | SourceText:
    """The workload file, or the text of a workload with the Python job that is named instead."""
    from sluice.api.python_job import is_python_job, python_job

    output = options.output if options.output is None else str(options.output)
    if is_python_job(file):
        return python_job(file, inputs, output, part_files=options.part_files)
    given_words = {"INPUT": inputs, "--output": output, "--part-files": options.part_files}
    for name, value in given_words.items():
        if value:
            raise InvalidInput(
                "it is for Python code, and FILE is a workload file",
                where=name,
                hint="name the code, as in sluice run wc.py:WordCount text/ --output out",
            )
    return file


def _talk_of_failures(result: RunResult, file: str) -> None:
    """Print to stderr why jobs failed, and why output was not committed.

    file: the workload file as it was given.
    """
    from sluice.core.transitions import JobState
    from sluice.reporting.run.failures import failure_lines, visible

    sys.stdout.flush()  # the failures belong below the table
    failures = {job.job_id: job.failure for job in result.jobs if job.failure is not None}
    for line in failure_lines(failures, run_id=str(result.extra["run_id"])):
        talk(line)
    for job in result.jobs:
        if job.state == JobState.KILLED.value and job.reason:
            talk(f"job {str(job.job_id)!r} did not run: {visible(job.reason)}")
    for line in _uncommitted_lines(result, file):
        talk(line)


def _uncommitted_lines(result: RunResult, file: str) -> Iterator[str]:
    from sluice.engines.mapreduce.errors import RUN_AGAIN
    from sluice.reporting.run.failures import visible
    from sluice.reporting.run.outcomes import UNCOMMITTED

    jobs = [job for job in result.jobs if job.state == UNCOMMITTED]
    for job in jobs:
        yield f"job {str(job.job_id)!r}: all tasks are done, but its output was not committed"
        yield f"  {visible(job.reason, characters_max=_REASON_CHARACTERS_MAX)}"
    if all(RUN_AGAIN in job.reason for job in jobs):  # also where there are none
        return
    command = "" if file == "-" else f": {pasted('sluice', 'run', file, '--resume')}"
    yield f"  then continue the run with --resume{command}"


def _talk_of_missing(outputs: Mapping[str, str]) -> None:
    """Print which outputs are missing, and how to make them again."""
    for job_id, path in outputs.items():
        what = "has no _SUCCESS" if Path(path).exists() else "is gone"
        talk(f"job {job_id!r}: its output {path} {what}.")
    if outputs:
        talk(
            "To make missing outputs again, remove the outputs that are left and run the file"
            " without --resume."
        )


def _print_run(result: RunResult) -> None:
    from sluice.cli.commands.simulate import print_result
    from sluice.cli.live import run_views

    print_result(result)
    print_views(*run_views(result))
