"""The folder of a service in the state folder, and the segments of its journal.

A segment is a folder like that of a run, so what reads runs reads it. It begins with nothing, when
all jobs of the one before have ended, or goes on from that one (see `segments`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sluice.model.ids import JobId
from sluice.store.database import store_errors
from sluice.store.home import SERVICE_FOLDER, check_state_folder, make_state_folder, state_folder
from sluice.store.journal_file import sync_folder
from sluice.store.private import make_private_folder, open_private_file
from sluice.store.service.segments import PREFIX, segments_in


class ServicePlace:
    """The paths of the one service of a state folder, by default the account's own."""

    def __init__(self, home: Path | None = None) -> None:
        self._home = home or state_folder()
        check_state_folder(self._home)
        self.folder = self._home / SERVICE_FOLDER
        self.journal = self.folder / "journal"
        self.config = self.folder / "serve.yaml"
        self.driver_socket = self.folder / "driver.sock"
        self.follower_socket = self.folder / "follower.sock"
        self.web_socket = self.folder / "web.sock"
        self.steering_socket = self.folder / "steering.sock"
        self.steering = self.folder / "steering"
        self.log = self.folder / "service.log"
        self._environments = self.folder / "environments"
        self._fault = self.folder / "follower.fault"
        self._queues = self.folder / "queues.json"

    def make(self) -> None:
        """Make the folders. Raises StoreUnavailable."""
        with store_errors(self.folder):
            make_state_folder(self._home)
            make_private_folder(self.journal)
            make_private_folder(self._environments)

    def make_steering(self) -> None:
        """Make the folder of what is changed on a cluster of others. Raises StoreUnavailable."""
        with store_errors(self.steering):
            make_private_folder(self.steering)

    @property
    def disk_percent(self) -> float:
        """How full the disk of the service is, as `df` shows it. Raises StoreUnavailable."""
        with store_errors(self.folder):
            found = os.statvfs(self.folder)
        used = found.f_blocks - found.f_bfree
        return 100.0 * used / max(1, used + found.f_bavail)

    def segments(self) -> list[Path]:
        """The folders of all segments, oldest first."""
        return segments_in(self.journal)

    def next_segment(self) -> Path:
        """The folder of a new segment, made."""
        known = sorted(self.journal.glob(f"{PREFIX}*"))  # also those that a crash left unfinished
        last = int(known[-1].name.rpartition("-")[2]) if known else 0
        folder = self.journal / f"{PREFIX}{last + 1:06d}"
        with store_errors(folder):
            make_private_folder(folder)
        return folder

    # --- the follower -------------------------------------------------------------------------

    def keep_fault(self, why: str) -> None:
        """The follower has ended, and is not started again: what it found damaged stays so.

        Raises StoreUnavailable.
        """
        with (
            store_errors(self._fault),
            os.fdopen(open_private_file(self._fault, os.O_WRONLY | os.O_TRUNC), "w") as file,
        ):
            file.write(why)

    def drop_fault(self) -> None:
        """The follower is started again."""
        self._fault.unlink(missing_ok=True)

    def fault(self) -> str | None:
        """Why no follower runs; None if one does, or is about to."""
        with store_errors(self._fault), suppress(FileNotFoundError):
            return self._fault.read_text("utf-8") or None
        return None

    # --- environments of jobs -----------------------------------------------------------------

    def keep_environment(self, job_id: JobId, env: Mapping[str, str]) -> None:
        """Keep the values of a job's variables, which may be secret, outside the journal.

        They are on the disk when this returns. Raises StoreUnavailable.
        """
        path = self._environment(job_id)
        with store_errors(path):
            descriptor = open_private_file(path, os.O_WRONLY | os.O_TRUNC)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(dict(env), file)
                file.flush()
                os.fsync(file.fileno())
            sync_folder(path.parent)

    def keep_queues(self, record: Mapping[str, Any]) -> None:
        """The queues that an admin has put into effect; later segments begin with them."""
        draft = self._queues.with_suffix(".new")
        with store_errors(self._queues):
            with os.fdopen(open_private_file(draft, os.O_WRONLY | os.O_TRUNC), "w") as file:
                json.dump(record, file)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._queues)
            sync_folder(self._queues.parent)

    def kept_queues(self) -> Mapping[str, Any] | None:
        """The last that were put into effect; None if none were."""
        with store_errors(self._queues), suppress(FileNotFoundError):
            found: Mapping[str, Any] = json.loads(self._queues.read_text("utf-8"))
            return found
        return None

    def environment(self, job_id: JobId) -> dict[str, str]:
        """The variables of a job; none if none were kept."""
        with store_errors(self._environment(job_id)), suppress(FileNotFoundError):
            found: dict[str, str] = json.loads(self._environment(job_id).read_text("utf-8"))
            return found
        return {}

    def drop_environment(self, job_id: JobId) -> None:
        """The job has ended."""
        self._environment(job_id).unlink(missing_ok=True)

    def kept_environments(self) -> list[JobId]:
        """The jobs whose variables are kept."""
        return [JobId(path.stem) for path in sorted(self._environments.glob("*.json"))]

    def _environment(self, job_id: JobId) -> Path:
        return self._environments / f"{job_id}.json"


@contextmanager
def short_path(socket: Path) -> Iterator[str]:
    """A name of at most 108 bytes for a socket, whatever the path of its folder is.

    Raises FileNotFoundError if the folder is not there.
    """
    folder = os.open(socket.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{socket.name}"
    finally:
        os.close(folder)
