"""The work asked of one task: the value that crosses from planning to the forked attempt.

It is passed on as plain JSON values, by the engine and its agents, so both ends are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from sluice.engines.mapreduce.fingerprints import CodeVersion
from sluice.engines.mapreduce.splits import Split
from sluice.model.buffers import BufferSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where an earlier task left its output, and which task that was.

    segment: the part of the output that is wanted.  path: "" as long as the task has not ended.
    """

    phase: int
    task: int
    path: str
    segment: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFile:
    """A file of the user's code: its path on the driver's machine, its digest, and its mode."""

    path: str
    sha256: str
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """How a task on a node without the driver's disk gets its data: see `engines/data_plane`.

    driver_port: of the driver's data server.  code: what the job's folder holds on the node.
    folders: further folders that must exist there.  fetches, tries, compression: as in
    `DataPlaneSettings`.  patience_s: how long to wait for a driver that does not answer.
    is_all_sent: whether files that the node could open itself come over the network as well.
    """

    driver_port: int
    code: tuple[CodeFile, ...] = ()
    folders: tuple[str, ...] = ()
    fetches: int = 4
    tries: int = 5
    compression: str = "auto"
    patience_s: float = 0.0
    is_all_sent: bool = True

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Plane:
        """Return what `to_json` and JSON made `record` of."""
        code = tuple(CodeFile(**file) for file in record["code"])
        return cls(**{**record, "code": code, "folders": tuple(record["folders"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The user's code of one map and reduce pair, in one of three styles.

    style: "commands" (argument vectors), "functions" or "mrjob" (`python` names the object).
    has_*: which parts there are; a step without reducer writes its maps' output as it comes.
    number: position among the steps of an mrjob class.
    sorts_values: lines are sorted as a whole, not by key alone (mrjob's SORT_VALUES).
    joins: how many phases a function gets the values of, each in an argument of its own; 0 if it
    gets all values in one.
    """

    style: str
    python: str | None = None
    mapper: tuple[str, ...] | None = None
    combiner: tuple[str, ...] | None = None
    reducer: tuple[str, ...] | None = None
    has_mapper: bool = True
    has_combiner: bool = False
    has_reducer: bool = False
    number: int = 0
    sorts_values: bool = False
    joins: int = 0

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Step:
        """The step that `dataclasses.asdict` and JSON made `record` of."""
        commands = {
            part: tuple(record[part]) if record[part] is not None else None
            for part in ("mapper", "combiner", "reducer")
        }
        return cls(**{**record, **commands})


@cache
def _plain_step(step: Step) -> dict[str, Any]:
    """Return the same for all tasks of a job."""
    return asdict(step)


def _shallow(value: Split | Source) -> dict[str, Any]:
    """The fields of a value whose fields are plain, without the deep copy of `asdict`."""
    return {name: getattr(value, name) for name in value.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """One task of a real job.

    phase, task: position of the phase in the job, and of the task in the phase.
    side: "map" for a task that reads lines as they are, "reduce" for one that reads them merged.
    reduces: reduce tasks of its pair of phases, 0 for none.
    segments: that its output is cut for; 0 for a part file.
    keeps_types: whether Python values keep their types between tasks; else tasks exchange text.
    split: input of a map; None if there is no data at all.
    code: the files of the user's code as they were when the run started.
    sources: for a reduce, the outputs of all tasks that it reads, in task order.
    is_early: some of these tasks have not ended. Where their outputs are comes as news.
    folder: the working folder of user code.  staging: where part files are written.
    env: names and values of the file.  inherits_env: whether they add to the whole environment.
    buffer: of the job's map output; None for one that is not limited by the user.
    plane: how to reach the data if the node does not share the driver's disk, else None.
    """

    job_id: str
    job_name: str
    phase: int
    phase_name: str
    task: int
    side: str
    step: Step
    reduces: int
    folder: str
    staging: str
    env: Mapping[str, str] = field(repr=False)
    inherits_env: bool = True
    segments: int = 0
    keeps_types: bool = True
    split: Split | None = None
    sources: tuple[Source, ...] = ()
    is_early: bool = False
    code: tuple[CodeVersion, ...] = ()
    buffer: BufferSetting | None = None
    plane: Plane | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `kind` names the runner for an agent."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        plain["step"] = _plain_step(self.step)
        plain["split"] = self.split and _shallow(self.split)
        plain["sources"] = [_shallow(source) for source in self.sources]
        plain["buffer"] = self.buffer and asdict(self.buffer)
        plain["plane"] = self.plane and self.plane.to_json()
        return {"kind": "mapreduce", **plain}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> TaskSpec:
        """The task that `to_json` made `record` of; other keys belong to the engine."""
        known = {name: record[name] for name in cls.__slots__}
        split, plane, buffer = known["split"], known["plane"], known["buffer"]
        return cls(
            **{
                **known,
                "step": Step.from_json(known["step"]),
                "split": split and Split.from_json(split),
                "sources": tuple(Source(**source) for source in known["sources"]),
                "code": tuple(CodeVersion(*version) for version in known["code"]),
                "buffer": buffer and BufferSetting(**buffer),
                "plane": plane and Plane.from_json(plane),
            }
        )

    def user_env(self, attempt_id: str) -> dict[str, str]:
        """The variables that are added to the environment of user code.

        The names in lower case are those of Hadoop Streaming, so that its scripts run here.
        """
        described = {
            "SLUICE_JOB": self.job_id,
            "SLUICE_PHASE": self.phase_name,
            "SLUICE_TASK": str(self.task),
            "SLUICE_ATTEMPT": attempt_id,
            "mapreduce_job_name": self.job_id,
            "mapreduce_task_id": f"{self.job_name}-{self.phase}-{self.task}",
            "mapreduce_task_attempt_id": attempt_id,
            "mapreduce_task_partition": str(self.task),
            "mapreduce_task_ismap": "true" if self.side == "map" else "false",
            "mapreduce_job_reduces": str(self.reduces),
        }
        if self.split is not None:
            described["mapreduce_map_input_file"] = self.split.path
            described["mapreduce_map_input_start"] = str(self.split.start)
            if self.split.end is not None:
                length_bytes = self.split.end - self.split.start
                described["mapreduce_map_input_length"] = str(length_bytes)
        return {**described, **self.env}
