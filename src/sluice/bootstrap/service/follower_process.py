"""The process that answers questions: `python -m sluice.bootstrap.service.follower_process`.

It reads the driver's journal into a replica, one thread in all, so that it can fork: a forecast is
a copy of it that simulates on. It may be killed at any time; the next one reads the journal again.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from sluice.bootstrap.history.profiles import learn
from sluice.bootstrap.service.activation import changed_service_file
from sluice.bootstrap.service.fairness import FairnessQuestion, fairness_of
from sluice.bootstrap.service.forecasts import Forecaster
from sluice.bootstrap.service.forking import forked, whole_answer
from sluice.bootstrap.service.futures import Future, instant
from sluice.bootstrap.service.helps import helps
from sluice.bootstrap.service.history import history_of, present_queues
from sluice.bootstrap.service.job_lists import OPEN_STATES
from sluice.bootstrap.service.kept_logs import EVERY_S as DROP_LOGS_S
from sluice.bootstrap.service.kept_logs import FULL_EVERY_S, drop_logs, is_nearly_full
from sluice.bootstrap.service.messages import LINE_BYTES_MAX, failure, say
from sluice.bootstrap.service.observed import EVERY_S, Observed, observed_jobs
from sluice.bootstrap.service.others_story import story_of_others
from sluice.bootstrap.service.past_why import past_why
from sluice.bootstrap.service.present_whatif import Change, present_whatif
from sluice.bootstrap.service.promises import promises_of
from sluice.bootstrap.service.questions import Questions
from sluice.bootstrap.service.replica import OnSettled, Replica
from sluice.model.errors import EngineUnavailable, InvalidInput, SluiceError, StoreCorrupt
from sluice.model.ids import JobId
from sluice.model.job import Job
from sluice.store.service.places import ServicePlace, short_path
from sluice.store.service.segments import chain_of
from sluice.store.service.submissions import SubmittedWorkload

FOLLOW_S = 0.05
FORECAST_S = 0.5  # a forecast is replaced no more often,
FORECAST_SHARE = 0.3  # and takes no more of the time
CPU_S_MAX = 30
WAIT_S_MAX = 30.0  # of one question that waits for jobs to end
LISTED = 100  # jobs of others, where the question does not say how many
_BATCH_MAX = 100  # submissions that share a forecast


class _Asked(NamedTuple):
    """A submission that waits for its promises."""

    workload: SubmittedWorkload
    promises: asyncio.Future[list[Mapping[str, Any]]]


class Follower:
    """The replica of the newest segment, and what is asked about it."""

    def __init__(self, place: ServicePlace) -> None:
        self._place = place
        self._replica = _replica_of(place, self._learn)
        self._forecaster = Forecaster(self._replica)
        self._questions = Questions(self._replica)
        self._views = self._questions.views
        self._observed = Observed()
        self._socket = 0  # the inode of the one that it listens on
        self._asked: list[_Asked] = []
        self._has_asked = asyncio.Event()
        self._forecast_seq = -1
        self._settled = asyncio.Event()

    async def run(self) -> None:
        """Answer until the process ends."""
        self._follow()
        path = self._place.follower_socket
        path.unlink(missing_ok=True)
        with short_path(path) as name:
            server = await asyncio.start_unix_server(self._serve, name, limit=LINE_BYTES_MAX)
        path.chmod(0o600)
        self._socket = path.stat().st_ino
        async with server:
            await asyncio.gather(
                self._keep_following(),
                self._keep_forecasting(),
                self._keep_promising(),
                self._keep_observing(),
                self._keep_dropping_logs(),
            )

    async def _keep_following(self) -> None:
        while not self._is_replaced():
            self._follow()
            await asyncio.sleep(FOLLOW_S)
        os._exit(0)

    def _is_replaced(self) -> bool:
        """Whether another follower has taken the place of this one, and answers instead."""
        with suppress(FileNotFoundError):
            return self._place.follower_socket.stat().st_ino != self._socket
        return False

    def _follow(self) -> None:
        settled = self._replica.follow()
        if not settled:
            return
        self._forecaster.forget(settled)
        self._settled.set()
        self._settled = asyncio.Event()

    def _learn(self, settled: Mapping[JobId, Sequence[int]]) -> None:
        """Keep what these jobs took in the profile store; a second time changes nothing."""
        replica = self._replica
        # By what their clock began with: one look at the history for each life of the driver.
        by_start: dict[int, dict[JobId, Sequence[int]]] = {}
        for job_id, rows in settled.items():
            at_s = replica.state.jobs[job_id].submitted_at_s
            by_start.setdefault(round(replica.wall_s(at_s) - at_s), {})[job_id] = rows
        for began_s, found in by_start.items():
            learn(
                replica.state,
                run_id=f"service-{replica.segment.name}",
                header=replace(replica.header, started_at=instant(began_s)),
                cluster=replica.config.cluster,
                on_message=say,
                only=found,
            )
        for job_id in set(settled).intersection(self._place.kept_environments()):
            self._place.drop_environment(job_id)

    # --- forecasts ----------------------------------------------------------------------------

    async def _keep_forecasting(self) -> None:
        while True:
            began_s = time.monotonic()
            seq, open_jobs = self._replica.seq, self._replica.open_jobs
            if not open_jobs:
                self._views.futures = ()
            elif seq != self._forecast_seq:
                self._forecaster.learn_of(self._open_jobs())
                found = None
                if not self._forecaster.unknown(()):
                    found = await self._in_fork(self._forecaster.plain_futures)
                self._views.futures = [
                    {JobId(job_id): Future(**each) for job_id, each in one.items()}
                    for one in found or ()
                ]
                self._forecast_seq = seq
            took_s = time.monotonic() - began_s
            await asyncio.sleep(max(FORECAST_S, took_s / FORECAST_SHARE))

    async def _keep_observing(self) -> None:
        address = self._replica.config.observe
        while address is not None:
            self._observed.take(await self._in_fork(partial(observed_jobs, address)))
            await asyncio.sleep(EVERY_S)

    async def _keep_dropping_logs(self) -> None:
        while True:
            await self._in_fork(partial(drop_logs, self._place, self._replica))
            until_s = time.monotonic() + DROP_LOGS_S
            while True:
                await asyncio.sleep(FULL_EVERY_S)
                if time.monotonic() > until_s or is_nearly_full(self._place, self._replica.config):
                    break

    async def _in_fork(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401  # whatever the work returns as JSON
        """The result of the work in a child; None if it took too long, or was killed."""
        pid, reader = forked(work, CPU_S_MAX)
        stream = asyncio.StreamReader()
        pipe = os.fdopen(reader, "rb")
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), pipe
        )
        try:
            text = await stream.read()
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise
        finally:
            transport.close()
            os.waitpid(pid, 0)  # noqa: ASYNC222  # it has ended with its pipe
        return whole_answer(text)

    # --- questions ----------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ValueError):
            line = await reader.readline()
            answer = await self._answered(line)
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        writer.close()

    async def _answered(self, line: bytes) -> Mapping[str, Any]:
        try:
            self._follow()  # an answer knows all that was acknowledged before the question
            return await self._answer(json.loads(line))
        except SluiceError as error:
            return failure(error)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            what = f"it cannot be read: {type(error).__name__}: {error}"
            return failure(InvalidInput(what, where="message", hint="use this release"))

    async def _answer(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        match message["do"]:
            case "promise":
                return await self._promises(SubmittedWorkload.of(message["workload"]))
            case "wait":
                return await self._wait([JobId(each) for each in message["job_ids"]])
            case "fairness" | "history" | "helps" | "why_at" | "present_whatif":
                return await self._answer_aside(message["do"], _arguments(message))
            case "status" | "queue_file" | "service_file" as asked:
                return self._of_service(asked, **_arguments(message))
            case "observed" | "story" if message.get("tenant") is None:
                return await self._of_others(message)
            case other:
                return self._with_observed(
                    message, self._questions.answer(other, _arguments(message))
                )

    async def _of_others(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """An application, or a story: of ours, or else of the cluster of others.

        Raises InvalidInput for a story of something unknown.
        """
        subject = message["job_id"]
        known = self._observed.job(subject)
        if message["do"] == "observed":
            return {"job": known}
        try:
            return self._questions.answer("story", _arguments(message))
        except InvalidInput:
            asked = partial(story_of_others, self._place.steering, subject, known)
            found: Mapping[str, Any] | None = await self._in_fork(asked)
            if found is None:
                raise
            return found

    def _with_observed(
        self, message: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The answer, for a list of jobs with those of others, which no tenant of ours has."""
        if message.get("tenant") is not None:
            return answer
        if message["do"] == "queues":
            steers = self._replica.config.steering is not None
            return {**answer, "observes": self._observed.is_known, "steers": steers}
        if message["do"] != "jobs":
            return answer
        found = self._observed.listed(
            message.get("states") or (),
            message.get("queue"),
            message.get("name"),
            message.get("limit", LISTED),
        )
        return {**answer, **found}

    async def _answer_aside(self, question: str, given: dict[str, Any]) -> Mapping[str, Any]:
        """Return what takes a while to find, found by a child process."""
        replica = self._replica
        match question:
            case "fairness":
                asked = partial(fairness_of, replica, FairnessQuestion(**given))
            case "history":
                asked = partial(history_of, replica, **given)
            case "why_at":
                asked = partial(past_why, replica, **given)
            case "present_whatif":
                self._forecaster.learn_of(self._open_jobs())
                tenant = given.pop("tenant")
                asked = partial(present_whatif, self._forecaster, Change(**given), tenant)
            case _:
                return await self._helps(JobId(given["job_id"]))
        return await self._of_weeks(asked)

    def _of_service(self, question: str, text: str = "", name: str = "") -> Mapping[str, Any]:
        """Who answers and how far, the present queues, or the file with those of another text."""
        config = self._replica.config
        if question == "queue_file":
            return {"text": present_queues(config.workload.pools)}
        if question == "service_file":
            return {"text": changed_service_file(config, text, name)}
        return {
            "pid": os.getpid(),
            "segment": self._replica.newest.name,
            "as_of_seq": self._replica.seq,
        }

    async def _helps(self, job_id: JobId) -> Mapping[str, Any]:
        """Return what would start a job earlier, if it waits."""
        nothing = {"would_help": [], "never": False}
        if job_id not in self._replica.jobs or self._views.state_of(job_id) != "waiting":
            return nothing
        self._forecaster.learn_of(self._open_jobs())
        found = await self._in_fork(partial(helps, self._forecaster, job_id))
        return {"would_help": None, "never": False} if found is None else found

    async def _of_weeks(self, asked: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """An answer from a child: weeks of a journal take seconds to read."""
        found = await self._in_fork(partial(_or_failure, asked))
        if found is None:
            raise EngineUnavailable("the answer took too long: ask for a shorter span")
        answer: Mapping[str, Any] = found
        return answer

    async def _promises(self, workload: SubmittedWorkload) -> Mapping[str, Any]:
        """Its promises. Users who submit while a forecast runs share the next one."""
        asked = _Asked(workload, asyncio.get_running_loop().create_future())
        self._asked.append(asked)
        self._has_asked.set()
        return {"promises": await asked.promises}

    async def _keep_promising(self) -> None:
        while True:
            await self._has_asked.wait()
            self._has_asked.clear()
            while self._asked:
                batch, self._asked = self._asked[:_BATCH_MAX], self._asked[_BATCH_MAX:]
                await self._promise(batch)

    async def _promise(self, batch: list[_Asked]) -> None:
        self._follow()
        workloads = [asked.workload for asked in batch]
        jobs = [each.job for workload in workloads for each in workload.jobs]
        self._forecaster.learn_of([*self._open_jobs(), *jobs])
        found = await self._in_fork(lambda: promises_of(self._forecaster, workloads))
        for number, asked in enumerate(batch):
            if asked.promises.done():
                continue  # its user has gone
            if found is None:
                asked.promises.set_exception(EngineUnavailable("the forecast took too long"))
            else:
                asked.promises.set_result(found[number])

    def _open_jobs(self) -> list[Job]:
        replica = self._replica
        return [replica.jobs[job_id].submitted.job for job_id in replica.open_jobs]

    async def _wait(self, job_ids: list[JobId]) -> Mapping[str, Any]:
        """The jobs, when all of them have ended, or after a while."""
        until_s = time.monotonic() + WAIT_S_MAX
        while (left_s := until_s - time.monotonic()) > 0:
            if not any(self._views.state_of(job_id) in OPEN_STATES for job_id in job_ids):
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(self._settled.wait(), left_s)
        return {"jobs": [self._views.job(job_id) for job_id in job_ids]}


def _replica_of(place: ServicePlace, on_settled: OnSettled) -> Replica:
    """The replica of the newest segment and all that led to it."""
    segments = place.segments()
    try:
        return Replica(chain_of(segments[-1])[0], on_settled)
    except InvalidInput:
        if place.segments()[0] == segments[0]:
            raise
        return _replica_of(place, on_settled)  # the driver has removed the oldest meanwhile


def _arguments(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != "do"}


def _or_failure(asked: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """The answer, or what is wrong with the question, as an answer."""
    try:
        return asked()
    except SluiceError as error:
        return failure(error)


def main() -> int:
    """Follow the newest segment. Returns the exit status of the process."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        asyncio.run(Follower(ServicePlace()).run())
    except SluiceError as error:
        say(f"error: {error}")
        return 2 if isinstance(error, StoreCorrupt | InvalidInput) else 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
