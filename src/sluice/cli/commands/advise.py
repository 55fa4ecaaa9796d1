"""`advise`: which combination of parts to run, from one's own history."""

from __future__ import annotations

from typing import Annotated

from sluice.api.options.advice import AdviseOptions
from sluice.api.options.fields import keywords
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.flattened import flattened
from sluice.cli.given_workload import Logs, given_workload
from sluice.cli.tables import Tables
from sluice.model.errors import InvalidInput


@app.command()
@flattened
def advise(
    file: Annotated[
        str | None, given.argument("Workload file with a cluster: the history.", metavar="FILE")
    ] = None,
    *,
    logs: Logs,
    options: AdviseOptions,
    out: Annotated[
        str | None,
        given.option("Also write the preset, for --preset FILE.", "--out", metavar="FILE"),
    ] = None,
    as_json: given.AsJson = False,
    tables: Tables,
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

    if options.all_runs and (file is not None or logs.is_given()):
        raise InvalidInput(
            "it is given together with FILE or logs", where="--all-runs", hint="give one of these"
        )
    workload = None if options.all_runs else given_workload("advise", file, logs, tables)
    files = Files.checked("-" if workload is None else workload.kept, out=out)
    with steps("racing combinations") as shown:
        advice = api.advise(
            None if workload is None else workload.source,
            **keywords(options),
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
        if logs.is_given() or workload.file != "-":
            talk(f"Next: sluice compare {workload.arguments} --schedulers fair,auto")
    talk("Next: sluice run FILE --preset auto")
    return DONE
