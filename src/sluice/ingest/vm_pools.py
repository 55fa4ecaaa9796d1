"""From the VM types and predictions of a file to the model's."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sluice.ingest.errors import FieldError, Refusal, quoted
from sluice.ingest.file_schema.fields import same_fields
from sluice.ingest.file_schema.jobs import JobShape
from sluice.ingest.file_schema.planning import PowerShape, ReconfigureShape, VmTypeShape
from sluice.ingest.file_schema.workload import WorkloadShape
from sluice.model.cluster import SLOTS_MAX
from sluice.model.job import Prediction
from sluice.model.machines import VmShape
from sluice.model.vm_pools import BOOT_S, PowerRule, ReconfigureRule, VmPools, VmType

_GIVEN = (
    "server_units",
    "servers",
    "vm_types",
    "windows",
    "reconfigure",
    "power",
    "boot_s",
    "prediction_error",
)


def vm_pools_faults(shape: WorkloadShape) -> Iterator[FieldError]:
    """Types that fit on no server, or whose slots are incomplete."""
    for index, one in enumerate(shape.vm_types or ()):
        yield from _slot_faults(one, index)
        if shape.server_units is not None and one.units > shape.server_units:
            yield FieldError(
                ("vm_types", index, "units"),
                f"is {one.units:g}, above server_units = {shape.server_units:g}",
                "give a VM that fits on one server",
            )


def _slot_faults(one: VmTypeShape, index: int) -> Iterator[FieldError]:
    typed = [name for name in ("map_slots", "reduce_slots") if getattr(one, name) is not None]
    if typed and one.containers is not None:
        yield FieldError(
            ("vm_types", index, "containers"),
            f"is given together with {typed[0]}",
            "give containers, or map_slots and reduce_slots",
        )
    elif len(typed) == 1:
        (missing,) = {"map_slots", "reduce_slots"} - set(typed)
        yield FieldError(
            ("vm_types", index, missing), "is missing", "give both map_slots and reduce_slots"
        )


def vm_pools_of(shape: WorkloadShape) -> VmPools | None:
    """The pools of a file without faults; None if it has nothing about them."""
    if all(getattr(shape, name) is None for name in _GIVEN):
        return None
    bound_s = None if shape.windows is None else shape.windows.bound_s
    return VmPools(
        server_units=shape.server_units,
        servers=shape.servers,
        vm_types=tuple(
            VmType(type_id=one.id, units=one.units, vms=one.vms, shape=_slots(one))
            for one in shape.vm_types or ()
        ),
        bound_s=math.inf if bound_s is None else bound_s,
        boot_s=BOOT_S if shape.boot_s is None else shape.boot_s,
        prediction_error=shape.prediction_error or 0.0,
        reconfigure=None if shape.reconfigure is None else _rule(shape.reconfigure),
        power=None if shape.power is None else _power(shape.power),
    )


def _slots(one: VmTypeShape) -> VmShape | None:
    if one.map_slots is None and one.containers is None:
        return None
    return VmShape(
        map_slots=one.map_slots or 0, reduce_slots=one.reduce_slots or 0, containers=one.containers
    )


def _power(shape: PowerShape) -> PowerRule:
    return PowerRule(**same_fields(shape, PowerRule))


def _rule(shape: ReconfigureShape) -> ReconfigureRule:
    return ReconfigureRule(keeps_largest=shape.keep_largest, **same_fields(shape, ReconfigureRule))


def predictions_of(shape: JobShape) -> tuple[Prediction, ...]:
    """The predictions of a job, in the order of the file. Raises Refusal."""
    if shape.predictions is None:
        return ()
    made = tuple(
        Prediction(vm_type=vm_type, vms=_vms(vm_type, count, times), time_s=time_s)
        for vm_type, times in shape.predictions.items()
        for count, time_s in times.items()
    )
    if not made:
        raise Refusal(
            "is empty", at=("predictions",), hint='give seconds as in {VM-1: {"10": 250}}'
        )
    return made


def _vms(vm_type: str, count: str, times: dict[str, float]) -> int:
    """A number of VMs, which is a key in a file and therefore text."""
    is_plain = count.isascii() and count.isdigit() and len(count) <= len(str(SLOTS_MAX))
    vms = int(count) if is_plain else 0
    if not 1 <= vms <= SLOTS_MAX:
        raise Refusal(
            f"has the size {quoted(count)}, which is not a whole number of VMs",
            at=("predictions", vm_type),
            hint="give 1 or more VMs",
        )
    if str(vms) != count and str(vms) in times:
        raise Refusal(
            f"gives {vms} VMs twice", at=("predictions", vm_type), hint="give each size once"
        )
    return vms
