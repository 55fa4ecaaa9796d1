"""Classes of jobs that name a profile: the containers of each job, by the one estimator.

A job gets the fewest containers with which the estimate meets the deadline of its class. The
estimate is the upper end of the forecast's interval for bound `up`, the prediction for `avg`, the
lower end for `low`. More containers are taken to be no slower, so the number is found by doubling
and halving.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sluice.bootstrap.forecasts.job_forecasts import stored_forecasts
from sluice.bootstrap.history.profiles import no_profile
from sluice.estimate.bounds import Bound, TimeLaw
from sluice.estimate.job_forecasts import JobForecast, JobForecasts
from sluice.estimate.vm_need import Containers
from sluice.model.classes import JobClass
from sluice.model.errors import InvalidInput
from sluice.model.workload import Workload
from sluice.planning.capacity.needs import ClassNeed

_CONTAINERS_MAX = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassForecast:
    """The need of one job of a class, and its forecast with that.

    If no number of containers meets the deadline, both are those of the fastest number.
    """

    need: ClassNeed
    forecast: JobForecast


def class_forecasts(workload: Workload, bound: Bound) -> dict[str, ClassForecast]:
    """By class, for the classes that name a profile. The store is opened only if there are some.

    Raises InvalidInput for an unknown profile, or one that gives no estimate for the bound.
    """
    classes = [one for one in workload.classes if one.profile_name is not None]
    if not classes:
        return {}
    from sluice.store.profiles import Profiles

    with Profiles.open() as profiles:
        names: dict[str, str] = {}
        for one in classes:
            found = profiles.profile_named(str(one.profile_name))
            if found is None:
                raise no_profile(str(one.profile_name), profiles, _where(workload, one))
            names[one.class_id] = found
        forecasts = stored_forecasts(names.values(), profiles)
    return {
        one.class_id: _Search(one, names[one.class_id], forecasts, bound, workload).found()
        for one in classes
    }


def _where(workload: Workload, one: JobClass) -> str:
    return f"{workload.source}, class {one.class_id!r}"


class _Search:
    """The search for the containers of one class."""

    def __init__(
        self, one: JobClass, name: str, forecasts: JobForecasts, bound: Bound, workload: Workload
    ) -> None:
        assert one.deadline_s is not None, "a class with a profile has a deadline"
        self._class, self._deadline_s = one, one.deadline_s
        self._name, self._forecasts = name, forecasts
        self._bound, self._where = bound, _where(workload, one)
        self._known: dict[int, JobForecast] = {}

    def found(self) -> ClassForecast:
        size = self._least(lambda size: self._estimate_s(size) <= self._deadline_s)
        if size is None:  # the caller reports the least deadline, which is that of the fastest
            size = min(self._known, key=lambda size: (self._estimate_s(size), size))
        return ClassForecast(need=self._need(size), forecast=self._forecast(size))

    def _least(self, does: Callable[[int], bool]) -> int | None:
        most = max(1, self._useful())
        low, high = 0, 1
        while not does(high):
            if high >= most:
                return None
            low, high = high, min(2 * high, most)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if does(middle) else (middle, high)
        return high

    def _useful(self) -> int:
        """Containers beyond which no stage has a task to run in one more."""
        found = self._forecast(1).forecast
        if found is None or found.setting is None:
            return 1
        tasks = max(phase.tasks for phase in found.setting.phases)
        return min(tasks * self._steps_for_one_more, _CONTAINERS_MAX)

    @property
    def _steps_for_one_more(self) -> int:
        """Sizes until each kind has one container more: with typed ones, they rise in turn."""
        maps, reduces = self._class.maps_per_vm, self._class.reduces_per_vm
        return (
            1 if maps is None or reduces is None else -(-max(maps, reduces) // min(maps, reduces))
        )

    def _slots(self, size: int) -> dict[str, int]:
        """Containers of each kind; typed ones rise in the ratio in which they fit a VM."""
        maps, reduces = self._class.maps_per_vm, self._class.reduces_per_vm
        if maps is None or reduces is None:
            return {"map": size, "reduce": size}
        most = max(maps, reduces)
        return {"map": max(1, size * maps // most), "reduce": max(1, size * reduces // most)}

    def _forecast(self, size: int) -> JobForecast:
        if size not in self._known:
            self._known[size] = self._forecasts.of(self._name, slots=self._slots(size))
        return self._known[size]

    def _estimate_s(self, size: int) -> float:
        found = self._forecast(size)
        ends_s: Mapping[Bound, float | None] = {
            Bound.LOW: found.low_s, Bound.AVERAGE: found.predicted_s, Bound.UP: found.high_s,
        }  # fmt: skip
        estimate_s = ends_s[self._bound]
        if estimate_s is None:
            has_point = found.predicted_s is not None
            raise InvalidInput(
                f"profile {self._name!r} gives no estimate: {found.why_not}",
                where=self._where,
                hint="use --bound avg, or import more runs" if has_point else "import more runs",
            )
        return estimate_s

    def _need(self, size: int) -> ClassNeed:
        # The estimate is for these containers: no part of it is shared among jobs.
        law = TimeLaw(xi_map_s=0.0, xi_reduce_s=0.0, xi_fixed_s=self._estimate_s(size))
        slots, one = self._slots(size), self._class
        if one.maps_per_vm is None or one.reduces_per_vm is None:
            assert one.containers_per_vm is not None, "it has these, or both others"
            vms = size / one.containers_per_vm
            return ClassNeed(vms_per_job=vms, law=law, shared_containers=float(size))
        maps, reduces = slots["map"], slots["reduce"]
        return ClassNeed(
            vms_per_job=maps / one.maps_per_vm + reduces / one.reduces_per_vm,
            law=law,
            containers=Containers(maps=float(maps), reduces=float(reduces)),
        )
