"""`advise`: which combination of parts to run, from one's own history."""

from __future__ import annotations

from typing import Annotated

from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.given_workload import given_workload
from sluice.cli.tables import takes_tables
from sluice.model.errors import InvalidInput


@app.command()
@takes_tables
def advise(
    file: Annotated[
        str | None, given.argument("Workload file with a cluster: the history.", metavar="FILE")
    ] = None,
    *,
    from_log: given.FromLog = None,
    from_log_format: given.FromLogFormat = None,
    from_log_set: given.FromLogSet = None,
    all_runs: Annotated[
        bool, given.option("The history is all recorded runs, in place of FILE.", "--all-runs")
    ] = False,
    objective: Annotated[
        str | None,
        given.option(
            "bill, deadlines, response, makespan or fairness (default: bill with prices, else"
            " deadlines, else response).",
            "--objective",
            metavar="NAME",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        given.option(
            "Bound that the choice keeps to, such as 'fairness_worst>=0.5'; may be given again.",
            "--keep",
            metavar="BOUND",
        ),
    ] = None,
    seconds: Annotated[
        float,
        given.option(
            "About as long as the simulations take on one core.",
            "--seconds",
            metavar="S",
            parser=given.number("--seconds", low=0),
        ),
    ] = 60.0,
    out: Annotated[
        str | None,
        given.option("Also write the preset, for --preset FILE.", "--out", metavar="FILE"),
    ] = None,
    as_json: given.AsJson = False,
) -> int:
    """Say which combination of scheduler parts to run, what it gains, and what each part adds.

    The answer is kept for `--preset auto`.

    Example: sluice advise day.yaml --objective bill --keep 'fairness_worst>=0.5'
    """
    from sluice.api import advise as api
    from sluice.cli.files import Files
    from sluice.cli.progress import steps
    from sluice.reporting.advise.tables import advice_sentence, difference_table, features_line
    from sluice.reporting.exports.workload_text import workload_text

    options = (from_log, from_log_format, from_log_set)
    if all_runs and (file is not None or any(options)):
        raise InvalidInput(
            "it is given together with FILE or logs", where="--all-runs", hint="give one of these"
        )
    workload = None if all_runs else given_workload("advise", file, *options)
    files = Files.checked("-" if workload is None else workload.kept, out=out)
    with steps("racing combinations") as shown:
        advice = api.advise(
            None if workload is None else workload.source,
            all_runs=all_runs,
            objective=objective,
            keep=keep or (),
            seconds=seconds,
            stores=True,
            on_message=talk,
            on_fraction=shown.on_fraction,
        )
    if files.out is not None:
        comment = "Made by: sluice advise"
        files.save_out(workload_text(dict(advice.preset), name=files.out, comment=comment))
    if as_json:
        document = advice.document()
        print_document(document if workload is None else workload.noted(document))
        return DONE
    print_views(advice_sentence(advice), features_line(advice))
    if advice.difference or (advice.running is not None and advice.running.difference):
        print_views(difference_table(advice))
    for line in (*advice.left_out, *advice.notes):
        print_views(line)
    expected, high = advice.regret
    print_views(
        f"Expected regret: {expected:.1%} over the best combination of each day; on 19 of 20 days"
        f" {high:.1%} at most."
    )
    if workload is not None:
        workload.talk()
    talk("Next: sluice run FILE --preset auto")
    return DONE
