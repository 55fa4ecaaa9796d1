"""Carrying out what the scheduler decides: launches and kills, on an engine.

With slow-start a task may be placed before all of its input is there. It holds its slot, as
Hadoop's reduces do. A reduce starts at once: it fetches what there is, and is fed with the outputs
of further tasks as they end. A task that cannot do so starts when its input is complete.

What the dispatcher itself learns (work that cannot be made up, the end of a task that had not
begun) is a fact like any other: it waits in `facts` for the next batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sluice.core.commands import Command, Kill, Launch, Provision, Release
from sluice.core.events import Event, FailureKind, TaskFailed
from sluice.core.transitions import AttemptState
from sluice.engines.base import Attempt, Engine, Feeder, Limits, News, Provisioner, Renter
from sluice.engines.driver_state import DriverState
from sluice.engines.run_clock import RunClock
from sluice.engines.work_source import JobOutputs, TaskOutput, WorkSource
from sluice.model.attempts import AttemptKey
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
        # Those that may lack input: how many ends of tasks each has heard of, by phase; None for
        # one of a former life, of which that is not known.
        self._fed: dict[AttemptKey, dict[int, int] | None] = {}

    def carry_out(self, commands: Iterable[Command]) -> None:
        """Launch, kill, ask for nodes and give them back. Wakes are the driver_state's."""
        for command in commands:
            match command:
                case Launch():
                    self._parked[command.key] = command
                case Kill():
                    self._kill(command)
                case Provision() if isinstance(self._engine, Provisioner):
                    self._engine.provision(command.nodes)
                case Release() if isinstance(self._engine, Renter):
                    self._engine.give_back(command.node_id)
                case _:
                    pass
        self._unpark()
        self._feed()

    def left_running(self) -> list[Attempt]:
        """The attempts that run as far as the scheduler knows. Those before may have run them."""
        return [
            self._attempt(attempt.launch, {"job_name": self._source.job_name(key.job_id)})
            for key, attempt in self._driver_state.state.running.items()
        ]

    def rent_again(self) -> None:
        """Before the engine starts: it has the nodes that the former life had, and asks for those
        that had not joined.
        """
        state, engine = self._driver_state.state, self._engine
        if not isinstance(engine, Renter):
            return
        rented = {one.node_id for one in state.machines.changes if one.what == "joined"}
        returned = state.machines.returned
        there = [
            entry.node
            for node_id, entry in state.nodes.items()
            if entry.is_up and node_id in rented - returned
        ]
        # A name is free when its node is gone: one that is up may still be taken down.
        taken = [one for one, entry in state.nodes.items() if entry.is_up or one not in returned]
        engine.restore(there, taken, returned)
        if state.machines.to_come:
            engine.provision(state.machines.to_come)

    def kill_unwanted(self, keys: Iterable[AttemptKey]) -> None:
        """Kill attempts of a former life that no task waits for, or whose kill was decided."""
        for key in keys:
            attempt = self._driver_state.state.running.get(key)
            if attempt is None:
                self._engine.kill(key, "no task waits for it")
            elif attempt.state is AttemptState.KILLING:
                reason = attempt.kill_reason
                self._engine.kill(key, "" if reason is None else reason.text())
            elif self._may_start_early(key):
                self._fed[key] = None

    def take_facts(self) -> list[Event]:
        """Return what is to go into the next batch."""
        facts, self.facts = self.facts, []
        return facts

    def _unpark(self) -> None:
        """Start what has its input, or can wait for it; forget what ended with its node or job."""
        driver_state = self._driver_state
        for key, launch in list(self._parked.items()):
            if key not in driver_state.state.running:
                del self._parked[key]
            elif driver_state.inputs_ready(key.job_id, key.phase):
                del self._parked[key]
                self._launch(launch, driver_state.outputs(key.job_id))
            elif self._may_start_early(key):
                del self._parked[key]
                self._launch(launch, driver_state.outputs_there(key.job_id))
                self._fed[key] = self._ends(key)

    def _may_start_early(self, key: AttemptKey) -> bool:
        is_feeder = isinstance(self._engine, Feeder)
        return is_feeder and self._source.starts_early(key.job_id, key.phase)

    def _reads(self, key: AttemptKey) -> tuple[int, ...]:
        return self._driver_state.state.jobs[key.job_id].phases[key.phase].after

    def _ends(self, key: AttemptKey) -> dict[int, int]:
        """How many tasks that it reads from have ended so far, by phase."""
        outputs_since = self._driver_state.outputs_since
        return {phase: len(outputs_since(key.job_id, phase, 0)) for phase in self._reads(key)}

    def _feed(self) -> None:
        """Let attempts that started early know which tasks have ended since."""
        driver_state = self._driver_state
        for key in list(self._fed):
            if key not in driver_state.state.running:
                del self._fed[key]
                continue
            news = [News(one.key.phase, one.key.task, one.files[0]) for one in self._news(key)]
            is_all = driver_state.inputs_ready(key.job_id, key.phase)
            self._fed[key] = self._ends(key)
            if is_all:
                del self._fed[key]
            if (news or is_all) and isinstance(self._engine, Feeder):
                self._engine.feed(key, news, is_all=is_all)

    def _news(self, key: AttemptKey) -> Iterator[TaskOutput]:
        """The outputs that an attempt has not heard of."""
        heard, job_id = self._fed[key], key.job_id
        there = self._driver_state.outputs_there(job_id) if heard is None else {}
        for phase in self._reads(key):
            if heard is None:
                yield from there.get(phase, {}).values()
            else:
                yield from self._driver_state.outputs_since(job_id, phase, heard[phase])

    def _launch(self, launch: Launch, outputs: JobOutputs) -> None:
        key = launch.key
        try:
            work = self._source.work(launch, outputs)
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
