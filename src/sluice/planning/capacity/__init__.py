"""Capacity planning: jobs to admit in each class, and VMs to rent, for the next hour.

Theory of operation. The deadline of a class fixes the VMs that one job needs
(`sluice.estimate.vm_need`). What remains is a linear program with one constraint, the VMs. A VM
costs `reserved_vm_usd` up to the number of reserved VMs and `on_demand_vm_usd` above it, so the
marginal price only rises. Therefore classes are admitted by falling penalty per VM, until the next
VM costs more than it saves.

One sort solves this (`relaxation`), and a dual solution proves it (`certificate_gap_usd`). Whole
jobs and VMs need a search only among the few classes near the marginal price (`integer`). The same
order of classes gives the cost for every number of reserved VMs (`cost_curve`).
Source: capacity spec, sections 3 and 4.
"""
