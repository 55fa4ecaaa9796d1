"""Unix users as whom customers' tasks run, and steps of the driver done with a customer's rights.

The driver is root. What it reads and writes for a customer's job (inputs, code, the output) it does
with the rights of that customer's user, so that a job reaches no file that its customer does not.
The kernel has such rights for each thread: `setfsuid` changes who opens files, and drops root's
right to open any file, without changing whose process it is.
Source: Linux, setfsuid(2) and capabilities(7), "Effect of user ID changes on capabilities".
"""

from __future__ import annotations

import ctypes
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sluice.model.errors import EngineUnavailable, InvalidInput
from sluice.model.job import Job

UMASK = 0o077  # what a task writes is for its own user
SETTING = "run.customer_users"
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")
_SETGROUPS = {"x86_64": 116, "aarch64": 159}  # of the system call, by machine

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnixUser:
    """An account of this machine.

    groups: all of them, with the one of the account.  python: the interpreter that it may run.
    """

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    shell: str
    python: str = sys.executable

    @classmethod
    def named(cls, name: str, python: str = "") -> UnixUser:
        """The account of that name. Raises InvalidInput if there is none, or if it is root's."""
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            raise InvalidInput(
                f"this machine has no user {name!r}",
                where=SETTING,
                hint="create it, or name another",
            ) from None
        if found.pw_uid == 0:
            raise InvalidInput(
                f"user {name!r} may read the files of all others",
                where=SETTING,
                hint="name a user without such rights",
            )
        return cls(
            name=name,
            uid=found.pw_uid,
            gid=found.pw_gid,
            groups=tuple(os.getgrouplist(name, found.pw_gid)),
            home=found.pw_dir,
            shell=found.pw_shell,
            python=python or sys.executable,
        )

    def check_python(self) -> None:
        """Raise EngineUnavailable if the user cannot run the tasks' Python, or load Sluice."""
        try:
            child = subprocess.run(
                [self.python, "-P", "-c", "import sluice.engines.agent.node"],
                env=self.environment() | {"PYTHONPATH": os.pathsep.join(modules_path(self.python))},
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                **self.process(),
            )
            why = child.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        except OSError as error:
            child, why = None, f"{self.python}: {error.strerror}"
        if child is None or child.returncode != 0:
            raise EngineUnavailable(
                f"{SETTING}: user {self.name!r} cannot run Sluice's Python ({why}): install both"
                " where all users may read them, or set run.customer_python"
            )

    def process(self) -> dict[str, Any]:
        """The words of `subprocess.Popen` for a process of this user."""
        return {"user": self.uid, "group": self.gid, "extra_groups": self.groups, "umask": UMASK}

    def environment(self) -> dict[str, str]:
        """The variables of such a process: nothing that the driver's own user keeps in them."""
        own = {"HOME": self.home, "SHELL": self.shell, "USER": self.name, "LOGNAME": self.name}
        return {name: os.environ[name] for name in _KEPT if name in os.environ} | own


_acting: ContextVar[UnixUser | None] = ContextVar("acting", default=None)


def acting_user() -> UnixUser | None:
    """The user with whose rights this thread opens files; None for that of the process."""
    return _acting.get()


@contextmanager
def acting_as(user: UnixUser | None) -> Iterator[None]:
    """Inside, this thread opens files as `user`; with None nothing changes. Raises OSError.

    A thread that starts inside keeps these rights until its end.
    """
    if user is None:
        yield
        return
    groups, uid, gid = os.getgroups(), os.geteuid(), os.getegid()
    token = _acting.set(user)
    try:
        _set_groups(user.groups)
        _libc.setfsgid(user.gid)
        _libc.setfsuid(user.uid)
        # It has no other way to fail than to change nothing.
        if _libc.setfsuid(-1) != user.uid:
            raise PermissionError(1, f"this process may not act as {user.name}")
        yield
    finally:
        _libc.setfsuid(uid)
        _libc.setfsgid(gid)
        _set_groups(groups)
        _acting.reset(token)


def _set_groups(groups: tuple[int, ...] | list[int]) -> None:
    # glibc's own function would change all threads of this process.
    number = _SETGROUPS.get(os.uname().machine)
    listed = (ctypes.c_uint32 * len(groups))(*groups)
    if number is None or _libc.syscall(number, len(groups), listed) != 0:
        raise OSError(ctypes.get_errno() or 38, "the groups of a thread cannot be changed")


def modules_path(python: str) -> list[str]:
    """The folders of modules of this process; another Python has its own standard library."""
    own = () if python == sys.executable else (sys.base_prefix, sys.base_exec_prefix)
    return [
        str(entry)
        for entry in sys.path
        if entry and not any(Path(entry).is_relative_to(base) for base in own)
    ]


@dataclass(frozen=True, kw_only=True)
class CustomerUsers:
    """The user of each customer."""

    users: Mapping[str, UnixUser] = field(default_factory=dict)

    @classmethod
    def of_words(cls, words: str, python: str) -> CustomerUsers | None:
        """The users of a text such as `acme=alice, globex=bob`; None for an empty one.

        Raises InvalidInput for another text, and for two customers with one user.
        """
        users: dict[str, UnixUser] = {}
        for word in filter(None, (part.strip() for part in words.split(","))):
            customer, _, name = word.rpartition("=")
            if not customer.strip() or not name.strip():
                raise InvalidInput(
                    f"{word!r} names no customer and user",
                    where=SETTING,
                    hint="give pairs such as 'acme=alice, globex=bob'",
                )
            users[customer.strip()] = UnixUser.named(name.strip(), python)
        of_uid: dict[int, str] = {}
        for customer, user in users.items():
            if of_uid.setdefault(user.uid, customer) != customer:
                raise InvalidInput(
                    f"customers {of_uid[user.uid]!r} and {customer!r} are both user {user.name!r}",
                    where=SETTING,
                    hint="give each customer a user of its own",
                )
        return cls(users=users) if users else None

    def of(self, job: Job) -> UnixUser:
        """The user of a job. Raises InvalidInput for a job of no customer that is listed."""
        user = self.users.get(job.customer or "")
        if user is None:
            known = ", ".join(map(repr, self.users))
            lacks = "has no customer" if job.customer is None else f"is of {job.customer!r}"
            raise InvalidInput(
                f"the job {lacks}, and {SETTING} has users for {known}",
                where=f"job {job.job_id!r}",
                hint="give the job its `customer`, and the customer a user",
            )
        return user

    def check_allowed(self) -> None:
        """Raise EngineUnavailable where this process may not change users."""
        if os.geteuid() != 0:
            raise EngineUnavailable(
                f"{SETTING} keeps customers apart by unix users, and only root may start tasks as"
                " other users: run Sluice as root, or leave the setting out"
            )
        for user in self.users.values():
            try:
                with acting_as(user):
                    user.check_python()
            except OSError as error:
                raise EngineUnavailable(
                    f"{SETTING}: this process may not act as user {user.name!r}: {error.strerror}"
                ) from error
