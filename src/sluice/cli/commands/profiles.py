"""`import` and `profiles`: logs in, profiles out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from sluice.api.options.fields import count, keywords, option, switch
from sluice.api.options.history import ImportOptions, Stored
from sluice.cli import options as given
from sluice.cli.answers import print_document, print_views, talk
from sluice.cli.application import app
from sluice.cli.failures import DONE, NO
from sluice.cli.files import Files
from sluice.cli.flattened import flattened
from sluice.model.errors import InvalidInput

if TYPE_CHECKING:
    from sluice.reporting.history.result import Imported, StoredProfiles

_FORGET = "Forget"
_NAMES = "Names"
_DAYS_MAX = 10**5
_NEED_NAME = frozenset({"--forget", "--forget-run", "--rename", "--merge"})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProfileChanges:
    """The options of `profiles`, but for the store."""

    newest: int | None = count("Read only the newest N runs of each profile.", low=1)
    export: str | None = option("Write a table of phases: .csv or .parquet.", metavar="OUT")
    keep_runs: int | None = count(
        "Forget all but the newest N runs of NAME, or of each profile.", panel=_FORGET
    )
    older_than: int | None = count(
        "Forget runs imported more than DAYS days ago.",
        high=_DAYS_MAX, panel=_FORGET, metavar="DAYS",
    )  # fmt: skip
    forget: bool = switch("Forget NAME.", panel=_FORGET)
    forget_run: Sequence[str] = option(
        "Forget this run of NAME; repeatable.", (), metavar="RUN_ID", panel=_FORGET
    )
    rename: str | None = option(
        "Give NAME another name; the old one stays known.", metavar="NEW", panel=_NAMES
    )
    merge: Sequence[str] = option(
        "Move the runs of OTHER to NAME; repeatable.",
        (), metavar="OTHER", completes="profile_names", panel=_NAMES,
    )  # fmt: skip


@app.command("import")
@flattened
def import_(
    paths: Annotated[
        list[str],
        given.argument("Logs, folders of logs, or addresses of history servers.", metavar="PATH"),
    ],
    *,
    options: ImportOptions,
    as_json: given.AsJson = False,
) -> int:
    """Import the runs of log files into the profile store.

    A log may be imported again, also after it has grown: each run is kept once.

    Example: sluice import /var/log/hadoop/done --format jhist
    """
    from sluice.api import profiles as api
    from sluice.cli.progress import steps

    with steps("importing") as shown:
        imported = api.import_logs(
            paths, **keywords(options), on_progress=shown.on_progress, on_fraction=shown.on_fraction
        )
    if as_json:
        print_document(imported.document())
    else:
        _print_imported(imported)
    return DONE if imported.is_whole else NO


def _print_imported(imported: Imported) -> None:
    from sluice.reporting.history.tables import imported_views

    print_views(*imported_views(imported))
    if any(log.added.new or log.added.replaced for log in imported.logs):
        talk("Next: sluice profiles")


@app.command()
@flattened
def profiles(
    name: given.ProfileOrAll = None,
    *,
    asked: ProfileChanges,
    place: Stored,
    as_json: given.AsJson = False,
) -> int:
    """List all stored profiles, or the runs of one profile.

    NAME is a profile, an application or job in it, or the id of a run. Nothing is removed without
    one of the options under Forget.

    Example: sluice profiles wordcount --export wordcount.csv
    """
    from sluice.api import profiles as api
    from sluice.cli.progress import steps
    from sluice.reporting.history.result import check_export

    files = Files.checked("-", export=asked.export)
    store = place.store
    if asked.export is not None:
        check_export(asked.export)
    choices = {
        "--keep-runs": asked.keep_runs is not None,
        "--older-than": asked.older_than is not None,
        "--forget": asked.forget,
        "--forget-run": bool(asked.forget_run),
        "--rename": asked.rename is not None,
        "--merge": bool(asked.merge),
    }
    chosen = _chosen(choices, name)
    if asked.rename is not None:
        stored = api.rename_profile(str(name), asked.rename, store=store)
        talk(f"renamed: {name} is now {asked.rename}")
    elif asked.merge:
        stored = api.merge_profiles(str(name), asked.merge, store=store)
        talk(f"merged: {', '.join(asked.merge)} into {name}")
    elif chosen:
        stored = api.forget(
            name,
            keep_runs=asked.keep_runs,
            older_than_days=asked.older_than,
            run_ids=asked.forget_run,
            store=store,
        )
    else:
        stored = _read(name, asked.newest, store, is_table=not as_json)
    if files.export is not None:
        if asked.newest is None and stored.profiles:
            one = None if name is None else next(iter(stored.profiles))  # `name` may be an old one
            with steps("exporting runs") as shown:
                api.export_profiles(files.export, one, store=store, on_fraction=shown.on_fraction)
        else:
            stored.export(files.export)
        talk(f"export: {files.export}")
    if as_json:
        print_document(stored.document())
    else:
        _print_profiles(stored, is_one=name is not None)
    return DONE


def _read(
    name: str | None, newest: int | None, store: str | None, *, is_table: bool
) -> StoredProfiles:
    """The runs that are shown, and no others if their number is not given."""
    from sluice.api import profiles as api
    from sluice.reporting.history.tables import ROWS_MAX

    if newest is not None or not is_table:
        return api.profiles(name, newest=newest, store=store)
    if name is None:
        return api.newest_runs(ROWS_MAX, store=store)
    return api.profiles(name, newest=ROWS_MAX, store=store)


def _chosen(choices: dict[str, bool], name: str | None) -> bool:
    """Whether an option to change the store is given. Raises InvalidInput for more than one."""
    chosen = [flag for flag, is_given in choices.items() if is_given]
    if len(chosen) > 1:
        raise InvalidInput(
            f"it is given together with {chosen[0]}", where=chosen[1], hint="give one of the two"
        )
    if chosen and chosen[0] in _NEED_NAME and name is None:
        raise InvalidInput("NAME is missing", where=chosen[0], hint="give the NAME of the profile")
    return bool(chosen)


def _print_profiles(stored: StoredProfiles, *, is_one: bool) -> None:
    from sluice.reporting.history.tables import about_profile, profiles_table, runs_table

    for profile, runs in Counter(gone.profile for gone in stored.forgotten).items():
        talk(f"forgotten: {runs} {'run' if runs == 1 else 'runs'} of {profile}")
    if not stored.profiles:
        if not stored.forgotten:
            talk("The profile store is empty: run a workload, or import a log.")
        return
    if not is_one:
        print_views(profiles_table(stored))
        return
    (kept,) = stored.profiles.values()  # NAME may be an old name, or that of an application
    (runs_total,) = stored.run_counts.values()
    print_views(runs_table(kept, runs_total), *about_profile(kept))
