"""Whose machines: VMs that a job has to itself, from pools."""
