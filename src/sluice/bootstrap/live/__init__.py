"""Real runs: their options, jobs, outputs and progress."""
