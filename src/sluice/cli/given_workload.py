"""The input of a command: a workload file, or logs of past runs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.api.options.fields import option
from sluice.cli.answers import talk
from sluice.cli.tables import Tables
from sluice.model.errors import InvalidInput

if TYPE_CHECKING:
    from sluice.model.ids import JobId
    from sluice.model.workload import Workload
    from sluice.reporting.run.outcomes import JobReplay


_LOGS = "Instead of FILE"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Logs:
    """The options of a command that replays logs."""

    from_log: Sequence[str] = option(
        "Log, or folder of logs, to replay; repeatable.", (), metavar="PATH", panel=_LOGS
    )
    from_log_format: str | None = option(
        "Log format (default: detected).",
        completes="log_formats", metavar="NAME", panel=_LOGS,
    )  # fmt: skip
    from_log_set: Sequence[str] = option(
        "Set a value the log lacks, e.g. map_slots=40; repeatable.",
        (), metavar="KEY=VALUE", panel=_LOGS,
    )  # fmt: skip

    def is_given(self) -> bool:
        """Whether any of them is given."""
        return bool(self.from_log or self.from_log_format or self.from_log_set)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenWorkload:
    """The workload that a command works on.

    source: the path of the file, "-" for stdin, or the workload made from logs.
    arguments: the part of a command line that names it.
    file: the path again; "-" if no other command can read it again.
    kept: a file that no output may overwrite; "-" for none.
    notes: values that the logs lack, and what was used instead.
    """

    source: str | Workload
    arguments: str
    file: str
    kept: str
    notes: tuple[str, ...] = ()

    def noted(self, document: Mapping[str, object]) -> Mapping[str, object]:
        """The document, with the notes if there are any."""
        return {**document, "notes": list(self.notes)} if self.notes else document

    def talk(self) -> None:
        """Print the notes on stderr."""
        for note in self.notes:
            talk(f"note: {note}")


def talk_of_replays(replays: Mapping[JobId, JobReplay] | None) -> None:
    """Print on stderr how well the simulator repeats the jobs of logs."""
    from sluice.reporting.run.outcomes import replay_summary

    summary = replay_summary(replays)
    if summary is not None:
        talk(summary)


def given_workload(
    verb: str, file: str | None, logs: Logs, tables: Tables | None = None, *, flag: str = "FILE"
) -> GivenWorkload:
    """The workload of FILE, or of --from-log and its options. Raises InvalidInput.

    verb: the command, for messages: "simulate".  tables: None for a command without these options.
    flag: this command's name for FILE.
    """
    tables = tables or Tables()
    if logs.from_log and file is not None:
        each = f"; if {file} is a log, too, name it with a --from-log of its own"
        raise InvalidInput(
            f"it is given together with {flag}",
            where="--from-log",
            hint="give one of the two" + (each if flag == "FILE" else ""),
        )
    if logs.from_log:
        return _from_logs(logs)
    for name, value in (
        ("--from-log-format", logs.from_log_format), ("--from-log-set", logs.from_log_set),
    ):  # fmt: skip
        if value:
            raise InvalidInput(
                "it has no effect without --from-log",
                where=name,
                hint="name the log with --from-log",
            )
    if file is None:
        raise InvalidInput(
            "FILE is missing",
            where=f"sluice {verb}",
            hint=f"name a workload file, or a log with --from-log; see sluice {verb} --help",
        )
    table = of_table(file, tables)
    if table is not None:
        return table
    tables.check_unused()
    return GivenWorkload(source=file, arguments=shlex.quote(file), file=file, kept=file)


def of_table(file: str, tables: Tables) -> GivenWorkload | None:
    """The workload of a file that is a table; None for any other.

    Standard input is read later, unless options say that it is one.
    """
    from sluice.ingest.reading import STDIN

    if file == STDIN and tables.is_given():
        return _tabled(file, tables)
    try:
        is_file = file != STDIN and Path(file).is_file()  # a pipe could be read but once
    except (OSError, ValueError):
        is_file = False  # who reads it says why it cannot be read
    if not is_file:
        return None
    from sluice.ingest.tables.rows import looks_like_table

    return _tabled(file, tables) if looks_like_table(file) else None


def _tabled(file: str, tables: Tables) -> GivenWorkload | None:
    from sluice.api.tables import holds_table, load_table_text
    from sluice.ingest.reading import read_text

    text = read_text(file)
    chosen = tables.columns()
    if not holds_table(text, chosen):
        return None
    notes: list[str] = []
    workload = load_table_text(text, chosen, notes.append)
    return GivenWorkload(
        source=workload, arguments=shlex.quote(file), file="-", kept=file, notes=tuple(notes)
    )


def simulated_workload(
    verb: str, file: str | None, logs: Logs, tables: Tables
) -> GivenWorkload | None:
    """Do what `given_workload` does, for a command that takes FILE as --file.

    None for a recorded run.
    """
    if file is None and not logs.is_given():
        return None
    return given_workload(verb, file, logs, tables, flag="--file")


def workload_with_job(
    verb: str, job: str, file: str | None, logs: Logs, tables: Tables
) -> tuple[GivenWorkload | None, str]:
    """Do what `simulated_workload` does, and return the id of the job that is asked about.

    A job of a list that runs or waits is asked about in its queue, and not among what ended.
    """
    try:
        given = simulated_workload(verb, file, logs, tables)
    except InvalidInput:
        listed = _listed(logs, job)
        if listed is None:
            raise
        return listed
    return (_listed(logs, job) if _lacks(given, job) else None) or (given, job)


def _lacks(given: GivenWorkload | None, job: str) -> bool:
    """Whether logs that were read have no job of this id or name that ended."""
    if given is None or isinstance(given.source, str):
        return False
    recorded = given.source.recorded.values()
    ids = (str(one.job_id) for one in given.source.jobs)
    return job not in {*ids, *(one.profile for one in recorded)}


def _listed(logs: Logs, job: str) -> tuple[GivenWorkload, str] | None:
    """The queue in one of the logs, if the job runs or waits in it, and the id of the job."""
    from sluice.api.listed_queue import listed_workload
    from sluice.ingest.logs.options import read_options

    chosen = read_options(logs.from_log_set, "--from-log-set")
    found = listed_workload(logs.from_log, chosen, job)
    return None if found is None else (_of_logs(logs, found[0]), found[1])


def _from_logs(logs: Logs) -> GivenWorkload:
    from sluice.ingest.logs.options import read_options
    from sluice.ingest.logs.replay import workload_from_logs

    chosen = read_options(logs.from_log_set, "--from-log-set")
    chosen_format = logs.from_log_format or "auto"
    return _of_logs(logs, workload_from_logs(logs.from_log, chosen_format, chosen))


def _of_logs(logs: Logs, workload: Workload) -> GivenWorkload:
    arguments = " ".join(f"--from-log {shlex.quote(log)}" for log in logs.from_log)
    return GivenWorkload(
        source=workload, arguments=arguments, file="-", kept=logs.from_log[0], notes=workload.notes
    )
