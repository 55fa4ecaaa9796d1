"""Zacheilas and Kalogeraki: cost and time of MapReduce jobs on rented VMs."""
