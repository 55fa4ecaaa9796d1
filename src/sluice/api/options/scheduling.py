"""The options of commands that simulate a scheduler: `simulate`, `compare`, `why`, `story`, .."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.api.options.fields import count, like, option, switch
from sluice.api.options.parsers import clock_or_seconds, instant

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sluice.api.options.argument_types import GivenSettings
    from sluice.bootstrap.policy_classes import Spec
    from sluice.model.name_types import AdmissionPolicyName, ReleasePolicyName, TaskPolicyName
    from sluice.model.queue_tree import QueueTree

_POLICIES, _WHAT_IF, _WITH_FILE = "Policies", "Simulated conditions", "With --file"
_SEED_MAX = 2**64 - 1


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Seeded:
    """The seed of what is drawn at random."""

    seed: int = count(
        "Seed for the random-number generator.", 0, high=_SEED_MAX, panel=_WHAT_IF
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ChosenScheduler:
    """Which policies decide, with which settings."""

    tasks: TaskPolicyName | Spec | None = option(
        "Task policy: a name, or FILE.py:Class (default: as the file says, or fifo).",
        completes="task_policies", metavar="NAME", panel=_POLICIES,
    )  # fmt: skip
    release: ReleasePolicyName | Spec | None = option(
        "Release policy: order of waiting jobs.",
        completes="release_policies", metavar="NAME", panel=_POLICIES,
    )  # fmt: skip
    admission: AdmissionPolicyName | Spec | None = option(
        "Admission policy: which jobs are accepted.",
        completes="admission_policies", metavar="NAME", panel=_POLICIES,
    )  # fmt: skip
    settings: GivenSettings = option(
        "Change a setting, e.g. jitter=0.15; repeatable.", (), flag="--set",
        completes="setting_values", metavar="KEY=VALUE", panel=_WHAT_IF,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SchedulerOfFile:
    """Scheduler options of a command that needs no workload: they go with --file."""

    tasks: TaskPolicyName | Spec | None = like(
        "tasks", ChosenScheduler, text="Task policy (default: fifo).", panel=_WITH_FILE
    )
    release: ReleasePolicyName | Spec | None = like(
        "release", ChosenScheduler, text="Release policy (default: input).", panel=_WITH_FILE
    )
    admission: AdmissionPolicyName | Spec | None = like(
        "admission", ChosenScheduler, text="Admission policy (default: all).", panel=_WITH_FILE
    )
    settings: GivenSettings = like(
        "settings", ChosenScheduler, text="Change a setting; repeatable.", panel=_WITH_FILE
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SeededOfFile:
    """The seed of a command that needs no workload."""

    seed: int = like(
        "seed", Seeded, default=None, panel=_WITH_FILE,
        text="Seed for the random-number generator (default: 0).",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Queued:
    """The queues of a scheduler's own configuration."""

    config: str | Path | QueueTree | None = option(
        "A scheduler's own configuration, as whatif reads it, for --tasks queue-tree (then the"
        " default) or yarn; --map POOL=QUEUE then names the queue of a pool.",
        metavar="FILE",
    )
    yarn_site: str | Path | None = option(
        "The yarn-site.xml of that configuration: size of containers, preemption, locality.",
        metavar="FILE",
    )
    mapping: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LengthsFrom:
    """Where the lengths of tasks come from."""

    lengths_from: str | Path | None = option(
        "Read task lengths from this trace.", metavar="TRACE.jsonl", panel=_WHAT_IF
    )


# Fields of the last base come first, so bases are read from right to left.
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SimulateOptions(Queued, LengthsFrom, Seeded, ChosenScheduler):
    """Options of `simulate`."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComparedOptions:
    """Options of `compare`, after the rows."""

    seeds: int = count("Simulations of each scheduler, with seeds 0 to N-1.", 10, low=1)
    settings: GivenSettings = like("settings", ChosenScheduler)
    ledger: bool = switch("Also report what each tenant got under each scheduler.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareOptions(Queued, ComparedOptions):
    """Options of `compare`."""

    config: str | Path | QueueTree | None = like(
        "config", Queued,
        text="A scheduler's own configuration, as whatif reads it, for the rows queue-tree and"
        " yarn, or one row more; --map POOL=QUEUE then names the queue of a pool.",
    )  # fmt: skip
    processes: int | None = count(
        "Processes that simulate at once (default: the cores, for long comparisons).",
        low=1, high=1024,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AtInstant:
    """An instant of a run."""

    at_s: float | None = option(
        "Explain the state T seconds after the start.", kind=float, parser=instant, metavar="T"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StoryOptions(Queued, SeededOfFile, SchedulerOfFile, AtInstant):
    """Options of `story`."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WhyOptions(StoryOptions):
    """Options of `why`."""

    by_s: float | None = option(
        "Also say what would let it end by then: 90, 5m or H:MM from the start.",
        flag="--by", kind=float, parser=clock_or_seconds, metavar="INSTANT",
    )  # fmt: skip
