"""What a verb was given to work on: a workload file, or logs of what ran before."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluice.cli.answers import talk
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenWorkload:
    """A workload as a verb takes it.

    source: the path of the file, "-" for stdin, or the workload that was made from logs.
    told: how a command line names it.
    file: the path again; "-" for what no other command can read again.
    kept: a file that no answer may overwrite; "-" for none.
    notes: what logs do not tell and what was chosen instead.
    """

    source: str | Workload
    told: str
    file: str
    kept: str
    notes: tuple[str, ...] = ()

    def noted(self, document: Mapping[str, object]) -> Mapping[str, object]:
        """The document of a verb, with the notes in it where there are any."""
        return {**document, "notes": list(self.notes)} if self.notes else document

    def talk(self) -> None:
        """Say the notes beside a result for people."""
        for note in self.notes:
            talk(f"note: {note}")


def given_workload(
    verb: str,
    file: str | None,
    logs: Sequence[str] | None,
    format: str | None,  # noqa: A002  # the users' word for it
    options: Sequence[str] | None,
    *,
    flag: str = "FILE",
) -> GivenWorkload:
    """What FILE, --from-log, --from-log-format and --from-log-set say. Raises InvalidInput.

    verb: whose they are, for a message: "simulate".  flag: what this verb calls FILE.
    """
    if logs and file is not None:
        raise InvalidInput(
            f"it is given beside {flag}", where="--from-log", hint="give one of the two"
        )
    if logs:
        return _from_logs(logs, format, options)
    for option, value in (("--from-log-format", format), ("--from-log-set", options)):
        if value:
            raise InvalidInput(
                "it says how to read a log, and there is no --from-log",
                where=option,
                hint="name the log with --from-log",
            )
    if file is None:
        raise InvalidInput(
            "FILE is missing",
            where=f"sluice {verb}",
            hint=f"name a workload file, or a log with --from-log; see sluice {verb} --help",
        )
    return GivenWorkload(source=file, told=shlex.quote(file), file=file, kept=file)


def simulated_workload(
    verb: str,
    file: str | None,
    logs: Sequence[str] | None,
    format: str | None,  # noqa: A002  # as above
    options: Sequence[str] | None,
) -> GivenWorkload | None:
    """The same of a verb that takes FILE as --file; None where it is asked about a run."""
    if file is None and not (logs or format or options):
        return None
    return given_workload(verb, file, logs, format, options, flag="--file")


def _from_logs(
    logs: Sequence[str],
    format: str | None,  # noqa: A002  # as above
    options: Sequence[str] | None,
) -> GivenWorkload:
    from sluice.ingest.logs.options import read_options
    from sluice.ingest.logs.replay import workload_from_logs

    chosen = read_options(options or (), "--from-log-set")
    workload = workload_from_logs(logs, format or "auto", chosen)
    told = " ".join(f"--from-log {shlex.quote(log)}" for log in logs)
    return GivenWorkload(source=workload, told=told, file="-", kept=logs[0], notes=workload.notes)
