"""How an attempt at real work ends badly."""

from __future__ import annotations

import errno
from collections.abc import Iterable

from sluice.model.errors import SluiceError

# Of a job whose tasks are all done, and whose output cannot be put together from what they left.
RUN_AGAIN = "run the file again without --resume"


class WorkFailed(SluiceError):
    """An attempt could not do its work.

    blames: (phase position, task) of earlier tasks whose output is missing or broken; running
    this attempt again is of no use before those have run again.
    cause: the exception of user code and its place, the same for all tasks that meet it; "" if
    another attempt may well do better.
    """

    def __init__(
        self, message: str, blames: Iterable[tuple[int, int]] = (), *, cause: str = ""
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.message = message
        self.blames = list(blames)

    def __str__(self) -> str:
        return self.message


class PermanentFailure(WorkFailed):
    """A failure that every further attempt would meet too, so the job fails at once."""

    is_permanent = True


class NodeFault(WorkFailed):
    """A fault of the machine, such as a full disk: not the task's failure."""

    is_node_fault = True


# No room for a process, in memory, among the open files or on the disk; a disk that fails.
MACHINE_FAULTS = frozenset(
    {
        errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE,
        errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO,
    }
)  # fmt: skip
