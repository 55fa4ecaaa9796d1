"""Work that runs: drivers of the core over real processes and, later, real clusters."""
