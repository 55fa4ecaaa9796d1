"""Simulate a workload under one scheduler, or compare several."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sluice import bootstrap
from sluice.api.sources import GivenSettings, Source, read_workload, settings_of, workload_of
from sluice.bootstrap.checks import check_simulable
from sluice.bootstrap.container_jobs import with_slot_kinds
from sluice.bootstrap.policy_classes import ChosenPolicy, Spec
from sluice.bootstrap.predicted_jobs import PredictedWorkload, with_predictions
from sluice.core.scheduler import Scheduler
from sluice.ingest.logs.trace import recorded_lengths
from sluice.ingest.settings import Settings
from sluice.model.cluster import Cluster
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.reporting.compare.result import SchedulerComparison, compared
from sluice.reporting.fairness.result import FairnessResult
from sluice.reporting.run.result import RunResult
from sluice.simulation.driver import OnProgress, Simulation
from sluice.simulation.efforts import Recorded
from sluice.simulation.settings import SimulationSettings

# A plus may also be in the path of a file, but not before the first policy's name has ended.
_RELEASE_AND_TASKS = re.compile(r"(?P<release>[^+]*?(\.py:\w+)?)\+(?P<tasks>.*)")

OnMessage = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Which policies decide, with which settings, from which seed.

    tasks, release, admission: a name, FILE.py:Class, a class, or an object.
    on_message: called with a sentence about each setting that has no effect.
    """

    tasks: Spec = "fifo"
    release: Spec = "input"
    admission: Spec = "all"
    settings: GivenSettings = ()
    seed: int = 0
    on_message: OnMessage | None = None

    def chosen(self) -> tuple[ChosenPolicy, ChosenPolicy, ChosenPolicy]:
        """The policies, in the order of the fields. Raises InvalidInput."""
        return (
            bootstrap.chosen_policy("tasks", self.tasks),
            bootstrap.chosen_policy("release", self.release),
            bootstrap.chosen_policy("admission", self.admission),
        )


def simulate(
    source: Source,
    *,
    tasks: Spec = "fifo",
    release: Spec = "input",
    admission: Spec = "all",
    settings: GivenSettings = (),
    seed: int = 0,
    lengths_from: str | Path | None = None,
    on_progress: OnProgress | None = None,
    on_message: OnMessage | None = None,
) -> RunResult:
    """Run the workload in virtual time under the named policies.

    tasks, release, admission: a name, FILE.py:Class, or a policy of your own: its class, or an
    object such as `MrOrder` with your ordering engine. An object serves one simulation.
    settings: `{"heartbeat_s": 3}`, or as on the command line `["heartbeat_s=3"]`.
    lengths_from: a trace whose measured lengths replace those of the profiles.
    on_progress: called with (now_s, tasks ended) now and then.
    on_message: called with a sentence about each setting that has no effect.
    Raises InvalidInput.
    """
    how = Scheduling(tasks, release, admission, settings, seed, on_message)
    return simulated(source, how, lengths_from=lengths_from, on_progress=on_progress)[1]


def simulated(
    source: Source,
    how: Scheduling,
    *,
    lengths_from: str | Path | None = None,
    on_progress: OnProgress | None = None,
    until_s: float | None = None,
) -> tuple[Scheduler, RunResult]:
    """The scheduler at the end of the simulation, or at an instant before."""
    # Recorded lengths are those of a run that is over: nothing of it is left to predict.
    predicted = (
        with_predictions(read_workload(source))
        if lengths_from is None
        else PredictedWorkload(workload_of(source), {})
    )
    workload, chosen = predicted.workload, how.chosen()
    resolved = settings_of(workload, how.settings, chosen)
    if how.on_message is not None:
        for note in bootstrap.settings_notes(resolved, chosen):
            how.on_message(note)
    scheduler, result = _simulated(
        workload, chosen, resolved, how.seed,
        lengths_from=lengths_from, on_progress=on_progress, until_s=until_s,
    )  # fmt: skip
    return scheduler, result.forecasted(predicted.forecasts)


def _simulated(
    workload: Workload,
    chosen: tuple[ChosenPolicy, ChosenPolicy, ChosenPolicy],
    resolved: Settings,
    seed: int,
    *,
    lengths_from: str | Path | None = None,
    on_progress: OnProgress | None = None,
    until_s: float | None = None,
) -> tuple[Scheduler, RunResult]:
    tasks, release, admission = chosen
    cluster = workload.required_cluster()
    scheduler = bootstrap.scheduler_for(
        settings=resolved,
        tasks=tasks,
        release=release,
        admission=admission,
        pools=workload.pools,
    )
    world = resolved.of(SimulationSettings, tasks.name)
    jobs = with_slot_kinds(workload.jobs, cluster, scheduler.policies.tasks)
    workload = replace(workload, jobs=jobs)
    check_simulable(workload, scheduler, world, has_lengths=lengths_from is not None)
    simulation = Simulation(
        scheduler,
        cluster,
        workload.jobs,
        settings=world,
        seed=seed,
        recorded=_recorded(lengths_from, cluster, world),
        on_progress=on_progress,
    )
    simulation.run(until_s=until_s)
    result = RunResult.of(
        scheduler.state,
        cluster,
        seed=seed,
        events=scheduler.events,
        extra=bootstrap.reports(scheduler.policies),
    )
    return scheduler, result


def _recorded(
    trace: str | Path | None, cluster: Cluster, world: SimulationSettings
) -> Recorded | None:
    """Recorded task lengths; with a distance cost, the lengths next to the task's input."""
    if trace is None:
        return None
    factors = {"rack": world.rack_factor, "any": world.remote_factor}
    return recorded_lengths(trace, factors if cluster.has_racks else None)


def compare(
    source: Source,
    schedulers: Sequence[Spec],
    *,
    seeds: int = 10,
    settings: GivenSettings = (),
    ledger: bool = False,
    on_progress: Callable[[str, int], None] | None = None,
    on_fraction: Callable[[float], None] | None = None,
    on_message: OnMessage | None = None,
) -> SchedulerComparison:
    """The workload under several schedulers, each with the same seeds 0 .. seeds - 1.

    schedulers: task policies, each a name, FILE.py:Class, a class or an object; `all` is every
    named one that can run the workload. `release+tasks`, as in `mrorder+fifo`, names both. A row
    is called by their names.
    ledger: also the fairness ledger of each scheduler, of the run with the first seed.
    on_progress: called with (scheduler, seed) before each simulation.
    on_fraction: called with the share of simulations that are done, 0 to 1.
    on_message: called with a sentence about each setting that has no effect under any scheduler,
    and about each scheduler that `all` leaves out.
    Raises InvalidInput.
    """
    if seeds < 1:
        raise InvalidInput(f"seeds is {seeds}", where="--seeds", hint="give 1 or more")
    _check_list(schedulers)
    workload = with_predictions(read_workload(source)).workload
    listed = [one for spec in schedulers for one in _schedulers(spec)]
    everyone = [policy for _, policies in listed for policy in policies]
    resolved = settings_of(workload, settings, everyone)
    if on_message is not None:
        for note in bootstrap.settings_notes(resolved, everyone):
            on_message(note)
    every, report = dict(listed), on_fraction or (lambda _: None)

    def begin(place: int, name: str, seed: int) -> None:
        if on_progress is not None:
            on_progress(name, seed)
        report((place + seed / seeds) / len(every))

    runs: dict[str, list[RunResult]] = {}
    refused: dict[str, InvalidInput] = {}
    for place, (name, policies) in enumerate(every.items()):
        try:
            started = partial(begin, place, name)
            runs[name] = _runs_of(workload, policies, resolved, seeds, started)
        except InvalidInput as error:
            refused[name] = error
            if len(refused) == len(every) or not _names_all(schedulers):
                raise
    _leave_out(refused, on_message)
    report(1.0)
    found = compared(runs, workload)
    if not ledger:
        return found
    ledgers = {
        name: FairnessResult.of_run(results[0], workload.pools, name.rpartition("+")[2])
        for name, results in runs.items()
    }
    return replace(found, ledgers=ledgers)


def _names_all(schedulers: Sequence[Spec]) -> bool:
    return "all" in [spec for spec in schedulers if isinstance(spec, str)]


def _leave_out(refused: Mapping[str, InvalidInput], on_message: OnMessage | None) -> None:
    """Report the schedulers that cannot run the workload."""
    for name, error in refused.items():
        if on_message is not None:
            on_message(f"{name} is left out: {error.what}")


def _runs_of(
    workload: Workload,
    policies: tuple[ChosenPolicy, ChosenPolicy, ChosenPolicy],
    resolved: Settings,
    seeds: int,
    on_seed: Callable[[int], None],
) -> list[RunResult]:
    """One result for each seed. on_seed: called before each simulation."""
    tasks, release, admission = policies
    results = []
    for seed in range(seeds):
        on_seed(seed)
        # An object has a state of its own, so that each simulation gets a fresh copy.
        fresh = replace(tasks, made=deepcopy(tasks.made))
        results.append(_simulated(workload, (fresh, release, admission), resolved, seed)[1])
    return results


def _check_list(schedulers: object) -> None:
    """Raise InvalidInput for a single scheduler; a text would be taken letter by letter."""
    if isinstance(schedulers, str) or not isinstance(schedulers, Sequence):
        raise InvalidInput(
            f"{type(schedulers).__name__} is not a list of schedulers",
            where="--schedulers",
            hint='give a list of names or policies, such as ["fifo", "mrorder+fifo"]',
        )
    if not schedulers:
        raise InvalidInput("no scheduler", where="--schedulers", hint="name one, such as fifo")


def _schedulers(
    spec: Spec,
) -> Iterator[tuple[str, tuple[ChosenPolicy, ChosenPolicy, ChosenPolicy]]]:
    """The schedulers that one item of a list names, each with the name of its row."""
    if spec == "all":
        for name in bootstrap.policy_names("tasks"):
            yield name, Scheduling(name).chosen()
    elif isinstance(spec, str) and (parts := _RELEASE_AND_TASKS.fullmatch(spec)):
        both = Scheduling(parts["tasks"], parts["release"]).chosen()
        yield f"{both[1].name}+{both[0].name}", both
    else:
        alone = Scheduling(spec).chosen()
        yield alone[0].name, alone
