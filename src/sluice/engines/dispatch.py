"""Carrying out what the scheduler decides: launches and kills, on an engine.

With slow-start a task may be placed before all of its input is there. It holds its slot, as
Hadoop's reduces do, but the engine gets it when its input is complete.

What the dispatcher itself learns (work that cannot be made up, the end of a task that had not
begun) is a fact like any other: it waits in `facts` for the next batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sluice.core.commands import Command, Kill, Launch, Provision
from sluice.core.events import AttemptKey, Event, FailureKind, TaskFailed
from sluice.core.transitions import AttemptState
from sluice.engines.base import Attempt, Engine, Limits, Provisioner
from sluice.engines.driver_state import DriverState
from sluice.engines.run_clock import RunClock
from sluice.engines.work_source import WorkSource
from sluice.model.errors import EngineUnavailable, InvalidInput, SluiceError


class Dispatcher:
    """The hands of one life of a run. `epoch` is the number of that life."""

    def __init__(
        self,
        *,
        engine: Engine,
        source: WorkSource,
        driver_state: DriverState,
        clock: RunClock,
        limits: Limits,
        epoch: int,
    ) -> None:
        self.facts: list[Event] = []
        self._engine = engine
        self._source = source
        self._driver_state = driver_state
        self._clock = clock
        self._limits = limits
        self._epoch = epoch
        self._parked: dict[AttemptKey, Launch] = {}  # placed, not yet with the engine

    def carry_out(self, commands: Iterable[Command]) -> None:
        """Launch, kill, ask for nodes. Wakes are the driver_state's."""
        for command in commands:
            match command:
                case Launch():
                    self._parked[command.key] = command
                case Kill():
                    self._kill(command)
                case Provision() if isinstance(self._engine, Provisioner):
                    self._engine.provision(command.nodes)
                case _:
                    pass
        self._unpark()

    def left_running(self) -> list[Attempt]:
        """The attempts that run as far as the scheduler knows. Those before may have run them."""
        return [
            self._attempt(attempt.launch, {"job_name": self._source.job_name(key.job_id)})
            for key, attempt in self._driver_state.state.running.items()
        ]

    def kill_unwanted(self, keys: Iterable[AttemptKey]) -> None:
        """Kill attempts of a former life that no task waits for, or whose kill was decided."""
        for key in keys:
            attempt = self._driver_state.state.running.get(key)
            if attempt is None:
                self._engine.kill(key, "no task waits for it")
            elif attempt.state is AttemptState.KILLING:
                reason = attempt.kill_reason
                self._engine.kill(key, "" if reason is None else reason.text())

    def take_facts(self) -> list[Event]:
        """Return what is to go into the next batch."""
        facts, self.facts = self.facts, []
        return facts

    def _unpark(self) -> None:
        """Start what has all its input; forget what ended meanwhile, with its node or its job."""
        driver_state = self._driver_state
        for key, launch in list(self._parked.items()):
            is_wanted = key in driver_state.state.running
            if is_wanted and not driver_state.inputs_ready(key.job_id, key.phase):
                continue
            del self._parked[key]
            if is_wanted:
                self._launch(launch)

    def _launch(self, launch: Launch) -> None:
        key = launch.key
        try:
            work = self._source.work(launch, self._driver_state.outputs(key.job_id))
        except SluiceError as error:
            self._fail(key, _kind_of(error), str(error))
            return
        self._engine.launch(self._attempt(launch, work))

    def _attempt(self, launch: Launch, work: Mapping[str, Any]) -> Attempt:
        return Attempt(
            key=launch.key,
            epoch=self._epoch,
            node_id=launch.node_id,
            slot=launch.slots[0][0],
            work=work,
            limits=self._limits,
        )

    def _kill(self, command: Kill) -> None:
        if self._parked.pop(command.key, None):
            self._fail(command.key, FailureKind.KILLED, command.reason.text())
        else:
            self._engine.kill(command.key, command.reason.text())

    def _fail(self, key: AttemptKey, kind: FailureKind, detail: str) -> None:
        now_s = self._clock.now_s()
        self.facts.append(TaskFailed(now_s, key, now_s, kind, detail))


def _kind_of(error: SluiceError) -> FailureKind:
    """Return what is at fault: the machine, such as a full disk, or the job, such as its output."""
    if isinstance(error, EngineUnavailable):
        return FailureKind.NODE_FAULT
    return FailureKind.PERMANENT if isinstance(error, InvalidInput) else FailureKind.REJECTED
