"""The profile store for its users: runs in, profiles out.

`Profiles` opens the database and turns its errors into ours. Each method is one reading or one
writing of it; the statements are in the modules next to this one: `reading`, `writing`, `names` and
`retention`. The clock says when a run was learned, and which runs are old.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Self

from sqlalchemy import Connection, Engine

from sluice.model.errors import InvalidInput
from sluice.model.history import PastRun, PastTask
from sluice.store.database import store_errors as disk_errors
from sluice.store.home import make_state_folder
from sluice.store.private import make_private_file
from sluice.store.profiles import names, reading, retention, writing
from sluice.store.profiles.address import Address, address_of
from sluice.store.profiles.database import damage, database_errors, engine_of
from sluice.store.profiles.database import reading as reading_of
from sluice.store.profiles.database import writing as writing_to
from sluice.store.profiles.retention import Forgotten
from sluice.store.profiles.rows import RunRecord, StoredRun, record_of, stored_summary
from sluice.store.profiles.schema import bring_up_to_date
from sluice.store.profiles.timeline import unpacked
from sluice.store.profiles.writing import Added

DAY_S = 86400.0


class Profiles:
    """An open profile store. Made by `open` or `existing`; close it after use, or use `with`.

    A closed store opens its database again when it is next used.

    Every method raises StoreUnavailable if the disk or the server fails (what a method returned
    from before is kept), and StoreCorrupt if the store contradicts itself.
    """

    def __init__(self, address: Address, engine: Engine, clock: Callable[[], float]) -> None:
        self.address = address
        self._engine = engine
        self._clock = clock

    @classmethod
    def open(cls, url: str | None = None, *, clock: Callable[[], float] = time.time) -> Self:
        """The store at a URL or path; by default at SLUICE_STORE, or in the state folder.

        A missing store is made, and one of an older release is brought up to date.
        Raises InvalidInput for an invalid address, and a store that this release cannot read.
        """
        address = address_of(url)
        if address.is_file:
            with disk_errors(address.path.parent):
                _make_file(address)
        return cls._at(address, clock)

    @classmethod
    def existing(cls, url: str | None = None) -> Self:
        """Do what `open` does, but raise InvalidInput if the user named a file that does not exist.

        A command that only reads must not make a store because its name was mistyped.
        """
        address = address_of(url)
        if address.is_file and address.is_named and not address.path.exists():
            raise InvalidInput(
                "there is no such store", where=str(address), hint="check the path, or import first"
            )
        return cls.open(url)

    @classmethod
    def _at(cls, address: Address, clock: Callable[[], float]) -> Self:
        engine = engine_of(address)
        try:
            with database_errors(address):
                bring_up_to_date(engine, address)
        except BaseException:
            engine.dispose()
            raise
        return cls(address, engine, clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    # --- reading ------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The names of all profiles, sorted."""
        with self._reading() as connection:
            return reading.profile_names(connection)

    def run_ids(self, source: str) -> set[str]:
        """The ids of all runs from logs of a format."""
        with self._reading() as connection:
            return reading.run_ids(connection, source)

    def run_ids_of(self, name: str) -> set[str]:
        """The ids of the runs of a profile."""
        with self._reading() as connection:
            return reading.run_ids_of(connection, name)

    def run_counts(self, names_wanted: Collection[str] | None = None) -> dict[str, int]:
        """The number of runs of each of these profiles, or of all, by name, sorted."""
        with self._reading() as connection:
            return reading.run_counts(connection, names_wanted)

    def fullest(self, limit: int) -> list[str]:
        """The names of the profiles with most runs; of equals, the first by name."""
        with self._reading() as connection:
            return reading.fullest_profiles(connection, limit)

    def runs(self, name: str) -> list[PastRun]:
        """The runs of a profile, oldest first; none for an unknown name.

        Sorted by submission, with those without one first; then by source and id.
        """
        return [stored.run for stored in self.stored(name)]

    def stored(self, name: str | None = None) -> list[StoredRun]:
        """The runs as the store keeps them, of one profile or, without a name, of all."""
        with self._reading() as connection:
            return reading.stored_runs(connection, name)

    def each_summary(self, name: str | None = None) -> Iterator[StoredRun]:
        """The runs of one profile, or of all by name, oldest first, in bounded memory.

        They are without their single tasks.
        """
        with self._reading() as connection:
            yield from reading.each_summary(connection, name)

    def newest_of_each(
        self, limit: int, names_wanted: Collection[str] | None = None
    ) -> list[StoredRun]:
        """The last runs of each of these profiles, or of all, oldest first."""
        with self._reading() as connection:
            return reading.newest_of_each(connection, limit, names_wanted)

    def newest_summaries(
        self, limit: int, names_wanted: Collection[str] | None = None
    ) -> list[StoredRun]:
        """The runs of `newest_of_each` without their single tasks."""
        with self._reading() as connection:
            return reading.newest_of_each(connection, limit, names_wanted, stored_summary)

    def called(self, name: str) -> list[PastRun]:
        """The runs with this id or this name, oldest first, whatever their profile.

        The runs of an application's jobs, with ids such as `application_1/3`, are among them.
        """
        with self._reading() as connection:
            return [stored.run for stored in reading.runs_called(connection, name)]

    def newest(self, name: str, limit: int) -> list[PastRun]:
        """The last runs of a profile that succeeded, newest first.

        name: of the profile, or any name that `profile_named` finds.
        """
        with self._reading() as connection:
            profile = names.profile_named(connection, name) or name
            return [stored.run for stored in reading.newest_runs(connection, profile, limit)]

    def newest_digests(self, name: str, limit: int) -> tuple[str, ...]:
        """The digests of what `newest` returns, much faster."""
        with self._reading() as connection:
            profile = names.profile_named(connection, name) or name
            return reading.newest_digests(connection, profile, limit)

    def steady_slots(self, names_wanted: Collection[str], limit: int) -> dict[str, dict[str, int]]:
        """The slots by kind of those profiles whose last successful runs were all of one size."""
        with self._reading() as connection:
            return reading.steady_slots(connection, limit, names_wanted)

    def newest_timelines(
        self, name: str, limit: int
    ) -> Generator[tuple[int, tuple[PastTask, ...]], None, None]:
        """The place and the tasks of each phase of the last successful runs of a profile."""
        with self._reading() as connection:
            for place, tasks in reading.newest_timelines(connection, limit, name):
                yield place, () if tasks is None else unpacked(bytes(tasks))

    def profile_named(self, name: str) -> str | None:
        """The profile with this name, with this old name, or with a run of this name or id.

        None if there is none, or if runs of several profiles have the name.
        """
        with self._reading() as connection:
            return names.profile_named(connection, name)

    # --- adding -------------------------------------------------------------------------------

    def add(
        self,
        runs: Iterable[PastRun],
        digest: str | None = None,
        on_refused: Callable[[InvalidInput], None] | None = None,
    ) -> Added:
        """Add the runs; each is durable, whole, when this returns.

        digest: of the log that they come from; it is stored with them.
        on_refused: called for each run that no store could hold; the others are added. Without it
        such a run raises its InvalidInput, and the runs before it may have been added.
        A known run is replaced if the new account of it differs and is no less complete.
        """
        added = Added()
        for chunk in writing.chunks(self._records(runs, digest, on_refused)):
            with self._writing() as connection:
                added = added.plus(writing.write(connection, chunk))
        return added

    def move(self, names_moved: Iterable[str], profile: str) -> int:
        """Move the runs of profiles to another one; returns how many runs were moved.

        Runs that are added later under one of the old names join the profile, too.
        """
        with self._writing() as connection:
            return names.move_runs(connection, names_moved, profile)

    def _records(
        self,
        runs: Iterable[PastRun],
        digest: str | None,
        on_refused: Callable[[InvalidInput], None] | None,
    ) -> Iterator[RunRecord]:
        now_s = self._clock()
        with self._reading() as connection:
            moved = names.aliases(connection)
        for run in runs:
            profile = moved.get(run.profile, run.profile)
            if profile != run.profile:
                run = replace(run, profile=profile, name=run.name or run.profile)  # noqa: PLW2901  # the run under its new name
            try:
                yield record_of(run, log_digest=digest, learned_at_s=now_s)
            except InvalidInput as error:
                if on_refused is None:
                    raise
                on_refused(error)

    # --- removing -----------------------------------------------------------------------------

    def keep_runs(self, runs_kept: int, name: str | None = None) -> list[Forgotten]:
        """Drop all but the newest runs of the profile, or of each; returns what was dropped."""
        with self._writing() as connection:
            return retention.forget_but_newest(connection, runs_kept, name)

    def forget_older(self, days: float, name: str | None = None) -> list[Forgotten]:
        """Drop the runs that were learned more than this number of days ago."""
        before_at_s = self._clock() - days * DAY_S
        with self._writing() as connection:
            return retention.forget_learned_before(connection, before_at_s, name)

    def forget(self, name: str, run_ids: Iterable[str] | None = None) -> list[Forgotten]:
        """Drop runs of a profile by their ids, or the whole profile."""
        with self._writing() as connection:
            if run_ids is None:
                names.drop_aliases(connection, name)
            return retention.forget_runs(connection, name, run_ids)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with database_errors(self.address), reading_of(self._engine) as connection:
            try:
                yield connection
            # The store can read whatever it wrote, so something else changed the rows.
            except (InvalidInput, KeyError, IndexError, TypeError, ValueError) as error:
                raise damage(self.address, str(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with database_errors(self.address), writing_to(self._engine) as connection:
            yield connection


def _make_file(address: Address) -> None:
    """Make an empty private file if there is none; SQLite would use the umask.

    A file that exists under a name that the user gave may be shared on purpose, and keeps its mode.
    """
    if address.is_named:
        address.path.parent.mkdir(parents=True, exist_ok=True)
    else:
        make_state_folder(address.path.parent)
    make_private_file(address.path)
