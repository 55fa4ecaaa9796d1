"""History: logs into the profile store, what the store knows, and what it is to forget.

One way in and several out. `import_logs` reads logs one after the other and writes the runs of each
at once, so that it can be interrupted and repeated: a run that the store has is known by its id.
The other functions read the store, or change the names under which it has runs. A profile store is
opened for one call, and closed at its end.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from sluice.api.options.calls import called_with
from sluice.api.options.history import ImportOptions
from sluice.bootstrap.history.profiles import known_profile
from sluice.ingest.logs.digest import log_digest
from sluice.ingest.logs.formats import check_options, read_logs
from sluice.ingest.logs.options import read_options
from sluice.ingest.logs.report import LogRead, Skipped
from sluice.ingest.servers.reading import read_server
from sluice.ingest.servers.web import is_web_address
from sluice.model.arguments import checked_arguments
from sluice.model.errors import InvalidInput, wrong_value
from sluice.reporting.history.result import (
    SIZES_ONLY,
    Imported,
    ImportedLog,
    StoredProfiles,
    check_export,
    export_runs,
)
from sluice.store.profiles import Added, Forgotten, Profiles, StoredRun

NAME_CHARACTERS_MAX = 200
RUNS_READ = 1000  # in all, where no number is given; a store may have a hundred thousand

OnProgress = Callable[[str], None]


@dataclass(frozen=True)
class ImportCall(ImportOptions):
    """Arguments of `import_logs`."""

    paths: Sequence[str | Path]
    _: KW_ONLY
    on_progress: OnProgress | None = None
    on_fraction: Callable[[float], None] | None = None


@called_with(ImportCall)
def import_logs(given: ImportCall) -> Imported:
    """Read logs, folders of logs or history servers, and keep their runs in the profile store.

    paths: of files and folders, and addresses such as http://history:19888, of the history server
    of MapReduce or of Spark. A server is asked only for runs that the store does not have.
    A run that is known already is kept once, from the log that contains most of it.
    format: "auto" detects it by content.  settings: options of formats, "key=value".
    store: path or URL of the profile store, by default the account's own.
    on_progress: called with each path before it is read, and with each log after it was read.
    on_fraction: called with the share of bytes that were read, 0 to 1, after each log.
    A path that cannot be used is listed in the result; the other paths are imported.
    Raises InvalidInput where no path can be used, for an unknown format or option.
    """
    paths = given.paths
    if not paths:
        raise InvalidInput("no log is named", where="PATH", hint="name a log, or a folder of logs")
    options = read_options(given.settings, "--set")
    check_options(options, given.format)
    report = given.on_progress or (lambda _: None)
    report_share = given.on_fraction or (lambda _: None)
    bytes_total, bytes_read = max(1, sum(map(_bytes_below, set(map(str, paths))))), 0
    logs: list[ImportedLog] = []
    failures: list[InvalidInput] = []
    with Profiles.open(given.store) as profiles:
        for path in dict.fromkeys(map(str, paths)):
            report(path)
            try:
                for read in _reads(path, given.format, options, profiles):
                    logs.append(_kept(read, profiles))
                    report(read.path)
                    bytes_read += _bytes_below(read.path)
                    report_share(bytes_read / bytes_total)
            except InvalidInput as error:
                failures.append(error)
                logs.append(ImportedLog.unread(path, error))
        if failures and not any(log.is_read for log in logs):
            raise failures[0]
        return Imported(logs=tuple(logs), store=str(profiles.address))


def _reads(
    path: str, log_format: str, options: Mapping[str, object], profiles: Profiles
) -> Iterator[LogRead]:
    if not is_web_address(path):
        return read_logs([path], log_format, options)
    return read_server(path, profiles.run_ids, options)


def _bytes_below(path: str) -> int:
    """Bytes of a file, or of all files in a folder; 0 for what cannot be read."""
    files = Path(path).rglob("*") if Path(path).is_dir() else [Path(path)]
    with suppress(OSError):
        return sum(file.stat().st_size for file in files if file.is_file())
    return 0


def _kept(read: LogRead, profiles: Profiles) -> ImportedLog:
    if read.format in SIZES_ONLY or not read.runs:
        return ImportedLog.of(read, Added())
    refused: list[Skipped] = []
    added = profiles.add(
        read.runs,
        None if is_web_address(read.path) else log_digest(Path(read.path)),
        on_refused=lambda error: refused.append(Skipped(0, f"{error.where}: {error.what}")),
    )
    return ImportedLog.of(read, added, tuple(refused))


@checked_arguments
def profiles(
    name: str | None = None, *, newest: int | None = None, store: str | None = None
) -> StoredProfiles:
    """All stored profiles, or one, with their newest runs.

    name: of a profile, or of an application or job in it, or the id of one of its runs.
    newest: the most runs to read of each profile; by default as many as make 1,000 together, so
        of more than 1,000 profiles, those after the first 1,000 by name have no runs here.
        `run_counts` counts all runs in any case.
    A phase of a run has statistics of its task lengths here, and no `timeline` of single tasks.
    store: path or URL of the profile store, by default the account's own.
    Raises InvalidInput, with the nearest name, if there is no such profile, or for `newest` < 1.
    """
    if newest is not None and newest < 1:
        raise wrong_value("newest", newest, "--newest", "give at least 1")
    with Profiles.existing(store) as opened:
        return _stored(known_profile(name, opened), opened, newest)


def newest_runs(profiles_read: int, *, store: str | None = None) -> StoredProfiles:
    """All stored profiles; the first ones by name with their newest run, the others without."""
    with Profiles.existing(store) as opened:
        return _stored(None, opened, 1, profiles_read)


@checked_arguments
def export_profiles(
    path: str | Path,
    name: str | None = None,
    *,
    store: str | None = None,
    on_fraction: Callable[[float], None] | None = None,
) -> None:
    """Write every run of one profile, or of all, as a table: a row for each of its phases.

    path: of the file, which ends in .csv or .parquet.  name, store: as for `profiles`.
    on_fraction: called with the share of the runs that is written, 0 to 1.
    Runs are read as they are written, so a large store needs little memory.
    Raises InvalidInput for another ending, or if there is no such profile; MissingExtra for
    Parquet without pyarrow.
    """
    check_export(path)
    with Profiles.existing(store) as opened:
        known = known_profile(name, opened)
        runs = sum(opened.run_counts(None if known is None else [known]).values())
        export_runs(path, _watched(opened.each_summary(known), runs, on_fraction))


def _watched(
    stored: Iterator[StoredRun], runs: int, on_fraction: Callable[[float], None] | None
) -> Iterator[StoredRun]:
    """Yield the runs, and report progress. runs: how many there are."""
    for done, run in enumerate(stored, start=1):
        yield run
        if on_fraction is not None:
            on_fraction(min(1.0, done / max(1, runs)))


@checked_arguments
def rename_profile(name: str, new_name: str, *, store: str | None = None) -> StoredProfiles:
    """Give a profile another name. It stays known by the old one, also to later imports.

    store: path or URL of the profile store, by default the account's own.
    Raises InvalidInput if there is no such profile, or if the new name is taken.
    """
    _check_new_name(new_name)
    with Profiles.existing(store) as opened:
        old = _exact(name, opened)
        if opened.run_counts([new_name]):
            raise InvalidInput(
                f"there is a profile {new_name!r} already",
                where="--rename",
                hint=f"to join the two: sluice profiles {shlex.quote(new_name)}"
                f" --merge {shlex.quote(name)}",
            )
        opened.move([old], new_name)
        return _stored(new_name, opened)


@checked_arguments
def merge_profiles(name: str, others: Sequence[str], *, store: str | None = None) -> StoredProfiles:
    """Move the runs of other profiles to this one. The other names now mean this profile.

    store: path or URL of the profile store, by default the account's own.
    Raises InvalidInput if one of them does not exist, or if a profile is merged with itself.
    """
    with Profiles.existing(store) as opened:
        profile = _exact(name, opened)
        moved = [_exact(other, opened) for other in others]
        if profile in moved:
            raise InvalidInput(
                f"{profile!r} cannot be merged with itself",
                where="--merge",
                hint="name another profile",
            )
        opened.move(dict.fromkeys(moved), profile)
        return _stored(profile, opened)


def _exact(name: str, opened: Profiles) -> str:
    """The name, if it is that of a profile. What changes a profile takes no other name for it."""
    found = known_profile(name, opened)
    if found != name:
        raise InvalidInput(
            f"{name[:200]!r} is not a profile, but another name for {found!r} or for one of its"
            " runs",
            where="NAME",
            hint="give the name of the profile",
        )
    return name


def _check_new_name(name: str) -> None:
    if not 1 <= len(name) <= NAME_CHARACTERS_MAX or not name.isprintable() or not name.strip():
        raise InvalidInput(
            f"{name[:80]!r} is not a name",
            where="--rename",
            hint=f"give 1 to {NAME_CHARACTERS_MAX} printable characters",
        )


@checked_arguments
def forget(
    name: str | None = None,
    *,
    keep_runs: int | None = None,
    older_than_days: float | None = None,
    run_ids: Sequence[str] = (),
    store: str | None = None,
) -> StoredProfiles:
    """Drop runs from the store. The result lists them, and what is left.

    keep_runs: keep this many of the newest runs of the profile, or of each.
    older_than_days: drop what was learned before.  run_ids: drop these runs of the profile.
    With a name alone the profile is dropped. One of them at a time.
    Raises InvalidInput where there is no such profile or run.
    """
    given = [keep_runs is not None, older_than_days is not None, bool(run_ids)]
    if sum(given) > 1:
        raise InvalidInput(
            "several ways to choose what to forget", where="forget", hint="give one of them"
        )
    with Profiles.existing(store) as opened:
        name = None if name is None else _exact(name, opened)
        gone: list[Forgotten]
        if keep_runs is not None:
            gone = opened.keep_runs(keep_runs, name)
        elif older_than_days is not None:
            gone = opened.forget_older(older_than_days, name)
        else:
            gone = _forget_by_name(name, run_ids, opened)
        left = _stored(name, opened)
        return replace(left, forgotten=tuple(gone))


def _forget_by_name(name: str | None, run_ids: Sequence[str], opened: Profiles) -> list[Forgotten]:
    if name is None:
        raise InvalidInput("no profile is named", where="NAME", hint="say which is to be forgotten")
    known = opened.run_ids_of(name) if run_ids else set()
    for run_id in run_ids:
        if run_id not in known:
            raise InvalidInput(
                f"profile {name!r} has no run {run_id[:200]!r}",
                where="--forget-run",
                hint=f"`sluice profiles {shlex.quote(name)}` lists them",
            )
    return opened.forget(name, run_ids or None)


def _stored(
    name: str | None, opened: Profiles, newest: int | None = None, profiles_read: int | None = None
) -> StoredProfiles:
    """The profile, or all. newest: runs of each.  profiles_read: how many have their runs."""
    counts = opened.run_counts(None if name is None else [name])
    if newest is None:
        newest = max(1, RUNS_READ // max(1, len(counts)))
        profiles_read = RUNS_READ
    by_name: dict[str, list[StoredRun]] = {each: [] for each in counts}
    for stored in opened.newest_summaries(newest, list(counts)[:profiles_read]):
        by_name[stored.run.profile].append(stored)
    return StoredProfiles(
        profiles={each: tuple(runs) for each, runs in by_name.items()},
        run_counts=counts,
        store=str(opened.address),
    )
