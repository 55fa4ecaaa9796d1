"""`sluice serve`: starts the driver and the follower of a service, and starts them again.

The driver is a session of its own: it goes on where the supervisor dies, and the next supervisor
finds it by its socket.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from sluice.bootstrap.service.begun_segments import begun_segment, with_kept_queues
from sluice.bootstrap.service.changed_file import OrderlyEnd, file_changes
from sluice.bootstrap.service.config import ServiceConfig, segment_config
from sluice.bootstrap.service.messages import ask
from sluice.bootstrap.service.web import about_web
from sluice.model.errors import EngineUnavailable, InvalidInput, SluiceError
from sluice.store.private import open_private_file
from sluice.store.rows import header_and_end
from sluice.store.run_info import driver_of
from sluice.store.run_lock import RunLock
from sluice.store.service.places import ServicePlace
from sluice.store.service.segments import chain_of

READY_S_MAX = 60.0
NODES_S_MAX = 10.0  # that the first message waits for nodes
STOP_S_MAX = 30.0
UNDO_S_MAX = 75.0  # of what steers a cluster: a change that is being made, and then the undo plan
LOOK_S = 0.1
BACKOFF_S = (0.2, 1.0, 5.0, 15.0, 60.0)
STEADY_S = 60.0  # who has lived so long is started again at once
_NAMED_MAX = 10  # changes
_ERROR = "error: "
_MOVED = "moved or removed, so the service has ended. Put it back and start it: its jobs go on."
_SILENT = "The service did not start."
_DRIVER = "sluice.bootstrap.service.driver_process"
_FOLLOWER = "sluice.bootstrap.service.follower_process"
_WEB = "sluice.service"
_STEERING = "sluice.bootstrap.service.steering_process"


class _Child:
    """A process of the service that is started again when it ends."""

    def __init__(
        self,
        module: str,
        log: Path,
        ask_status: Callable[[], dict[str, Any]],
        arguments: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """ask_status: its answer, with its `pid`; raises SluiceError while there is none.

        options: of one that is not taken over if its status has others.
        """
        self.module = module
        self._log = log
        self._ask_status = ask_status
        self._arguments = arguments
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None
        self._started_s = 0.0
        self._log_at = 0  # where the log was when it was started
        self._failures = 0
        self._again_s = 0.0

    def attach(self) -> None:
        """Take over the process that answers, if one does; else start one."""
        with suppress(SluiceError):
            status = self._ask_status()
            self._pid = int(status["pid"])
            if self._options is None or status["options"] == self._options:
                return
            self.stop()
        self._start()

    def replace(self) -> None:
        """End the process that answers, if one does: it was started with other options."""
        self.end_other()
        self._start()

    def end_other(self) -> None:
        """End the process that answers, if one does."""
        with suppress(SluiceError):
            self._pid = int(self._ask_status()["pid"])
            self.stop()

    def _start(self) -> None:
        path = os.pathsep.join(folder or "." for folder in sys.path)
        descriptor = open_private_file(self._log, os.O_WRONLY | os.O_APPEND)
        self._log_at = os.fstat(descriptor).st_size
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", self.module, *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                env=os.environ | {"PYTHONPATH": path},
                start_new_session=True,
            )
        finally:
            os.close(descriptor)
        self._pid, self._started_s = self._process.pid, time.monotonic()

    @property
    def is_alive(self) -> bool:
        if self._process is not None:
            return self._process.poll() is None
        return self._pid is not None and _exists(self._pid)

    @property
    def has_failed(self) -> bool:
        """Whether it has ended with an error that a user must fix: a wrong file, a damaged one."""
        return self._process is not None and self._process.poll() == 2  # noqa: PLR2004  # exit code

    @property
    def last_words(self) -> str:
        """The error that it has ended with; else the last line of the log."""
        with self._log.open("rb") as log:
            log.seek(self._log_at)
            lines = log.read().decode("utf-8", "replace").splitlines()
        errors = [line for line in lines if line.startswith(_ERROR)]
        return (errors or lines or [_SILENT])[-1].removeprefix(_ERROR)

    def tend(self) -> None:
        """Start it again if it has ended, the later the more often that happens."""
        now_s = time.monotonic()
        if self.is_alive:
            return
        if self._again_s == 0.0:
            if now_s - self._started_s > STEADY_S:
                self._failures = 0
            self._again_s = now_s + BACKOFF_S[min(self._failures, len(BACKOFF_S) - 1)]
            self._failures += 1
        if now_s >= self._again_s:
            self._again_s = 0.0
            self._start()

    def await_answer(self) -> dict[str, Any]:
        """Its status, once it answers. Raises EngineUnavailable."""
        until_s = time.monotonic() + READY_S_MAX
        while time.monotonic() < until_s:
            with suppress(SluiceError):
                return self._ask_status()
            if not self.is_alive:
                raise EngineUnavailable(f"{self.last_words} See {self._log}.")
            time.sleep(0.05)
        raise EngineUnavailable(f"{self.module} does not answer. See {self._log}.")

    def await_nodes(self, nodes: int) -> dict[str, Any]:
        """Its status, once its nodes are up, or have had a while. Raises EngineUnavailable."""
        until_s = time.monotonic() + NODES_S_MAX
        while True:
            status = self.await_answer()
            if status["nodes_up"] >= nodes or time.monotonic() > until_s:
                return status
            time.sleep(0.05)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it, by default in order."""
        if self._pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)
        patience_s = UNDO_S_MAX if self.module == _STEERING else STOP_S_MAX
        until_s = time.monotonic() + patience_s
        while self.is_alive and time.monotonic() < until_s:
            time.sleep(0.05)
        if self.is_alive:
            os.kill(self._pid, signal.SIGKILL)


def serve(
    config: ServiceConfig,
    on_ready: Callable[[dict[str, Any]], None],
    *,
    web: Sequence[str] | None = None,
    leaves_driver: bool = False,
) -> None:
    """Serve until SIGTERM or Ctrl-C. on_ready: called once with the driver's status.

    web: arguments of the web process; None for none.  leaves_driver: jobs go on after the end.
    Raises EngineUnavailable where another one serves, or the driver cannot start; InvalidInput.
    """
    place = ServicePlace()
    place.make()
    lock = service_lock(place)
    try:
        changed = _choose_segment(place, config)
        driver = _Child(_DRIVER, place.log, partial(_status_of, place.driver_socket))
        followers = [_Child(_FOLLOWER, place.log, partial(_status_of, place.follower_socket))]
        if web is not None:
            about = partial(about_web, place)
            followers.append(_Child(_WEB, place.log, about, web))
        followers += _steering_child(place, config)
        nodes = len(config.cluster.nodes)
        place.drop_fault()
        is_ready = partial(_with_changes, on_ready, changed)
        _watch(place, lock, driver, followers, nodes, is_ready, leaves_driver=leaves_driver)
    finally:
        lock.release()


def _steering_child(place: ServicePlace, config: ServiceConfig) -> list[_Child]:
    """The process that steers, if one is to; else one that is left of another file ends."""
    options = None if config.steering is None else config.steering.document()
    status = partial(_status_of, place.steering_socket)
    child = _Child(_STEERING, place.log, status, options=options)
    if options is not None:
        return [child]
    child.end_other()
    return []


def _with_changes(
    on_ready: Callable[[dict[str, Any]], None], changed: Sequence[str], status: dict[str, Any]
) -> None:
    on_ready({**status, "changed": list(changed)})


def _status_of(socket: Path) -> dict[str, Any]:
    return ask(socket, {"do": "status"}, timeout_s=5.0)


def _has_given_up(child: _Child, place: ServicePlace) -> bool:
    """Whether the follower has found damage. It would find it again, so it is not started again.

    Jobs go on without it; `serve status` says why nothing answers questions.
    """
    if child.module != _FOLLOWER or not child.has_failed:
        return False
    place.keep_fault(child.last_words)
    return True


def _watch(
    place: ServicePlace,
    lock: RunLock,
    driver: _Child,
    followers: Sequence[_Child],
    nodes: int,
    on_ready: Callable[[dict[str, Any]], None],
    *,
    leaves_driver: bool,
) -> None:
    stops: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _: stops.append(got))
    try:
        driver.attach()
        status = driver.await_nodes(nodes)
        for follower in followers:
            if follower.module == _WEB:
                follower.replace()
            else:
                follower.attach()
            follower.await_answer()
        on_ready(status)
        while not stops:
            time.sleep(LOOK_S)
            _check_hopeful(place, lock, driver)
            followers = [each for each in followers if not _has_given_up(each, place)]
            for child in (driver, *followers):
                child.tend()
    finally:
        for follower in reversed(followers):
            follower.stop()
        ended = [place.follower_socket, place.web_socket, place.steering_socket]
        if not leaves_driver:
            driver.stop()
            ended.append(place.driver_socket)
        # Where a socket is left, commands wait for a service that starts again.
        for socket in ended:
            socket.unlink(missing_ok=True)


def _check_hopeful(place: ServicePlace, lock: RunLock, driver: _Child) -> None:
    """Raise EngineUnavailable where another start of the driver would change nothing."""
    if not lock.is_in_place:
        driver.stop(signal.SIGKILL)  # an orderly end would write where the folder was
        raise EngineUnavailable(f"{place.folder} was {_MOVED}")
    if driver.has_failed:
        driver.await_answer()  # raises what it said


def service_lock(place: ServicePlace) -> RunLock:
    """Held by the one supervisor of a state folder. Raises EngineUnavailable."""
    try:
        return RunLock(place.folder)
    except EngineUnavailable:
        pid = driver_of(place.folder)
        raise EngineUnavailable(
            f"Process {pid or 'unknown'} serves from {place.folder} already."
            " End it first: sluice serve stop"
        ) from None


def _choose_segment(place: ServicePlace, config: ServiceConfig) -> tuple[str, ...]:
    """Go on with the newest segment, or begin one if the file or the options are others.

    Returns what is taken over of a changed file while the journal goes on. Raises InvalidInput if
    jobs are open that rest on what was changed.
    """
    config.scheduler()  # refused now, where the user sees it
    segments = place.segments()
    if not segments:
        begun_segment(place, config)
        return ()
    header, _ = header_and_end(segments[-1])
    new = config.header()
    if (header.sha256, header.policies) == (new.sha256, new.policies) and _same(
        header.settings, new.settings
    ):
        return ()
    if driver_of(segments[-1]) is not None:
        raise EngineUnavailable("A driver of the service runs. End it first: sluice serve stop")
    old = with_kept_queues(segment_config(segments[-1], header), place)
    changes = file_changes(old, with_kept_queues(config, place), old.scheduler())
    end, kept = OrderlyEnd.of(segments[-1]), list(changes.kept)
    if end is not None:
        kept += [f"{queue}: jobs are open in it" for queue in end.lost_queues(old, config)]
        if not kept:
            end.go_on(place, config, changes.taken_over)
            return changes.taken_over
    _refuse_with_open_jobs(segments[-1], config, kept)
    begun_segment(place, config)
    return ()


def _refuse_with_open_jobs(segment: Path, config: ServiceConfig, kept: Sequence[str]) -> None:
    """Raise InvalidInput if jobs are open: what they were promised rests on what would change.

    kept: that; empty where only an orderly stop of the service is missing.
    """
    from sluice.bootstrap.service.replica import replayed_chain

    open_jobs = len(replayed_chain(chain_of(segment)[0]).open_jobs)
    if not open_jobs:
        return
    jobs = "1 job is open" if open_jobs == 1 else f"{open_jobs} jobs are open"
    if kept:
        raise InvalidInput(
            f"{jobs}, and what this file or these options change needs the end of all jobs:"
            f" {'; '.join(kept[:_NAMED_MAX])}",
            where=config.text.name,
            hint="start it as before until they have ended, or kill them: `sluice jobs` lists them",
        )
    raise InvalidInput(
        f"{jobs}, and the service was not stopped in order, so it cannot go on with another file",
        where=config.text.name,
        hint="start it as before, stop it (`sluice serve stop`), then start it with this file",
    )


def _same(old: Any, new: Any) -> bool:  # noqa: ANN401  # settings as JSON has them
    return json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)


def stop(place: ServicePlace) -> list[int]:
    """End the supervisor, or a driver and follower that are left; returns who was asked to."""
    asked = []
    supervisor = driver_of(place.folder)
    if supervisor is not None:
        asked.append(supervisor)
    else:
        for status in (
            partial(_status_of, place.steering_socket),
            partial(about_web, place),
            partial(_status_of, place.follower_socket),
            partial(_status_of, place.driver_socket),
        ):
            with suppress(SluiceError):
                asked.append(int(status()["pid"]))
    for pid in asked:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    until_s = time.monotonic() + UNDO_S_MAX + STOP_S_MAX + 10
    while any(map(_exists, asked)) and time.monotonic() < until_s:
        time.sleep(0.05)
    return asked


def _exists(pid: int) -> bool:
    """Whether it runs. Where the first process of a container reaps no child, the dead remain."""
    with suppress(ProcessLookupError, FileNotFoundError):
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2][1] != "Z"
    return False
