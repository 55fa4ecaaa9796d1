"""When the jobs of a queue start, of jobs that hold their slots from start to end."""
