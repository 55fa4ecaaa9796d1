"""Jobs whose tasks start together: all or nothing, with reservations and backfilling."""
