"""The scratch folders of customers who are kept apart: one for each customer and node.

They are outside the run's own folder, which only the driver's user may enter. Each belongs to the
user of its customer and is private. It is removed when no open job of the customer has run on
the node, so that the next customer finds nothing there, and with it go map output, logs and
temporary files. Folders above it belong to root, so that no customer can put another one there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sluice.engines.unix_users import CustomerUsers
from sluice.model.errors import EngineUnavailable
from sluice.model.ids import JobId, NodeId

_PREFIX = "sluice-customers-"
_RUN = "run"  # a file with the scratch folder of the run
_ENTER_MODE = 0o711  # others may pass through, and not look around


class CustomerFolders:
    """Folders of one run. scratch: of that run; theirs hold its name, so a resumed run finds them.

    on_left: called with a node and a customer before the folder of the two is removed.
    """

    def __init__(self, scratch: Path, users: CustomerUsers) -> None:
        self.users = users
        self.on_left: Callable[[NodeId, str], None] = lambda _node, _customer: None
        self._scratch = scratch
        digest = hashlib.sha256(os.fsencode(scratch)).hexdigest()[:16]
        self._base = Path(tempfile.gettempdir(), f"{_PREFIX}{digest}")
        self._jobs: defaultdict[tuple[NodeId, str], set[JobId]] = defaultdict(set)

    def open(self) -> None:
        """Make the folder above all. Raises EngineUnavailable if it is another user's."""
        _remove_left()
        with suppress(FileExistsError):
            self._base.mkdir(mode=_ENTER_MODE)
        if not _is_own(self._base):
            raise EngineUnavailable(f"{self._base} is another user's; remove it")
        self._base.chmod(_ENTER_MODE)
        (self._base / _RUN).write_text(str(self._scratch))
        (self._base / _RUN).chmod(0o600)

    def folder(self, node_id: NodeId, customer: str) -> Path:
        """The folder of a customer on a node, made if it is missing; a log may be next to it."""
        path, user = self._path(node_id, customer), self.users.users[customer]
        path.parent.mkdir(mode=_ENTER_MODE, exist_ok=True)
        path.parent.chmod(_ENTER_MODE)
        if not path.exists():
            path.mkdir(mode=0o700)
            (path / "tmp").mkdir(mode=0o700)
            os.chown(path / "tmp", user.uid, user.gid)
            os.chown(path, user.uid, user.gid)
        return path

    def began(self, node_id: NodeId, customer: str, job_id: JobId) -> None:
        """A task of a job starts on a node."""
        self._jobs[node_id, customer].add(job_id)

    def job_over(self, job_id: JobId) -> None:
        """A job has ended, and its output is in its place: remove what no other one needs."""
        for (node_id, customer), jobs in list(self._jobs.items()):
            jobs.discard(job_id)
            if not jobs:
                del self._jobs[node_id, customer]
                self.on_left(node_id, customer)
                shutil.rmtree(self._path(node_id, customer), ignore_errors=True)

    def clear(self) -> None:
        """Remove all of them: the run is over."""
        shutil.rmtree(self._base, ignore_errors=True)

    def _path(self, node_id: NodeId, customer: str) -> Path:
        digest = hashlib.sha256(node_id.encode()).hexdigest()[:16]
        return self._base / f"node-{digest}" / str(self.users.users[customer].uid)


def _is_own(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and path.lstat().st_uid == os.geteuid()


def _remove_left() -> None:
    """Remove the folders of runs that are over; a run that can be resumed has its scratch."""
    for base in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if _is_own(base) and not Path((base / _RUN).read_text()).exists():
                shutil.rmtree(base, ignore_errors=True)
