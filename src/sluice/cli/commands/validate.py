"""`validate`, `settings`, `schema` and `version`."""

from __future__ import annotations

import sys
from typing import Annotated

from sluice.cli import options as given
from sluice.cli.answers import print_answer, print_document, print_schema, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.cli.given_workload import Logs, given_workload
from sluice.cli.hints import pasted
from sluice.cli.overview_help import print_version
from sluice.cli.tables import Tables


@app.command()
@flattened
def validate(
    file: given.FileOrLog = None,
    *,
    logs: Logs,
    out: Annotated[
        str | None,
        given.option(
            "Write the input as a workload file, YAML or JSON.", metavar="OUT", panel="Files"
        ),
    ] = None,
    as_json: given.AsJson = False,
    tables: Tables,
) -> int:
    """Check a workload file, and print a summary.

    Example: sluice validate jobs.yaml

    Example: sluice validate --from-log history/ --out jobs.yaml
    """
    from sluice.api import workload as api
    from sluice.cli.overview import overview_of

    workload = given_workload("validate", file, logs, tables)
    files = Files.checked(workload.kept, out=out)
    read = api.validate(workload.source)
    if files.out is not None:
        from sluice.reporting.exports.workload_text import workload_file_text

        comment = f"Made by: sluice validate {workload.arguments}"
        files.save_out(workload_file_text(read, path=files.out, comment=comment))
    overview = overview_of(read)
    if as_json:
        print_document(workload.noted(overview.document()))
        return DONE
    from sluice.cli.overview_view import overview_views

    print_views(*overview_views(overview, of_logs=logs.is_given()))
    workload.talk()
    if overview.can_simulate and logs.is_given():
        talk(f"Next: sluice advise {workload.arguments}")
    elif overview.can_simulate and workload.file != "-":
        talk(f"Next: sluice simulate {pasted(workload.file)}")
    return DONE


@app.command()
def settings(
    name: Annotated[
        str | None, given.argument("One setting, or one owner; default: all.", metavar="NAME")
    ] = None,
    *,
    as_json: given.AsJson = False,
) -> int:
    """List the settings for --set and for `settings:` in a workload file.

    Example: sluice settings copies.spec_cap
    """
    from sluice.cli.settings_view import settings_document, settings_table

    print_answer(lambda: settings_document(name), lambda: [settings_table(name)], as_json=as_json)
    return DONE


@app.command()
def schema(*, _as_json: given.AsJson = False) -> int:
    """Print the JSON Schema of the workload file, for editors and other programs.

    Example: sluice schema > workload.schema.json
    """
    from sluice.api import workload as api

    print_schema(api.schema())
    return DONE


@app.command()
def version(*, as_json: given.AsJson = False) -> int:
    """Print the version."""
    if as_json:
        import sluice

        print_document({"version": sluice.__version__, "python": sys.version.split()[0]})
    else:
        print_version()
    return DONE
