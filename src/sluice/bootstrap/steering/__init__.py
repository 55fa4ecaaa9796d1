"""The changes that a policy would make to a YARN cluster that keeps its own jobs."""
