"""Pools of VMs: which type, how many VMs and when, so that each job meets its deadline."""
