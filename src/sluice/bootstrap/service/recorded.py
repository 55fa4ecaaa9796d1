"""Recorded runs as the page shows them: what a follower answers about a service, without one.

A job is named RUN~JOB. Runs that still go on are read again when their journal has grown.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from sluice.bootstrap.history.past_runs import replayed
from sluice.bootstrap.service.questions import Questions
from sluice.bootstrap.service.readable import KnownJob
from sluice.core.explain.names import nearest_of
from sluice.model.errors import InvalidInput, SluiceError
from sluice.model.ids import JobId
from sluice.reporting.formatting import counted
from sluice.store.rows import prepared_jobs
from sluice.store.run_info import RunInfo, info_of
from sluice.store.runs import Runs
from sluice.store.service.submissions import JobChange, SubmittedJob, SubmittedWorkload

SEPARATOR = "~"
RUNS_MAX = 20  # the newest; the others by their id
_OF_A_JOB = frozenset({"job", "why", "story", "attempts", "log", "workload", "run_id"})
_NO_PROMISE = {"decision": "accepted_without_promise", "why_not": "only a service makes promises"}
Answer = dict[str, Any]


class _Recorded:
    """A `Readable` of one run."""

    def __init__(self, run: RunInfo) -> None:
        self.segment = run.folder
        self.kept_from_s: float | None = None
        self._began_s = datetime.fromisoformat(run.header.started_at).timestamp()
        self.scheduler = replayed(run)
        self.state = self.scheduler.state
        self.settled: dict[JobId, None] = dict.fromkeys(self.state.jobs)
        self.changes: dict[JobId, list[JobChange]] = {}
        self.capacity: list[tuple[float, int]] = []
        self.jobs: dict[JobId, KnownJob] = dict(self._known(run))
        self.submitted = list(self.jobs)
        self.seq = 0

    def _known(self, run: RunInfo) -> Iterator[tuple[JobId, KnownJob]]:
        records = prepared_jobs(run.folder)
        workload = SubmittedWorkload(
            tenant=getpass.getuser(), key=None, digest="", made_at_s=self._began_s, at_s=0.0,
            jobs=(),
        )  # fmt: skip
        for job_id, entry in self.state.jobs.items():
            prepared = records.get(job_id, {"output": ""})
            job = SubmittedJob(
                job=entry.job, name=str(job_id), prepared=prepared, promise=_NO_PROMISE
            )
            yield job_id, KnownJob(job, workload)

    @property
    def now_s(self) -> float:
        return self.state.now_s

    @property
    def queues(self) -> list[str]:
        """A run takes no more jobs."""
        return []

    @property
    def open_jobs(self) -> list[JobId]:
        return [job_id for job_id, entry in self.state.jobs.items() if not entry.has_ended]

    def wall_s(self, at_s: float) -> float:
        return self._began_s + at_s


class RecordedRuns:
    """Answers the questions of the page. run_id: the only run; None for the newest ones.

    Raises InvalidInput if there is no such run.
    """

    def __init__(self, run_id: str | None = None) -> None:
        self._only = run_id
        self._read: dict[Path, tuple[int, Questions]] = {}
        self._number = 0
        self._older = 0  # runs that are not looked at
        self._problems: dict[str, SluiceError] = {}  # by the id of a run that cannot be read
        if not self._runs():
            for problem in self._problems.values():
                raise problem
            known = [run.run_id for run in Runs().all()]
            what = "no run is recorded yet" if run_id is None else f"there is no run {run_id!r:.60}"
            hint = nearest_of(run_id or "", known) if known else "run a workload: sluice run FILE"
            raise InvalidInput(what, where="RUN", hint=hint)

    def answer(self, question: str, given: Mapping[str, Any]) -> Answer:
        """The answer of the run that the question is about. Raises InvalidInput."""
        self._look()
        if not self._read:
            gone = InvalidInput("the runs were deleted", where="RUN", hint="run: sluice page")
            raise next(iter(self._problems.values()), gone)
        if question in _OF_A_JOB:
            return self._of_job(question, given)
        if question == "jobs":
            return self._jobs(given)
        if question == "changes":
            return {"number": self._number, "rows": [], "is_cut": True, "as_of_seq": 0,
                    "source": "runs"}  # fmt: skip
        if question == "status":
            return {"conditions": self._conditions()}
        if question == "why_at":
            raise InvalidInput("a recorded run is not asked about the past on this page",
                               where="at", hint="run: sluice why JOB --run RUN --at S")  # fmt: skip
        if question == "present_whatif":
            raise InvalidInput("recorded runs have ended, so that nothing of them is to come",
                               where="capacity", hint="run: sluice whatif")  # fmt: skip
        if question == "helps":
            return {"would_help": [], "never": False}
        if question == "fairness":
            raise InvalidInput("the ledger of a recorded run is not on this page", where="fairness",
                               hint="run: sluice fairness RUN")  # fmt: skip
        _, newest = next(iter(self._read.values()))
        return dict(newest.answer(question, given))

    def _of_job(self, question: str, given: Mapping[str, Any]) -> Answer:
        run_id, _, job_id = str(given["job_id"]).partition(SEPARATOR)
        for folder, (_, questions) in self._read.items():
            if folder.name == run_id:
                found = questions.answer(question, {**given, "job_id": JobId(job_id)})
                return _named(run_id, dict(found))
        raise InvalidInput(f"there is no run {run_id!r:.60}", where="JOB",
                           hint="`sluice runs` lists them")  # fmt: skip

    def _jobs(self, given: Mapping[str, Any]) -> Answer:
        every = {**given, "after": None, "limit": 10**6}
        rows = [
            _named(folder.name, row)
            for folder, (_, questions) in self._read.items()
            for row in questions.views.jobs(**every)["jobs"]
        ]
        # What follows a row is known by its place: two runs may have jobs of one name.
        ids = [row["job_id"] for row in rows]
        start = ids.index(given["after"]) + 1 if given.get("after") in ids else 0
        limit = int(given.get("limit") or 100)
        page = rows[start : start + limit]
        has_more = start + limit < len(rows)
        return {"jobs": page, "total": len(rows), "total_is_exact": True,
                "next": page[-1]["job_id"] if has_more else None}  # fmt: skip

    def _look(self) -> None:
        """Read the runs that are new, or have gone on; the newest comes first."""
        found: dict[Path, tuple[int, Questions]] = {}
        for run in self._runs():
            size = sum(path.stat().st_size for path in run.folder.glob("journal.db*"))
            known = self._read.get(run.folder)
            if known is None or known[0] != size:
                try:
                    recorded = _Recorded(run)
                except SluiceError as error:
                    self._problems[run.run_id] = error
                    continue
                known = (size, Questions(recorded))
                self._number += 1
            found[run.folder] = known
        self._read = found

    def _runs(self) -> list[RunInfo]:
        """The runs to read, the newest first. Notes those that cannot be read, and the others."""
        runs = Runs()
        folders = runs.folders()
        if self._only is not None:
            only = runs.find(self._only)
            folders = [] if only is None else [only.folder]
        found: list[RunInfo] = []
        self._problems = {}
        while folders and len(found) < RUNS_MAX:
            run = info_of(folders.pop())
            if isinstance(run, RunInfo):
                found.append(run)
            else:
                self._problems[run.run_id] = run.unreadable()
        self._older = len(folders)
        return found

    def _conditions(self) -> list[Answer]:
        """Return which runs are not shown."""
        found = []
        if self._problems:
            count = counted(len(self._problems), "run")
            found.append(f"{count} cannot be read: `sluice runs` says why")
        if self._older:
            count = counted(self._older, "older run")
            found.append(f"{count} left out: `sluice page RUN` shows one")
        return [{"code": "left_out", "text": text, "since_at": None} for text in found]


def _named(run_id: str, row: Answer) -> Answer:
    """The row with the id of its run in that of its job."""
    if "job_id" not in row:
        return row
    before = {"after": [_named(run_id, one) for one in row["after"]]} if "after" in row else {}
    return {**row, **before, "job_id": f"{run_id}{SEPARATOR}{row['job_id']}"}
