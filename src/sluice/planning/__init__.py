"""Offline planners: VMs to rent, jobs to admit, submission order. Pure functions of their input."""
