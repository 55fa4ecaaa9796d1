"""The nights of a cluster: their history, their machines, and why jobs are late."""
