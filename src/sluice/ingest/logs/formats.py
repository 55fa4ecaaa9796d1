"""All formats: detect the format of a log, and read it.

A format is detected by content first: each importer gets the unpacked head of a file, in the order
of their registry, and the first that recognises it reads it. In a folder, every file that is
recognised is a log; a folder that is one log itself (Spark's rolled ones) counts as one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.live_queue import LiveQueue
from sluice.ingest.logs.options import options_of, rules_in, settings_in, without_rules
from sluice.ingest.logs.profile_names import RULE, ProfileRules
from sluice.ingest.logs.reading import DEFAULT_LIMITS, log_head
from sluice.ingest.logs.registry import AUTO, format_names, importer_of
from sluice.ingest.logs.report import Importer, LogRead, Report, Skipped
from sluice.ingest.suggestions import suggestion
from sluice.model.arguments import checked_arguments
from sluice.model.errors import InvalidInput, unreadable
from sluice.model.name_types import LogFormatName
from sluice.model.settings import Setting

FILES_MAX = 100_000
_NOT_KNOWN = "unknown format"
_NAMES_MAX = 3
_QUEUES_BYTES_MAX = 2**20  # of a scheduler's configuration that is given by mistake
# Files that the reader of the log next to them reads.
_COMPANION = re.compile(r"job_\d+_\d+_conf\.xml")


def _log_path(path: str | Path) -> Path:
    """The path of a log. Raises InvalidInput for "", which Python takes for the current folder."""
    if not str(path):
        raise InvalidInput(
            "the path is empty", where="PATH", hint="name a log, or a folder of logs"
        )
    return Path(path)


@checked_arguments
def read_log(
    path: str | Path,
    format: LogFormatName | str = AUTO,  # noqa: A002  # the users' word for it
    options: Mapping[str, object] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> LogRead:
    """One log: a file, or a folder that is one log.

    options: of its format, by name; those of other formats are left alone.
    Raises InvalidInput where it cannot be read, has an unknown format, or no usable content.
    """
    log = _log_path(path)
    check_options(options or {}, format)
    rules, given = ProfileRules(rules_in(options or {})), without_rules(options or {})
    importer = _importer_for(log, format)
    report = Report()
    chosen = options_of(importer.Options, given, f"options of {importer.FORMAT}")
    contents = importer.read(log, report, chosen, limits)
    return LogRead(
        path=str(path),
        format=importer.FORMAT,
        runs=tuple(map(rules.renamed, contents.runs)),
        skipped=report.skipped,
        skipped_count=report.skipped_count,
        notes=contents.notes,
        workload=contents.workload,
    )


def read_logs(
    paths: Iterable[str | Path],
    format: str = AUTO,  # noqa: A002  # as above
    options: Mapping[str, object] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[LogRead]:
    """Each log, one after the other; of a folder, every file in it, in the order of their names.

    A log in a folder that cannot be read is reported without runs; the others are still read. So is
    a file of no known format. Logs of other formats than a given one are left out.
    Raises as `read_log` for a path that was named, and for a folder that holds no log at all.
    """
    check_options(options or {}, format)
    for path in paths:
        _log_path(path)
        if not Path(path).is_dir() or _folder_importer(Path(path)) is not None:
            yield read_log(path, format, options, limits)
            continue
        yield from _read_folder(Path(path), format, options, limits)


def lists_queue(path: str | Path) -> bool:
    """Whether a file is a list of what runs and waits now, of any format."""
    listed = Path(path)
    return listed.is_file() and hasattr(_recognised(listed), "read_queue")


def read_live_queue(path: str | Path, limits: Limits = DEFAULT_LIMITS) -> tuple[LiveQueue, Report]:
    """A list of what runs and waits now, and what of it was skipped.

    Raises InvalidInput where it cannot be read, holds none, or is no such list.
    """
    listed = _log_path(path)
    importer, report = _recognised(listed), Report()
    if importer is None or not hasattr(importer, "read_queue"):
        kind = "of no known format" if importer is None else f"a log of {importer.FORMAT}"
        raise InvalidInput(
            f"it is {kind}, not a list of jobs that wait",
            where=str(path),
            hint="give the output of squeue, Workloads of Kueue, or applications of YARN",
        )
    queue: LiveQueue = importer.read_queue(listed, report, limits)
    return queue, report


def _read_folder(
    folder: Path,
    format: str,  # noqa: A002  # as above
    options: Mapping[str, object] | None,
    limits: Limits,
) -> Iterator[LogRead]:
    found = False
    others: list[str] = []
    for log in _logs_in(folder):
        read = _read_if_any(log, format, options, limits)
        if read is not None:
            found = found or read.is_log
            others += [] if read.is_log else [log.name]
            yield read
    if not found:
        shown = ", ".join(others[:_NAMES_MAX])
        more = f" and {len(others) - _NAMES_MAX} more" if len(others) > _NAMES_MAX else ""
        verb = "has" if len(others) == 1 else "have"
        files = f": {shown}{more} {verb} no known format" if others else ""
        raise InvalidInput(
            f"no log found in this folder{files}", where=str(folder), hint=_known_formats()
        )


def _read_if_any(
    log: Path,
    format: str,  # noqa: A002  # as above
    options: Mapping[str, object] | None,
    limits: Limits,
) -> LogRead | None:
    """A file of a folder; None for a log of another format, and for a part of another log."""
    try:
        recognised = _recognised(log)
    except InvalidInput as error:
        return _unread(log, None, error.what)
    if recognised is None:
        companion = _COMPANION.fullmatch(log.name)
        return None if companion else _unread(log, None, _NOT_KNOWN, is_log=False)
    if format not in (AUTO, recognised.FORMAT):
        return None
    try:
        return read_log(log, recognised.FORMAT if format == AUTO else format, options, limits)
    except InvalidInput as error:
        return _unread(log, recognised.FORMAT, error.what)


def _unread(log: Path, name: str | None, why: str, *, is_log: bool = True) -> LogRead:
    skipped = (Skipped(0, why),)
    return LogRead(
        path=str(log), format=name, runs=(), skipped=skipped, skipped_count=1, is_log=is_log
    )


def option_settings(name: str) -> Mapping[str, tuple[Setting, ...]]:
    """The options of a format, or of all for "auto"; some names have several meanings then."""
    found: dict[str, tuple[Setting, ...]] = {}
    for one in format_names() if name == AUTO else (name,):
        for key, setting in settings_in(importer_of(one).Options).items():
            found[key] = (*found.get(key, ()), setting)
    return found


def check_options(given: Mapping[str, object], name: str) -> None:
    """Raise InvalidInput for an option that no such format has, or would take so.

    Checked before anything is read, so that a typing error is not reported as many broken logs.
    Rules for names of profiles are options of every format.
    """
    ProfileRules(rules_in(given))
    given = without_rules(given)
    known = option_settings(name) if given else {}
    for key, value in given.items():
        if key not in known:
            whose = "any format" if name == AUTO else name
            raise InvalidInput(
                f"{key[:80]!r} is not an option of {whose}",
                where="options",
                hint=_nearest_option(key, known),
            )
        _check_value(known[key], value)


def _nearest_option(key: str, known: Mapping[str, object]) -> str:
    if key == RULE:
        return "to name profiles, write profile='regex -> name'"
    return suggestion(key, tuple(known)) if known else "leave it out"


def _check_value(meanings: Iterable[Setting], value: object) -> None:
    refused = None
    for setting in meanings:
        try:
            setting.checked(value)
        except InvalidInput as error:
            refused = error
        else:
            return
    if refused is not None:
        raise refused.within("options")


def format_of(path: str | Path) -> str | None:
    """The format of a log, by its content; None for what is no log, or cannot be read."""
    try:
        found = _recognised(_log_path(path))
    except InvalidInput:
        return None
    return None if found is None else found.FORMAT


def _importer_for(log: Path, name: str) -> Importer:
    if name != AUTO:
        return importer_of(name)
    found = _recognised(log)
    if found is None:
        raise _of_queues(log) or InvalidInput(_NOT_KNOWN, where=str(log), hint=_known_formats())
    return found


def _of_queues(path: Path) -> InvalidInput | None:
    """The error for a file of queues that is given as a log; None for any other file."""
    from sluice.ingest.scheduler_configs.reading import queues_without_jobs  # only for an error

    if not path.is_file() or path.stat().st_size > _QUEUES_BYTES_MAX:
        return None
    return queues_without_jobs(path.read_bytes(), str(path))


def _known_formats() -> str:
    return f"give a log in one of the formats {', '.join(format_names())}, or name the format"


def _recognised(log: Path) -> Importer | None:
    if log.is_dir():
        return _folder_importer(log)
    head = log_head(log)
    importers = (importer_of(name) for name in format_names())
    return next((one for one in importers if one.recognises(log, head)), None)


def _folder_importer(folder: Path) -> Importer | None:
    importers = (importer_of(name) for name in format_names())
    try:
        return next((one for one in importers if one.recognises(folder, b"")), None)
    except OSError as error:
        _refuse(error)


def _logs_in(folder: Path) -> Iterator[Path]:
    """Files, and folders that are one log each; hidden ones and links are left out."""
    seen = 0
    for parent, names, files in os.walk(folder, onerror=_refuse):
        names.sort()
        whole = [one for one in names if _folder_importer(Path(parent, one)) is not None]
        names[:] = [one for one in names if one not in whole and not one.startswith(".")]
        for name in sorted((*whole, *files)):
            seen += 1
            if seen > FILES_MAX:
                raise InvalidInput(
                    f"more than {FILES_MAX} files", where=str(folder), hint="name a folder in it"
                )
            if not name.startswith("."):
                yield Path(parent, name)


def _refuse(error: OSError) -> NoReturn:
    raise unreadable(error.filename, error) from error
