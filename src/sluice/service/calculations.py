"""Answers that take longer than a request may: each is a command of ours in a child with limits.

A child can be ended, and what it takes is not taken from the web process. Source: service spec,
sections 6 and 12.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import secrets
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sluice.model.errors import SluiceError
from sluice.service.problem import Problem
from sluice.store.service.access import Principal

CPU_S_MAX = 60
BYTES_MAX = 2 << 30
AT_ONCE_MAX = 2
KEPT_S = 3600.0
KEPT_MAX = 1000
HISTORY = "history.json"  # where a command with files finds its workload
_BAD_INPUT = 2
_NO = 1


@dataclass(eq=False, kw_only=True)
class Calculation:
    """One answer, in the making or made. owner: who asked; only its tenant may see it.

    words, workload: the command that makes it, and what it is given.
    sees_profiles: whether it may read the stored profiles, which bear names of all tenants.
    files: what the command reads by name, next to `history.json` for the workload, which it
    has on its standard input, too: `-` among its words.
    """

    owner: Principal
    words: Sequence[str]
    workload: dict[str, Any]
    sees_profiles: bool
    files: Mapping[str, str | bytes | None] = field(default_factory=dict)
    made_at_s: float
    answer_id: str = field(default_factory=lambda: f"answer-{secrets.token_hex(8)}")
    state: str = "running"
    result: Any = None
    problem: str | None = None
    task: asyncio.Task[None] | None = None

    def document(self) -> dict[str, Any]:
        """The document that the interface shows."""
        return {
            "answer_id": self.answer_id,
            "state": self.state,
            "result": self.result,
            "problem": self.problem,
        }


class Calculations:
    """The answers of one web process."""

    def __init__(self) -> None:
        self._known: dict[str, Calculation] = {}

    def start(
        self,
        who: Principal,
        words: Sequence[str],
        workload: dict[str, Any],
        *,
        sees_profiles: bool = False,
        files: Mapping[str, str | bytes | None] | None = None,
    ) -> Calculation:
        """Begin `sluice WORDS` with the workload on its standard input, and with files.

        sees_profiles: that the caller has made sure that its profiles are the tenant's own.

        Raises Problem 429 if two run already, or one of this tenant.
        """
        made = Calculation(
            owner=who,
            made_at_s=time.monotonic(),
            words=words,
            workload=workload,
            sees_profiles=sees_profiles or who.sees_only is None,
            files=files or {},
        )
        return self._begun(made, _carried_out(made))

    def start_asking(
        self, who: Principal, what: str, ask: Callable[[], Awaitable[Any]]
    ) -> Calculation:
        """Begin to ask another process of the service. what: the question, for the record.

        Raises Problem 429 as `start` does.
        """
        made = Calculation(
            owner=who, made_at_s=time.monotonic(), words=[what], workload={}, sees_profiles=False
        )
        return self._begun(made, _asked(made, ask))

    def _begun(self, made: Calculation, work: Coroutine[Any, Any, None]) -> Calculation:
        self._forget()
        tenant = made.owner.tenant
        running = [one for one in self._known.values() if one.state == "running"]
        if len(running) >= AT_ONCE_MAX or any(one.owner.tenant == tenant for one in running):
            work.close()
            raise Problem(429, "other answers are being made", where="answers",
                          hint="wait for one, or cancel it", retry_after_s=5)  # fmt: skip
        self._known[made.answer_id] = made
        made.task = asyncio.create_task(work)
        return made

    def find(self, who: Principal, answer_id: str) -> Calculation:
        """Raises Problem 404 for one that is not known, or another tenant's."""
        found = self._known.get(answer_id)
        if found is None or who.sees_only not in {None, found.owner.tenant}:
            raise Problem(404, "there is no such answer", where="answer_id",
                          hint="it is kept for an hour")  # fmt: skip
        return found

    def cancel(self, found: Calculation) -> None:
        """End its child, if it runs."""
        if found.task is not None and found.state == "running":
            found.state = "cancelled"
            found.task.cancel()

    def _forget(self) -> None:
        now_s = time.monotonic()
        for answer_id, one in list(self._known.items()):
            is_old = now_s - one.made_at_s > KEPT_S or len(self._known) > KEPT_MAX
            if one.state != "running" and is_old:
                del self._known[answer_id]


async def _asked(made: Calculation, ask: Callable[[], Awaitable[Any]]) -> None:
    try:
        made.result = await ask()
        made.state = "done"
    except SluiceError as error:
        made.state, made.problem = "failed", str(error)


async def _carried_out(made: Calculation) -> None:
    # Profiles bear the names of jobs of all tenants: who may not see those has none.
    with tempfile.TemporaryDirectory(prefix="sluice-answer-") as folder:
        own = {} if made.sees_profiles else {"SLUICE_HOME": folder}
        path = os.pathsep.join(entry or "." for entry in sys.path)
        content = json.dumps(made.workload).encode()
        if made.files:
            await asyncio.to_thread(_write, Path(folder), {**made.files, HISTORY: content.decode()})
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "sluice", made.words[0], "--json", *made.words[1:],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path} | own,
        )  # fmt: skip
        try:
            _limit(child.pid)
            out, err = await child.communicate(content)
        finally:
            with suppress(ProcessLookupError):
                child.kill()
    said = err.decode("utf-8", "replace").strip().splitlines()
    if child.returncode in {0, _NO} and out:
        made.state, made.result = "done", json.loads(out)
        if isinstance(made.result, dict):
            made.result.pop("store", None)  # where the service keeps its profiles
    elif child.returncode == _BAD_INPUT and said:
        made.state, made.problem = "failed", said[-1]
    else:
        made.state = "failed"
        made.problem = f"it took more than {CPU_S_MAX} s or {BYTES_MAX >> 30} GiB"


def _write(folder: Path, files: Mapping[str, str | bytes | None]) -> None:
    for name, content in files.items():
        if content is not None:
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def _limit(pid: int) -> None:
    with suppress(ProcessLookupError):  # it has ended already
        resource.prlimit(pid, resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX + 5))
        resource.prlimit(pid, resource.RLIMIT_AS, (BYTES_MAX, BYTES_MAX))
