"""Batsim workloads: one JSON object of jobs and of the profiles that they name.

A job asks for `res` machines and holds them to its end, so it becomes one phase of as many tasks,
all of one length. How long that is depends on the type of its profile. Batsim simulates most types
on a platform that the workload does not hold, so the speed of a machine and of its network are
options, with a note wherever one was needed. All tasks of a job start together, and its walltime is
its limit:

    delay                  its delay
    homogeneous parallel   cpu / flops_per_s + com * (res - 1) / bytes_per_s
    the same, spread       (cpu / flops_per_s + com / bytes_per_s) / res
    parallel               the most of cpu[i] / flops_per_s + sum(com[i]) / bytes_per_s
    sequence               the sum of its parts, as often as it says

The types go by the names of all releases (`delay` is `DelayProfile` today). A job of any other type
is skipped and reported. Batsim kills a job at its walltime; so does this, unless `walltime=ignore`.
Source of the format: Batsim (oar-team/batsim), documentation, "Workload".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sluice.ingest.logs.limits import Limits
from sluice.ingest.logs.reading import log_bytes
from sluice.ingest.logs.report import Contents, Report, Unreadable, nothing_found
from sluice.ingest.logs.whole_json import listed, mapping, parsed
from sluice.model.cluster import SLOTS_MAX, Cluster
from sluice.model.errors import InvalidInput
from sluice.model.history import PastPhase, PastRun
from sluice.model.ids import JobId, PoolId, checked_id
from sluice.model.job import Job, Phase
from sluice.model.lengths import ConstantLengths
from sluice.model.settings import SettingKind, declared, number
from sluice.model.slot_kind import SlotKind
from sluice.model.workload import JOBS_MAX, Workload

FORMAT = "batsim"
_DEPTH_MAX = 20
_PARTS_MAX = 100
_SPREAD = "DefinedAmountsSpreadUniformly"
_KINDS = {
    "delay": "delay",
    "msg_par": "parallel",
    "parallel": "parallel",
    "paralleltask": "parallel",
    "msg_par_hg": "homogeneous",
    "parallel_homogeneous": "homogeneous",
    "paralleltaskhomogeneous": "homogeneous",
    "msg_par_hg_tot": "spread",
    "parallel_homogeneous_total": "spread",
    "composed": "sequence",
    "sequentialcomposition": "sequence",
}
_SECONDS_MAX = 1e12
_MOST = 1e30
_NOTE = "A job is one phase: a task for each machine that it asks for; the format has no bytes."


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The facts that a workload leaves to Batsim's platform.

    flops_per_s, bytes_per_s: speed of one machine and of its network.
    walltime: whether jobs end there.  least_s: of a job of no length at all.
    """

    flops_per_s: float = number(1e9, "floating-point operations of one machine", above=0.0)
    bytes_per_s: float = number(125e6, "bytes that one machine sends", above=0.0)
    walltime: str = declared(
        SettingKind.CHOICE, "kill", "what happens at a job's walltime", choices=("kill", "ignore")
    )
    least_s: float = number(0.001, "seconds of a task that takes none", above=0.0)


class _Read(NamedTuple):
    """A job, and how long each of its tasks takes."""

    name: str
    profile: str
    tasks: int
    submitted_at_s: float
    length_s: float
    limit_s: float | None


def recognises(path: Path, head: bytes) -> bool:  # noqa: ARG001  # the name does not matter
    """An object with jobs that are submitted and ask for machines."""
    keys = (b'"subtime"', b'"res"', b'"profile"')
    return head.lstrip().startswith(b"{") and all(key in head for key in keys)


def read(path: Path, report: Report, options: Options, limits: Limits) -> Contents:
    """The jobs of a workload. Raises InvalidInput if it has none."""
    record = mapping(parsed(path, log_bytes(path, report, limits), "workload"))
    lengths = _Lengths(mapping(record.get("profiles")), options)
    jobs: dict[str, _Read] = {}
    for position, one in enumerate(listed(record.get("jobs")), start=1):
        try:
            job = _job(one, lengths, options)
            if job.name in jobs:
                raise Unreadable("its id is given twice")  # noqa: TRY301  # as any other fault of a job
            if len(jobs) >= JOBS_MAX:
                raise Unreadable(f"more than {JOBS_MAX} jobs")  # noqa: TRY301  # likewise
            jobs[job.name] = job
        except (Unreadable, InvalidInput) as error:
            report.skip(0, f"job number {position}: {error}")
    if not jobs:
        raise nothing_found(
            path,
            report,
            "job of Batsim's",
            hint="give an object of jobs {id, subtime, res, profile} and profiles {type, ...}",
        )
    return _contents(path, list(jobs.values()), record, lengths, options)


def _number(record: Mapping[str, Any], name: str, missing: float | None = None) -> float:
    value = record.get(name, missing)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        raise Unreadable(f"{name} is {str(value)[:40]}")
    return float(value)


def _job(record: object, lengths: _Lengths, options: Options) -> _Read:
    job = mapping(record)
    name = str(job.get("id", "")).rpartition("!")[2]  # "w0!3": job 3 of workload w0
    checked_id(name, what="job")
    profile = str(job.get("profile"))
    machines = job.get("res")
    if type(machines) is not int or not 1 <= machines <= SLOTS_MAX:
        raise Unreadable(f"res is {str(machines)[:40]}")
    length_s = lengths.of(profile, machines)
    walltime_s = None if job.get("walltime", -1) == -1 else _number(job, "walltime")
    if walltime_s is not None and options.walltime == "kill":
        lengths.killed += length_s > walltime_s
        length_s = min(length_s, walltime_s)
    submitted_at_s = _number(job, "subtime")
    if max(submitted_at_s, length_s) > _SECONDS_MAX:
        raise Unreadable("its instants are beyond reason")
    return _Read(name, profile, machines, submitted_at_s, length_s, walltime_s or None)


class _Lengths:
    """Lengths of profiles.

    used_speeds: whether an option was needed.  killed: jobs that ended at their walltime.
    """

    def __init__(self, profiles: Mapping[str, Any], options: Options) -> None:
        self._profiles = profiles
        self._options = options
        self._known: dict[tuple[str, int], float] = {}
        self.used_speeds = False
        self.killed = 0

    def of(self, name: str, machines: int, depth: int = 0) -> float:
        """Seconds that every machine is held. Raises Unreadable."""
        if (name, machines) not in self._known:
            self._known[name, machines] = self._worked_out(name, machines, depth)
        return self._known[name, machines]

    def _worked_out(self, name: str, machines: int, depth: int) -> float:
        profile = self._profiles.get(name)
        if not isinstance(profile, dict):
            raise Unreadable(f"there is no profile {name[:80]!r}")
        kind_name = str(profile.get("type", "")).lower().removesuffix("profile")
        kind = _KINDS.get(kind_name)
        if kind == "delay":
            return _number(profile, "delay")
        if kind == "parallel":
            return self._parallel(profile, machines)
        if kind == "sequence":
            return self._sequence(profile, machines, depth)
        if kind is None:
            raise Unreadable(f"a profile of type {kind_name[:40]!r} has no length")
        is_spread = kind == "spread" or profile.get("generation_strategy") == _SPREAD
        return self._homogeneous(profile, machines, is_spread=is_spread)

    def _homogeneous(self, profile: Mapping[str, Any], machines: int, *, is_spread: bool) -> float:
        self.used_speeds = True
        worked_s = _number(profile, "cpu", 0) / self._options.flops_per_s
        sent_s = _number(profile, "com", 0) / self._options.bytes_per_s
        return (worked_s + sent_s) / machines if is_spread else worked_s + sent_s * (machines - 1)

    def _parallel(self, profile: Mapping[str, Any], machines: int) -> float:
        """The slowest machine's share: all of them go at one pace."""
        self.used_speeds = True
        worked, sent = _numbers(profile, "cpu"), _numbers(profile, "com")
        if len(worked) not in (0, machines) or len(sent) not in (0, machines**2):
            raise Unreadable(f"its cpu and com are not those of {machines} machines")
        worked_s = [one / self._options.flops_per_s for one in worked] or [0.0] * machines
        rows = range(0, len(sent), machines)
        sent_s = [math.fsum(sent[at : at + machines]) / self._options.bytes_per_s for at in rows]
        return max(map(math.fsum, zip(worked_s, sent_s or [0.0] * machines, strict=True)))

    def _sequence(self, profile: Mapping[str, Any], machines: int, depth: int) -> float:
        parts = profile.get("seq")
        if not isinstance(parts, list) or not 1 <= len(parts) <= _PARTS_MAX:
            raise Unreadable(f"its seq is not a list of 1 to {_PARTS_MAX} profiles")
        if depth >= _DEPTH_MAX:
            raise Unreadable("it is composed of itself, or too deeply")
        times = _number(profile, "repeat" if "repeat" in profile else "nb", 1)
        return times * math.fsum(self.of(str(part), machines, depth + 1) for part in parts)


def _numbers(profile: Mapping[str, Any], name: str) -> Sequence[float]:
    record = profile.get(name, [])
    if not isinstance(record, list):
        raise Unreadable(f"{name} is not a list")
    return [_number({name: one}, name) for one in record]


def _contents(
    path: Path, jobs: list[_Read], record: Mapping[str, Any], lengths: _Lengths, options: Options
) -> Contents:
    notes = tuple(_notes(jobs, lengths, options))
    machines = record.get("nb_res")
    cluster = None
    if type(machines) is int and 1 <= machines <= SLOTS_MAX:
        cluster = Cluster.of_slots({SlotKind.MAP: machines})
    slots = {"map": machines} if cluster is not None else {}
    name = path.name.split(".")[0] or FORMAT
    return Contents(
        runs=tuple(_run(job, name, slots, notes) for job in jobs),
        notes=notes,
        workload=Workload(
            cluster=cluster, jobs=tuple(_submission(job, options) for job in jobs), source=str(path)
        ),
    )


def _notes(jobs: list[_Read], lengths: _Lengths, options: Options) -> list[str]:
    notes = [_NOTE]
    if lengths.used_speeds:
        notes.append(f"flops_per_s = {options.flops_per_s:g}: speed of a machine (not in the file)")
        notes.append(f"bytes_per_s = {options.bytes_per_s:g}: of its network (not in the file)")
    if lengths.killed:
        notes.append(f"walltime = kill: {lengths.killed} jobs end at their walltime.")
    if any(job.length_s == 0 for job in jobs):
        notes.append(f"least_s = {options.least_s:g}: tasks of no length are replayed so long.")
    return notes


def _run(job: _Read, name: str, slots: Mapping[str, Any], notes: tuple[str, ...]) -> PastRun:
    phase = PastPhase(
        name="job", kind="map", tasks=job.tasks, avg_s=job.length_s, max_s=job.length_s
    )
    return PastRun(
        run_id=f"{name}/{job.name}",
        profile=job.profile[:200],
        source=FORMAT,
        phases=(phase,),
        submitted_at_s=job.submitted_at_s,
        slots=slots,
        notes=notes,
    )


def _submission(job: _Read, options: Options) -> Job:
    length_s = job.length_s or options.least_s
    lengths = ConstantLengths(length_s, length_s)
    phase = Phase(name="job", kind=SlotKind.MAP, tasks=job.tasks, lengths=lengths)
    return Job(
        job_id=JobId(job.name),
        pool=PoolId(job.name),
        phases=(phase,),
        submitted_at_s=job.submitted_at_s,
        gang=job.tasks,
        limit_s=job.limit_s,
    )
