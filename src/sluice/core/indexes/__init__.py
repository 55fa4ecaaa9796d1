"""Indexes over the state: what waits, runs, is free or has changed, found without a search."""
