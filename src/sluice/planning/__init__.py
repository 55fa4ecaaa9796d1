"""Offline planners: what to rent, whom to admit, in which order to submit. Functions, no state."""
