"""Simulate a workload under one scheduler, or compare several.

`Scheduling` holds what was chosen. It is completed by what the file says, each name becomes a class
(`chosen`), and `simulated` runs the prepared workload to its end or up to an instant. `compare`
repeats that for each row and seed, in several processes if it takes long; rows of one seed see the
same random numbers, so that their differences are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

from sluice.api.options.argument_types import GivenSettings, Source
from sluice.api.options.calls import called_with
from sluice.api.options.parts import PartOptions
from sluice.api.options.scheduling import CompareOptions, Queued, SimulateOptions, StoryOptions
from sluice.api.sources import read_workload
from sluice.bootstrap.policy_classes import ChosenPolicy, Spec, chosen_policy, policy_names
from sluice.bootstrap.preparation.facts import (
    CHOSEN,
    FORECASTS,
    ON_MESSAGE,
    ON_NOTE,
    OVERRIDES,
    QUEUES,
    SETTINGS,
    WORKLOAD,
)
from sluice.bootstrap.preparation.pipeline import Goal
from sluice.bootstrap.preparation.queues import (
    CONFIGURED,
    configured,
    nearest_policy,
    under_queues,
    with_named_queues,
)
from sluice.bootstrap.preparation.steps import prepared
from sluice.bootstrap.presets import completed_by
from sluice.bootstrap.queues.configuration_notes import configuration_notes, keys_note
from sluice.bootstrap.scheduler_rows import Trio, row_of
from sluice.bootstrap.setting_notes import unread_notes
from sluice.bootstrap.settings import setting_texts
from sluice.bootstrap.simulations.compared_runs import ComparedRuns
from sluice.bootstrap.simulations.simulation import log_replays, simulated_run
from sluice.core.garbage_collector import paused_collector
from sluice.core.scheduler import Scheduler
from sluice.ingest.scheduler_configs.reading import read_queue_tree, read_site
from sluice.model.errors import InvalidInput
from sluice.model.name_types import AdmissionPolicyName, ReleasePolicyName, TaskPolicyName
from sluice.model.queue_tree import QueueTree
from sluice.model.workload import Workload
from sluice.reporting.compare.result import SchedulerComparison, compared_summaries
from sluice.reporting.run.result import RunResult
from sluice.simulation.driver import OnProgress

OnMessage = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Which policies decide, with which settings, from which seed.

    tasks, release, admission: a name, FILE.py:Class, a class, or an object; None for what the
    workload says under `scheduler`. Tasks of "+copies=late" add to that.
    on_message: called with a sentence about each setting that has no effect.
    queues: of a scheduler's configuration, for tasks of `CONFIGURED`.
    mapping: queues by patterns of pools.
    """

    tasks: TaskPolicyName | Spec | None = None
    release: ReleasePolicyName | Spec | None = None
    admission: AdmissionPolicyName | Spec | None = None
    settings: GivenSettings = ()
    seed: int = 0
    on_message: OnMessage | None = None
    queues: QueueTree | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, options: SimulateOptions | StoryOptions, on_message: OnMessage | None
    ) -> Scheduling:
        """The scheduling that the options of a command say. Raises InvalidInput."""
        tree = queue_tree(options, options.tasks)
        _note_configuration(tree, on_message)
        return cls(
            options.tasks,
            options.release,
            options.admission,
            options.settings,
            options.seed,
            on_message,
            tree,
            options.mapping or {},
        )

    def chosen(self) -> tuple[ChosenPolicy, ChosenPolicy, ChosenPolicy]:
        """The policies, in the order of the fields. Raises InvalidInput."""
        return (
            self._tasks(),
            chosen_policy("release", "input" if self.release is None else self.release),
            chosen_policy("admission", "all" if self.admission is None else self.admission),
        )

    def _tasks(self) -> ChosenPolicy:
        if self.queues is not None:
            is_yarn = isinstance(self.tasks, str) and self.tasks in CONFIGURED
            return configured(self.queues, str(self.tasks) if is_yarn else CONFIGURED[0])
        return chosen_policy("tasks", "fifo" if self.tasks is None else self.tasks)

    def completed(self, workload: Workload, default: str = "fifo") -> Scheduling:
        """With what the workload says where nothing was given.

        default: the task policy where neither says any.
        Raises InvalidInput if the workload names what cannot be.
        """
        tasks, release, admission, said = completed_by(
            workload, self.tasks, self.release, self.admission, default=default
        )
        settings = (*said, *setting_texts(self.settings)) if said else self.settings
        queues = self.queues
        if queues is not None:
            queues = with_named_queues(queues, workload, self.mapping)
        return replace(
            self,
            tasks=tasks,
            release=release,
            admission=admission,
            settings=settings,
            queues=queues,
        )


def queue_tree(options: Queued, tasks: object) -> QueueTree | None:
    """The queues of a scheduler's configuration file. Raises InvalidInput.

    tasks: as given to the call: one that has such queues, or None.
    """
    config, site = options.config, options.yarn_site
    if site is not None and (config is None or isinstance(config, QueueTree)):
        raise InvalidInput(
            "there is no configuration that it belongs to",
            where="--yarn-site",
            hint="give the scheduler's file as --config",
        )
    if config is not None and tasks is not None and tasks not in CONFIGURED:
        raise InvalidInput(
            "it is given together with a task policy",
            where="--config",
            hint=f"give one of the two, or --tasks {' or '.join(CONFIGURED)}",
        )
    if config is None or isinstance(config, QueueTree):
        return config
    return read_queue_tree(str(config), read_site(None if site is None else str(site)))


def _note_configuration(tree: QueueTree | None, on_message: OnMessage | None) -> None:
    """Say what of a configuration is not simulated, or looks mistaken."""
    if tree is not None and on_message is not None:
        for note in (*configuration_notes(tree), *keys_note(tree.unknown_keys)):
            on_message(note)


@dataclass(frozen=True)
class SimulateCall(PartOptions, SimulateOptions):
    """Arguments of `simulate`."""

    source: Source
    _: KW_ONLY
    on_progress: OnProgress | None = None
    on_message: OnMessage | None = None


@called_with(SimulateCall)
def simulate(given: SimulateCall) -> RunResult:
    """Run the workload in virtual time under the named policies.

    tasks, release, admission: a name, FILE.py:Class, or a policy of your own: its class, or an
    object such as `MrOrder` with your ordering engine. An object serves one simulation. By default
    what the workload says under `scheduler`, else fifo, input and all.
    preset, order, goals, slots, copies, data, machines: the parts of a scheduler by name; parts
    change the preset, or `tasks`.
    settings: `{"heartbeat_s": 3}`, or as on the command line `["heartbeat_s=3"]`.
    lengths_from: a trace whose measured lengths replace those of the profiles.
    config: a scheduler's own configuration, as `whatif` reads it, for tasks queue-tree (which is
    then the default) or yarn.  yarn_site: the yarn-site.xml that belongs to it.
    mapping: queues by pattern of pool names, for pools that its queues do not name.
    on_progress: called with (now_s, tasks ended) now and then.
    on_message: called with a sentence about each setting that has no effect.
    Raises InvalidInput.
    """
    _, result = simulated(
        given.source,
        Scheduling.of(given.chosen(given), given.on_message),
        lengths_from=given.lengths_from,
        on_progress=given.on_progress,
    )
    advice = given.advice
    return result if advice is None else replace(result, extra={**result.extra, "advice": advice})


@paused_collector()
def simulated(
    source: Source,
    how: Scheduling,
    *,
    lengths_from: str | Path | None = None,
    on_progress: OnProgress | None = None,
    until_s: float | None = None,
    on_start: Callable[[Scheduler], None] = lambda _: None,
) -> tuple[Scheduler, RunResult]:
    """The scheduler at the end of the simulation, or at an instant before.

    on_start: called with the scheduler before the first event.
    """
    read = read_workload(source)
    how = how.completed(read)
    chosen = how.chosen()
    facts = prepared(
        Goal.SIMULATE if lengths_from is None else Goal.RECORDED,
        {
            WORKLOAD: read,
            CHOSEN: chosen,
            OVERRIDES: how.settings,
            QUEUES: None if how.queues is None else (how.queues, how.mapping),
            ON_MESSAGE: how.on_message or (lambda _: None),
            ON_NOTE: how.on_message,
        },
    )
    workload = facts[WORKLOAD]
    scheduler, result = simulated_run(
        workload, chosen, facts[SETTINGS], how.seed,
        lengths_from=lengths_from, on_progress=on_progress, until_s=until_s,
        on_start=on_start,
    )  # fmt: skip
    if lengths_from is None:
        result = result.forecasted(facts[FORECASTS])
    return scheduler, replace(result, replays=log_replays(workload))


@dataclass(frozen=True)
class CompareCall(CompareOptions):
    """Arguments of `compare`."""

    source: Source
    schedulers: Sequence[TaskPolicyName | Spec]
    _: KW_ONLY
    on_progress: Callable[[str, int], None] | None = None
    on_fraction: Callable[[float], None] | None = None
    on_message: OnMessage | None = None


@called_with(CompareCall)
def compare(given: CompareCall) -> SchedulerComparison:
    """The workload under several schedulers, each with the same seeds 0 .. seeds - 1.

    schedulers: task policies, each a name, FILE.py:Class, a class or an object; `all` is every
    named one that can run the workload. A text may name more, joined by `+`: policies of admission
    and release, as in `mrorder+fifo`, parts, as in `fair+copies=late`, and settings of that row in
    brackets. A row is called by its text. Differences are paired by seed against the first.
    ledger: also the fairness ledger of each scheduler, of the run with the first seed.
    config: a scheduler's own configuration, as `whatif` reads it, for the rows `yarn` and
    `queue-tree`; without them as one row more, by the one of these that is nearer to it.
    yarn_site: the yarn-site.xml that belongs to it.
    mapping: queues by pattern of pool names, for pools that its queues do not name.
    processes: how many run simulations at once; None for as many as there are cores where that is
    faster. The result does not depend on it. Classes and objects run in this process.
    on_progress: called with (scheduler, seed) before each simulation.
    on_fraction: called with the share of simulations that are done, 0 to 1.
    on_message: called with a sentence about each setting that has no effect under any scheduler,
    or in the row that has it, about each scheduler that `all` leaves out, and about how a
    configuration of YARN is simulated.
    Raises InvalidInput.
    """
    schedulers, on_message = given.schedulers, given.on_message
    _check_counts(given.seeds, given.processes)
    if not schedulers and given.config is None:
        raise InvalidInput("no scheduler", where="--schedulers", hint="name one, such as fifo")
    listed = [one for spec in schedulers for one in _schedulers(spec)]
    read, mapping = read_workload(given.source), given.mapping or {}
    tree = queue_tree(given, None)
    _note_configuration(tree, on_message)
    of_queues: Mapping[str, Trio] = {}
    if tree is not None:
        tree = with_named_queues(tree, read, mapping)
        of_queues = _rows_of_queues(given, tree, read)
        listed = list({**dict(listed), **of_queues}.items())
    facts = prepared(
        Goal.COMPARE,
        {
            WORKLOAD: read,
            CHOSEN: [policy for _, policies in listed for policy in policies],
            OVERRIDES: given.settings,
            ON_MESSAGE: on_message or (lambda _: None),
            ON_NOTE: on_message,
        },
    )
    workload = facts[WORKLOAD]
    runs = ComparedRuns(
        workload=workload,
        schedulers=dict(listed),
        resolved=facts[SETTINGS],
        settings=given.settings,
        seeds=given.seeds,
        has_ledger=given.ledger,
        is_lenient="all" in [spec for spec in schedulers if isinstance(spec, str)],
        configured={row: under_queues(workload, tree, mapping) for row in of_queues}
        if tree is not None
        else {},
    )
    if on_message is not None and len(listed) > 1:  # else it is known to all that prepares
        for note in _row_notes(listed, runs):
            on_message(note)
    found = runs.carried_out(given.processes, given.on_progress, given.on_fraction)
    if on_message is not None:
        for name, error in found.refused.items():
            on_message(f"{name} is left out: {error.what}")
    return replace(
        compared_summaries(found.summaries, workload),
        ledgers=found.ledgers,
        replays=log_replays(workload),
    )


def _row_notes(listed: Sequence[tuple[str, Trio]], runs: ComparedRuns) -> Iterator[str]:
    """A sentence for each setting of a row of its own that has no effect there."""
    for row, trio in listed:
        keys = [text.partition("=")[0] for text in trio[0].settings]
        if keys:
            for note in unread_notes(keys, runs.settings_of(trio), trio):
                yield f"{row}: {note}"


def _check_counts(seeds: int, processes: int | None) -> None:
    if seeds < 1:
        raise InvalidInput(f"seeds is {seeds}", where="--seeds", hint="give 1 or more")
    if processes is not None and processes < 1:
        raise InvalidInput(f"processes is {processes}", where="--processes", hint="give 1 or more")


def _rows_of_queues(given: CompareCall, tree: QueueTree, workload: Workload) -> dict[str, Trio]:
    """The rows in the queues of a configuration: those that name its policies, or one more."""
    found: dict[str, Trio] = {}
    for row, (tasks, *others) in (row_of(spec) for spec in given.schedulers if spec != "all"):
        if tasks.name in CONFIGURED:
            release, admission = others
            found[row] = (replace(tasks, queues=tree), release, admission)
    if found:
        return found
    row = "config" if isinstance(given.config, QueueTree) else Path(str(given.config)).name
    policy = nearest_policy(tree, workload)
    if tree.yarn is not None and given.on_message is not None:
        given.on_message(
            f"{row} runs with YARN's masters and heartbeats; --schedulers queue-tree omits both"
            if policy == "yarn"
            else f"{row} runs without YARN's masters and heartbeats, which need the cluster's nodes"
        )
    return {row: Scheduling(policy, queues=tree).chosen()}


def _schedulers(
    spec: Spec,
) -> Iterator[tuple[str, tuple[ChosenPolicy, ChosenPolicy, ChosenPolicy]]]:
    """The schedulers that one item of a list names, each with the name of its row."""
    if spec == "all":
        for name in policy_names("tasks"):
            yield name, Scheduling(name).chosen()
    else:
        yield row_of(spec)
