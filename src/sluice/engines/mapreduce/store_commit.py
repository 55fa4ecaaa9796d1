"""How the output of a job is made at a URL: all at once, or not at all.

Part files are sent to a hidden folder next to the output, under names with the attempt and epoch.
Then the commit depends on the store:

* It renames folders at once (hdfs): the parts are gathered in a folder, which is renamed to the
  output, as on a disk.
* It does not (s3, gs): the parts are copied to their final names within the store, and the manifest
  `_SUCCESS` is written last. Without it a folder is no output. Source of the form: the committers
  of Hadoop for S3, which write their list of files into `_SUCCESS` as well.

The manifest is a JSON object with the name of the job and run, and each part with its bytes and
CRC32. The mark `.sluice` is written first, so that a run knows an output that it began itself. All
of it may be interrupted and repeated.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from sluice.engines.data_plane.stores import READ_ONLY, StoreFolder
from sluice.engines.mapreduce.commit import ATTEMPTS, MARK, SUCCESS, output_appeared, output_exists
from sluice.engines.mapreduce.errors import RUN_AGAIN, WorkFailed
from sluice.model.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStaging:
    """The hidden folder of one job of one run, and the output that it becomes; both are URLs.

    replaced: the version of the manifest of the output that may be replaced; "" for none.
    """

    folder: str
    output: str
    replaced: str = ""

    @classmethod
    def beside(cls, output: str, job_name: str, where: str, *, replaces: bool) -> StoreStaging:
        """The staging folder for `output`. Raises InvalidInput if it cannot be written.

        replaces: whether an output that a job has written may be replaced.
        """
        scheme, _, rest = output.partition("://")
        parent, _, name = rest.rstrip("/").rpartition("/")
        if scheme in READ_ONLY or not parent or not name:
            raise InvalidInput(
                f"output {output!r} names no folder that can be written",
                where=where,
                hint="name a folder of a store, such as s3://bucket/folder",
            )
        url = f"{scheme}://{parent}/{name}"
        made = cls(folder=f"{scheme}://{parent}/.{name}.sluice-{job_name}", output=url)
        try:
            store = made._store()
            is_there = bool(store.sizes(made._name))
            version = store.version(f"{made._name}/{SUCCESS}") if is_there else ""
        except OSError as error:
            hint = getattr(error, "hint", "") or "give the URL of a folder"
            raise InvalidInput(f"output {error.strerror}", where=where, hint=hint) from error
        if is_there and not replaces:
            raise output_exists(url, where=where)
        if is_there and not version:
            raise InvalidInput(
                f"{url!r} is not the output of a job: it has no {SUCCESS}",
                where="--overwrite",
                hint="remove it yourself, or name another output",
            )
        return cls(folder=made.folder, output=url, replaced=version)

    def begin(self) -> None:
        """See whether it can be written. Raises OSError."""
        self._store().write(f"{self._hidden}/{ATTEMPTS}/{MARK}", self._mark)

    def commit(self, winners: Sequence[str], *, phase: int) -> None:
        """Make the output of the winners' part files, in task order. Safe to repeat.

        Raises InvalidInput if an output that is not of this job and run is there; WorkFailed
        blaming tasks of `phase` whose file is lost; OSError.
        """
        store = self._store()
        if not self._is_own(store.read(f"{self._name}/{SUCCESS}")):
            names = [winner.rpartition("/")[2] for winner in winners]
            if store.renames:
                self._commit_by_rename(store, names, phase)
            else:
                self._commit_by_manifest(store, names, phase)
        self._clear(store)

    def abort(self) -> None:
        """Remove the hidden folder; the output stays as it is."""
        with suppress(OSError):
            self._clear(self._store())

    def _clear(self, store: StoreFolder) -> None:
        with suppress(OSError):  # what is left is hidden, and no output
            store.remove_folder(self._hidden)

    # --- a store that renames ---------------------------------------------------------------------

    def _commit_by_rename(self, store: StoreFolder, names: Sequence[str], phase: int) -> None:
        gathered = f"{self._hidden}/committed"
        sizes = store.sizes(gathered)
        lost = []
        for task, name in enumerate(names):
            part = _part(task)
            try:
                if part not in sizes:  # else: renamed before an interruption
                    store.rename(f"{self._hidden}/{ATTEMPTS}/{name}", f"{gathered}/{part}")
            except FileNotFoundError:
                lost.append((phase, task))
        _refuse_lost(lost)
        found = store.sizes(gathered)
        store.write(f"{gathered}/{SUCCESS}", self._manifest(names, found))
        if store.sizes(self._name) and not self._may_replace(store):
            raise output_appeared(self.output)
        with suppress(FileNotFoundError):  # a folder without files: HDFS would rename into it
            store.rename(self._name, f"{self._hidden}/replaced")
        store.rename(gathered, self._name)
        if not self._is_own(store.read(f"{self._name}/{SUCCESS}")):
            raise OSError(None, f"{self.output!r} was not made: the store did not rename a folder")

    # --- a store that does not --------------------------------------------------------------------

    def _commit_by_manifest(self, store: StoreFolder, names: Sequence[str], phase: int) -> None:
        sent = store.sizes(f"{self._hidden}/{ATTEMPTS}")
        _refuse_lost([(phase, task) for task, name in enumerate(names) if name not in sent])
        self._claim(store)
        attempts = f"{self._hidden}/{ATTEMPTS}"
        parts = [_part(task) for task in range(len(names))]
        store.copy(
            {
                f"{attempts}/{name}": f"{self._name}/{part}"
                for name, part in zip(names, parts, strict=True)
            }
        )
        found = store.sizes(self._name)
        if any(found.get(part) != sent[name] for name, part in zip(names, parts, strict=True)):
            raise OSError(None, f"{self.output!r}: a part has not the size of its copy")
        strangers = found.keys() - {*parts, MARK}
        store.remove(f"{self._name}/{name}" for name in sorted(strangers))
        if store.read(f"{self._name}/{MARK}") != self._mark:
            raise output_appeared(self.output)  # another run has begun to write there
        store.write(f"{self._name}/{SUCCESS}", self._manifest(names, found))

    def _claim(self, store: StoreFolder) -> None:
        """Make the output's folder ours. What is replaced is no output from here on."""
        mark, success = f"{self._name}/{MARK}", f"{self._name}/{SUCCESS}"
        present = store.sizes(self._name)
        if store.read(mark) != self._mark:
            if present and not self._may_replace(store):
                raise output_appeared(self.output)
            store.write(mark, self._mark)
        if SUCCESS in present:
            store.remove([success])

    def _may_replace(self, store: StoreFolder) -> bool:
        return bool(self.replaced) and (store.version(f"{self._name}/{SUCCESS}") == self.replaced)

    def _manifest(self, names: Sequence[str], sizes: dict[str, int]) -> bytes:
        files = [
            {
                "name": _part(task),
                "bytes": sizes[_part(task)],
                "crc32": name.removesuffix(".part")[-8:],
            }
            for task, name in enumerate(names)
        ]
        return json.dumps({"job": self._hidden, "files": files}, indent=1).encode() + b"\n"

    def _is_own(self, manifest: bytes | None) -> bool:
        try:
            found = json.loads(manifest or b"null")
        except ValueError:
            return False
        return isinstance(found, dict) and found.get("job") == self._hidden

    def _store(self) -> StoreFolder:
        return StoreFolder(self.output.rpartition("/")[0])

    @property
    def _name(self) -> str:
        return self.output.rpartition("/")[2]

    @property
    def _hidden(self) -> str:
        return self.folder.rpartition("/")[2]

    @property
    def _mark(self) -> bytes:
        return self._hidden.encode() + b"\n"


def _part(task: int) -> str:
    return f"part-{task:05}"


def _refuse_lost(lost: list[tuple[int, int]]) -> None:
    if lost:
        what = f"{len(lost)} part files are lost before they were committed; {RUN_AGAIN}"
        raise WorkFailed(what, lost)
