"""The service: start it, and submit jobs to it, list, explain and kill them.

Each function is one message to a process of the service, by its socket in the state folder: the
driver takes what changes something, the follower answers questions. A message may be sent twice, as
a process may just be starting again: submissions have a key, and all others can be repeated without
harm. `serve` itself is the supervisor of these processes.
"""

from __future__ import annotations

import getpass
import math
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sluice.api.options.calls import called_with
from sluice.api.options.live import CordonOptions, KillOptions, ServeOptions
from sluice.api.options.parsers import in_seconds
from sluice.api.run import run_options
from sluice.api.service_web import page_link_or_none, web_arguments
from sluice.api.sources import workload_in
from sluice.bootstrap.live.run_outputs import check_runnable
from sluice.bootstrap.service.conditions import NO_DRIVER
from sluice.bootstrap.service.config import ServiceConfig
from sluice.bootstrap.service.messages import ask, raise_fault
from sluice.bootstrap.service.reception import check_key
from sluice.bootstrap.service.web import has_web
from sluice.ingest.reading import SourceText, read_text
from sluice.model.errors import EngineUnavailable, InvalidInput, StoreCorrupt
from sluice.store.run_info import driver_of
from sluice.store.service.places import ServicePlace

RETRY_S = 20.0  # a submission is repeated while the service starts again
_BUSY_S = 30.0  # a follower that makes forecasts answers late
_AGAIN_S = 0.2
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_DEADLINE_S_MAX = 1e9
_DEADLINE_HINT = (
    "give a time of day such as 17:00, a date such as 2027-01-31T17:00, or a length after the"
    " submission such as 1h30m"
)
_OPEN = ("waiting", "running")
_DEFAULT = b"version: 1\n"

Answer = dict[str, Any]


def service_config(source: str | Path | None, given: ServeOptions, seed: int = 0) -> ServiceConfig:
    """Return what a service is started with: a file without jobs (None: this machine), and options.

    Raises InvalidInput for a file or options that cannot be used.
    """
    text = _nothing() if source is None else read_text(str(source))
    found = ServiceConfig.read(text)
    config = ServiceConfig.read(text, run_options(found.workload, given, seed))
    config.check()
    return config


def _nothing() -> SourceText:
    """The file of a service on the processors of this machine."""
    folder = str(Path.home())
    return SourceText(content=_DEFAULT, name="the default", file="-", folder=folder)


def serve(
    config: ServiceConfig,
    on_ready: Callable[[Answer], None],
    *,
    listen: str | None = None,
    tls: tuple[str, str] | None = None,
    behind_proxy: str | None = None,
    leaves_driver: bool = False,
) -> None:
    """Serve until SIGTERM or Ctrl-C. on_ready: called when jobs can be submitted.

    listen: HOST:PORT of the page and the REST interface; unix for the private socket alone, none
    for no HTTP at all, None for this machine's loopback address.  tls: certificate and key; needed
    for an address that others reach.  behind_proxy: the name at which a proxy with TLS passes
    requests on.  leaves_driver: jobs go on after the end, until the next start.
    Raises EngineUnavailable where another process serves; InvalidInput where jobs of another file
    are open, or for an address that cannot be used.
    """
    from sluice.bootstrap.service import supervisor

    supervisor.serve(
        config,
        lambda status: on_ready({**status, "page": page_link_or_none(), "has_web": has_web()}),
        web=web_arguments(
            listen or config.listen, tls, behind_proxy, shares_user=config.shared_user
        ),
        leaves_driver=leaves_driver,
    )


def submit(
    source: str | Path,
    *,
    key: str | None = None,
    deadline: float | str | None = None,
    tenant: str | None = None,
    quotes: bool = False,
) -> Answer:
    """Submit the jobs of a workload file; all of them, or none.

    key: the same key and file give the first answer again.
    deadline: seconds or a length such as "1h30m" after the submission, the next time that a clock
        shows H:MM, or a date such as 2027-01-31T17:00.
    quotes: only say what would be promised.
    The answer has `jobs`, a promise for each. Once it is there, no crash loses them.
    Raises InvalidInput, and EngineUnavailable if no service answers.
    """
    check_key(key)
    text = read_text(str(source))
    check_runnable(workload_in(text))  # its messages name the line
    message = {
        "do": "quote" if quotes else "submit",
        "content": _text_of(text),
        "source": text.name,
        "folder": text.folder,
        "tenant": tenant or getpass.getuser(),
        "key": key or f"auto-{uuid.uuid4().hex}",
        "deadline": None if deadline is None else str(deadline),
        "deadline_s": None if deadline is None else seconds_until(deadline),
    }
    return _ask_driver(message)


def seconds_until(deadline: float | str) -> float:
    """Seconds from now on, of a length, the next time that a clock shows H:MM, or a date.

    Raises InvalidInput.

    >>> seconds_until("90"), seconds_until("1h30m")
    (90.0, 5400.0)
    """
    text = str(deadline).strip()
    seconds = _seconds_until(text)
    if math.isnan(seconds):
        what, hint = "cannot be read as a deadline", _DEADLINE_HINT
    elif seconds <= 0:
        what, hint = "is a deadline before the submission", "give a later one"
    elif seconds >= _DEADLINE_S_MAX:
        what, hint = "is a deadline too far ahead", "give an earlier one, or none"
    else:
        return seconds
    raise InvalidInput(f"{text[:40]!r} {what}", where="--deadline", hint=hint)


def _seconds_until(text: str) -> float:
    """Seconds from now on; NaN for a text that cannot be read."""
    now = datetime.now().astimezone()
    found = _CLOCK.fullmatch(text)
    if found is not None:
        at = now.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
        return ((at if at > now else at + timedelta(days=1)) - now).total_seconds()
    with suppress(ValueError):
        return float(str(in_seconds(text)))
    with suppress(ValueError, OverflowError):
        return (datetime.fromisoformat(text).astimezone() - now).total_seconds()
    return math.nan


def _text_of(text: SourceText) -> str:
    try:
        return text.content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(
            "it is not text", where=text.name, hint="give a workload file in YAML or JSON"
        ) from None


def jobs(
    *,
    states: Sequence[str] = (),
    queue: str | None = None,
    name: str | None = None,
    limit: int = 100,
) -> Answer:
    """The jobs of the service: `jobs`, the newest first, and `total`. Filtered, then cut.

    Jobs that are over are counted up to 10,000; beyond it `total_is_exact` is false.
    `observed` is there if the service observes a YARN cluster: its applications, with forecasts.
    Raises EngineUnavailable without a service.
    """
    question = {"do": "jobs", "states": list(states), "queue": queue, "name": name, "limit": limit}
    return _asked(question)


def job(job_id: str) -> Answer:
    """One job with its promise and its outcome. Raises InvalidInput if there is none."""
    return _asked({"do": "job", "job_id": job_id})


def why_job(job_id: str) -> Answer:
    """Why a job of the service waits, with the jobs of its queue that came before it."""
    return _asked({"do": "why", "job_id": job_id})


def observed_job(job_id: str) -> Answer | None:
    """An application that the service observes; None without a service, or of another id."""
    found = _asked_or_none({"do": "observed", "job_id": job_id})
    return None if found is None else found["job"]


def story_of(subject: str) -> Answer:
    """Return what happened to a job or a node of the service, in order of time."""
    return _asked({"do": "story", "job_id": subject, "tenant": None})


def known_story(subject: str) -> Answer | None:
    """The story of a job or a node; None if no service runs, or it has none of this name."""
    return _asked_or_none({"do": "story", "job_id": subject, "tenant": None})


def calibration(by: str = "profile") -> Answer:
    """How many promises were kept. by: profile, queue or tenant. Raises InvalidInput."""
    return _asked({"do": "calibration", "by": by, "tenant": None})


def fairness_ledger() -> Answer:
    """Who was entitled to what, used, lent, borrowed and is owed in the last 13 weeks.

    Raises EngineUnavailable without a service, and InvalidInput before its first task.
    """
    return _asked({"do": "fairness"})


def knows(job_id: str) -> bool:
    """Whether a service runs that has a job of this id."""
    return _asked_or_none({"do": "job", "job_id": job_id}) is not None


def queues() -> Answer:
    """The queues of the file or with open jobs, the slots, and when the present work is done.

    `conditions` is what keeps jobs from running: a full disk, no node that works, or a driver that
    starts again. Raises EngineUnavailable without a service.
    """
    found = _asked({"do": "queues"})
    try:
        conditions = ask(ServicePlace().driver_socket, {"do": "status"})["conditions"]
    except EngineUnavailable:
        conditions = [NO_DRIVER]
    return {**found, "conditions": conditions}


@dataclass(frozen=True)
class KillCall(KillOptions):
    """Arguments of `kill`."""

    job_id: str


@called_with(KillCall)
def kill(given: KillCall) -> Answer:
    """End a job; its state. Once this returns, no crash lets it go on."""
    return _ask_driver({"do": "kill", "job_id": given.job_id, "reason": given.reason})


@dataclass(frozen=True)
class CordonCall(CordonOptions):
    """Arguments of `cordon`."""

    node_id: str


@called_with(CordonCall)
def cordon(given: CordonCall) -> Answer:
    """Give a node no more work; what runs on it goes on. is_undone: give it work again.

    Once this returns, a restart of the service does not forget it.
    """
    message = {
        "do": "cordon",
        "node_id": given.node_id,
        "cordoned": not given.is_undone,
        "reason": given.reason,
        "by": getpass.getuser(),
    }
    return _ask_driver(message)


def wait(job_ids: Sequence[str], *, watch: Callable[[Answer], None] = lambda _: None) -> Answer:
    """The jobs, once all of them have ended. watch: called now and then with the present rows."""
    question = {"do": "wait", "job_ids": list(job_ids)}
    while True:
        found = _asked(question)
        if not any(row["state"] in _OPEN for row in found["jobs"]):
            return found
        watch(found)


def _ask_driver(message: Mapping[str, Any]) -> Answer:
    """The answer of the driver. A repetition is harmless, whatever it had done by then."""
    return _answer(ServicePlace().driver_socket, message, timeout_s=90.0)


def _asked(question: Mapping[str, Any]) -> Answer:
    """The answer of the follower."""
    return _answer(ServicePlace().follower_socket, question)


def _answer(path: Path, message: Mapping[str, Any], timeout_s: float = 60.0) -> Answer:
    """The answer of a process of the service, which may just be starting, or starting again."""
    place = ServicePlace()
    until_s = time.monotonic() + RETRY_S
    while True:
        try:
            return ask(path, message, timeout_s=timeout_s)
        except EngineUnavailable:
            if path == place.follower_socket:
                raise_fault(place)
            # Before its first answer there is no socket of it, but one who starts it.
            is_awaited = path.exists() or driver_of(place.folder) is not None
            if not is_awaited or time.monotonic() > until_s:
                raise
            time.sleep(_AGAIN_S)


def _asked_or_none(question: Mapping[str, Any]) -> Answer | None:
    """The answer of the follower, once; None without a service, or if it refuses the question."""
    place = ServicePlace()
    if not place.follower_socket.exists():
        return None
    try:
        return ask(place.follower_socket, question, timeout_s=_BUSY_S)
    except (InvalidInput, EngineUnavailable):
        return None


def service_status() -> Answer:
    """The processes of the service and the state of its cluster.

    `follower` is null if it has found a damaged journal; `fault` says what is damaged.
    `steering` is null where no cluster of others is changed, or what does so starts again.
    """
    place = ServicePlace()
    driver = ask(place.driver_socket, {"do": "status"})
    follower = steering = None
    with suppress(StoreCorrupt):  # it may find damage only now
        follower = None if place.fault() else _asked({"do": "status"})
    with suppress(EngineUnavailable):
        steering = ask(place.steering_socket, {"do": "status"}, timeout_s=_BUSY_S)
    return {
        "driver": driver,
        "follower": follower,
        "fault": place.fault(),
        "steering": steering,
        "folder": str(place.folder),
    }


def stop_service() -> list[int]:
    """End the service in order; its open jobs go on at the next start. Returns whom it asked."""
    from sluice.bootstrap.service import supervisor

    return supervisor.stop(ServicePlace())


def verify_service() -> Answer:
    """Replay all segments of the journal, and compare each decision with the one on record.

    Raises StoreCorrupt, naming segment and row.
    """
    from sluice.bootstrap.service.verification import kept_history, verified

    segments = ServicePlace().segments()
    return {**kept_history(segments), "segments": [verified(segment) for segment in segments]}
