"""Questions about the queues of a live scheduler: forecasts, quotes and other settings."""
