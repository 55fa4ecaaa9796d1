"""Jobs for pools of one VM type, `t`, of two units."""

from sluice.model.job import Job, Prediction, VmRequest
from sluice.model.vm_pools import VmType

T = VmType(type_id="t", units=2.0, vms=2)


def pool_job(
    name, deadline_at_s, *, time_s=10.0, submitted_at_s=0.0, vms=1, customer=None, error=None,
    after=(), vm_type="t", within_s=None,
):  # fmt: skip
    """A job that takes `time_s` on `vms` VMs of the type.

    within_s: the longest time that it waits for them.
    """
    request = VmRequest(vm_type=vm_type, vms=vms, start_within_s=within_s)
    return Job(
        job_id=name,
        pool="default",
        phases=(),
        submitted_at_s=submitted_at_s,
        deadline_at_s=deadline_at_s,
        customer=customer,
        after=after,
        vm_request=None if within_s is None else request,
        predictions=(Prediction(vm_type=vm_type, vms=vms, time_s=time_s, error=error),),
    )
