"""The agent of one node: its loop, its commands, and the end of every attempt.

One loop waits for orders of the engine, for ends of processes and for limits of time.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from pathlib import Path
from typing import Any

from sluice.engines.agent import child, kernel, reports
from sluice.engines.agent.attempts import Ending, Exit, Running, drop_if_empty, refusal
from sluice.engines.agent.channel import Channel, parsed
from sluice.engines.agent.hosts import IDLE_S, Host, HostKey, host_failure, start_host, superfluous
from sluice.engines.agent.orphans import owners
from sluice.engines.agent.poller import Poller
from sluice.engines.agent.signals import Signals
from sluice.engines.agent.workers import Workers, open_talk, unlink_talk

WORK_MODULE = "sluice.engines.mapreduce"
PROGRESS_EVERY_S = 0.25
FOLDER_MODE = 0o700  # logs, pipes and data are for the user of the run only
PATIENCE_S = 10.0  # for processes that SIGKILL does not end at once, when the agent ends


class NodeAgent:
    """Starts, watches and ends attempts until its engine says stop or is gone.

    node_id: passed to the work.  scratch: the node's own folder; logs and doors are kept in it.
    """

    def __init__(self, node_id: str, scratch: Path, engine: Channel) -> None:
        self._node_id = node_id
        self._scratch = scratch
        self._engine = engine
        self._attempts: dict[str, Running] = {}
        self._by_pid: dict[int, Running] = {}
        self._hosts: dict[HostKey, Host] = {}
        self._hosts_by_pid: dict[int, Host] = {}
        self._hosts_started = 0
        self._workers = Workers()
        self._is_stopping = False
        self._beat_every_s = math.inf  # until the engine asks for heartbeats
        self._beat_at_s = math.inf
        self._env = dict(os.environb)
        self._board = Poller()
        self._wakeups = Signals()
        for name in ("log", "door", "data"):
            (scratch / name).mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)

    def run(self) -> None:
        """Serve until the end; then nothing that was started here is left."""
        self._board.watch(self._engine, self._obey)
        self._board.watch_fd(self._wakeups.fd, self._woken)
        self._engine.send({"report": "up", "pid": os.getpid()})
        while not self._is_over:
            self._board.turn(self._wait_s())
            self._keep_time()
        self._end_all()

    @property
    def _is_over(self) -> bool:
        is_done = self._is_stopping and not self._attempts
        return is_done or self._engine.is_at_end or self._wakeups.is_told_to_end

    def _woken(self) -> None:
        self._wakeups.clear()
        self._reap()

    # --- time -------------------------------------------------------------------------------------

    def _wait_s(self) -> float | None:
        due = [attempt.next_at_s for attempt in self._attempts.values()]
        due += [self._beat_at_s, self._workers.next_at_s, self._engine.due_at_s]
        due += [host.used_at_s + IDLE_S for host in self._hosts.values() if not host.waiting]
        first_at_s = min(due, default=math.inf)
        return None if first_at_s == math.inf else max(0.0, first_at_s - time.monotonic())

    def _keep_time(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._beat_at_s:
            self._beat_at_s = now_s + self._beat_every_s
            self._engine.send({"report": "beat"})
        for attempt in list(self._attempts.values()):
            if now_s >= attempt.next_at_s and attempt.attempt_id in self._attempts:
                self._act_on_time(attempt, now_s)
        for host in superfluous(list(self._hosts.values()), now_s):
            self._dismiss(host)
        for worker in self._workers.overdue(now_s):
            self._board.close(worker.talk)  # it sees that, and ends

    def _act_on_time(self, attempt: Running, now_s: float) -> None:
        if attempt.exit is not None or attempt.ending is not None:
            attempt.pressed_at_s = now_s
            attempt.signal(signal.SIGKILL)
            self._settle()
        else:
            if attempt.reports is None and now_s >= attempt.look_at_s:
                assert attempt.pid is not None
                attempt.look(now_s, kernel.bytes_moved(attempt.pid))
            if (overdue := attempt.overdue(now_s)) is not None:
                self._end(attempt, overdue)

    # --- commands ---------------------------------------------------------------------------------

    def _obey(self) -> None:
        for line in self._engine.lines():
            command = parsed(line)
            match command.get("do"):
                case "launch":
                    self._launch(command)
                case "kill":
                    self._kill(command["id"], command["reason"])
                case "feed":
                    self._feed(command)
                case "beat":
                    self._beat_every_s = command["every_s"]
                    self._beat_at_s = time.monotonic()
                case "list":
                    self._engine.send({"report": "list", "ids": list(self._attempts)})
                case "stop":
                    self._stop(kill=command["kill"])

    def _stop(self, *, kill: bool) -> None:
        self._is_stopping = True
        for attempt_id in list(self._attempts) if kill else ():
            self._kill(attempt_id, "the engine stops")

    def _kill(self, attempt_id: str, reason: str) -> None:
        self._reap()  # an attempt that has just ended well was not killed
        attempt = self._attempts.get(attempt_id)
        if attempt is not None and attempt.reports is not None:
            self._hear(attempt)
            attempt = self._attempts.get(attempt_id)
        if attempt is not None and attempt.exit is None and attempt.ending is None:
            self._end(attempt, Ending("killed", reason))

    def _feed(self, command: dict[str, Any]) -> None:
        """Let an attempt that waits for its input know where that is."""
        attempt = self._attempts.get(command["id"])
        if attempt is not None and attempt.is_early and attempt.reports is not None:
            attempt.reports.send({"news": command["news"], "is_all": command["is_all"]})
            if command["is_all"]:
                attempt.works_from_s = min(attempt.works_from_s, time.monotonic())

    def _launch(self, command: dict[str, Any]) -> None:
        if command["id"] in self._attempts:
            return
        why = refusal(command, is_stopping=self._is_stopping)
        try:
            if why is None:
                self._start(command)
        except (OSError, TypeError, ValueError) as error:
            self._forget(command["id"])
            kind = "node_fault" if isinstance(error, OSError) else "rejected"
            why = Ending(kind, f"no process could be started: {error}")
        if why is not None:
            self._engine.send(reports.not_started(command["id"], why, time.monotonic()))

    def _forget(self, attempt_id: str) -> None:
        """Drop an attempt of which no process could be started."""
        attempt = self._attempts.pop(attempt_id, None)
        if attempt is not None:
            self._hear_no_more(attempt)

    def _start(self, command: dict[str, Any]) -> None:
        attempt = Running(command, self._scratch / "log" / f"{command['id']}.log")
        order = {"id": attempt.attempt_id, "work": command["work"], "limits": attempt.limits}
        order["log"] = str(attempt.log)
        if command["work"].get("kind") == "command":
            pid = child.start_command(child.command(order, self._env), order["log"])
            self._attempts[attempt.attempt_id] = attempt
            self._begun(attempt, pid, attempt.started_at_s)
        else:
            self._start_in_host(attempt, order)

    # --- interpreter hosts ------------------------------------------------------------------------

    def _start_in_host(self, attempt: Running, order: dict[str, Any]) -> None:
        work = order["work"] = {"module": WORK_MODULE} | order["work"]
        attempt.host = (work["module"], work.get("host"))
        order |= {"node_id": self._node_id, "scratch": str(self._scratch / "data")}
        worker = self._workers.take(attempt) if attempt.host in self._hosts else None
        host = self._host(attempt.host, work) if worker is None else None
        if worker is None:
            order |= open_talk(attempt, self._scratch / "door")
        else:
            attempt.reports = worker.talk
        assert attempt.reports is not None
        self._attempts[attempt.attempt_id] = attempt
        self._board.watch(attempt.reports, lambda: self._hear(attempt))
        if worker is not None:
            worker.talk.send(order)
            self._begun(attempt, worker.pid, time.monotonic())
        elif host is not None:
            host.fork_attempt(attempt, order)

    def _host(self, key: HostKey, work: dict[str, Any]) -> Host:
        if key not in self._hosts:
            self._hosts_started += 1
            log = self._scratch / "log" / f".host-{self._hosts_started}.log"
            host = self._hosts[key] = start_host(key, work, log)
            self._hosts_by_pid[host.pid] = host
            self._board.watch(host.channel, lambda: self._hear_host(host))
        return self._hosts[key]

    def _hear_hosts(self) -> None:
        for host in list(self._hosts_by_pid.values()):
            self._hear_host(host)

    def _hear_host(self, host: Host) -> None:
        for line in host.channel.lines():
            message = parsed(line)
            attempt = host.waiting.pop(message["id"], None)
            if attempt is None:
                continue  # it was taken back, finds no door, and goes
            if "error" in message:
                self._close(attempt, Ending("node_fault", message["error"]))
            elif "is_sibling" in message and not kernel.is_child(message["pid"]):
                why = "its process was ended, and reaped, as it came to be"
                self._close(attempt, Ending("node_fault", why))
            else:
                self._begun(attempt, message["pid"], message["at"])
        if host.channel.is_at_end:
            self._board.mute(host.channel)

    def _dismiss(self, host: Host) -> None:
        """Part with a host. What it has yet to bring forth fails when it is reaped."""
        if self._hosts.get(host.key) is host:
            del self._hosts[host.key]
        host.end()

    def _host_ended(self, host: Host, exit_: Exit) -> None:
        self._hear_host(host)
        self._board.close(host.channel)
        if self._hosts.get(host.key) is host:
            del self._hosts[host.key]
        for attempt in host.waiting.values():
            self._close(attempt, host_failure(host, exit_))
        drop_if_empty(host.log)

    # --- the life of an attempt -------------------------------------------------------------------

    def _begun(self, attempt: Running, pid: int, at_s: float) -> None:
        attempt.pid = pid
        attempt.started_at_s = attempt.active_at_s = at_s
        self._by_pid[pid] = attempt
        self._engine.send_soon(reports.started(attempt))

    def _hear(self, attempt: Running) -> None:
        """Read the reports of the attempt from its door: progress, and at last its result."""
        assert attempt.reports is not None
        for line in attempt.reports.lines():
            attempt.active_at_s = time.monotonic()
            message = parsed(line)
            attempt.result = message.get("result", attempt.result)
            attempt.failure = message.get("failure", attempt.failure)
            attempt.stays = message.get("stays", attempt.stays)
            if "fraction" in message:
                self._report_progress(attempt, message)
        if attempt.reports.is_at_end:
            self._board.close(attempt.reports)
        elif attempt.stays is not None and attempt.exit is None:
            self._rest(attempt, attempt.stays)

    def _rest(self, attempt: Running, took: dict[str, Any]) -> None:
        """Its process has done the task, and waits for another, or is to end."""
        if attempt.pid is None:
            self._hear_hosts()  # it was announced before it began
        assert attempt.pid is not None
        assert attempt.reports is not None
        attempt.stays = None
        unlink_talk(attempt)
        if attempt.ending is not None or self._is_stopping or self._strays():
            self._board.close(attempt.reports)  # so it ends; it is reaped, and all is complete
            return
        del self._by_pid[attempt.pid]
        attempt.exit = Exit(0, took["cpu_s"], took["rss_bytes_max"], time.monotonic())
        self._board.mute(attempt.reports)
        self._workers.add(attempt)
        self._report_end(attempt, attempt.verdict())

    def _report_progress(self, attempt: Running, message: dict[str, Any]) -> None:
        shuffled_after_s = message.get("shuffled_at_s")
        is_news = shuffled_after_s is not None and attempt.shuffled_after_s is None
        if is_news:
            attempt.shuffled_after_s = shuffled_after_s
        if is_news or attempt.active_at_s >= attempt.told_at_s + PROGRESS_EVERY_S:
            attempt.told_at_s = attempt.active_at_s
            self._engine.send_soon(reports.progress(attempt, message["fraction"]))

    def _end(self, attempt: Running, why: Ending) -> None:
        """Begin to end an attempt; `_settle` reports its end when all its processes are gone."""
        if attempt.pid is None:
            self._take_back(attempt, why)
        if attempt.pid is not None:
            attempt.ending = why
            attempt.kill_at_s = time.monotonic() + attempt.grace_s
            attempt.signal(signal.SIGTERM)

    def _take_back(self, attempt: Running, why: Ending) -> None:
        """End an attempt that no host has announced, unless its announcement came first."""
        unlink_talk(attempt)
        self._hear_hosts()
        if attempt.pid is not None or attempt.attempt_id not in self._attempts:
            return
        for host in list(self._hosts_by_pid.values()):
            if host.waiting.pop(attempt.attempt_id, None) and why.kind == "timeout":
                self._dismiss(host)  # it hangs in the user's module
        self._close(attempt, why)

    def _reap(self) -> None:
        """Collect every child that has ended, then report the ends that are complete."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        with contextlib.suppress(ChildProcessError):
            while (gone := os.waitid(os.P_ALL, 0, flags)) is not None:
                self._collect(gone.si_pid)
        self._settle()

    def _collect(self, pid: int) -> None:
        at_s = time.monotonic()
        if pid not in self._by_pid and pid not in self._hosts_by_pid:
            self._hear_hosts()  # it may be an attempt that was announced this instant
        attempt = self._by_pid.pop(pid, None)
        if attempt is not None and attempt.ending is None:
            # Before the leader is reaped, its number can mean no other group.
            attempt.signal(signal.SIGKILL)
            attempt.kill_at_s = at_s
        _, status, rusage = os.wait4(pid, 0)
        exit_ = Exit.of(status, rusage, at_s)
        worker = self._workers.gone(pid)
        if attempt is not None:
            attempt.exit = exit_
        elif pid in self._hosts_by_pid:
            self._host_ended(self._hosts_by_pid.pop(pid), exit_)
        elif worker is not None:
            self._board.close(worker.talk)
            drop_if_empty(worker.log)

    def _settle(self) -> None:
        """Report each ended attempt whose processes are gone; kill what is left of the others."""
        ended = [attempt for attempt in self._attempts.values() if attempt.exit is not None]
        blocked = self._press_strays()
        for attempt in ended:
            if attempt.attempt_id not in blocked:
                if attempt.reports is not None and not attempt.reports.is_at_end:
                    self._hear(attempt)
                self._close(attempt, attempt.verdict())

    def _press_strays(self) -> set[str]:
        """Kill the strays whose time has come; returns the ended attempts that wait for one."""
        blocked: set[str] = set()
        for stray in self._strays():
            own = owners(stray, self._attempts.values())
            if any(attempt.exit is None for attempt in own):
                continue
            blocked.update(attempt.attempt_id for attempt in own)
            if time.monotonic() >= max((attempt.kill_at_s for attempt in own), default=0.0):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(stray.pid, signal.SIGKILL)
        return blocked

    def _strays(self) -> list[kernel.Process]:
        pids = kernel.children() - self._by_pid.keys() - self._hosts_by_pid.keys()
        pids -= self._workers.pids
        if pids:
            self._hear_hosts()  # a child not yet announced is no stray
        found = (kernel.process(pid) for pid in pids - self._by_pid.keys())
        return [stray for stray in found if stray is not None]

    # --- the end ----------------------------------------------------------------------------------

    def _close(self, attempt: Running, failure: Ending | None) -> None:
        """Report the end of an attempt whose process is gone, and forget both."""
        self._hear_no_more(attempt)
        self._report_end(attempt, failure)
        drop_if_empty(attempt.log)

    def _hear_no_more(self, attempt: Running) -> None:
        if attempt.reports is not None:
            self._board.close(attempt.reports)
            unlink_talk(attempt)

    def _report_end(self, attempt: Running, failure: Ending | None) -> None:
        del self._attempts[attempt.attempt_id]
        report = reports.failed(attempt, failure) if failure else reports.finished(attempt)
        self._engine.send(report)

    def _end_all(self) -> None:
        """End every descendant: being the subreaper, the agent sees each as its child in time."""
        give_up_at_s = time.monotonic() + PATIENCE_S
        kernel.end_children((*self._by_pid, *self._hosts_by_pid, *self._workers.pids), give_up_at_s)
        while self._engine.has_unsent and time.monotonic() < give_up_at_s:
            self._engine.flush()
            time.sleep(0.001)
