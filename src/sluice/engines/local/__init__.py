"""Real processes on this machine."""
