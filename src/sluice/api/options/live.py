"""The options of `run`, `serve`, `kill`, `cordon` and `link`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.api.options.fields import choice, count, like, option, switch
from sluice.api.options.scheduling import ChosenScheduler, Seeded

if TYPE_CHECKING:
    from pathlib import Path

    from sluice.model.name_types import (
        AdmissionPolicyName,
        EngineName,
        ReleasePolicyName,
        TaskPolicyName,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PythonJob:
    """The output of a job of Python functions."""

    output: str | Path | None = option("Output of Python code.", metavar="FOLDER")
    part_files: int | None = count("Files in the output of Python code (default: 1).", low=1)
    overwrite: bool = switch("Replace outputs of earlier runs, once the jobs succeed again.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ChosenEngine:
    """The engine that runs the tasks."""

    engine: EngineName | str = choice(
        "Engine that runs the tasks: local, ray or yarn.", "local|ray|yarn", "local", metavar="NAME"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunNodes(ChosenEngine):
    """Where the tasks of one run run."""

    address: str | None = option(
        "Ray cluster to use, or auto (default: one is started for this run); or the web address of"
        " YARN's ResourceManager.",
        metavar="ADDRESS",
    )
    nodes: int | None = count("Number of virtual nodes on this machine.", low=1)
    map_slots: int | None = count("Map slots of each node.", low=1)
    reduce_slots: int | None = count("Reduce slots of each node.")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Resumed:
    """Whether an interrupted run goes on."""

    resume: bool = switch("Continue FILE's last unfinished run; start it if there is none.")


# The last base comes first, also below.
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LiveOptions(Seeded, ChosenScheduler, Resumed, RunNodes, PythonJob):
    """Options of `run`, whose policies have names: they are kept in the journal."""

    tasks: TaskPolicyName | str | None = like("tasks", ChosenScheduler)
    release: ReleasePolicyName | str | None = like("release", ChosenScheduler)
    admission: AdmissionPolicyName | str | None = like("admission", ChosenScheduler)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ServeNodes(ChosenEngine):
    """Where the tasks of a service run."""

    address: str | None = option(
        "Ray cluster to use, or auto (default: one is started); or the web address of YARN's"
        " ResourceManager.",
        metavar="ADDRESS",
    )
    nodes: int | None = count("Nodes on this machine.", low=1, high=1000)
    map_slots: int | None = count("Map slots of each.", high=10_000)
    reduce_slots: int | None = count("Reduce slots of each.", high=10_000)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ServeOptions(ServeNodes, ChosenScheduler):
    """Options of `serve`, but for where it is."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class KillOptions:
    """Options of `kill`."""

    reason: str = option("Why, for the record.", "", metavar="TEXT")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CordonOptions:
    """Options of `cordon`."""

    reason: str = option("Why, for `why`.", "", metavar="TEXT")
    is_undone: bool = switch("Give the node work again.", flag="--undo", name="undo")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LinkOptions:
    """Options of `link`."""

    valid_for: str = option(
        "How long the link can be used: 90m, 12h or 7d; at most 90d.",
        "7d",
        flag="--for",
        metavar="LENGTH",
    )
