"""Predict how long jobs will take, with an interval and what it rests on.

A job is asked about by itself in a workload, or by the name of its profile. The store has the past
runs of the profile, a model is fitted to them (`estimate`), and its misses on past runs give the
interval. Costs need prices, and interruptions of spot VMs need a rate: they come in here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.api.options.argument_types import Source
from sluice.api.options.calls import called_with
from sluice.api.options.predictions import PredictOptions
from sluice.bootstrap.forecasts.job_forecasts import logged_histories, stored_forecasts
from sluice.bootstrap.forecasts.predicted_machines import (
    Machines,
    machines_of,
    tried_machines,
    without_slowdown,
)
from sluice.bootstrap.history.profiles import known_profile
from sluice.estimate.job_forecasts import JobForecast, JobForecasts
from sluice.estimate.uncertainty import check_level
from sluice.ingest.price_lists import EXAMPLE, load_price_list
from sluice.ingest.suggestions import known_choice
from sluice.model.errors import InvalidInput, wrong_value
from sluice.model.job import Job
from sluice.model.machines import PriceList, Rent
from sluice.model.workload import Workload
from sluice.reporting.formatting import counted
from sluice.reporting.history.past_runs import profile_name
from sluice.reporting.prediction.result import GridCell, JobPrediction, PredictionReport
from sluice.store.profiles import Profiles

_SLOTS_MAX = 10**6
_INTERRUPTIONS_MAX = 1000
_BOOT_MAX_S = 86_400
# Those with most runs: a store may have thousands of profiles, each of which costs its fits.
PROFILES_PREDICTED_MAX = 500
_FILE_ENDINGS = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A job to predict, by the name of its profile; None if it has none."""

    job_id: str
    profile: str | None
    deadline_s: float | None = None


@dataclass(frozen=True)
class PredictCall(PredictOptions):
    """Arguments of `predict`."""

    source: Source | None = None


@called_with(PredictCall)
def predict(given: PredictCall) -> PredictionReport:
    """Predicted time, interval and cost of the next run of jobs, from their past runs.

    source: the name of a stored profile; or a workload, or its file, whose jobs name profiles; by
    default every stored profile.  from_log: logs instead of the store.
    slots: for each stage; by default those of the file's cluster, or of the newest run.
    vms, vm_type: that many VMs of a type of the price list instead.
    prices: a price list, its file, or "example".  rent: reserved, on-demand, spot.
    interruptions: how often a VM is taken back in an hour, for spot VMs; the slowdown of spot VMs
        in the price list, which is a mean of the same, then does not count.
    boot_s: seconds until another VM takes over.
    input_bytes: by default those of the newest run.  level: coverage of the interval.
    format, settings: of the logs, as for `import_logs`.
    Without a source, at most 500 profiles are predicted: those with most runs.
    A job that cannot be predicted has no times, and `why_not`. Raises InvalidInput.
    """
    _check(given)
    _check_interruptions(given.interruptions, given.boot_s, given.vms)
    if given.from_log and given.source is not None:
        raise InvalidInput(
            "it is given together with NAME or FILE", where="--from-log", hint="give one of them"
        )
    listed = _price_list(given.prices, given.vm_type)
    workload, name = _workload_or_name(given.source)
    left_out = 0
    if given.from_log:
        histories = logged_histories(given.from_log, given.format, given.settings)
        asked = [_Asked(job_id=each, profile=each) for each in histories]
        forecasts = JobForecasts(histories)
    else:
        with Profiles.existing(given.store) as profiles:
            asked = list(_asked(workload, name, profiles))
            left_out = len(profiles.names()) - len(asked) if given.source is None else 0
            forecasts = stored_forecasts((one.profile for one in asked if one.profile), profiles)
    if listed is not None and given.interruptions:
        listed = without_slowdown(listed)
    machines = machines_of(
        workload,
        given.slots,
        given.vms,
        given.vm_type,
        listed,
        known_choice("--rent", given.rent, Rent),
    )
    machines = replace(machines, interruptions=given.interruptions, boot_s=given.boot_s)
    return PredictionReport(
        jobs=tuple(_predicted(one, forecasts, machines, workload, listed, given) for one in asked),
        notes=_notes(listed, left_out),
    )


def _notes(listed: PriceList | None, left_out: int) -> tuple[str, ...]:
    """Where the prices come from, and how many profiles are not predicted."""
    notes = () if listed is None else (f"prices of {listed.listed_on}: {listed.note}",)
    if left_out <= 0:
        return notes
    more = counted(left_out, "more profile")
    return (*notes, f"{more} with fewer runs left out; name a profile to predict it")


def _check(given: PredictCall) -> None:
    slots, vms, vm_type = given.slots, given.vms, given.vm_type
    input_bytes = given.input_bytes
    if slots is not None and vms is not None:
        raise InvalidInput("it is given together with --slots", where="--vms", hint="give one")
    if slots is not None and vm_type is not None:
        raise InvalidInput(
            "it is given together with --slots", where="--vm-type", hint="give --vms"
        )
    if vm_type is not None and vms is None:
        raise InvalidInput(
            "--vms is missing", where="--vm-type", hint="give the number of VMs, such as --vms 4"
        )
    for flag, number in (("--slots", slots), ("--vms", vms)):
        if number is not None and not 1 <= number <= _SLOTS_MAX:
            raise InvalidInput(f"it is {number}", where=flag, hint=f"give 1 to {_SLOTS_MAX}")
    if input_bytes is not None and input_bytes < 0:
        raise InvalidInput(
            f"it is {input_bytes}", where="--input-bytes", hint="give 0 bytes or more"
        )
    check_level(given.level)


def _check_interruptions(interruptions: float, boot_s: float, vms: int | None) -> None:
    if not 0 <= interruptions <= _INTERRUPTIONS_MAX:
        raise wrong_value(
            "it", interruptions, "--interruptions", f"give 0 to {_INTERRUPTIONS_MAX} in an hour"
        )
    if interruptions and vms is None:
        raise InvalidInput(
            "--vms is missing",
            where="--interruptions",
            hint="give the number of VMs, such as --vms 4",
        )
    if not 0 <= boot_s <= _BOOT_MAX_S:
        raise wrong_value("it", boot_s, "--boot", f"give 0 to {_BOOT_MAX_S} seconds")


def _price_list(prices: str | Path | PriceList | None, vm_type: str | None) -> PriceList | None:
    if prices is None and vm_type is not None:
        prices = EXAMPLE
    return load_price_list(prices) if isinstance(prices, str | Path) else prices


# --- which jobs -----------------------------------------------------------------------------------


def _workload_or_name(source: Source | None) -> tuple[Workload | None, str | None]:
    """A workload if it is one, its file or "-"; else the name of a profile."""
    if source is None:
        return None, None
    if not isinstance(source, str | Path) or str(source) == "-" or Path(source).is_file():
        from sluice.api.sources import read_workload

        return read_workload(source), None
    return None, str(source)


def _asked(workload: Workload | None, name: str | None, profiles: Profiles) -> Iterator[_Asked]:
    if workload is not None:
        for job in workload.jobs:
            yield _Asked(
                job_id=str(job.job_id),
                profile=_profile_of(job, profiles),
                deadline_s=_deadline_s(job),
            )
    elif name is not None:
        _check_is_no_file(name, profiles)
        found = known_profile(name, profiles)
        yield _Asked(job_id=found, profile=found)
    else:
        for each in sorted(profiles.fullest(PROFILES_PREDICTED_MAX)):
            yield _Asked(job_id=each, profile=each)


def _check_is_no_file(name: str, profiles: Profiles) -> None:
    """Raise InvalidInput for the name of a file that does not exist."""
    if Path(name).suffix in _FILE_ENDINGS and profiles.profile_named(name) is None:
        raise InvalidInput(
            f"there is no file and no profile {name[:200]!r}",
            where="NAME|FILE",
            hint="check the path, or see `sluice profiles`",
        )


def _profile_of(job: Job, profiles: Profiles) -> str | None:
    """The name of the profile under which the store has the job's runs."""
    if job.profile is None and job.run is None:
        return None
    name = profile_name(job)
    return profiles.profile_named(name) or name


def _deadline_s(job: Job) -> float | None:
    return None if job.deadline_at_s is None else job.deadline_at_s - job.submitted_at_s


# --- predictions ----------------------------------------------------------------------------------


def _predicted(
    asked: _Asked,
    forecasts: JobForecasts,
    machines: Machines,
    workload: Workload | None,
    listed: PriceList | None,
    given: PredictCall,
) -> JobPrediction:
    if asked.profile is None:
        why = "it names no profile; its lengths are those of the file, see sluice simulate"
        found = JobForecast(profile=asked.job_id, level=given.level, why_not=why)
        return JobPrediction(job_id=asked.job_id, forecast=found, deadline_s=asked.deadline_s)
    profile = asked.profile

    def forecast(some: Machines) -> JobForecast:
        found = forecasts.of(
            profile,
            slots=some.slots,
            input_bytes=given.input_bytes,
            level=given.level,
            speed=some.speed,
        )
        return some.hit(found)

    found = forecast(machines)
    grid = []
    if found.predicted_s is not None:
        for some in tried_machines(found, workload, listed, Rent(given.rent)):
            other = replace(some, interruptions=machines.interruptions, boot_s=machines.boot_s)
            cell = _cell(other, forecast(other))
            if cell not in grid:  # as for runs whose slots are unknown
                grid.append(cell)
    return JobPrediction(
        job_id=asked.job_id,
        forecast=found,
        deadline_s=asked.deadline_s,
        bill=machines.bill(found),
        grid=tuple(grid),
    )


def _cell(machines: Machines, found: JobForecast) -> GridCell:
    return GridCell(
        vm_type=None if machines.offer is None else str(machines.offer.vm_type),
        vms=machines.vms,
        slots=found.slots,
        predicted_s=found.predicted_s,
        low_s=found.low_s,
        high_s=found.high_s,
        bill=machines.bill(found),
    )
