"""First come first served and EASY backfilling of rigid jobs, on logs of parallel machines."""
