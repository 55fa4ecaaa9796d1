"""What a policy would change of a YARN cluster that keeps its own jobs."""
