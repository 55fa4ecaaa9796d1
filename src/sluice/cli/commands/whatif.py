"""`whatif`: a history under the queues of a scheduler's configuration file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from sluice.api.options.fields import keywords, like, option
from sluice.api.options.queues import WhatIfOptions
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import WithSettings, app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.cli.given_workload import GivenWorkload, Logs, given_workload
from sluice.cli.hints import talk_note
from sluice.cli.queues import QueueMap, mapping_in
from sluice.model.errors import InvalidInput

_QUEUES = "Queues"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PastJobs:
    """The history: logs, or a workload file."""

    history: Sequence[str] = option("Log, or folder of logs; repeatable.", (), metavar="LOG")
    history_format: str | None = like("from_log_format", Logs, panel=None)
    history_set: Sequence[str] = option(
        "Set a value the log lacks; repeatable.", (), metavar="KEY=VALUE"
    )
    file: str | None = option("Workload file instead of logs.", metavar="FILE")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OtherQueues:
    """All else that is known of the queues."""

    against: str | None = option("Configuration to compare with.", metavar="OLD", panel=_QUEUES)
    yarn_site: str | None = option(
        "yarn-site.xml: size of containers, preemption.", metavar="FILE", panel=_QUEUES
    )
    mapping: Sequence[str] = like("mapping", QueueMap, panel=_QUEUES)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExportedQueues:
    """Where the queues go."""

    export: str | None = option(
        "Write the new queues, and print the difference: as capacity-scheduler.xml, or as the"
        " Kubernetes file of --config with other amounts.",
        metavar="OUT",
    )


@app.command(cls=WithSettings)
@flattened
def whatif(
    *,
    past: PastJobs,
    config: Annotated[
        str,
        given.option(
            "capacity-scheduler.xml, fair-scheduler.xml, YuniKorn or Kueue YAML.",
            metavar="NEW",
            panel=_QUEUES,
        ),
    ],
    queues: OtherQueues,
    options: WhatIfOptions,
    exported: ExportedQueues,
    plot: given.Plot = None,
    as_json: given.AsJson = False,
) -> int:
    """Simulate a history under other queues: who waits less, and who waits longer.

    Example: sluice whatif --history logs/ --config new.xml --against old.xml

    Example: sluice whatif --file jobs.yaml --config new.yaml --map 'ad-*=root.ad'
    """
    from sluice.api import whatif as api
    from sluice.cli.progress import steps

    workload = _workload(past)
    export, suggest = exported.export, options.suggest
    files = Files.checked(config, export=export, plot=plot)
    configs = api.QueueConfigs.read(config, queues.against, queues.yarn_site)
    configs.is_for_kubernetes(export or "")  # refuses a wrong name before the work
    notes: list[str] = []
    with steps(f"simulating {options.seeds} seeds") as shown:
        found = api.whatif(
            workload.source,
            configs,
            **keywords(options),
            mapping=mapping_in(queues.mapping),
            on_fraction=shown.on_fraction,
            on_message=notes.append,
        )
    for note in notes:
        talk_note(note)
    if suggest is not None and found.trees[0] is not None:
        configs = configs.suggesting(found.trees[0])
    diff = configs.diff(export or "")
    if export is not None:
        files.save_export(configs.export(export, f"sluice whatif: the queues of {config}"))
    files.draw(found.plot)
    if as_json:
        shown_diff = {"diff": diff} if export or suggest else {}
        print_document(workload.noted(found.document() | shown_diff))
    else:
        _print(found, diff if export or suggest else "")
        workload.talk()
    return NO if found.suggestion is not None and not found.suggestion["met"] else DONE


def _workload(past: PastJobs) -> GivenWorkload:
    if bool(past.file) == bool(past.history):
        what = "both are given" if past.file else "neither is given"
        raise InvalidInput(
            what, where="--history and --file", hint="name logs with --history, or a workload file"
        )
    logs = Logs(
        from_log=past.history, from_log_format=past.history_format, from_log_set=past.history_set
    )
    try:
        return given_workload("whatif", past.file, logs, flag="--file")
    except InvalidInput as error:
        what, where, hint = (
            text.replace("--from-log", "--history")  # as other commands call the option
            for text in (error.what, error.where, error.hint)
        )
        raise InvalidInput(what, where=where, hint=hint) from error


def _about(suggestion: Mapping[str, object]) -> str:
    from sluice.reporting.formatting import hundredths

    value = suggestion["value"]
    reached = hundredths(value) if isinstance(value, float) else "no value"
    what = "met" if suggestion["met"] else "not met without making others over 10 % worse"
    return f"Goal {what}: {reached} with the suggested capacities (goal: {suggestion['goal']})."


def _print(found: object, diff: str) -> None:
    from sluice.bootstrap.queues.configuration_notes import keys_note
    from sluice.reporting.table_style import plain_text
    from sluice.reporting.whatif.result import WhatIf
    from sluice.reporting.whatif.tables import effects_sentence, effects_table, queues_table

    assert isinstance(found, WhatIf)
    print_views(plain_text(effects_sentence(found)), queues_table(found))
    if any(queue.differences for queue in found.queues.values()):
        print_views(effects_table(found))
    if found.suggestion is not None:
        print_views(_about(found.suggestion))
    if diff:
        print_views(diff)
    for note in (*found.notes, *keys_note(found.unknown_keys)):
        talk(f"note: {note}")
    sys.stdout.flush()
