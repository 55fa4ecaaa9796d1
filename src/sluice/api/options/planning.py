"""The options of commands that decide ahead: `plan`, `order`, `size`, `capacity`, `pools`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sluice.api.options.fields import choice, count, like, option, switch
from sluice.api.options.history import MACHINES, Priced, RunsOfLogs
from sluice.api.options.parsers import instant, number, stage_slots, words
from sluice.api.options.scheduling import ChosenScheduler, Seeded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from sluice.api.options.argument_types import PriceSource
    from sluice.bootstrap.policy_classes import Spec
    from sluice.model.machines import PriceList
    from sluice.model.name_types import (
        BoundName,
        IoModelName,
        ObjectiveName,
        OneNightName,
        OrderingMethodName,
        PlanSearchName,
        RentName,
        SingleWaveName,
        TaskPolicyName,
        TuningName,
        VmPolicyName,
        VmServiceName,
    )

_CHOICE, _MODEL, _HISTORY, _BUDGET, _CLUSTER = (
    "Use a plan", "Model", "History", "Budget", "Cluster",
)  # fmt: skip
_METHODS = "auto|exact|search|sweep|mk-jr|mk-tct-jr|tct|input|reverse|critical-path|neh"
_NODES_MAX = 10**5
_TICK_MAX_S = 1e6  # far beyond any use


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PlanSearched:
    """How `plan` searches."""

    search: PlanSearchName | str = choice(
        "Search method: exact, or the paper's greedy slots, slots-printed or vms.",
        "exact|slots|slots-printed|vms", "exact", metavar="NAME",
    )  # fmt: skip
    tune: Collection[TuningName | str] = option(
        "Also choose: tasks (or tasks-hill), buffers (or buffers-random, -rrs).",
        (), kind=str, given=None, reads=words, metavar="A,B",
    )  # fmt: skip
    waves: bool = switch("With limits.vms_max: allow jobs to run one after another.")
    meet_deadlines: bool = switch("Leave out plans in which a job misses its own deadline.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PlanModel:
    """The prices and the model of `plan`."""

    prices: PriceSource | None = like("prices", Priced)
    rents: Sequence[RentName | str] = option(
        "Rental terms: reserved, on-demand, spot.", ("on-demand",), kind=str, given="on-demand",
        name="rent", reads=words, metavar="A,B", panel=MACHINES,
    )  # fmt: skip
    single_wave: SingleWaveName | str = choice(
        "Time model for a phase with no more tasks than slots.", "estimated|exact", "estimated",
        panel=_MODEL,
    )  # fmt: skip
    io_model: IoModelName | str = choice(
        "I/O model of spilling; merge also counts the merging of spills.", "paper|merge", "paper",
        panel=_MODEL,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OrderSearched:
    """How `order` searches."""

    method: OrderingMethodName | str = choice(
        "input, reverse, mk-jr, mk-tct-jr, tct, sweep, exact, search, or auto to pick; for"
        " stages critical-path, exact, search or auto; with --stage-slots input, neh, exact,"
        " search or auto.",
        _METHODS, "auto", metavar="NAME",
    )  # fmt: skip
    objective: ObjectiveName | str = choice(
        "What to minimise: makespan, tct or both.", "makespan|tct|both", "makespan", metavar="NAME"
    )
    seconds: float | None = option(
        "Time limit of search, auto and exact (default: 10, none with --evaluations).",
        kind=float, metavar="S", panel=_BUDGET,
        parser=partial(number, above=0, what="a length of time", hint="give seconds, above 0"),
    )  # fmt: skip
    evaluations: int | None = count(
        "Number of orders to evaluate; equal seeds then give equal answers.",
        low=1, high=10**12, panel=_BUDGET,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OrderOptions(Seeded, OrderSearched):
    """Options of `order`."""

    map_slots: int | None = count(
        "Map slots (default: those of the file; a file of job lines has none).",
        low=1, high=10**7, panel=_CLUSTER,
    )  # fmt: skip
    reduce_slots: int | None = count(
        "Reduce slots (default: those of the file).", low=1, high=10**7, panel=_CLUSTER
    )
    stage_slots: int | Mapping[str, int] | None = option(
        "Slots of each stage, for jobs that pass a chain of stages: 1, or scan=4,load=1.",
        kind=str, metavar="N|NAME=N,..", reads=stage_slots, panel=_CLUSTER,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Nights(RunsOfLogs):
    """The nights that `size` draws."""

    deadline_s: float | None = option(
        "Seconds, or as 2h30m, from the first submission to the last end of a night.",
        kind=float,
        parser=instant,
        metavar="S",
    )
    probability: float = option("Share of nights that meet all deadlines.", 0.95, metavar="SHARE")
    one_night: OneNightName | str = choice(
        "Which jobs make up a night: newest runs, typical ones, or a night drawn whole.",
        "newest|typical|drawn", "newest", metavar="WHICH", panel=_HISTORY,
    )  # fmt: skip
    cut_gaps_days: float | None = option(
        "Ignore runs before the last gap of DAYS days.",
        kind=float, metavar="DAYS", panel=_HISTORY,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SizedNodes:
    """The machines that `size` tries."""

    vm_type: str | None = option(
        "Type of the nodes in the price list, or any (default: the node or VM of FILE).",
        completes="vm_types", metavar="TYPE", panel=MACHINES,
    )  # fmt: skip
    prices: str | Path | PriceList | None = like("prices", Priced)
    rent: RentName | str = like("rent", Priced)
    reserved_vms: int | None = count(
        "Reserved VMs; the others are on demand (default: prices.reserved_vms of FILE).",
        high=_NODES_MAX, panel=MACHINES,
    )  # fmt: skip
    nodes_max: int = count("The largest size to try.", 1000, low=1, high=_NODES_MAX, panel=MACHINES)
    tasks: TaskPolicyName | Spec | None = like("tasks", ChosenScheduler)
    draws: int = count("Nights to simulate for each size.", 100, low=1, high=10**5)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SizeOptions(Seeded, SizedNodes, Nights):
    """Options of `size`."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CapacityOptions:
    """Options of `capacity`."""

    integer: bool = switch("Plan whole jobs, VMs and containers.")
    bound: BoundName | str = choice(
        "Job-length estimate; up is the safe upper bound.", "low|avg|up", "up"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PoolsOptions:
    """Options of `pools`."""

    policy: VmPolicyName | str = option(
        "How jobs get their VMs: vm-aware, instant-opt, per-job or dedicated.", "vm-aware",
        metavar="NAME",
    )  # fmt: skip
    reconfigure: bool = switch("Also change the pool sizes where that saves enough.")
    service: VmServiceName | str = option(
        "delayed: a job may wait for VMs after its arrival; immediate: it may not.", "delayed",
        metavar="NAME",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tick:
    """The length of a tick, 0 for exact times."""

    tick_s: float = option(
        "Length of a tick; 0 for exact seconds.", 1.0, name="tick", metavar="S",
        parser=partial(instant, high=_TICK_MAX_S, hint="give seconds, or 0 for exact times"),
    )  # fmt: skip
