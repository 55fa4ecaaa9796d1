"""The options of commands that answer from past runs: which runs, which machines, which prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.api.options.fields import choice, count, like, option, switch
from sluice.api.options.parsers import whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sluice.model.machines import PriceList
    from sluice.model.name_types import LeaveOutName, LogFormatName, RentName

MACHINES = "Machines and prices"
_LOGS = "Instead of FILE"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Stored:
    """The profile store."""

    store: str | None = option(
        "Profile store: a path or postgresql://... (default: SLUICE_STORE, else your own).",
        metavar="URL",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LogsRead:
    """How logs are read that a command names itself."""

    format: LogFormatName | str = option(
        "Log format: auto, jhist, mr1, rumen, sls, spark, swim, swf, batsim, sacct, squeue, sinfo,"
        " airflow, dbt, ray, tez, philly, alibaba, wfformat, kueue, volcano, rm-apps or sluice.",
        "auto", flag="--format", name="log_format", completes="log_formats", metavar="NAME",
    )  # fmt: skip
    settings: Sequence[str] = option(
        "Set an option of a format; profile='regex -> name' names profiles; repeatable.",
        (), flag="--set", metavar="KEY=VALUE",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunsOfLogs:
    """Logs whose runs are the history."""

    from_log: Sequence[str | Path] = option(
        "Use the runs in this log, or folder of logs; repeatable.",
        (), metavar="PATH", panel=_LOGS,
    )  # fmt: skip
    format: LogFormatName | str = option(
        "Log format (default: detected).",
        "auto", given=None, name="from_log_format",
        completes="log_formats", metavar="NAME", panel=_LOGS,
    )  # fmt: skip
    settings: Sequence[str] = option(
        "Set a value the log lacks, e.g. map_slots=40; repeatable.",
        (), name="from_log_set", metavar="KEY=VALUE", panel=_LOGS,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RentedType:
    """The type of the VMs."""

    vm_type: str | None = option(
        "Type of the VMs, from the price list.",
        completes="vm_types", metavar="TYPE", panel=MACHINES,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Priced:
    """Prices of VMs, and how they are rented."""

    prices: str | Path | PriceList | None = option(
        'Price list of VM types; "example" is a list shipped with Sluice.',
        metavar="PRICES", panel=MACHINES,
    )  # fmt: skip
    rent: RentName | str = choice(
        "Rental term: reserved, on-demand or spot.", "reserved|on-demand|spot", "on-demand",
        metavar="TERM", panel=MACHINES,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Levelled:
    """The level of intervals."""

    level: float = option("Level of the prediction intervals, e.g. 0.9.", 0.9, metavar="SHARE")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComparedRuns:
    """Runs that are predicted from the others."""

    newest: int | None = count(
        "Read only the newest N runs of each profile (default: 5,000 of all, at most 500 of each).",
        low=1,
    )  # fmt: skip
    leave_out: LeaveOutName | str = choice(
        "Left out of each prediction: the run, its whole setting, or nothing.",
        "run|setting|nothing", "run", metavar="WHAT",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CleanOptions:
    """Options of `runs clean`."""

    finished: bool = switch("Remove all finished runs, also those with failed jobs.")
    dry_run: bool = switch("Show what would be removed, and remove nothing.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CalibrateOptions(Stored, Levelled, ComparedRuns):
    """Options of `calibrate`."""


def _slot_counts(text: str) -> list[int]:
    read = whole("--slots", low=1, high=1000)
    return [read(part.strip()) for part in text.split(",")]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Trials:
    """How often a job is measured."""

    slots: Sequence[int] | None = option(
        "Slot counts (default: 1, 2, 4, .. up to twice the processors).",
        reads=_slot_counts, metavar="A,B,...",
    )  # fmt: skip
    repeats: int = count("Runs at each count.", 1, low=1)
    io_bytes_per_s: float | None = option(
        "Disk throughput; needed to estimate each task's disk demand.", kind=float, metavar="BYTES"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProfileRunOptions(Stored, Trials):
    """Options of `profile-run`."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ImportOptions(Stored, LogsRead):
    """Options of `import`."""

    format: LogFormatName | str = like("format", LogsRead, name="format_")
